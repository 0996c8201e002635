/* The clock, the ids and the store of a simulated runtime. Time moves only between two steps of the
 * run. The store is the memory one behind the faulty one, behind a third that knows what is in
 * flight and holds some done() back, as a store with threads does: a reader may then see a fact
 * that its writer does not know to be durable yet. The linker sends some calls of the core through
 * here (see CMakeLists.txt). */
#include "sim.h"

#include <string.h>

struct sim_op {
	struct ar_list node;
	struct ar_store_op *op;
	ar_store_done_fn *done; /* the owner's */
	ar_usec back; /* done() is due; SIM_NEVER while the store works on it */
};

/* ---- time and ids ---- */

static ar_usec wall(struct ar_clock *c)
{
	return INT64_C(1767225600000000) + AR_CONTAINER_OF(c, struct sim, clock)->now;
}

static ar_usec mono(struct ar_clock *c)
{
	return AR_CONTAINER_OF(c, struct sim, clock)->now + 1;
}

void __wrap_ar_id_mint(char out[AR_SESSION_KEY_LEN]);
void __wrap_ar_id_mint(char out[AR_SESSION_KEY_LEN])
{
	uint64_t n = ++sim_current->minted, ms = (uint64_t)sim_current->now / 1000 + 1;
	uint8_t uuid[16] = { 0 };

	for (int i = 0; i < 6; i++)
		uuid[5 - i] = (uint8_t)(ms >> (8 * i));
	for (int i = 0; i < 8; i++)
		uuid[15 - i] = (uint8_t)(n >> (8 * i));
	ar_id_encode(uuid, out);
}

struct ar_str sim_core_new(struct sim *s)
{
	char *session_key = ar_arena_alloc(&s->arena, AR_SESSION_KEY_LEN);

	__wrap_ar_id_mint(session_key);
	return (struct ar_str){ session_key, AR_SESSION_KEY_LEN };
}

/* ---- law: nothing is published before it is durable ---- */

void __real_ar_follow_publish(struct ar_follow *f, struct ar_str session_key, const struct ar_fact *facts,
			      size_t count);
void __wrap_ar_follow_publish(struct ar_follow *f, struct ar_str session_key, const struct ar_fact *facts,
			      size_t count);
void __wrap_ar_follow_publish(struct ar_follow *f, struct ar_str session_key, const struct ar_fact *facts,
			      size_t count)
{
	struct sim *s = sim_current;
	const struct sim_log *log = sim_log_of(s, session_key);

	for (size_t i = 0; i < count; i++) {
		uint64_t sequence = facts[i].sequence;

		if (!log || sequence > log->count)
			sim_fail(s, "fact %llu of %.*s is published and not stored",
				 (unsigned long long)sequence, AR_STR_ARG(session_key));
		if (!ar_str_eq(log->facts[sequence - 1].json, facts[i].json))
			sim_fail(s, "fact %llu of %.*s is published otherwise than stored",
				 (unsigned long long)sequence, AR_STR_ARG(session_key));
	}
	__real_ar_follow_publish(f, session_key, facts, count);
}

/* ---- the store ---- */

static struct sim *sim_of(struct ar_store *st)
{
	return AR_CONTAINER_OF(st, struct sim, store.store);
}

static struct sim_op *find(struct sim *s, const struct ar_store_op *op)
{
	AR_LIST_FOR (it, &s->store.flight) {
		struct sim_op *f = AR_CONTAINER_OF(it, struct sim_op, node);

		if (f->op == op)
			return f;
	}
	sim_fail(s, "the store finished an operation that it was not given");
}

static void finish(struct sim_op *f)
{
	struct ar_store_op *op = f->op;

	ar_list_del(&f->node);
	op->done = f->done;
	ar_free(f);
	op->done(op);
}

static void came_back(struct ar_store_op *op)
{
	struct sim *s = sim_current;
	struct sim_op *f = find(s, op);

	if (op->kind != AR_STORE_APPEND || !sim_chance(s, s->plan.hold_permille)) {
		finish(f);
		return;
	}
	f->back = s->now + (ar_usec)sim_below(s, 20 * SIM_MS);
}

