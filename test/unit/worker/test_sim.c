/* Random runs: calls and processes on a worker while links are cut, messages are held, both ends restart and
 * time passes. In every run a call begins at most once and ends exactly once, never as not run when it began;
 * a process is let go at most once, and its output is exact.
 *
 *   AR_SIM_SEEDS=n  how many runs (200)
 *   AR_SIM_SEED=n   this one alone */
#include "rig.h"

#include "mem.h"
#include "serve_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALLS_MAX 64
#define PROCS_MAX 8
#define STEPS 400

/* A process as the daemon's log knows it. */
struct tracked {
	struct probe_process probe;
	char handle[128];
	bool is_held; /* the daemon's side has it */
	bool is_over; /* its end is on record */
	bool has_gone; /* on record: it may run */
	bool is_let_go; /* by this life of the daemon */
	uint64_t written; /* inputs that were taken */
};

struct world {
	struct rig *r;
	uint64_t seed, random;
	struct probe_call calls[CALLS_MAX];
	char ids[CALLS_MAX][24];
	size_t call_count;
	struct tracked procs[PROCS_MAX];
	size_t proc_count;
};

static uint64_t next_random(struct world *w)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random;
}

static size_t below(struct world *w, size_t n)
{
	return (size_t)(next_random(w) % n);
}

static void fail_seed(const struct world *w, const char *what, int line)
{
	fail_msg("seed %llu: %s (line %d)", (unsigned long long)w->seed, what, line);
}

#define HOLDS(w, condition) ((condition) ? (void)0 : fail_seed(w, #condition, __LINE__))

/* ---- what must hold, always ---- */

static void check_calls(struct world *w)
{
	for (size_t i = 0; i < w->call_count; i++) {
		size_t begins = fake_begins(&w->r->there, w->ids[i]);

		HOLDS(w, begins <= 1);
		HOLDS(w, w->calls[i].done <= 1);
		if (w->calls[i].done && w->calls[i].outcome == AR_TOOL_NOT_RUN)
			HOLDS(w, begins == 0);
		if (w->calls[i].done && w->calls[i].outcome == AR_TOOL_OK)
			HOLDS(w, begins == 1);
	}
}

static struct fake_proc *there_of(struct world *w, const struct tracked *t)
{
	const char *local = strchr(t->handle, '/');

	AR_LIST_FOR (it, &w->r->there.procs) {
		struct fake_proc *p = AR_CONTAINER_OF(it, struct fake_proc, node);

		if (local && strcmp(p->handle, local + 1) == 0)
			return p;
	}
	return NULL;
}

static void check_output(struct world *w, const struct tracked *t, bool is_complete)
{
	const struct fake_proc *p = there_of(w, t);

	if (!p)
		return;
	HOLDS(w, p->goes <= 1);
	for (int i = AR_PROC_STDOUT; i <= AR_PROC_TTY; i++) {
		const struct ar_buf *out = &t->probe.out[i];

		HOLDS(w, out->len <= p->journal[i].len);
		HOLDS(w, out->len == 0 || memcmp(out->p, p->journal[i].p, out->len) == 0);
		HOLDS(w, !is_complete || out->len == p->journal[i].len);
	}
	HOLDS(w, !is_complete || t->probe.reports == p->reports);
}

static void check_all(struct world *w)
{
	check_calls(w);
	for (size_t i = 0; i < w->proc_count; i++) {
		const struct tracked *t = &w->procs[i];

		HOLDS(w, t->probe.ended <= 1);
		if (t->is_held)
			check_output(w, t, t->probe.ended && t->probe.end.outcome == AR_PROC_EXITED);
	}
}

/* A process that no owner knows never ran: nobody could have let it go. */
static void check_strangers(struct world *w)
{
	size_t released = 0, gone = 0;

	AR_LIST_FOR (it, &w->r->there.procs)
		released += AR_CONTAINER_OF(it, struct fake_proc, node)->is_released;
	for (size_t i = 0; i < w->proc_count; i++)
		gone += w->procs[i].has_gone;
	HOLDS(w, released <= gone);
}

/* ---- the daemon's side: as the engine does it ---- */

static struct ar_process_host *front(struct world *w)
{
	return ar_worker_set_ports(w->r->set)->processes;
}

static void follow_process(struct world *w, struct tracked *t)
{
	if (!t->is_held)
		return;
	if (t->probe.ended) {
		t->is_held = false;
		t->is_over = true;
	} else if ((t->probe.ready || t->probe.attached) && !t->is_let_go) {
		if (t->probe.handle[0])
			snprintf(t->handle, sizeof(t->handle), "%s", t->probe.handle);
		t->has_gone = t->is_let_go = true;
		front(w)->v->go(front(w), &t->probe.port);
	}
}

static void start_something(struct world *w)
{
	if (below(w, 3) > 0 && w->call_count < CALLS_MAX) {
		size_t i = w->call_count++;

		snprintf(w->ids[i], sizeof(w->ids[i]), "call_%zu", i);
		probe_start(w->r, &w->calls[i], w->ids[i], below(w, 2) ? "look" : "change");
	} else if (w->proc_count < PROCS_MAX) {
		struct tracked *t = &w->procs[w->proc_count++];

		t->is_held = true;
		probe_launch(w->r, &t->probe);
	}
}

static void cancel_something(struct world *w)
{
	size_t i = w->call_count ? below(w, w->call_count) : 0;

	if (w->call_count && !w->calls[i].done)
		probe_cancel(w->r, &w->calls[i]);
}

