/* A worker that lies, and a daemon that does: the link ends, and nothing else. */
#include "rig.h"

#include "mem.h"

#include <stdio.h>
#include <string.h>

#define HELLO "{\"op\":\"hello\"}"

/* A worker of the test's own: it says what the test says. */
static struct wire_end *liar(struct rig *r)
{
	rig_cut(r);
	r->pair = wire_pair_new();
	ar_list_push(&r->pairs, &r->pair->node);
	ar_worker_set_link(r->set, WORKER, AR_STR("tenant"), &r->pair->daemon.link);
	r->pair->worker.link.on_message = NULL;
	return &r->pair->worker;
}

/* Nobody reads what the daemon sends. */
static void ignore(void *arg, struct ar_str message AR_UNUSED)
{
	(*(size_t *)arg)++;
}

static size_t got;

static struct wire_end *greeted_liar(struct rig *r)
{
	struct wire_end *w = liar(r);

	got = 0;
	w->link.on_message = ignore;
	w->link.arg = &got;
	wire_put(w, HELLO, AR_STR(""));
	rig_run(r);
	assert_int_equal(rig_status(r).state, AR_WORKER_CONNECTED);
	return w;
}

static void assert_ended(struct rig *r, const char *what)
{
	rig_run(r);
	if (!r->pair->daemon.is_closed)
		fail_msg("the link stands after %s", what);
	assert_int_not_equal(rig_status(r).state, AR_WORKER_CONNECTED);
}

static void say(struct rig *r, struct wire_end *w, const char *head, struct ar_str bytes)
{
	wire_put(w, head, bytes);
	rig_run(r);
}

static void what_is_no_greeting_ends_the_link(void **state)
{
	static const char *const heads[] = { "{\"op\":\"ping\",\"n\":1}",
					     "{}",
					     "[]",
					     "x",
					     "{\"op\":3}",
					     "{\"op\":\"hello\",\"ref\":\"\"}",
					     "{\"op\":\"hello\",\"version\":[0,5]}",
					     "{\"op\":\"hello\",\"version\":[0,-1],\"size\":1}",
					     "{\"op\":\"hello\",\"capabilities\":[0,1],\"size\":1}",
					     "{\"op\":\"hello\",\"size\":9}" };
	struct rig *r = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(heads); i++) {
		struct wire_end *w = liar(r);

		wire_put(w, heads[i], strstr(heads[i], "size\":1") ? AR_STR("x") : AR_STR(""));
		assert_ended(r, heads[i]);
	}
}

static void bytes_that_are_no_message_end_the_link(void **state)
{
	static const struct ar_str messages[] = { { "", 0 },
						  { "\0\0", 2 },
						  { "\xff\xff\xff\xff{}", 6 },
						  { "\0\0\0\x7f{}", 6 },
						  { "\0\x10\0\0{}", 6 },
						  { "\0\0\0\x02{}", 6 } };
	struct rig *r = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(messages); i++) {
		struct wire_end *w = greeted_liar(r);

		assert_int_equal(w->link.v->send(&w->link, messages[i]), AR_OK);
		assert_ended(r, "bytes");
	}
}

static void no_greeting_ends_the_link_in_time(void **state)
{
	struct rig *r = *state;

	(void)liar(r);
	rig_skip(r, 9000);
	assert_false(r->pair->daemon.is_closed);
	rig_skip(r, 2000);
	assert_ended(r, "silence");
}

/* ---- calls ---- */

