/* Fault injection in front of another store: operations are held back for some polls, overtake those of
 * other sessions, or fail unwritten. Everything is decided on the way in, from the seed; what has reached
 * the inner store is left alone, so an append that was committed never reports AR_E_IO. Single-threaded,
 * like the store inside. */
#include "mem.h"
#include "store_open.h"
#include "store_op.h"

#include <string.h>

struct held {
	struct ar_list node;
	struct ar_store_op *op;
	uint64_t due; /* the poll that lets it go */
	bool fails;
};

struct faulty {
	struct ar_store store;
	struct ar_store *inner;
	struct ar_store_fault_plan plan;
	uint64_t random;
	uint64_t polls;
	uint64_t writes;
	struct ar_list waiting; /* struct held, by due, then in the order of submission */
	struct ar_store_op *failing; /* released by this poll, to fail at its end */
};

static struct faulty *faulty_of(struct ar_store *s)
{
	return AR_CONTAINER_OF(s, struct faulty, store);
}

static struct held *held_of(struct ar_list *node)
{
	return AR_CONTAINER_OF(node, struct held, node);
}

static void wake_up(const struct faulty *f)
{
	if (f->plan.wake)
		f->plan.wake(f->plan.wake_arg);
}

static bool decide_failure(struct faulty *f, const struct ar_store_op *op)
{
	bool by_chance;

	if (!ar_store_op_is_write(op))
		return false;
	f->writes++;
	by_chance = f->plan.fail_permille && ar_store_random(&f->random) % 1000 < f->plan.fail_permille;
	return by_chance || f->writes == f->plan.fail_nth;
}

/* Not before anything it must stay behind: its own session, or everything when nothing may overtake. */
static uint64_t decide_due(struct faulty *f, const struct ar_store_op *op)
{
	uint64_t due = f->polls + 1;
	struct ar_str session = ar_store_op_session(op);

	if (f->plan.delay_polls)
		due += ar_store_random(&f->random) % (f->plan.delay_polls + UINT64_C(1));
	AR_LIST_FOR (it, &f->waiting) {
		const struct held *h = held_of(it);
		bool is_tied =
			!f->plan.reorder || (session.p && ar_str_eq(ar_store_op_session(h->op), session));

		if (is_tied && h->due > due)
			due = h->due;
	}
	return due;
}

static void insert_by_due(struct faulty *f, struct held *h)
{
	struct ar_list *at = f->waiting.prev;

	while (at != &f->waiting && held_of(at)->due > h->due)
		at = at->prev;
	ar_list_push(at->next, &h->node); /* before the one after it */
}

static void faulty_submit(struct ar_store *s, struct ar_store_op *op)
{
	struct faulty *f = faulty_of(s);
	bool first = ar_list_empty(&f->waiting);
	struct held *h = ar_new0(sizeof *h);

	h->op = op;
	h->fails = decide_failure(f, op);
	h->due = decide_due(f, op);
	insert_by_due(f, h);
	if (first)
		wake_up(f);
}

/* Lets go what is due. Ends behind the first that fails: what follows must not finish before it. */
static void release_due(struct faulty *f)
{
	while (!f->failing && !ar_list_empty(&f->waiting) && held_of(f->waiting.next)->due <= f->polls) {
		struct held *h = held_of(ar_list_pop(&f->waiting));

		if (h->fails)
			f->failing = h->op;
		else
			ar_store_submit(f->inner, h->op);
		ar_free(h);
	}
}

static void fail_released(struct faulty *f)
{
	struct ar_store_op *op = f->failing;

	if (!op)
		return;
	f->failing = NULL;
	op->err = (struct ar_error){ 0 };
	op->status = ar_fail(&op->err, AR_E_IO, "store: the write failed (fault injected)");
	op->done(op);
}

static void faulty_poll(struct ar_store *s)
{
	struct faulty *f = faulty_of(s);

	f->polls++;
	release_due(f);
	ar_store_poll(f->inner);
	fail_released(f); /* unless a done() crashed the store */
	if (!ar_list_empty(&f->waiting))
		wake_up(f);
}

static void faulty_close(struct ar_store *s)
{
	struct faulty *f = faulty_of(s);

	f->plan.wake = NULL;
	while (!ar_list_empty(&f->waiting))
		faulty_poll(s);
	ar_store_close(f->inner);
	ar_free(f);
}

static const struct ar_store_vtable faulty_vtable = {
	.submit = faulty_submit,
	.poll = faulty_poll,
	.close = faulty_close,
};

static void mirror(struct faulty *f)
{
	f->store.epoch = f->inner->epoch;
	memcpy(f->store.runtime_id, f->inner->runtime_id, sizeof f->store.runtime_id);
}

void ar_store_faulty_new(struct ar_store *inner, const struct ar_store_fault_plan *plan,
			 struct ar_store **ret)
{
	struct faulty *f = ar_new0(sizeof *f);

	f->store.v = &faulty_vtable;
	f->inner = inner;
	f->plan = *plan;
	f->random = plan->seed;
	ar_list_init(&f->waiting);
	mirror(f);
	*ret = &f->store;
}

void ar_store_faulty_crash(struct ar_store *s, uint64_t seed)
{
	struct faulty *f = faulty_of(s);
	struct ar_list *node;

	while ((node = ar_list_pop(&f->waiting)))
		ar_free(held_of(node));
	f->failing = NULL;
	ar_store_memory_crash(f->inner, seed);
	mirror(f);
}
