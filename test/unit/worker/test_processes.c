/* Processes over a link: their output is exact, whatever happens to the link, the worker or the daemon. */
#include "rig.h"

#include "mem.h"

#include <stdio.h>
#include <string.h>

static struct rig *connected(void **state)
{
	struct rig *r = *state;

	rig_connect(r);
	rig_run(r);
	return r;
}

static struct ar_process_host *host_of(struct rig *r)
{
	return ar_worker_set_ports(r->set)->processes;
}

static void let_go(struct rig *r, struct probe_process *p)
{
	host_of(r)->v->go(host_of(r), &p->port);
}

static void assert_out(const struct probe_process *p, const struct fake_proc *there)
{
	for (int i = AR_PROC_STDOUT; i <= AR_PROC_TTY; i++) {
		assert_int_equal(p->out[i].len, there->journal[i].len);
		if (p->out[i].len > 0)
			assert_memory_equal(p->out[i].p, there->journal[i].p, p->out[i].len);
	}
	assert_int_equal(p->reports, there->reports);
}

static struct fake_proc *started(struct rig *r, struct probe_process *p)
{
	probe_launch(r, p);
	rig_run(r);
	assert_int_equal(p->ready, 1);
	let_go(r, p);
	rig_run(r);
	return fake_proc_at(&r->there, 0);
}

static void a_process_runs_on_its_worker(void **state)
{
	struct rig *r = connected(state);
	struct probe_process p;
	struct fake_proc *there = started(r, &p);

	assert_string_equal(p.handle, "wk_0123456789abcdefghijklmnop/shim/1");
	assert_int_equal(there->goes, 1);
	assert_int_equal(rig_status(r).open_calls, 1);
	fake_write(there, AR_PROC_STDOUT, AR_STR("out"));
	fake_write(there, AR_PROC_STDERR, AR_STR("err"));
	fake_report(there);
	host_of(r)->v->write(host_of(r), &p.port, 1, AR_STR("in"), false);
	rig_run(r);
	assert_int_equal(p.written, 1);
	assert_string_equal(there->input, "in");
	fake_end(there);
	rig_run(r);
	assert_int_equal(p.ended, 1);
	assert_int_equal(p.end.outcome, AR_PROC_EXITED);
	assert_int_equal(p.attached, 0);
	assert_out(&p, there);
	host_of(r)->v->forget(host_of(r), ar_str_from(p.handle));
	rig_run(r);
	assert_int_equal(r->there.forgotten, 1);
	assert_int_equal(r->here.forgotten, 0);
	probe_process_fini(&p);
}

static void output_continues_at_the_next_byte(void **state)
{
	struct rig *r = connected(state);
	struct probe_process p;
	struct fake_proc *there = started(r, &p);

	for (int i = 0; i < 6; i++) {
		fake_write(there, AR_PROC_STDOUT, AR_STR("some output "));
		fake_write(there, AR_PROC_STDERR, AR_STR("trouble"));
		fake_report(there);
		if (i == 2)
			fake_gap(there);
		r->holds_messages = i % 2;
		rig_run(r);
		fake_write(there, AR_PROC_STDOUT, AR_STR("|"));
		(void)fake_step(&r->there);
		(void)wire_deliver(&r->pair->worker);
		r->holds_messages = false;
		rig_cut(r);
		fake_write(there, AR_PROC_STDOUT, AR_STR("while away "));
		rig_connect(r);
		rig_run(r);
		assert_out(&p, there);
	}
	assert_int_equal(p.skipped, 10);
	fake_end(there);
	rig_run(r);
	assert_int_equal(p.ended, 1);
	assert_out(&p, there);
	probe_process_fini(&p);
}

/* The link takes nothing while a process writes a lot: what waits is limited, and nothing is missing. */
static void a_slow_link_holds_the_process_not_its_output(void **state)
{
	struct rig *r = connected(state);
	struct probe_process p;
	struct fake_proc *there = started(r, &p);
	struct ar_buf text = { 0 };

	for (size_t i = 0; i < 12 << 20; i++)
		ar_buf_addc(&text, (char)('a' + i % 23));
	fake_write(there, AR_PROC_STDOUT, ar_buf_str(&text));
	fake_report(there);
	fake_end(there);
	r->holds_messages = true;
	while (fake_step(&r->there)) /* all in one turn of the loop, its end too */
		;
	rig_run(r);
	assert_true(r->pair->worker.bytes < 4 << 20);
	assert_null(there->owner); /* left to its supervisor */
	r->holds_messages = false;
	rig_run(r);
	assert_int_equal(p.ended, 1);
	assert_out(&p, there);
	assert_int_equal(r->parted, 0);
	ar_buf_fini(&text);
	probe_process_fini(&p);
}

