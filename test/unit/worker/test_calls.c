/* Calls over a link: each runs at most once and ends exactly once, with what is known of it. */
#include "rig.h"

#include "mem.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static const struct ar_tool_result good = { .outcome = AR_TOOL_OK, .text = { "fine", 4 } };

static struct rig *connected(void **state)
{
	struct rig *r = *state;

	rig_connect(r);
	rig_run(r);
	assert_int_equal(rig_status(r).state, AR_WORKER_CONNECTED);
	return r;
}

/* ---- the usual way ---- */

static void a_call_runs_on_its_worker(void **state)
{
	struct rig *r = connected(state);
	struct ar_tool_artifact artifact = { .path = AR_STR("a"),
					     .change = AR_TOOL_CREATED,
					     .version = AR_STR("0123456789abcdef0123456789abcdef"
							       "0123456789abcdef0123456789abcdef"),
					     .content = { "\x01\xff\x02", 3 },
					     .size = 3 };
	struct ar_tool_result result = good;
	struct probe_call p;

	result.artifacts = &artifact;
	result.artifact_count = 1;
	result.changes = AR_STR("[]");
	probe_start(r, &p, "call_1", "change");
	rig_run(r);
	assert_int_equal(fake_begins(&r->there, "call_1"), 1);
	assert_int_equal(fake_begins(&r->here, "call_1"), 0);
	assert_int_equal(rig_status(r).open_calls, 1);
	fake_finish(&r->there, "call_1", &result);
	rig_run(r);
	assert_int_equal(p.done, 1);
	assert_int_equal(p.outcome, AR_TOOL_OK);
	assert_string_equal(p.text, "fine");
	assert_memory_equal(p.content, "\x01\xff\x02", 3);
	assert_int_equal(ar_worker_serve_open_calls(r->serve), 0); /* it was acknowledged */
	assert_int_equal(rig_status(r).open_calls, 0);
}

static void without_a_worker_it_is_local(void **state)
{
	struct rig *r = connected(state);
	struct probe_call p;

	probe_start_at(r, &p, "call_1", "look", AR_STR_NONE);
	assert_int_equal(fake_begins(&r->here, "call_1"), 1);
	fake_finish(&r->here, "call_1", &good);
	assert_int_equal(p.done, 1);
	assert_int_equal(r->there.begun, 0);
}

static void a_long_result_comes_in_parts(void **state)
{
	struct rig *r = connected(state);
	struct ar_buf text = { 0 };
	struct ar_tool_result result = good;
	struct probe_call p, other;

	for (size_t i = 0; i < 9 << 20; i++)
		ar_buf_addc(&text, (char)('a' + i % 26));
	result.text = ar_buf_str(&text);
	probe_start(r, &p, "call_1", "look");
	probe_start(r, &other, "call_2", "look");
	rig_run(r);
	fake_finish(&r->there, "call_1", &result);
	ar_worker_serve_tick(r->serve); /* a ping may overtake it */
	r->now += 5000000;
	ar_worker_serve_tick(r->serve);
	fake_finish(&r->there, "call_2", &good);
	rig_run(r);
	assert_int_equal(p.done, 1);
	assert_int_equal(p.text_len, text.len);
	assert_int_equal(other.done, 1);
	assert_int_equal(r->parted, 0);
	ar_buf_fini(&text);
}

static void progress_is_relayed(void **state)
{
	struct rig *r = connected(state);
	struct probe_call p;
	struct fake_call *c;

	probe_start(r, &p, "call_1", "look");
	rig_run(r);
	c = AR_CONTAINER_OF(r->there.calls.next, struct fake_call, node);
	c->tool->v->on_progress(c->tool, &(struct ar_tool_progress){ .text = AR_STR("half"), .percent = 50 });
	rig_run(r);
	assert_int_equal(p.progress, 1);
	fake_finish_first(&r->there);
	rig_run(r);
}

/* ---- not now ---- */

static void one_that_is_away_runs_nothing(void **state)
{
	struct rig *r = *state;
	struct probe_call p;

	probe_start(r, &p, "call_1", "look");
	rig_run(r);
	assert_int_equal(p.done, 1);
	assert_int_equal(p.outcome, AR_TOOL_NOT_RUN);
	assert_string_equal(p.category, "worker_away");
	assert_int_equal(rig_status(r).state, AR_WORKER_AWAY);
}