static void store_submit(struct ar_store *st, struct ar_store_op *op)
{
	struct sim *s = sim_of(st);
	struct sim_op *f = ar_new0(sizeof(*f));

	*f = (struct sim_op){ .op = op, .done = op->done, .back = SIM_NEVER };
	ar_list_push(&s->store.flight, &f->node);
	if (s->store.is_dead)
		return;
	op->done = came_back;
	ar_store_submit(s->store.faulty, op);
	sim_actor_by(&s->store.actor, s->now + (ar_usec)sim_below(s, 2 * SIM_MS));
}

static void deliver_held(struct sim *s)
{
	AR_LIST_FOR_SAFE (it, &s->store.flight) {
		struct sim_op *f = AR_CONTAINER_OF(it, struct sim_op, node);

		if (f->back > s->now)
			continue;
		finish(f); /* may change the list: the rest is for the next step */
		return;
	}
}

static void store_step(struct sim *s, struct sim_actor *a)
{
	ar_store_poll(s->store.faulty);
	deliver_held(s);
	if (!ar_list_empty(&s->store.flight))
		sim_actor_by(a, s->now + (ar_usec)sim_below(s, 3 * SIM_MS) + 1);
}

static void store_poll(struct ar_store *st AR_UNUSED)
{
}

/* What is in flight ends first, as the port says. */
static void store_close(struct ar_store *st)
{
	struct sim *s = sim_of(st);

	while (!ar_list_empty(&s->store.flight)) {
		s->now += 20 * SIM_MS;
		ar_store_poll(s->store.faulty);
		deliver_held(s);
	}
	ar_store_close(s->store.faulty);
}

static const struct ar_store_vtable store_vtable = { .submit = store_submit,
						     .poll = store_poll,
						     .close = store_close };

static void mirror(struct sim *s)
{
	s->store.store.epoch = s->store.faulty->epoch;
	memcpy(s->store.store.runtime_id, s->store.faulty->runtime_id, sizeof(s->store.store.runtime_id));
}

void sim_ports_open(struct sim *s)
{
	s->clock = (struct ar_clock){ wall, mono };
	ar_list_init(&s->store.flight);
	ar_store_memory_open(NULL, NULL, &s->store.memory);
	ar_store_faulty_new(s->store.memory, &s->plan.store, &s->store.faulty);
	s->store.store.v = &store_vtable;
	mirror(s);
	sim_actor_start(s, &s->store.actor, SIM_NEVER, store_step);
}

/* Chunks are sorted by step and position; a hole ends what can be used. */
static void note_session(struct sim *s, const struct ar_memory_session *ms)
{
	for (size_t i = 0; i < ms->chunk_count; i++) {
		const struct ar_store_chunk_row *row = &ms->chunks[i];
		struct sim_saved *saved = ar_map_get(&s->saved, row->step);

		if (!saved) {
			saved = ar_arena_alloc(&s->arena, sizeof(*saved));
			saved->step = sim_keep(s, row->step);
			ar_map_put(&s->saved, saved->step, saved);
		}
		if (row->pos <= saved->len && row->pos + row->bytes.len > saved->len)
			saved->len = row->pos + row->bytes.len;
	}
}

void sim_note_saved(struct sim *s)
{
	const struct ar_memory_session *ms;

	for (size_t i = 0; (ms = ar_map_next(&sim_memory(s)->sessions, &i));)
		note_session(s, ms);
}

void sim_store_crash(struct sim *s)
{
	ar_store_faulty_crash(s->store.faulty, sim_random(s));
	sim_note_saved(s);
	s->store.is_dead = true;
	while (!ar_list_empty(&s->store.flight)) {
		struct sim_op *f = AR_CONTAINER_OF(s->store.flight.next, struct sim_op, node);

		f->op->status = ar_fail(&f->op->err, AR_E_IO, "the process is gone");
		finish(f);
	}
	s->store.is_dead = false;
	s->store.actor.at = SIM_NEVER;
	mirror(s);
}

struct ar_memory *sim_memory(const struct sim *s)
{
	return AR_CONTAINER_OF(s->store.memory, struct ar_memory, store);
}