static void a_result_that_cannot_be_read_is_a_lost_call(void **state)
{
	static const struct {
		const char *head, *bytes;
	} lies[] = {
		{ "{\"op\":\"done\",\"ref\":\"t:call\"}", "" },
		{ "{\"op\":\"done\",\"ref\":\"t:call\",\"outcome\":77}", "" },
		{ "{\"op\":\"done\",\"ref\":\"t:call\",\"outcome\":1,\"text\":[0,2],\"size\":1}", "x" },
		{ "{\"op\":\"done\",\"ref\":\"t:call\",\"outcome\":1,\"text\":[0,2],\"size\":2}",
		  "\xff\xfe" },
		{ "{\"op\":\"done\",\"ref\":\"t:call\",\"outcome\":1,\"text\":\"x\"}", "" },
		{ "{\"op\":\"done\",\"ref\":\"t:call\",\"outcome\":1,\"structured\":[0,6],\"size\":6}",
		  "{}, {}" },
		{ "{\"op\":\"done\",\"ref\":\"t:call\",\"outcome\":1,\"structured\":[0,2],\"size\":2}",
		  "[]" },
		{ "{\"op\":\"done\",\"ref\":\"t:call\",\"outcome\":1,\"changes\":[0,2],\"size\":2}", "{}" },
		{ "{\"op\":\"done\",\"ref\":\"t:call\",\"outcome\":1,\"changes\":[0,2],\"size\":2}", "[]]" },
		{ "{\"op\":\"done\",\"ref\":\"t:call\",\"outcome\":1,\"violations\":[[0,2]],\"size\":2}",
		  "[]" },
		{ "{\"op\":\"done\",\"ref\":\"t:call\",\"outcome\":1,\"images\":[{}]}", "" },
		{ "{\"op\":\"done\",\"ref\":\"t:call\",\"outcome\":1,\"artifacts\":[{\"path\":[0,1]}],"
		  "\"size\":1}",
		  "a" },
		{ "{\"op\":\"done\",\"ref\":\"t:call\",\"outcome\":1,\"artifacts\":[{\"path\":[0,1],"
		  "\"change\":1,"
		  "\"version\":[0,1]}],\"size\":1}",
		  "a" },
		{ "{\"op\":\"done\",\"ref\":\"t:call\",\"outcome\":1,\"boundary\":{\"limits\":[0,1]},"
		  "\"size\":1}",
		  "x" },
	};
	struct rig *r = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(lies); i++) {
		struct wire_end *w = greeted_liar(r);
		struct probe_call p;

		probe_start(r, &p, "call", "look");
		say(r, w, lies[i].head, ar_str_from(lies[i].bytes));
		assert_ended(r, lies[i].head);
		if (p.done == 0) { /* the message itself could not be read: the call waits for its lease */
			rig_skip(r, LOST_MS);
			rig_run(r);
		}
		assert_int_equal(p.done, 1);
		assert_int_equal(p.outcome, AR_TOOL_LOST);
	}
}

static void json_that_is_too_deep_is_refused(void **state)
{
	struct rig *r = *state;
	struct wire_end *w = greeted_liar(r);
	struct probe_call p;
	char deep[128], head[128];

	memset(deep, '[', 40);
	memset(deep + 40, ']', 40);
	snprintf(head, sizeof(head),
		 "{\"op\":\"done\",\"ref\":\"t:call\",\"outcome\":1,\"changes\":[0,80],\"size\":80}");
	probe_start(r, &p, "call", "look");
	say(r, w, head, (struct ar_str){ deep, 80 });
	assert_ended(r, "deep JSON");
	assert_int_equal(p.outcome, AR_TOOL_LOST);
}

