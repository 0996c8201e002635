/* See access.h: what it consists of, and its clockwork. */
#include "access_priv.h"
#include "mem.h"

#include <stdlib.h>

#define SWEEP_EVERY ((ar_usec)60 * 1000000)

static void on_loaded(struct ar_token_book *b)
{
	struct ar_access *a = AR_CONTAINER_OF(b, struct ar_access, book);

	ar_access_ask_again(a);
	ar_access_change_again(a);
}

struct ar_access *ar_access_new(const struct ar_access_options *o)
{
	struct ar_access *a = ar_new0(sizeof(*a));

	a->auth.v = &ar_access_auth_vtable;
	a->o = *o;
	ar_book_init(&a->book, o->store, o->clock, o->is_shared);
	a->book.on_loaded = on_loaded;
	ar_gauges_init(&a->by_token, "token", &o->token_limit);
	ar_gauges_init(&a->by_tenant, "tenant", &o->tenant_limit);
	ar_refusals_init(&a->refusals, o->audit, o->audit_arg);
	ar_list_init(&a->asking);
	ar_list_init(&a->changing);
	a->next_sweep = ar_access_mono(a) + SWEEP_EVERY;
	ar_book_refresh(&a->book);
	return a;
}

void ar_access_free(struct ar_access *a)
{
	if (!a)
		return;
	a->refusals.tell = NULL; /* there is no store any more that would take a fact */
	ar_refusals_fini(&a->refusals);
	ar_gauges_fini(&a->by_token);
	ar_gauges_fini(&a->by_tenant);
	ar_book_fini(&a->book);
	ar_free(a);
}

struct ar_auth *ar_access_auth(struct ar_access *a)
{
	return &a->auth;
}

bool ar_access_is_ready(const struct ar_access *a)
{
	return a->book.is_loaded;
}

ar_usec ar_access_now(const struct ar_access *a)
{
	return ar_access_wall(a);
}

static bool wants_look(const struct ar_access *a)
{
	return !a->book.is_loading && (a->o.is_shared || !a->book.is_loaded);
}

static ar_usec earlier(ar_usec a, ar_usec b)
{
	return !b || (a && a < b) ? a : b;
}

ar_usec ar_access_deadline(const struct ar_access *a)
{
	ar_usec due = earlier(a->next_sweep, a->refusals.next);

	return wants_look(a) ? earlier(due, a->book.next) : due;
}

void ar_access_tick(struct ar_access *a)
{
	ar_usec now = ar_access_mono(a);

	if (wants_look(a) && now >= a->book.next)
		ar_book_refresh(&a->book);
	if (a->refusals.next && now >= a->refusals.next)
		ar_refusals_tick(&a->refusals, now);
	if (now < a->next_sweep)
		return;
	a->next_sweep = now + SWEEP_EVERY;
	ar_gauges_sweep(&a->by_token, now);
	ar_gauges_sweep(&a->by_tenant, now);
	if (a->o.keep)
		ar_book_prune(&a->book, ar_access_wall(a) - a->o.keep);
}

/* ---- the list ---- */

static int by_id(const void *x, const void *y)
{
	const struct ar_token *const *a = x, *const *b = y;

	return ar_str_cmp(ar_str_from((*a)->id), ar_str_from((*b)->id));
}

static bool is_listed(const struct ar_access *a, const struct ar_token_query *q, const struct ar_token *t)
{
	struct ar_str tenant = q->tenant;

	if (!ar_principal_is_operator(q->who))
		tenant = q->who->tenant;
	if (!ar_str_absent(tenant) && !ar_str_is(tenant, t->tenant))
		return false;
	if (!ar_str_absent(q->after) && ar_str_cmp(ar_str_from(t->id), q->after) <= 0)
		return false;
	return q->with_dead || ar_token_is_live(t, ar_access_wall(a));
}

size_t ar_access_list(const struct ar_access *a, const struct ar_token_query *q, const struct ar_token **ret,
		      size_t limit)
{
	const struct ar_token **all = ar_grow(NULL, a->book.tokens.count + 1, sizeof(*all)), *t;
	size_t count = 0;

	for (size_t i = 0; (t = ar_map_next(&a->book.tokens, &i));) {
		if (is_listed(a, q, t))
			all[count++] = t;
	}
	qsort(all, count, sizeof(*all), by_id);
	if (count > limit)
		count = limit;
	for (size_t i = 0; i < count; i++)
		ret[i] = all[i];
	ar_free(all);
	return count;
}
