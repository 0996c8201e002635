/* Records as the kernel wrote them, and what is told of them: attribution, counts, what is lost, and what is
 * never a violation. */
#include "aggregate.h"
#include "record.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

struct ear {
	struct ar_audit_watcher w;
	char said[16][512];
	int count;
};

static void hear(struct ar_audit_watcher *w, struct ar_str detail)
{
	struct ear *e = AR_CONTAINER_OF(w, struct ear, w);

	assert_true(e->count < 16);
	snprintf(e->said[e->count++], sizeof(e->said[0]), "%.*s", AR_STR_ARG(detail));
}

static void ear_begin(struct ear *e, struct ar_audit_aggregate *b, uint32_t session, int64_t pid)
{
	*e = (struct ear){ .w = { .session = session, .pid = pid, .on_violation = hear } };
	ar_audit_aggregate_watch(b, &e->w);
}

static void take(struct ar_audit_aggregate *b, unsigned type, unsigned serial, const char *fmt, ...)
	AR_PRINTF(4, 5);
static void take(struct ar_audit_aggregate *b, unsigned type, unsigned serial, const char *fmt, ...)
{
	char text[1024];
	int head = snprintf(text, sizeof(text), "audit(1794748244.097:%u): ", serial);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + head, sizeof(text) - (size_t)head, fmt, ap);
	va_end(ap);
	ar_audit_aggregate_add(b, type, ar_str_from(text));
}

static void take_call(struct ar_audit_aggregate *b, unsigned serial, int call, int result, unsigned session,
		      const char *key)
{
	take(b, AR_AUDIT_SYSCALL, serial,
	     "arch=c000003e syscall=%d success=no exit=%d a0=ffffff9c items=1 ppid=10 pid=11 auid=61767 "
	     "uid=61767 "
	     "tty=(none) ses=%u comm=\"sh\" exe=\"/usr/bin/dash\" key=%s",
	     call, result, session, key);
}

static void take_write(struct ar_audit_aggregate *b, unsigned serial, unsigned session, const char *path)
{
	take_call(b, serial, 257, -30, session, "\"agentruntime\"");
	take(b, AR_AUDIT_CWD, serial, "cwd=\"/ws\"");
	take(b, AR_AUDIT_PATH, serial, "item=0 name=%s inode=1 dev=fe:00 nametype=NORMAL cap_fp=0", path);
	take(b, AR_AUDIT_END, serial, "%s", "");
}

static void take_denial(struct ar_audit_aggregate *b, unsigned serial, unsigned session, const char *domain)
{
	take(b, AR_AUDIT_ACCESS, serial,
	     "domain=%s blockers=fs.read_file path=\"/etc/shadow\" dev=\"tmpfs\" ino=10", domain);
	take_call(b, serial, 257, -13, session, "(null)");
	take(b, AR_AUDIT_END, serial, "%s", "");
}

static void test_a_read_only_mount(void **state)
{
	struct ar_audit_aggregate b;
	struct ear one, two;

	(void)state;
	ar_audit_aggregate_init(&b);
	ear_begin(&one, &b, 7, 100);
	ear_begin(&two, &b, 8, 200);
	take_write(&b, 1, 7, "\".git/config\"");
	take_write(&b, 2, 7, "\".git/config\"");
	take_write(&b, 3, 8, "\"/usr/x\"");
	take_write(&b, 4, 9, "\"/usr/x\""); /* nobody's */
	assert_int_equal(one.count, 1);
	assert_string_equal(one.said[0],
			    "{\"boundary\":\"filesystem\",\"attempted\":\"openat "
			    "/ws/.git/config\",\"effect\":\"blocked\","
			    "\"evidence\":\"kernel-mount\",\"errno\":30,\"count\":1,\"isLast\":false}");
	assert_int_equal(two.count, 1);
	assert_non_null(strstr(two.said[0], "\"openat /usr/x\""));
	ar_audit_aggregate_settle(&b, &one.w);
	assert_int_equal(one.count, 2);
	assert_non_null(strstr(one.said[1], "\"count\":2,\"isLast\":true"));
	ar_audit_aggregate_settle(&b, &two.w);
	assert_int_equal(two.count, 1);
	ar_audit_aggregate_fini(&b);
}