static void a_worker_cannot_end_the_call_of_another(void **state)
{
	struct rig *r = *state;
	struct wire_end *w = greeted_liar(r);
	struct wire_pair *other = wire_pair_new();
	struct probe_call p;

	ar_worker_set_workers(r->set)->on_changed = NULL;
	probe_start(r, &p, "call", "look");
	ar_list_push(&r->pairs, &other->node);
	ar_worker_set_link(r->set, AR_STR("wk_other"), AR_STR("tenant_2"), &other->daemon.link);
	other->worker.link.on_message = ignore;
	other->worker.link.arg = &got;
	wire_put(&other->worker, HELLO, AR_STR(""));
	wire_put(&other->worker, "{\"op\":\"done\",\"ref\":\"t:call\",\"outcome\":1}", AR_STR(""));
	wire_put(&other->worker, "{\"op\":\"gone\",\"ref\":\"t:call\"}", AR_STR(""));
	rig_run(r);
	assert_int_equal(p.done, 0);
	say(r, w, "{\"op\":\"done\",\"ref\":\"t:call\",\"outcome\":1}", AR_STR(""));
	assert_int_equal(p.done, 1);
	say(r, w, "{\"op\":\"done\",\"ref\":\"t:call\",\"outcome\":2}", AR_STR("")); /* and once more */
	assert_int_equal(p.done, 1);
	assert_int_equal(p.outcome, AR_TOOL_OK);
}

static void a_flood_about_nothing_ends_the_link(void **state)
{
	struct rig *r = *state;
	struct wire_end *w = greeted_liar(r);

	for (int i = 0; i < 5000 && !r->pair->daemon.is_closed; i++)
		say(r, w, i % 2 ? "{\"op\":\"done\",\"ref\":\"x\"}" : "{\"op\":\"output\",\"ref\":\"x\"}",
		    AR_STR(""));
	assert_ended(r, "a flood");
}

/* It says for ever that it never began the call. */
static void a_call_is_not_sent_again_without_end(void **state)
{
	struct rig *r = *state;
	struct wire_end *w = greeted_liar(r);
	struct probe_call p;

	probe_start(r, &p, "call", "look");
	say(r, w, "{\"op\":\"unknown\",\"ref\":\"t:call\"}", AR_STR("")); /* nobody asked */
	assert_ended(r, "unknown");
	w = greeted_liar(r);
	say(r, w, "{\"op\":\"unknown\",\"ref\":\"t:call\"}", AR_STR("")); /* now it was asked */
	assert_false(r->pair->daemon.is_closed);
	say(r, w, "{\"op\":\"unknown\",\"ref\":\"t:call\"}", AR_STR(""));
	assert_ended(r, "unknown twice");
	assert_int_equal(p.done, 0);
	rig_skip(r, LOST_MS);
	assert_int_equal(p.outcome, AR_TOOL_LOST);
}

static void parts_without_end_are_bounded(void **state)
{
	struct rig *r = *state;
	struct wire_end *w = greeted_liar(r);
	char *bytes = ar_new0(1000000);
	int i;

	memset(bytes, 'x', 1000000);
	for (i = 0; i < 200 && !r->pair->daemon.is_closed; i++)
		say(r, w, "{\"op\":\"part\"}", (struct ar_str){ bytes, 1000000 });
	assert_ended(r, "parts");
	assert_true(i <= 69); /* 64 MiB */
	ar_free(bytes);
}

static void bytes_nobody_announced_end_the_link(void **state)
{
	struct rig *r = *state;
	struct wire_end *w = greeted_liar(r);

	say(r, w, "{\"op\":\"ping\",\"n\":1}", AR_STR("bytes"));
	assert_ended(r, "bytes without a size");
	w = greeted_liar(r);
	say(r, w, "{\"op\":\"part\"}", AR_STR("abc"));
	say(r, w, "{\"op\":\"ping\",\"n\":1}", AR_STR("")); /* may overtake */
	assert_false(r->pair->daemon.is_closed);
	say(r, w, "{\"op\":\"done\",\"ref\":\"x\",\"size\":3}", AR_STR("d"));
	assert_ended(r, "a wrong size");
}

/* ---- processes ---- */

static const char *ref_of_launch(struct rig *r)
{
	static char ref[64];
	struct ar_str message = wire_first(&r->pair->daemon);
	const char *at;

	assert_false(ar_str_absent(message));
	at = memmem(message.p, message.len, "\"ref\":\"", 7);
	snprintf(ref, sizeof(ref), "%.34s", at + 7);
	return ref;
}