static void a_worker_that_restarts_finds_its_processes(void **state)
{
	struct rig *r = connected(state);
	struct probe_process p;
	struct fake_proc *there = started(r, &p);

	fake_write(there, AR_PROC_STDOUT, AR_STR("before "));
	rig_run(r);
	rig_restart_worker(r);
	fake_write(there, AR_PROC_STDOUT, AR_STR("between "));
	rig_skip(r, LOST_MS);
	rig_run(r);
	assert_int_equal(rig_status(r).state, AR_WORKER_LOST);
	assert_int_equal(p.ended, 0); /* nobody knows that it has */
	rig_connect(r);
	fake_write(there, AR_PROC_STDOUT, AR_STR("after"));
	fake_end(there);
	rig_run(r);
	assert_int_equal(p.ended, 1);
	assert_int_equal(p.attached, 0);
	assert_out(&p, there);
	assert_int_equal(there->goes, 1);
	probe_process_fini(&p);
}

static void a_daemon_that_restarts_gets_all_output_again(void **state)
{
	struct rig *r = connected(state);
	struct probe_process p, again;
	struct fake_proc *there = started(r, &p);
	char handle[128];

	fake_write(there, AR_PROC_STDOUT, AR_STR("before "));
	fake_report(there);
	rig_run(r);
	snprintf(handle, sizeof(handle), "%s", p.handle);
	probe_leave(r, &p);
	rig_restart_daemon(r);
	fake_write(there, AR_PROC_STDOUT, AR_STR("between "));
	probe_attach(r, &again, handle); /* the worker is not there yet */
	rig_run(r);
	assert_int_equal(again.attached + again.ended, 0);
	assert_int_equal(rig_status(r).state, AR_WORKER_STALE);
	rig_connect(r);
	rig_run(r);
	assert_int_equal(again.attached, 1);
	assert_out(&again, there);
	rig_cut(r);
	rig_connect(r);
	fake_end(there);
	rig_run(r);
	assert_int_equal(again.attached, 1);
	assert_int_equal(again.ended, 1);
	assert_out(&again, there);
	probe_process_fini(&again);
}

static size_t count_released(struct rig *r)
{
	size_t count = 0;

	AR_LIST_FOR (it, &r->there.procs)
		count += AR_CONTAINER_OF(it, struct fake_proc, node)->is_released;
	return count;
}

/* It may be launched twice; it is let go once. */
static void a_cut_while_it_starts_runs_it_once(void **state)
{
	struct rig *r = *state;

	for (size_t i = 0; i < 6; i++) {
		size_t released = count_released(r);
		struct probe_process p;

		rig_connect(r);
		rig_run(r);
		probe_launch(r, &p);
		for (size_t n = 0; n < i; n++) {
			rig_turn(r);
			(void)fake_step(&r->there);
			(void)(wire_deliver(&r->pair->daemon) || wire_deliver(&r->pair->worker));
			if (p.ready && n + 1 < i)
				let_go(r, &p);
		}
		rig_connect(r);
		rig_run(r);
		assert_int_equal(p.ready, 1);
		let_go(r, &p);
		rig_run(r);
		assert_int_equal(count_released(r), released + 1);
		host_of(r)->v->end(host_of(r), &p.port, AR_STR("user"), AR_STR("over"), 0);
		rig_run(r);
		assert_int_equal(p.ended, 1);
		assert_int_equal(p.end.outcome, AR_PROC_EXITED);
		probe_process_fini(&p);
	}
}