static void test_a_folder_that_is_pinned(void **state)
{
	struct ar_audit_aggregate b;
	struct ear e;

	(void)state;
	ar_audit_aggregate_init(&b);
	ear_begin(&e, &b, 7, 100);
	take_call(&b, 1, 316, -16, 7, "\"agentruntime\"");
	take(&b, AR_AUDIT_CWD, 1, "cwd=\"/ws\"");
	take(&b, AR_AUDIT_PATH, 1, "item=0 name=\"/ws\" nametype=PARENT");
	take(&b, AR_AUDIT_PATH, 1, "item=1 name=\".git\" nametype=DELETE");
	take(&b, AR_AUDIT_PATH, 1, "item=2 name=\".g\" nametype=CREATE");
	take(&b, AR_AUDIT_END, 1, "%s", "");
	assert_int_equal(e.count, 1);
	assert_non_null(strstr(e.said[0], "\"renameat2 /ws/.git\""));
	ar_audit_aggregate_fini(&b);
}

/* Denials count for the domain that agent-init made, and for no other: a program may restrict itself. */
static void test_landlock(void **state)
{
	struct ar_audit_aggregate b;
	struct ear e;

	(void)state;
	ar_audit_aggregate_init(&b);
	ear_begin(&e, &b, 7, 100);
	take(&b, AR_AUDIT_ACCESS, 1,
	     "domain=1c6 blockers=fs.read_file path=\"/etc/shadow\" dev=\"tmpfs\" ino=10");
	take(&b, AR_AUDIT_DOMAIN, 1,
	     "domain=1c6 status=allocated mode=enforcing pid=100 uid=61767 exe=\"/x/agent-init\" "
	     "comm=\"agent-init\"");
	take_call(&b, 1, 257, -13, 7, "(null)");
	take(&b, AR_AUDIT_END, 1, "%s", "");
	assert_int_equal(e.count, 1);
	assert_string_equal(e.said[0],
			    "{\"boundary\":\"filesystem\",\"attempted\":\"fs.read_file "
			    "/etc/shadow\",\"effect\":\"blocked\","
			    "\"evidence\":\"kernel-landlock\",\"errno\":13,\"count\":1,\"isLast\":false}");
	take_denial(&b, 2, 7, "1c6");
	take(&b, AR_AUDIT_ACCESS, 3, "domain=2aa blockers=fs.write_file path=\"/ws/own\"");
	take(&b, AR_AUDIT_DOMAIN, 3,
	     "domain=2aa status=allocated mode=enforcing pid=333 uid=1 exe=\"/ws/agent-init\"");
	take_call(&b, 3, 257, -13, 7, "(null)");
	take(&b, AR_AUDIT_END, 3, "%s", "");
	assert_int_equal(e.count, 1);
	assert_int_equal(e.w.denials_open, 1);
	take(&b, AR_AUDIT_DOMAIN, 4, "domain=1c6 status=deallocated denials=2");
	assert_int_equal(e.w.denials_open, 0);
	ar_audit_aggregate_settle(&b, &e.w);
	assert_int_equal(e.count, 2);
	assert_non_null(strstr(e.said[1], "\"count\":2,\"isLast\":true"));
	ar_audit_aggregate_fini(&b);
}

static void test_what_was_lost_is_counted(void **state)
{
	struct ar_audit_aggregate b;
	struct ear e;

	(void)state;
	ar_audit_aggregate_init(&b);
	ear_begin(&e, &b, 7, 100);
	take(&b, AR_AUDIT_ACCESS, 1, "domain=1c6 blockers=fs.read_file path=\"/etc/shadow\"");
	take(&b, AR_AUDIT_DOMAIN, 1, "domain=1c6 status=allocated mode=enforcing pid=100");
	take_call(&b, 1, 257, -13, 7, "(null)");
	take(&b, AR_AUDIT_END, 1, "%s", "");
	take(&b, AR_AUDIT_DOMAIN, 2, "domain=1c6 status=deallocated denials=20000");
	ar_audit_aggregate_settle(&b, &e.w);
	assert_int_equal(e.count, 2);
	assert_non_null(strstr(e.said[1], "details were lost"));
	assert_non_null(strstr(e.said[1], "\"count\":19999,\"isLast\":true"));
	ar_audit_aggregate_fini(&b);
}

/* File permissions, other rules, successful calls, and a missing folder are nobody's boundary. */
static void test_what_is_no_violation(void **state)
{
	struct ar_audit_aggregate b;
	struct ear e;

	(void)state;
	ar_audit_aggregate_init(&b);
	ear_begin(&e, &b, 7, 100);
	take_call(&b, 1, 257, -13, 7, "\"agentruntime\"");
	take(&b, AR_AUDIT_END, 1, "%s", "");
	take_call(&b, 2, 257, -30, 7, "\"another\"");
	take(&b, AR_AUDIT_END, 2, "%s", "");
	take_call(&b, 3, 257, -30, 7, "(null)");
	take(&b, AR_AUDIT_END, 3, "%s", "");
	take_call(&b, 4, 1, 5, 7, "\"agentruntime\"");
	take(&b, AR_AUDIT_END, 4, "%s", "");
	take_write(&b, 5, 7, "\"/usr/lib/python3/x/__pycache__\"");
	take(&b, 1006, 6, "pid=1 uid=0 auid=61767 ses=7 res=1");
	ar_audit_aggregate_add(&b, AR_AUDIT_SYSCALL, AR_STR("rubbish"));
	ar_audit_aggregate_add(&b, AR_AUDIT_SYSCALL, AR_STR("audit(x:y): ses=7"));
	ar_audit_aggregate_add(&b, AR_AUDIT_ACCESS, AR_STR("audit(1:9): domain=zz blockers=x"));
	ar_audit_aggregate_settle(&b, &e.w);
	assert_int_equal(e.count, 0);
	ar_audit_aggregate_fini(&b);
}