static void put_of(struct rig *r, struct wire_end *w, const char *ref, const char *rest, struct ar_str bytes)
{
	char head[512];

	snprintf(head, sizeof(head), "{\"ref\":\"%s\",%s", ref, rest);
	say(r, w, head, bytes);
}

static void output_at_another_place_ends_the_link(void **state)
{
	static const char *const lies[] = {
		"\"op\":\"output\",\"stream\":1,\"from\":1,\"size\":1}",
		"\"op\":\"output\",\"stream\":1,\"from\":4,\"size\":1}",
		"\"op\":\"output\",\"stream\":0,\"from\":3,\"size\":1}",
		"\"op\":\"output\",\"stream\":9,\"from\":3,\"size\":1}",
		"\"op\":\"output\",\"stream\":2,\"from\":-1,\"size\":1}",
		"\"op\":\"report\",\"kind\":4,\"seq\":1,\"detail\":[0,1],\"size\":1}",
		"\"op\":\"report\",\"kind\":3,\"seq\":1}",
		"\"op\":\"written\",\"number\":1,\"how\":1}",
		"\"op\":\"ready\",\"handle\":[0,1],\"size\":1}",
		"\"op\":\"end\",\"outcome\":0}",
		"\"op\":\"end\",\"outcome\":8}",
	};
	struct rig *r = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(lies); i++) {
		struct ar_process_host *host = ar_worker_set_ports(r->set)->processes;
		struct wire_end *w = greeted_liar(r);
		struct probe_process p;
		char ref[64];

		probe_launch(r, &p);
		snprintf(ref, sizeof(ref), "%s", ref_of_launch(r));
		put_of(r, w, ref, "\"op\":\"ready\",\"handle\":[0,1],\"size\":1}", AR_STR("h"));
		assert_int_equal(p.ready, 1);
		host->v->go(host, &p.port);
		put_of(r, w, ref, "\"op\":\"output\",\"stream\":1,\"from\":0,\"size\":3}", AR_STR("abc"));
		assert_int_equal(p.out[1].len, 3);
		put_of(r, w, ref, lies[i], strstr(lies[i], "size") ? AR_STR("x") : AR_STR(""));
		assert_ended(r, lies[i]);
		assert_int_equal(p.out[1].len, 3);
		assert_int_equal(p.ended, 0);
		probe_leave(r, &p);
	}
}

static void output_before_go_ends_the_link(void **state)
{
	struct rig *r = *state;
	struct wire_end *w = greeted_liar(r);
	struct probe_process p;
	char ref[64];

	probe_launch(r, &p);
	snprintf(ref, sizeof(ref), "%s", ref_of_launch(r));
	put_of(r, w, ref, "\"op\":\"output\",\"stream\":1,\"from\":0,\"size\":3}", AR_STR("abc"));
	assert_ended(r, "output of nothing");
	w = greeted_liar(r);
	put_of(r, w, ref, "\"op\":\"ready\",\"handle\":[0,1],\"size\":1}", AR_STR("h"));
	put_of(r, w, ref, "\"op\":\"output\",\"stream\":1,\"from\":0,\"size\":3}", AR_STR("abc"));
	assert_ended(r, "output before go");
	probe_leave(r, &p);
}

/* Each report may become a fact. */
static void reports_without_end_are_bounded(void **state)
{
	struct rig *r = *state;
	struct ar_process_host *host = ar_worker_set_ports(r->set)->processes;
	struct wire_end *w = greeted_liar(r);
	struct probe_process p;
	char ref[64], head[256];

	probe_launch(r, &p);
	snprintf(ref, sizeof(ref), "%s", ref_of_launch(r));
	put_of(r, w, ref, "\"op\":\"ready\",\"handle\":[0,1],\"size\":1}", AR_STR("h"));
	host->v->go(host, &p.port);
	for (int i = 1; i <= 12000; i++) {
		snprintf(head, sizeof(head),
			 "{\"ref\":\"%s\",\"op\":\"report\",\"kind\":4,\"seq\":%d,\"detail\":[0,2],\"size\":"
			 "2}",
			 ref, i);
		wire_put(w, head, AR_STR("{}"));
		(void)wire_deliver(w);
	}
	assert_int_equal(p.reports, 10000);
	assert_false(r->pair->daemon.is_closed);
	probe_leave(r, &p);
}