static void one_that_drains_takes_no_new_calls(void **state)
{
	struct rig *r = connected(state);
	struct probe_call open, crossing, late;

	probe_start(r, &open, "call_1", "look");
	rig_run(r);
	ar_worker_serve_drain(r->serve);
	probe_start(r, &crossing, "call_2", "change"); /* before the daemon has heard of it */
	rig_run(r);
	assert_true(rig_status(r).is_draining);
	assert_int_equal(crossing.outcome, AR_TOOL_NOT_RUN);
	assert_int_equal(fake_begins(&r->there, "call_2"), 0);
	probe_start(r, &late, "call_3", "look");
	rig_run(r);
	assert_string_equal(late.category, "worker_draining");
	assert_int_equal(r->drained, 0);
	fake_finish_first(&r->there);
	rig_run(r);
	assert_int_equal(open.outcome, AR_TOOL_OK);
	assert_int_equal(r->drained, 1);
}

static void a_folder_that_is_not_the_workers_is_refused(void **state)
{
	static const char *const paths[] = {
		"/etc", "/files", "/filesystem/w", "/files/../etc", "files/w", ""
	};
	struct rig *r = connected(state);

	for (size_t i = 0; i < AR_ARRAY_LEN(paths); i++) {
		struct ar_tool_source *files = ar_worker_set_ports(r->set)->files;
		struct probe_call p, sample;
		char id[32];

		snprintf(id, sizeof(id), "call_%zu", i);
		probe_start_at(r, &sample, "sample", "look", AR_STR_NONE);
		fake_finish(&r->here, "sample", &good);
		p = sample;
		p.done = 0;
		p.call.worker = WORKER;
		p.call.tool_call_id = ar_str_from(id);
		p.call.workspace = ar_str_from(paths[i]);
		files->v->start(files, &p.call);
		rig_run(r);
		assert_int_equal(p.done, 1);
		assert_int_equal(p.outcome, AR_TOOL_NOT_RUN);
	}
	assert_int_equal(r->there.begun, 0);
}

/* ---- cuts ---- */

/* Lets `count` messages through, from both ends in turn, and cuts the link. False: fewer were there. */
static bool cut_after(struct rig *r, size_t count, bool finishes)
{
	size_t idle = 0;

	while (count > 0 && idle < 4) {
		bool moved;

		rig_turn(r);
		if (finishes && r->there.begun > 0)
			fake_finish_first(&r->there);
		moved = wire_deliver(&r->pair->daemon);
		count -= moved;
		if (count > 0 && wire_deliver(&r->pair->worker)) {
			count--;
			moved = true;
		}
		idle = moved ? 0 : idle + 1;
	}
	rig_turn(r);
	rig_cut(r);
	return count == 0;
}

static void cut_at_each_message(struct rig *r, const char *tool, bool finishes)
{
	bool more = true;

	for (size_t i = 0; more; i++) {
		struct probe_call p;
		char id[32];

		snprintf(id, sizeof(id), "%s_%d_%zu", tool, finishes, i);
		rig_connect(r);
		rig_run(r);
		r->there.begun = 0;
		probe_start(r, &p, id, tool);
		more = cut_after(r, i, finishes);
		assert_int_not_equal(rig_status(r).state, AR_WORKER_CONNECTED);
		rig_connect(r);
		rig_run(r);
		fake_finish_first(&r->there);
		rig_run(r);
		assert_int_equal(p.done, 1);
		assert_int_equal(p.outcome, AR_TOOL_OK);
		assert_int_equal(fake_begins(&r->there, id), 1);
		assert_int_equal(ar_worker_serve_open_calls(r->serve), 0);
	}
}

static void a_cut_at_any_message_loses_nothing(void **state)
{
	struct rig *r = *state;

	cut_at_each_message(r, "change", true);
	cut_at_each_message(r, "change", false);
	cut_at_each_message(r, "look", true);
	cut_at_each_message(r, "look", false);
}

