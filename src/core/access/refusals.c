/* See refusals.h. */
#include "refusals.h"
#include "arena.h"
#include "mem.h"

struct line {
	struct ar_str kind; /* what it is found by */
	struct ar_audit last; /* the newest of those counted */
	ar_usec until;
	struct ar_arena arena; /* of all text, this included */
};

void ar_refusals_init(struct ar_refusals *l, ar_audit_fn *tell, void *arg)
{
	*l = (struct ar_refusals){ .tell = tell, .arg = arg };
}

static void copy(struct ar_arena *a, const struct ar_audit *from, struct ar_audit *ret)
{
	*ret = *from;
	ret->tenant = ar_arena_str(a, from->tenant);
	ret->actor = ar_arena_str(a, from->actor);
	ret->token = ar_arena_str(a, from->token);
	ret->command = ar_arena_str(a, from->command);
	ret->target = ar_arena_str(a, from->target);
	ret->message = ar_arena_str(a, from->message);
	ret->from.address = ar_arena_str(a, from->from.address);
	ret->from.request_id = ar_arena_str(a, from->from.request_id);
	ret->count = 0;
}

static void report_refusal(struct ar_refusals *l, const struct ar_audit *a)
{
	if (l->tell && a->count)
		l->tell(l->arg, a);
}

static void line_end(struct ar_refusals *l, struct line *one)
{
	struct ar_arena arena = one->arena;

	ar_map_del(&l->lines, one->kind);
	report_refusal(l, &one->last);
	ar_arena_fini(&arena);
}

static struct line *first_due(struct ar_refusals *l, ar_usec now)
{
	struct line *one, *due = NULL;

	l->next = 0;
	for (size_t i = 0; (one = ar_map_next(&l->lines, &i));) {
		if (one->until <= now)
			due = one;
		else if (!l->next || one->until < l->next)
			l->next = one->until;
	}
	return due;
}

void ar_refusals_tick(struct ar_refusals *l, ar_usec now)
{
	struct line *due;

	while ((due = first_due(l, now)))
		line_end(l, due);
}

void ar_refusals_fini(struct ar_refusals *l)
{
	ar_refusals_tick(l, INT64_MAX);
	ar_map_fini(&l->lines);
}

/* The line for what alike ones are counted under; *ret_is_new when this is the first. */
static struct line *line_for(struct ar_refusals *l, const struct ar_audit *a, ar_usec now, bool *ret_is_new)
{
	struct ar_arena arena = { 0 };
	struct ar_str kind =
		ar_arena_fmt(&arena, "%u %.*s %.*s", a->code, AR_STR_ARG(a->tenant), AR_STR_ARG(a->actor));
	struct line *one = ar_map_get(&l->lines, kind);

	if (!one && l->lines.count >= AR_REFUSALS_KINDS) {
		kind = AR_STR("others");
		one = ar_map_get(&l->lines, kind);
	}
	*ret_is_new = !one;
	if (one) {
		ar_arena_fini(&arena);
		return one;
	}
	one = ar_arena_alloc(&arena, sizeof(*one));
	one->kind = kind;
	one->until = now + AR_REFUSALS_WINDOW;
	copy(&arena, a, &one->last);
	one->arena = arena;
	ar_map_put(&l->lines, one->kind, one);
	if (!l->next || one->until < l->next)
		l->next = one->until;
	return one;
}

void ar_refusals_add(struct ar_refusals *l, const struct ar_audit *a, ar_usec now)
{
	bool is_new;
	struct line *one;

	ar_refusals_tick(l, now);
	one = line_for(l, a, now, &is_new);
	if (is_new)
		report_refusal(l, a);
	else
		one->last.count += a->count;
}
