/* See closed_group.h. Pure: opening is the one thing that readers of a state do to it, and nothing that they
 * can see changes by it. */
#include "closed/closed_group.h"
#include "base64.h"
#include "compress.h"
#include "permission/permission.h"
#include "subagent/subagents.h"

#include <string.h>

#define BODY_MAX (64 << 20) /* bytes of JSON, as the parser takes them */

/* ---- marks ---- */

/* FNV-1a. Two ids with one mark cost no more than a group that is opened for nothing. */
static uint32_t mark_of(struct ar_str id)
{
	uint32_t mark = 2166136261U;

	for (size_t i = 0; i < id.len; i++)
		mark = (mark ^ (uint8_t)id.p[i]) * 16777619U;
	return mark;
}

static bool has_mark(const struct ar_closed_group *p, uint32_t mark)
{
	for (size_t i = 0; i + sizeof(mark) <= p->marks.len; i += sizeof(mark)) {
		if (memcmp(p->marks.p + i, &mark, sizeof(mark)) == 0)
			return true;
	}
	return false;
}

static void add_mark(struct ar_buf *marks, struct ar_str id)
{
	uint32_t mark = mark_of(id);

	if (!ar_str_absent(id))
		ar_buf_add(marks, &mark, sizeof(mark));
}

static void mark_thread(struct ar_buf *marks, const struct ar_thread *t)
{
	add_mark(marks, t->id);
	for (size_t i = 0; i < t->turns.count; i++) {
		const struct ar_turn *turn = t->turns.at[i];

		add_mark(marks, turn->id);
		if (!turn->task)
			continue;
		add_mark(marks, turn->task->id);
		add_mark(marks, turn->task->parent); /* its children are looked for */
	}
	for (size_t i = 0; i < t->judged.count; i++)
		add_mark(marks, ((const struct ar_judged *)t->judged.at[i])->call);
}

static void mark_subagent(struct ar_buf *marks, const struct ar_shape_subagent_record *r)
{
	add_mark(marks, r->subagent_id);
	add_mark(marks, r->tool_call_id);
	if (r->files)
		add_mark(marks, r->files->base);
}

/* ---- opening ---- */

static const struct ar_shape_subagent_record closed = { .status = AR_STR("closed") };
static const struct ar_shape_subagent_record unreadable = {
	.subagent_id = AR_STR("unavailable"),
	.status = AR_STR("closed"),
	.status_detail = AR_STR("unavailable"),
	.status_reason = AR_STR("its stored record cannot be read; the log of the session has the facts"),
};

static bool read_body(struct ar_closed_group *p)
{
	struct ar_json_parser *json = ar_json_parser_new(); /* the session's own may be in use */
	struct ar_arena arena = { 0 };
	struct ar_str packed, text;
	struct ar_json v;
	bool is_read = ar_base64_decode(&arena, p->body, &packed) &&
		       ar_decompress(&arena, packed, BODY_MAX, &text) &&
		       ar_json_parse(json, text, &v, NULL) == AR_OK && ar_snapshot_read_group(v, p);

	ar_json_parser_free(json);
	ar_arena_fini(&arena);
	return is_read;
}

/* Some may have been filled already. */
static void make_stubs_again(struct ar_closed_group *p)
{
	for (size_t i = 0; i < p->threads.count; i++) {
		*(struct ar_thread *)p->threads.at[i] = (struct ar_thread){ .pack = p };
		*(struct ar_subagent *)p->subagents.at[i] = (struct ar_subagent){
			.record = &unreadable, .is_settled = AR_OPT_BOOL(true), .pack = p
		};
	}
}

bool ar_closed_group_open(struct ar_closed_group *p)
{
	if (p->is_open || p->is_unreadable)
		return p->is_open;
	p->is_open = read_body(p);
	p->is_unreadable = !p->is_open;
	if (p->is_unreadable)
		make_stubs_again(p);
	return p->is_open;
}