/* The link is cut while its own answer to the question is on its way, too. */
static void a_second_cut_changes_nothing(void **state)
{
	struct rig *r = connected(state);

	for (size_t i = 0; i < 8; i++) {
		struct probe_call p;
		char id[32];

		snprintf(id, sizeof(id), "call_%zu", i);
		probe_start(r, &p, id, "change");
		rig_run(r);
		rig_cut(r);
		fake_finish_first(&r->there);
		rig_connect(r);
		cut_after(r, i, false);
		rig_connect(r);
		rig_run(r);
		assert_int_equal(p.done, 1);
		assert_int_equal(p.outcome, AR_TOOL_OK);
		assert_int_equal(fake_begins(&r->there, id), 1);
	}
}

static void a_newer_link_takes_the_place_of_the_older(void **state)
{
	struct rig *r = connected(state);
	struct wire_pair *old = r->pair;
	struct probe_call p;

	probe_start(r, &p, "call_1", "look");
	rig_run(r);
	r->pair = NULL; /* not cut: it looks alive */
	rig_connect(r);
	assert_true(old->daemon.is_closed);
	assert_true(old->worker.is_closed);
	rig_run(r);
	fake_finish_first(&r->there);
	rig_run(r);
	assert_int_equal(p.done, 1);
	assert_int_equal(p.outcome, AR_TOOL_OK);
}

/* ---- restarts ---- */

static void what_a_worker_had_begun_is_lost_with_it(void **state)
{
	struct rig *r = connected(state);
	struct probe_call begun, sent, read;

	probe_start(r, &begun, "call_1", "change");
	probe_start(r, &read, "call_2", "look");
	rig_run(r);
	r->holds_messages = true;
	probe_start(r, &sent, "call_3", "change"); /* on its way */
	rig_run(r);
	r->holds_messages = false;
	rig_restart_worker(r);
	rig_connect(r);
	rig_run(r);
	assert_int_equal(begun.outcome, AR_TOOL_LOST);
	assert_int_equal(read.outcome, AR_TOOL_LOST);
	assert_int_equal(sent.outcome, AR_TOOL_LOST); /* who says that it never began may be another */
	assert_int_equal(fake_begins(&r->there, "call_1"), 1);
	assert_int_equal(fake_begins(&r->there, "call_2"), 1);
	assert_int_equal(fake_begins(&r->there, "call_3"), 0);
	probe_start(r, &begun, "call_1", "change"); /* once more */
	rig_run(r);
	assert_int_equal(begun.outcome, AR_TOOL_LOST);
	assert_int_equal(fake_begins(&r->there, "call_1"), 1);
}

/* Somebody copied the folder of a worker: two programs with one token, and each has a list of its own. */
static void a_copy_of_a_worker_runs_nothing_twice(void **state)
{
	struct rig *r = connected(state);
	struct rig *other;
	struct probe_call p;
	void *second;

	probe_start(r, &p, "call_1", "change");
	rig_run(r);
	assert_int_equal(fake_begins(&r->there, "call_1"), 1);
	rig_open(&second);
	other = second;
	r->pair = wire_pair_new();
	ar_list_push(&r->pairs, &r->pair->node);
	ar_worker_set_link(r->set, WORKER, AR_STR("tenant"), &r->pair->daemon.link);
	ar_worker_serve_link(other->serve, &r->pair->worker.link);
	rig_run(r);
	rig_run(other);
	rig_run(r);
	assert_int_equal(fake_begins(&other->there, "call_1"), 0);
	assert_int_equal(p.outcome, AR_TOOL_LOST);
	rig_cut(r);
	rig_close(&second);
}

/* ---- the disk, and limits ---- */

static void a_change_waits_for_the_disk(void **state)
{
	struct rig *r = connected(state);
	struct probe_call look, change;

	probe_start(r, &look, "call_1", "look");
	probe_start(r, &change, "call_2", "change");
	while (wire_deliver(&r->pair->daemon)) /* and the loop does not turn: nothing is synced */
		;
	assert_int_equal(fake_begins(&r->there, "call_1"), 1);
	assert_int_equal(fake_begins(&r->there, "call_2"), 0);
	rig_run(r);
	assert_int_equal(fake_begins(&r->there, "call_2"), 1);
	fake_finish_first(&r->there);
	fake_finish_first(&r->there);
	rig_run(r);
}