/* A name that looks like a field is hexadecimal by the time we see it. */
static void test_names_of_others(void **state)
{
	struct ar_arena a = { 0 };
	struct ar_str text = AR_STR("audit(1:2): name=2E67697420736573 cwd=\"/a b\" x=(null)");

	(void)state;
	assert_str(ar_record_text(text, "name", &a), ".git ses");
	assert_true(ar_str_absent(ar_record_text(text, "x", &a)));
	assert_true(ar_str_absent(ar_record_field(text, "ses")));
	ar_arena_fini(&a);
}

static void test_interleaved_and_unfinished(void **state)
{
	struct ar_audit_aggregate b;
	struct ear e;

	(void)state;
	ar_audit_aggregate_init(&b);
	ear_begin(&e, &b, 7, 100);
	take_call(&b, 1, 257, -30, 7, "\"agentruntime\"");
	take_call(&b, 2, 87, -30, 7, "\"agentruntime\"");
	take(&b, AR_AUDIT_PATH, 2, "item=0 name=\"/usr/two\" nametype=NORMAL");
	take(&b, AR_AUDIT_PATH, 1, "item=0 name=\"/usr/one\" nametype=NORMAL");
	take(&b, AR_AUDIT_END, 2, "%s", "");
	take(&b, AR_AUDIT_END, 1, "%s", "");
	assert_int_equal(e.count, 2);
	assert_non_null(strstr(e.said[0], "unlink /usr/two"));
	assert_non_null(strstr(e.said[1], "openat /usr/one"));
	/* One whose end is lost is told when its place is needed. */
	take_call(&b, 3, 83, -30, 7, "\"agentruntime\"");
	for (unsigned i = 0; i < AR_AUDIT_EVENTS; i++)
		take_call(&b, 100 + i, 257, -30, 4, "(null)");
	assert_int_equal(e.count, 3);
	assert_non_null(strstr(e.said[2], "\"mkdir\""));
	ar_audit_aggregate_fini(&b);
}

struct tally {
	struct ar_audit_watcher w;
	unsigned told;
	int64_t last;
};

static void tally(struct ar_audit_watcher *w, struct ar_str detail)
{
	struct tally *t = AR_CONTAINER_OF(w, struct tally, w);
	const char *at = memmem(detail.p, detail.len, "\"count\":", 8);

	t->told++;
	t->last += memmem(detail.p, detail.len, "\"isLast\":true", 13) ? strtoll(at + 8, NULL, 10) : 0;
}

/* However many places it tries, and however often: a bounded number of facts, and no refusal that is not
 * counted. */
static void test_many_kinds_have_an_end(void **state)
{
	struct tally t = { .w = { .session = 7, .on_violation = tally } };
	struct ar_audit_aggregate b;
	unsigned serial = 1;

	(void)state;
	ar_audit_aggregate_init(&b);
	ar_audit_aggregate_watch(&b, &t.w);
	for (unsigned i = 0; i < 200; i++) {
		char path[32];

		snprintf(path, sizeof(path), "\"/usr/%u\"", i);
		for (int j = 0; j < 10; j++)
			take_write(&b, serial++, 7, path);
	}
	assert_int_equal(t.told, AR_AUDIT_KINDS_MAX);
	ar_audit_aggregate_settle(&b, &t.w);
	assert_int_equal(t.told, 2 * AR_AUDIT_KINDS_MAX);
	assert_int_equal(t.last, 2000);
	ar_audit_aggregate_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_read_only_mount),
		cmocka_unit_test(test_a_folder_that_is_pinned),
		cmocka_unit_test(test_landlock),
		cmocka_unit_test(test_what_was_lost_is_counted),
		cmocka_unit_test(test_what_is_no_violation),
		cmocka_unit_test(test_names_of_others),
		cmocka_unit_test(test_interleaved_and_unfinished),
		cmocka_unit_test(test_many_kinds_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