/* What is on its way from a process that was left is no lie. */
static void output_of_one_that_was_left_is_no_flood(void **state)
{
	struct rig *r = *state;
	struct wire_end *w = greeted_liar(r);
	struct probe_process p;

	probe_launch(r, &p);
	probe_leave(r, &p);
	for (int i = 0; i < 6000; i++) {
		wire_put(w, "{\"op\":\"output\",\"ref\":\"p:x\",\"size\":1}", AR_STR("x"));
		(void)wire_deliver(w);
	}
	rig_run(r);
	assert_false(r->pair->daemon.is_closed);
}

/* ---- a daemon that lies ---- */

static void a_worker_ends_the_link_of_a_lying_daemon(void **state)
{
	static const char *const lies[] = {
		"{\"op\":\"call\",\"ref\":\"t:1\",\"kind\":\"tool\"}",
		"{\"op\":\"call\",\"kind\":\"tool\"}",
		"{\"op\":\"welcome\"}",
		"{\"op\":\"launch\",\"ref\":\"p:1\"}",
		"{\"op\":\"attach\",\"ref\":\"p:1\"}",
		"{\"op\":\"attach\",\"ref\":\"p:1\",\"handle\":[0,1],\"from\":[0,0,-1],\"size\":1}",
		"{\"op\":\"go\"}",
		"x",
	};
	struct rig *r = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(lies); i++) {
		int parted;

		rig_connect(r);
		rig_run(r);
		parted = r->parted;
		wire_put(&r->pair->daemon, lies[i], strstr(lies[i], "size") ? AR_STR("h") : AR_STR(""));
		rig_run(r);
		assert_int_equal(r->parted, parted + 1);
	}
	assert_int_equal(r->there.begun + r->there.launched, 0);
}

static void unknown_ops_and_members_are_of_a_later_version(void **state)
{
	struct rig *r = *state;

	rig_connect(r);
	rig_run(r);
	wire_put(&r->pair->daemon, "{\"op\":\"nodes\",\"nodes\":[]}", AR_STR(""));
	wire_put(&r->pair->worker, "{\"op\":\"weather\",\"ref\":\"x\",\"sun\":{}}", AR_STR(""));
	wire_put(&r->pair->worker, "{\"op\":\"ping\",\"n\":1,\"more\":true}", AR_STR(""));
	rig_run(r);
	assert_int_equal(r->parted, 0);
	assert_int_equal(rig_status(r).state, AR_WORKER_CONNECTED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_no_greeting_ends_the_link),
		TEST(bytes_that_are_no_message_end_the_link),
		TEST(no_greeting_ends_the_link_in_time),
		TEST(a_result_that_cannot_be_read_is_a_lost_call),
		TEST(json_that_is_too_deep_is_refused),
		TEST(a_worker_cannot_end_the_call_of_another),
		TEST(a_flood_about_nothing_ends_the_link),
		TEST(a_call_is_not_sent_again_without_end),
		TEST(parts_without_end_are_bounded),
		TEST(bytes_nobody_announced_end_the_link),
		TEST(output_at_another_place_ends_the_link),
		TEST(output_before_go_ends_the_link),
		TEST(reports_without_end_are_bounded),
		TEST(output_of_one_that_was_left_is_no_flood),
		TEST(a_worker_ends_the_link_of_a_lying_daemon),
		TEST(unknown_ops_and_members_are_of_a_later_version),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