static void a_full_disk_runs_nothing(void **state)
{
	struct rig *r = connected(state);
	struct rlimit old, small;
	struct probe_call p, later;

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	signal(SIGXFSZ, SIG_IGN);
	small = old;
	small.rlim_cur = 3;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	probe_start(r, &p, "call_1", "change");
	rig_run(r);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(p.outcome, AR_TOOL_NOT_RUN);
	assert_int_equal(fake_begins(&r->there, "call_1"), 0);
	probe_start(r, &later, "call_2", "change");
	rig_run(r);
	fake_finish_first(&r->there);
	rig_run(r);
	assert_int_equal(later.outcome, AR_TOOL_OK);
}

#define MANY 1100

/* More calls than a worker runs at once. */
static void a_worker_has_limits(void **state)
{
	struct rig *r = connected(state);
	struct probe_call *calls = ar_new0(MANY * sizeof(*calls));
	size_t refused = 0, lost = 0, fine = 0;
	char(*ids)[16] = ar_new0(MANY * sizeof(*ids));

	for (size_t i = 0; i < MANY; i++) {
		snprintf(ids[i], sizeof(ids[i]), "call_%zu", i);
		probe_start(r, &calls[i], ids[i], "look");
	}
	rig_run(r);
	assert_int_equal(r->there.begun, 1024);
	rig_cut(r);
	while (!ar_list_empty(&r->there.calls))
		fake_finish_first(&r->there);
	assert_int_equal(ar_worker_serve_open_calls(r->serve), 1024);
	rig_connect(r);
	rig_run(r);
	for (size_t i = 0; i < MANY; i++) {
		assert_int_equal(calls[i].done, 1);
		refused += calls[i].outcome == AR_TOOL_NOT_RUN;
		lost += calls[i].outcome == AR_TOOL_LOST;
		fine += calls[i].outcome == AR_TOOL_OK;
	}
	assert_int_equal(refused, MANY - 1024);
	assert_int_equal(lost + fine, 1024);
	assert_int_equal(ar_worker_serve_open_calls(r->serve), 0);
	ar_free(calls);
	ar_free(ids);
}

static void a_daemon_that_restarts_finds_nothing_running(void **state)
{
	struct rig *r = connected(state);
	struct probe_call p, done, again;

	probe_start(r, &p, "call_1", "change");
	probe_start(r, &done, "call_2", "change");
	rig_run(r);
	rig_cut(r);
	fake_finish(&r->there, "call_2", &good); /* kept for a daemon that is gone */
	rig_restart_daemon(r);
	assert_int_equal(p.outcome, AR_TOOL_LOST);
	assert_int_equal(ar_worker_serve_open_calls(r->serve), 2);
	rig_connect(r);
	rig_run(r);
	assert_int_equal(ar_worker_serve_open_calls(r->serve), 0);
	probe_start(r, &again, "call_1", "change"); /* the same id: it has begun */
	rig_run(r);
	assert_int_equal(again.outcome, AR_TOOL_LOST);
	assert_int_equal(fake_begins(&r->there, "call_1"), 1);
}

/* ---- silence ---- */

static void a_silent_worker_is_stale_then_lost(void **state)
{
	struct rig *r = connected(state);
	struct probe_call p;

	probe_start(r, &p, "call_1", "change");
	rig_run(r);
	r->holds_messages = true; /* the link stands, nothing moves */
	rig_wait(r, 10000);
	assert_int_equal(rig_status(r).state, AR_WORKER_CONNECTED);
	rig_wait(r, 5000);
	assert_int_equal(rig_status(r).state, AR_WORKER_STALE);
	assert_int_equal(p.done, 0);
	rig_wait(r, LOST_MS - 15000);
	assert_int_equal(rig_status(r).state, AR_WORKER_LOST);
	assert_int_equal(p.done, 1);
	assert_int_equal(p.outcome, AR_TOOL_LOST);
	assert_true(ar_list_empty(&r->there.calls)); /* killed there, too */
	r->holds_messages = false;
	rig_connect(r);
	rig_run(r);
	assert_int_equal(rig_status(r).state, AR_WORKER_CONNECTED);
	assert_int_equal(p.done, 1);
	assert_int_equal(r->states[r->state_count - 1], AR_WORKER_CONNECTED);
	assert_int_equal(r->states[r->state_count - 2], AR_WORKER_LOST);
	assert_int_equal(r->states[r->state_count - 3], AR_WORKER_STALE);
}

