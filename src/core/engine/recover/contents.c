/* Before recovery says what came back: whether the contents are there that open turns go on
 * from. The log has only their refs. Bounded by the window of the conversations; a few are
 * read at a time. Loop thread. */
#include "engine_priv.h"
#include "identity.h"

#define TOGETHER 32 /* contents read at once */

static void look_at_next(struct ar_live *l);

static void over(struct ar_live *l, bool is_known)
{
	l->contents.is_known = is_known;
	ar_store_op_fini(&l->contents.get.op);
	ar_live_came_back(l, true);
}

static void on_blobs(struct ar_store_op *op)
{
	struct ar_live *l = AR_CONTAINER_OF(op, struct ar_live, contents.get.op);
	struct ar_contents *c = &l->contents;

	if (op->status != AR_OK) {
		over(l, false);
		return;
	}
	for (size_t i = 0; i < c->get.count; i++) {
		if (ar_str_absent(c->get.bytes[i]))
			c->missing[c->missing_count++] = c->refs[c->at + i];
	}
	c->at += c->get.count;
	look_at_next(l);
}

static void look_at_next(struct ar_live *l)
{
	struct ar_contents *c = &l->contents;
	size_t left = c->count - c->at;

	if (left == 0) {
		over(l, true);
		return;
	}
	ar_store_op_fini(&c->get.op);
	c->get = (struct ar_store_blobs_get){ .op = { .kind = AR_STORE_BLOBS, .done = on_blobs },
					      .hashes = c->hashes + c->at,
					      .count = left < TOGETHER ? left : TOGETHER,
					      .is_check = true };
	ar_store_submit(l->engine->o.store, &c->get.op);
}

static void add(struct ar_contents *c, struct ar_str ref)
{
	struct ar_str session_key;

	if (ar_ref_parse(ref, &session_key, &c->hashes[c->count]))
		c->refs[c->count++] = ar_arena_str(&c->arena, ref);
}

void ar_contents_look(struct ar_live *l)
{
	struct ar_contents *c = &l->contents;
	size_t room = 0;

	ar_contents_fini(l);
	for (size_t i = 0; i < l->state.threads.count; i++)
		room += ((const struct ar_thread *)l->state.threads.at[i])->context.count;
	c->hashes = ar_arena_alloc(&c->arena, (room + 1) * sizeof(*c->hashes));
	c->refs = ar_arena_alloc(&c->arena, (room + 1) * sizeof(*c->refs));
	c->missing = ar_arena_alloc(&c->arena, (room + 1) * sizeof(*c->missing));
	for (size_t i = 0; i < l->state.threads.count; i++) {
		const struct ar_thread *t = l->state.threads.at[i];

		for (size_t k = 0; ar_thread_active(t) && k < t->context.count; k++)
			add(c, ((const struct ar_context_entry *)t->context.at[k])->ref);
	}
	look_at_next(l);
}

void ar_contents_fini(struct ar_live *l)
{
	ar_store_op_fini(&l->contents.get.op);
	ar_arena_fini(&l->contents.arena);
	l->contents = (struct ar_contents){ 0 };
}