static void one_that_was_not_ready_did_not_run(void **state)
{
	struct rig *r = connected(state);
	struct probe_process lost, ended, away;

	r->holds_messages = true;
	probe_launch(r, &lost);
	probe_launch(r, &ended);
	rig_turn(r);
	rig_cut(r);
	host_of(r)->v->end(host_of(r), &ended.port, AR_STR("user"), AR_STR("no"), 0);
	rig_turn(r);
	assert_int_equal(ended.end.outcome, AR_PROC_NOT_STARTED);
	rig_skip(r, LOST_MS);
	rig_turn(r);
	assert_int_equal(lost.end.outcome, AR_PROC_NOT_STARTED);
	probe_launch(r, &away);
	rig_turn(r);
	assert_int_equal(away.end.outcome, AR_PROC_NOT_STARTED);
	assert_int_equal(r->there.launched, 0);
}

static void what_is_asked_for_without_a_link_is_done_with_the_next(void **state)
{
	struct rig *r = connected(state);
	struct probe_process p;
	struct fake_proc *there;

	probe_launch(r, &p);
	rig_run(r);
	there = fake_proc_at(&r->there, 0);
	rig_cut(r);
	let_go(r, &p);
	host_of(r)->v->write(host_of(r), &p.port, 1, AR_STR("in"), false);
	assert_int_equal(p.busy, 0);
	rig_run(r);
	assert_int_equal(p.busy, 1); /* its owner tries again */
	rig_connect(r);
	rig_run(r);
	assert_true(there->is_released);
	host_of(r)->v->write(host_of(r), &p.port, 1, AR_STR("in"), false);
	r->holds_messages = true;
	rig_run(r);
	r->holds_messages = false;
	rig_turn(r);
	while (wire_deliver(&r->pair->daemon))
		;
	rig_cut(r); /* it was written, and nobody heard of it */
	rig_run(r);
	assert_int_equal(p.busy, 2);
	rig_connect(r);
	rig_run(r);
	host_of(r)->v->write(host_of(r), &p.port, 1, AR_STR("in"), false);
	rig_run(r);
	assert_int_equal(p.written, 1);
	assert_string_equal(there->input, "in");
	rig_cut(r);
	host_of(r)->v->end(host_of(r), &p.port, AR_STR("user"), AR_STR("over"), 0);
	rig_run(r);
	assert_int_equal(p.ended, 0);
	rig_connect(r);
	rig_run(r);
	assert_true(there->is_asked_to_end);
	assert_int_equal(p.ended, 1);
	probe_process_fini(&p);
}

static void one_of_a_removed_worker_is_unavailable(void **state)
{
	struct rig *r = connected(state);
	struct probe_process p, later;

	(void)started(r, &p);
	ar_worker_set_drop(r->set, WORKER);
	rig_run(r);
	assert_int_equal(p.ended, 1);
	assert_int_equal(p.end.outcome, AR_PROC_UNAVAILABLE);
	probe_attach(r, &later, "wk_0123456789abcdefghijklmnop/shim/1");
	rig_run(r);
	assert_int_equal(later.end.outcome, AR_PROC_UNAVAILABLE);
	probe_process_fini(&p);
}

static void local_ones_stay_local(void **state)
{
	struct rig *r = connected(state);
	struct probe_process p;
	struct fake_proc *here;

	probe_launch(r, &p);
	probe_leave(r, &p);
	p = (struct probe_process){ .port = p.port };
	host_of(r)->v->launch(host_of(r), &p.port,
			      &(struct ar_process_spec){
				      .argv = &WORKER, .argc = 1, .profile = AR_SANDBOX_READ_ONLY });
	rig_run(r);
	here = fake_proc_at(&r->here, 0);
	assert_string_equal(p.handle, "shim/1");
	let_go(r, &p);
	fake_write(here, AR_PROC_STDOUT, AR_STR("x"));
	host_of(r)->v->end(host_of(r), &p.port, AR_STR("user"), AR_STR("over"), 0);
	rig_run(r);
	assert_int_equal(p.ended, 1);
	assert_int_equal(p.out[AR_PROC_STDOUT].len, 1);
	probe_process_fini(&p);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_process_runs_on_its_worker),
		TEST(output_continues_at_the_next_byte),
		TEST(a_slow_link_holds_the_process_not_its_output),
		TEST(a_worker_that_restarts_finds_its_processes),
		TEST(a_daemon_that_restarts_gets_all_output_again),
		TEST(a_cut_while_it_starts_runs_it_once),
		TEST(one_that_was_not_ready_did_not_run),
		TEST(what_is_asked_for_without_a_link_is_done_with_the_next),
		TEST(one_of_a_removed_worker_is_unavailable),
		TEST(local_ones_stay_local),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
