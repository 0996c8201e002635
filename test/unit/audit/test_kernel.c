/* The kernel's own word on real refusals: commands run behind real boundaries, and what audit says of them is
 * told for the right launch, with exact counts. Skipped where audit is not ours to switch on. Leaves it as it
 * was. */
#include "audit.h"
#include "json.h"
#include "run.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

struct bench {
	uv_loop_t loop;
	struct ar_audit_reader *audit;
	struct desk *desk;
};

struct ear {
	struct ar_audit_watcher w;
	struct ar_buf said; /* one detail per line */
	bool is_settled;
};

static bool bench_begin(struct bench *b)
{
	struct desk *d = desk_new();
	struct ar_audit_options o = { .uid_first = 61000, .uid_last = 64999 };
	bool is_fine;

	d->options.helpers = AR_STR_NONE;
	d->options.limits = (struct ar_plan_limits){ .processes = 100, .tmp_bytes = 8 << 20 };
	desk_open(d);
	*b = (struct bench){ .desk = d };
	uv_loop_init(&b->loop);
	o.program = ar_sandbox_helper(d->sandbox, "agent-audit", &d->arena).p;
	is_fine = ar_sandbox_host_of(d->sandbox)->profiles[AR_SANDBOX_WORKSPACE_WRITE].is_available &&
		  geteuid() == 0 && ar_audit_open(&b->loop, &o, &b->audit, &d->err) == AR_OK;
	if (is_fine && !ar_audit_sees_mounts(b->audit)) {
		ar_audit_close(b->audit);
		b->audit = NULL;
	}
	return b->audit != NULL;
}

static void bench_end(struct bench *b)
{
	ar_audit_close(b->audit);
	uv_run(&b->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&b->loop), 0);
	desk_free(b->desk);
}

static void hear(struct ar_audit_watcher *w, struct ar_str detail)
{
	struct ear *e = AR_CONTAINER_OF(w, struct ear, w);

	ar_buf_adds(&e->said, detail);
	ar_buf_addc(&e->said, '\n');
}

static void hear_settled(struct ar_audit_watcher *w)
{
	AR_CONTAINER_OF(w, struct ear, w)->is_settled = true;
}

static int64_t ready_number(const struct run *r, const char *name)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json json;
	int64_t value = 0;

	assert_int_equal(ar_json_parse(parser, (struct ar_str){ r->ready.p, strlen(r->ready.p) }, &json,
				       NULL),
			 AR_OK);
	if (!ar_json_i64(ar_json_get(json, name), &value))
		fail_msg("READY has no %s: %s", name, r->ready.p);
	ar_json_parser_free(parser);
	return value;
}

/* Its records are in our socket by now, and wait there until the loop turns. */
static void listen_to(struct bench *b, const struct run *r, struct ear *e)
{
	*e = (struct ear){ .w = { .session = (uint32_t)ready_number(r, "session"),
				  .pid = ready_number(r, "pid"),
				  .on_violation = hear,
				  .on_settled = hear_settled } };
	ar_audit_watch(b->audit, &e->w);
	ar_audit_settle(b->audit, &e->w);
}

static void hear_all(struct bench *b, struct ear *e)
{
	for (int i = 0; i < 1000 && !e->is_settled; i++)
		uv_run(&b->loop, UV_RUN_ONCE);
	assert_true(e->is_settled);
	ar_buf_addc(&e->said, '\0');
}

static void run_and_hear(struct bench *b, const char *script, struct ear *e)
{
	struct run r;

	run_script(b->desk, AR_SANDBOX_WORKSPACE_WRITE, script, &r);
	assert_int_equal(r.code, 0);
	listen_to(b, &r, e);
	hear_all(b, e);
	run_fini(&r);
}

static unsigned lines(const struct ear *e)
{
	unsigned n = 0;

	for (const char *at = e->said.p; *at; at++)
		n += *at == '\n';
	return n;
}

static void must_say(const struct ear *e, const char *words)
{
	if (!strstr(e->said.p, words))
		fail_msg("'%s' is not in:\n%s", words, e->said.p);
}

static void give(struct desk *d, const char *path)
{
	assert_int_equal(lchown(desk_path(d, "%s", path), 1000, 1000), 0);
}