/* Whatever reached whom, and whenever: what the daemon counts as lost does not run any more. */
static void the_worker_ends_before_the_daemon_gives_up(void **state)
{
	struct rig *r = connected(state);

	for (int way = 0; way < 2; way++) {
		struct probe_call p;

		rig_connect(r);
		rig_run(r);
		probe_start(r, &p, way ? "call_1" : "call_2", "change");
		rig_run(r);
		while (p.done == 0) {
			rig_skip(r, 1000);
			rig_turn(r);
			(void)fake_step(&r->there);
			/* Only one direction works: that of the worker, or that of the daemon. */
			while (wire_deliver(way ? &r->pair->worker : &r->pair->daemon))
				;
			if (!ar_list_empty(&r->there.calls))
				assert_int_equal(p.done, 0);
			if (way && r->now > (ar_usec)3000 * 1000000)
				break;
		}
		if (way)
			assert_true(ar_list_empty(&r->there.calls)); /* its pings are not answered */
		rig_cut(r);
		rig_skip(r, LOST_MS);
		rig_run(r);
		assert_int_equal(p.done, 1);
		assert_int_equal(p.outcome, AR_TOOL_LOST);
	}
}

/* The answer to a ping took 20 seconds: it says what the daemon knew then, not what it knows now. */
static void a_late_answer_does_not_prolong_the_lease(void **state)
{
	struct rig *r = connected(state);
	struct probe_call p;

	probe_start(r, &p, "call_1", "change");
	rig_run(r);
	rig_skip(r, 5000);
	while (wire_deliver(&r->pair->worker)) /* the ping */
		;
	for (int i = 0; i < 4; i++)
		rig_skip(r, 5000);
	assert_false(ar_list_empty(&r->there.calls));
	while (wire_deliver(&r->pair->daemon)) /* the pong */
		;
	while (p.done == 0) {
		rig_skip(r, 1000);
		rig_turn(r);
		(void)fake_step(&r->there);
	}
	assert_int_equal(p.outcome, AR_TOOL_LOST);
	assert_true(ar_list_empty(&r->there.calls));
}

static void heartbeats_keep_a_long_call(void **state)
{
	struct rig *r = connected(state);
	struct probe_call p;

	probe_start(r, &p, "call_1", "change");
	rig_run(r);
	rig_wait(r, 600000);
	assert_int_equal(p.done, 0);
	assert_int_equal(rig_status(r).state, AR_WORKER_CONNECTED);
	fake_finish_first(&r->there);
	rig_run(r);
	assert_int_equal(p.outcome, AR_TOOL_OK);
}

static void a_worker_with_nothing_open_is_away(void **state)
{
	struct rig *r = connected(state);

	rig_cut(r);
	rig_run(r);
	assert_int_equal(rig_status(r).state, AR_WORKER_AWAY);
	rig_skip(r, LOST_MS);
	assert_int_equal(rig_status(r).state, AR_WORKER_AWAY);
}

static void a_result_after_the_end_is_ignored(void **state)
{
	struct rig *r = connected(state);
	struct probe_call p;

	probe_start(r, &p, "call_1", "change");
	rig_run(r);
	fake_finish_first(&r->there);
	rig_cut(r);
	r->now += (ar_usec)LOST_MS * 1000;
	ar_worker_set_tick(r->set);
	assert_int_equal(p.outcome, AR_TOOL_LOST);
	rig_connect(r);
	wire_put(&r->pair->worker, "{\"op\":\"done\",\"ref\":\"t:call_1\",\"outcome\":1}", AR_STR(""));
	rig_run(r);
	assert_int_equal(p.done, 1);
	assert_int_equal(r->parted, 1); /* by the cut; the link stands */
	assert_int_equal(rig_status(r).state, AR_WORKER_CONNECTED);
}