bool ar_closed_groups_seek(const struct ar_session *s, struct ar_str id)
{
	uint32_t mark = s->packs.count > 0 ? mark_of(id) : 0;
	bool is_any = false;

	for (size_t i = 0; i < s->packs.count; i++) {
		struct ar_closed_group *p = s->packs.at[i];

		if (!p->is_open && has_mark(p, mark))
			is_any |= ar_closed_group_open(p);
	}
	return is_any;
}

void ar_closed_groups_open_all(const struct ar_session *s)
{
	for (size_t i = 0; i < s->packs.count; i++)
		ar_closed_group_open(s->packs.at[i]);
}

void ar_closed_groups_fini(struct ar_session *s)
{
	for (size_t i = 0; i < s->packs.count; i++)
		ar_arena_fini(&((struct ar_closed_group *)s->packs.at[i])->arena);
}

/* ---- reading ---- */

static struct ar_closed_group *find_group(const struct ar_session *s, int64_t number)
{
	for (size_t i = 0; i < s->packs.count; i++) {
		struct ar_closed_group *p = s->packs.at[i];

		if (p->number == number)
			return p;
	}
	return NULL;
}

bool ar_closed_group_stub_thread(struct ar_session *s, int64_t number, struct ar_thread *stub)
{
	stub->pack = find_group(s, number);
	if (stub->pack)
		ar_vec_push(&s->arena, &stub->pack->threads, stub);
	return stub->pack != NULL;
}

bool ar_closed_group_stub_subagent(struct ar_session *s, int64_t number, struct ar_subagent *stub)
{
	*stub = (struct ar_subagent){ .record = &closed,
				      .is_settled = AR_OPT_BOOL(true),
				      .pack = find_group(s, number) };
	if (stub->pack)
		ar_vec_push(&s->arena, &stub->pack->subagents, stub);
	return stub->pack != NULL;
}

bool ar_closed_groups_are_whole(struct ar_session *s)
{
	for (size_t i = 0; i < s->packs.count; i++) {
		struct ar_closed_group *p = s->packs.at[i];

		if (!ar_base64_decode(&s->arena, p->ids, &p->marks) || p->subagents.count == 0 ||
		    p->threads.count != p->subagents.count)
			return false;
	}
	return true;
}

/* ---- planning ---- */

/* One that may be packed, by its places in the lists of the session. */
struct candidate {
	size_t subagent, thread;
};

/* The threads of those turns that readers look for among all: submitted last, routed last, ended last.
 * They are not packed, so that these readers open nothing. */
struct newest {
	const struct ar_thread *submitted, *routed, *ended;
	ar_usec submitted_at, ended_at;
	int64_t start;
};

static void see_turn(struct newest *n, const struct ar_thread *t, const struct ar_turn *turn)
{
	if (!ar_turn_is_system(turn) && turn->submitted >= n->submitted_at) {
		n->submitted_at = turn->submitted;
		n->submitted = t;
	}
	if (turn->route && turn->start.v >= n->start) {
		n->start = turn->start.v;
		n->routed = t;
	}
	if (turn->ended >= n->ended_at) {
		n->ended_at = turn->ended;
		n->ended = t;
	}
}

static struct newest find_newest(const struct ar_session *s)
{
	struct newest n = { 0 };

	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];

		for (size_t k = 0; k < t->turns.count; k++)
			see_turn(&n, t, t->turns.at[k]);
	}
	return n;
}

/* Edges of tasks are kept as pointers between them (task/blocks.h). */
static bool is_settled_turn(const struct ar_turn *turn)
{
	return !ar_str_absent(turn->outcome) && ar_str_absent(turn->report_to) &&
	       (!turn->task || (turn->task->edges.count == 0 && turn->task->holds.count == 0 &&
				turn->task->held_by.count == 0));
}

static bool is_quiet(const struct ar_session *s, const struct ar_thread *t, const struct newest *n)
{
	if (t->status == AR_THREAD_STATUS_BLOCKED || t->status == AR_THREAD_STATUS_STALE ||
	    t->status == AR_THREAD_STATUS_RUNNING || ar_thread_is_at_work(s, t) || t == n->submitted ||
	    t == n->routed || t == n->ended)
		return false;
	for (size_t i = 0; i < t->turns.count; i++) {
		if (!is_settled_turn(t->turns.at[i]))
			return false;
	}
	return true;
}