/* What the engine keeps is what was durable: processes that had gone are found again. */
static void restart_daemon(struct world *w)
{
	for (size_t i = 0; i < w->proc_count; i++) {
		struct tracked *t = &w->procs[i];

		follow_process(w, t);
		if (t->is_held)
			front(w)->v->leave(front(w), &t->probe.port);
	}
	rig_restart_daemon(w->r);
	for (size_t i = 0; i < w->proc_count; i++) {
		struct tracked *t = &w->procs[i];

		if (!t->is_held)
			continue;
		probe_process_fini(&t->probe);
		t->probe = (struct probe_process){ 0 };
		t->is_let_go = false;
		t->is_held = t->has_gone;
		t->is_over = !t->has_gone;
		if (t->is_held)
			probe_attach(w->r, &t->probe, t->handle);
	}
}

/* ---- the worker's side ---- */

/* More than a link that is held may keep. */
static void write_much(struct world *w, struct fake_proc *p)
{
	struct ar_buf text = { 0 };

	while (text.len < 1500000)
		ar_buf_addf(&text, "%llu ", (unsigned long long)next_random(w));
	fake_write(p, AR_PROC_STDOUT, ar_buf_str(&text));
	ar_buf_fini(&text);
}

static void work(struct world *w)
{
	size_t count = 0;

	AR_LIST_FOR (it, &w->r->there.procs)
		count++;
	if (count == 0 || below(w, 3) == 0) {
		fake_finish_first(&w->r->there);
		return;
	}
	struct fake_proc *p = fake_proc_at(&w->r->there, below(w, count));
	char text[32];

	if (!p->is_released || p->has_ended)
		return;
	snprintf(text, sizeof(text), "<%llu>", (unsigned long long)(next_random(w) % 100000));
	switch (below(w, 12)) {
	case 0:
		fake_end(p);
		break;
	case 1:
		fake_gap(p);
		break;
	case 2:
		fake_report(p);
		break;
	case 3:
		if (below(w, 4) == 0)
			write_much(w, p);
		break;
	default:
		fake_write(p, below(w, 2) ? AR_PROC_STDOUT : AR_PROC_STDERR, ar_str_from(text));
	}
}

/* ---- one run ---- */

static void deliver_some(struct world *w)
{
	for (size_t n = below(w, 6); n > 0 && w->r->pair; n--)
		(void)wire_deliver(below(w, 2) ? &w->r->pair->daemon : &w->r->pair->worker);
}

static void step(struct world *w)
{
	struct rig *r = w->r;
	size_t what = below(w, 100);

	if (what < 20)
		start_something(w);
	else if (what < 24)
		cancel_something(w);
	else if (what < 50)
		work(w);
	else if (what < 80)
		deliver_some(w);
	else if (what < 88)
		rig_skip(r, (int64_t)below(w, 6000));
	else if (what < 90)
		rig_skip(r, (int64_t)below(w, 50000));
	else if (what < 93)
		rig_cut(r);
	else if (what < 97)
		rig_connect(r);
	else if (what < 98)
		rig_restart_worker(r);
	else if (what < 99)
		restart_daemon(w);
	rig_turn(r);
	for (size_t n = below(w, 4); n > 0; n--)
		(void)fake_step(&r->there);
	for (size_t i = 0; i < w->proc_count; i++)
		follow_process(w, &w->procs[i]);
	check_all(w);
}

/* Everything works again: all that is open comes to an end. */
static void heal(struct world *w)
{
	struct rig *r = w->r;

	rig_connect(r);
	for (int i = 0; i < 40; i++) {
		rig_run(r);
		for (size_t n = 0; n < w->proc_count; n++)
			follow_process(w, &w->procs[n]);
		while (!ar_list_empty(&r->there.calls))
			fake_finish_first(&r->there);
		AR_LIST_FOR (it, &r->there.procs) {
			struct fake_proc *p = AR_CONTAINER_OF(it, struct fake_proc, node);

			if (p->is_released && !p->has_ended)
				fake_end(p);
		}
		rig_skip(r, 1000);
		check_all(w);
	}
}

static void check_end(struct world *w)
{
	for (size_t i = 0; i < w->call_count; i++)
		HOLDS(w, w->calls[i].done == 1);
	for (size_t i = 0; i < w->proc_count; i++) {
		const struct tracked *t = &w->procs[i];

		HOLDS(w, t->is_over);
		if (t->has_gone)
			HOLDS(w, t->probe.end.outcome == AR_PROC_EXITED);
		if (t->has_gone)
			check_output(w, t, true);
	}
	check_strangers(w);
	HOLDS(w, ar_worker_serve_open_calls(w->r->serve) == 0);
	HOLDS(w, rig_status(w->r).open_calls == 0);
	HOLDS(w, rig_status(w->r).state == AR_WORKER_CONNECTED);
}

static void run_seed(uint64_t seed)
{
	struct world *w = ar_new0(sizeof(*w));
	void *state;

	rig_open(&state);
	w->r = state;
	w->seed = seed;
	w->random = seed * 0x9E3779B97F4A7C15u + 1;
	rig_connect(w->r);
	for (int i = 0; i < STEPS; i++)
		step(w);
	heal(w);
	check_end(w);
	for (size_t i = 0; i < w->proc_count; i++)
		probe_process_fini(&w->procs[i].probe);
	rig_close(&state);
	ar_free(w);
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static void random_runs(void **state AR_UNUSED)
{
	uint64_t count = number_of("AR_SIM_SEEDS", 200);

	if (getenv("AR_SIM_SEED")) {
		run_seed(number_of("AR_SIM_SEED", 1));
		return;
	}
	for (uint64_t seed = 1; seed <= count; seed++)
		run_seed(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(random_runs) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