/* ---- cancelling ---- */

static void a_cancelled_call_ends_with_what_its_worker_says(void **state)
{
	struct rig *r = connected(state);
	struct probe_call p, cut;

	probe_start(r, &p, "call_1", "look");
	rig_run(r);
	probe_cancel(r, &p);
	rig_run(r);
	assert_int_equal(p.outcome, AR_TOOL_CANCELLED);
	probe_start(r, &cut, "call_2", "look");
	rig_run(r);
	rig_cut(r);
	probe_cancel(r, &cut);
	rig_run(r);
	assert_int_equal(cut.done, 0);
	rig_connect(r);
	rig_run(r);
	assert_int_equal(cut.outcome, AR_TOOL_CANCELLED);
}

static void a_worker_that_does_not_cancel_is_not_waited_for(void **state)
{
	struct rig *r = connected(state);
	struct probe_call p;

	probe_start(r, &p, "call_1", "look");
	rig_run(r);
	probe_cancel(r, &p);
	for (int i = 0; i < 8; i++) {
		rig_skip(r, 5000); /* it answers pings, and fakes do not step: the call does not end */
		rig_turn(r);
		while (wire_deliver(&r->pair->worker) | wire_deliver(&r->pair->daemon))
			rig_turn(r);
	}
	assert_int_equal(rig_status(r).state, AR_WORKER_CONNECTED);
	assert_int_equal(p.done, 1);
	assert_int_equal(p.outcome, AR_TOOL_LOST);
	rig_run(r);
	assert_int_equal(p.done, 1);
}

/* ---- removed ---- */

static void a_removed_worker_loses_its_calls(void **state)
{
	struct rig *r = connected(state);
	struct probe_call p;

	probe_start(r, &p, "call_1", "change");
	rig_run(r);
	ar_worker_set_drop(r->set, WORKER);
	assert_int_equal(p.done, 0);
	rig_run(r);
	assert_int_equal(p.outcome, AR_TOOL_LOST);
	assert_true(r->pair->daemon.is_closed);
	assert_int_equal(rig_status(r).state, AR_WORKER_AWAY);
}

static void what_it_can_do_is_reported(void **state)
{
	struct rig *r = connected(state);
	struct ar_worker_status status = rig_status(r);

	assert_true(ar_str_is(status.version, "1.2"));
	assert_non_null(strstr(status.capabilities.p, "\"read_only\":{\"isAvailable\":true}"));
	assert_true(status.last_seen > 0);
	assert_int_equal(r->joined, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_call_runs_on_its_worker),
		TEST(without_a_worker_it_is_local),
		TEST(a_long_result_comes_in_parts),
		TEST(progress_is_relayed),
		TEST(one_that_is_away_runs_nothing),
		TEST(one_that_drains_takes_no_new_calls),
		TEST(a_folder_that_is_not_the_workers_is_refused),
		TEST(a_cut_at_any_message_loses_nothing),
		TEST(a_second_cut_changes_nothing),
		TEST(a_newer_link_takes_the_place_of_the_older),
		TEST(what_a_worker_had_begun_is_lost_with_it),
		TEST(a_copy_of_a_worker_runs_nothing_twice),
		TEST(a_change_waits_for_the_disk),
		TEST(a_full_disk_runs_nothing),
		TEST(a_worker_has_limits),
		TEST(a_daemon_that_restarts_finds_nothing_running),
		TEST(a_silent_worker_is_stale_then_lost),
		TEST(the_worker_ends_before_the_daemon_gives_up),
		TEST(a_late_answer_does_not_prolong_the_lease),
		TEST(heartbeats_keep_a_long_call),
		TEST(a_worker_with_nothing_open_is_away),
		TEST(a_result_after_the_end_is_ignored),
		TEST(a_cancelled_call_ends_with_what_its_worker_says),
		TEST(a_worker_that_does_not_cancel_is_not_waited_for),
		TEST(a_removed_worker_loses_its_calls),
		TEST(what_it_can_do_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