static bool find_place(const struct ar_session *s, struct ar_str thread, size_t *ret)
{
	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];

		*ret = i;
		if (!t->pack && ar_str_eq(t->id, thread))
			return true;
	}
	return false;
}

static size_t find_candidates(const struct ar_session *s, struct candidate *found)
{
	struct newest newest = find_newest(s);
	size_t count = 0;

	for (size_t i = 0; i < s->subagents.count; i++) {
		const struct ar_subagent *a = s->subagents.at[i];
		size_t place;

		if (!a->pack && a->is_settled.v && ar_subagent_is_closed(a->record) &&
		    !ar_subagent_keeps_files(a->record) &&
		    find_place(s, a->record->child_thread_id, &place) &&
		    is_quiet(s, s->threads.at[place], &newest))
			found[count++] = (struct candidate){ i, place };
	}
	return count;
}

/* The content of the group takes the places of its stubs until it is written. */
static struct ar_closed_group *make_group(const struct ar_session *s, const struct candidate *of,
					  int64_t number, struct ar_arena *a)
{
	struct ar_closed_group *p = ar_arena_alloc(a, sizeof(*p));
	struct ar_buf marks = { 0 }, text = { 0 };

	p->number = number;
	for (size_t i = 0; i < AR_CLOSED_GROUP_SIZE; i++) {
		struct ar_subagent *child = s->subagents.at[of[i].subagent];
		struct ar_thread *t = s->threads.at[of[i].thread];

		ar_vec_push(a, &p->subagents, child);
		ar_vec_push(a, &p->threads, t);
		mark_subagent(&marks, child->record);
		mark_thread(&marks, t);
	}
	ar_snapshot_write_group(p, &text);
	p->ids = ar_base64(a, ar_buf_str(&marks));
	p->body = ar_base64(a, ar_compress(a, ar_buf_str(&text)));
	ar_buf_fini(&marks);
	ar_buf_fini(&text);
	return p;
}

static void put_stubs(struct ar_session *plan, const struct candidate *of, struct ar_closed_group *p,
		      struct ar_arena *a)
{
	for (size_t i = 0; i < AR_CLOSED_GROUP_SIZE; i++) {
		struct ar_thread *t = ar_arena_alloc(a, sizeof(*t));
		struct ar_subagent *child = ar_arena_alloc(a, sizeof(*child));

		t->pack = child->pack = p;
		plan->threads.at[of[i].thread] = t;
		plan->subagents.at[of[i].subagent] = child;
	}
}

struct ar_session ar_closed_groups_plan(const struct ar_session *s, struct ar_arena *a)
{
	struct ar_session plan = *s;
	struct candidate *found;
	int64_t number = 0;
	size_t count;

	plan.packs = (struct ar_vec){ 0 };
	if (s->subagents.count <= AR_CLOSED_GROUP_SIZE)
		return plan;
	found = ar_arena_alloc(a, s->subagents.count * sizeof(*found));
	count = find_candidates(s, found);
	plan.threads = ar_vec_copy(a, &s->threads);
	plan.subagents = ar_vec_copy(a, &s->subagents);
	for (size_t i = 0; i < s->packs.count; i++) {
		struct ar_closed_group *p = s->packs.at[i];

		number += p->number + 1; /* none has the sum of all */
		if (!p->is_open)
			ar_vec_push(a, &plan.packs, p);
	}
	/* Those of the newest places stay: they are shown when a session is read. */
	for (size_t i = 0; i + AR_CLOSED_GROUP_SIZE + AR_CLOSED_SPARED <= count; i += AR_CLOSED_GROUP_SIZE) {
		struct ar_closed_group *p = make_group(s, &found[i], number++, a);

		ar_vec_push(a, &plan.packs, p);
		put_stubs(&plan, &found[i], p, a);
	}
	return plan;
}