static void test_refusals_are_proven(void **state)
{
	struct bench b;
	struct ear e;

	(void)state;
	if (!bench_begin(&b)) {
		bench_end(&b);
		skip();
	}
	desk_file(b.desk, "ws/.git/config", "[core]\n");
	desk_folder(b.desk, "ws/.git/hooks/");
	give(b.desk, "ws/.git");
	give(b.desk, "ws/.git/config");
	give(b.desk, "ws/.git/hooks");
	run_and_hear(&b,
		     "exec 2>/dev/null; (: > /usr/x); (: > .git/config); (: > .git/config); mv .git g; rmdir "
		     ".git/hooks\n"
		     "for i in 1 2 3; do cat /etc/shadow; done; true",
		     &e);
	must_say(&e, "\"attempted\":\"openat "
		     "/usr/\",\"effect\":\"blocked\",\"evidence\":\"kernel-mount\",\"errno\":30,\"count\":1");
	must_say(&e, "/ws/.git/"
		     "config\",\"effect\":\"blocked\",\"evidence\":\"kernel-mount\",\"errno\":30,\"count\":2,"
		     "\"isLast\":true");
	must_say(&e,
		 "/ws/.git\",\"effect\":\"blocked\",\"evidence\":\"kernel-mount\",\"errno\":16,\"count\":1");
	must_say(&e, "/ws/.git/"
		     "hooks\",\"effect\":\"blocked\",\"evidence\":\"kernel-mount\",\"errno\":16,\"count\":1");
	must_say(&e,
		 "\"fs.read_file "
		 "/etc/"
		 "shadow\",\"effect\":\"blocked\",\"evidence\":\"kernel-landlock\",\"errno\":13,\"count\":3,"
		 "\"isLast\":true");
	assert_null(strstr(e.said.p, "lost"));
	assert_int_equal(lines(&e), 7);
	ar_buf_fini(&e.said);
	bench_end(&b);
}

/* What looks like a refusal to a reader of output, and is none of ours. */
static void test_words_and_permissions_are_no_violations(void **state)
{
	struct bench b;
	struct ear e;

	(void)state;
	if (!bench_begin(&b)) {
		bench_end(&b);
		skip();
	}
	run_and_hear(&b,
		     "echo 'sandbox: Permission denied' >&2; : > closed; chmod 000 closed; cat closed "
		     "2>/dev/null; ls /root /var "
		     "2>/dev/null; cat /nowhere 2>/dev/null; rmdir . 2>/dev/null; (exit 126); true",
		     &e);
	assert_string_equal(e.said.p, "");
	ar_buf_fini(&e.said);
	bench_end(&b);
}

static void test_launches_are_told_apart(void **state)
{
	struct run first, second;
	struct bench b;
	struct ear one, two;

	(void)state;
	if (!bench_begin(&b)) {
		bench_end(&b);
		skip();
	}
	run_script(b.desk, AR_SANDBOX_WORKSPACE_WRITE, "mkdir /usr/one 2>/dev/null; true", &first);
	run_script(b.desk, AR_SANDBOX_READ_ONLY, "mkdir two 2>/dev/null; true", &second);
	listen_to(&b, &first, &one);
	listen_to(&b, &second, &two);
	hear_all(&b, &one);
	hear_all(&b, &two);
	must_say(&one, "mkdir /usr/");
	assert_int_equal(lines(&one), 1);
	must_say(&two, "mkdir ");
	assert_int_equal(lines(&two), 1);
	run_fini(&first);
	run_fini(&second);
	ar_buf_fini(&one.said);
	ar_buf_fini(&two.said);
	bench_end(&b);
}

static void test_a_flood_is_two_facts(void **state)
{
	struct bench b;
	struct ear e;

	(void)state;
	if (!bench_begin(&b)) {
		bench_end(&b);
		skip();
	}
	run_and_hear(&b,
		     "python3 -c '\nimport os\nfor i in range(3000):\n  try: os.open(\"/etc/shadow\", 0)\n  "
		     "except OSError: pass\n'",
		     &e);
	must_say(&e, "\"isLast\":true");
	/* Whether or not records were lost on the way: nothing is uncounted. */
	if (lines(&e) == 2)
		must_say(&e, "\"count\":3000,\"isLast\":true");
	else
		must_say(&e, "lost");
	assert_true(lines(&e) <= 3);
	ar_buf_fini(&e.said);
	bench_end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refusals_are_proven),
		cmocka_unit_test(test_words_and_permissions_are_no_violations),
		cmocka_unit_test(test_launches_are_told_apart),
		cmocka_unit_test(test_a_flood_is_two_facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
