/* The text of a plan: what is written is read again as it was, and nothing else is read. */
#include "cmocka_unit.h"
#include "plan.h"

#include "mem.h"

#include <stdio.h>

/* The least that a plan is. */
static struct ar_plan least(void)
{
	return (struct ar_plan){ .mode = AR_PLAN_READ_ONLY,
				 .network = AR_PLAN_NET_NONE,
				 .backend = AR_PLAN_ROOT,
				 .uid = 61000,
				 .gid = 61001,
				 .cwd = "/",
				 .argv = { "true" },
				 .argc = 1 };
}

static struct ar_plan full(void)
{
	struct ar_plan p = least();

	p.mode = AR_PLAN_WORKSPACE_WRITE;
	p.network = AR_PLAN_NET_PROXY;
	p.workspace = "/work space";
	p.workspace_uid = 1000;
	p.workspace_gid = 1001;
	p.cwd = "/work space/\xc3\xbc";
	p.read_roots = (struct ar_plan_paths){ { "/usr", "/etc/passwd" }, 2 };
	p.write_roots = (struct ar_plan_paths){ { "/cache" }, 1 };
	p.protected_paths = (struct ar_plan_paths){ { ".git/hooks", "a\\x41" }, 2 };
	p.decoys = (struct ar_plan_paths){ { "/root/.ssh/id_rsa" }, 1 };
	p.cgroups = (struct ar_plan_paths){ { "/sys/fs/cgroup/x" }, 1 };
	p.filter = "2000000000000000"
		   "0600000000000000";
	p.notifies = true;
	p.uses_landlock = true;
	p.tty = true;
	p.rows = 24;
	p.columns = 65535;
	p.keeps_stdin = true;
	p.limits = (struct ar_plan_limits){ 1, 2, 3, 4, UINT64_MAX, 0 };
	p.argv[1] = "";
	p.argv[2] = "a\nend\nb\\\x7f\x01";
	p.argc = 3;
	p.env[0] = "A=b=c";
	p.env[1] = "EMPTY=";
	p.env_count = 2;
	return p;
}

static char *text_of(const struct ar_plan *p, size_t *ret_len)
{
	size_t need = ar_plan_write(p, NULL, 0);
	char *text = ar_new0(need + 1);

	assert_true(need > 0);
	assert_int_equal(ar_plan_write(p, text, need), need);
	*ret_len = need;
	return text;
}

static void assert_same_list(const char *const *a, const char *const *b, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_string_equal(a[i], b[i]);
}

static void assert_same_paths(const struct ar_plan_paths *a, const struct ar_plan_paths *b)
{
	assert_int_equal(a->count, b->count);
	assert_same_list(a->at, b->at, a->count);
}

static void what_is_written_is_read(void **state AR_UNUSED)
{
	struct ar_plan p = full(), q;
	const char *wrong = NULL;
	size_t len;
	char *text = text_of(&p, &len);

	assert_true(ar_plan_read(text, len, &q, &wrong));
	assert_int_equal(q.mode, p.mode);
	assert_int_equal(q.network, p.network);
	assert_int_equal(q.backend, p.backend);
	assert_true(q.uid == 61000 && q.gid == 61001 && q.workspace_uid == 1000 && q.workspace_gid == 1001);
	assert_string_equal(q.workspace, p.workspace);
	assert_string_equal(q.cwd, p.cwd);
	assert_string_equal(q.filter, p.filter);
	assert_same_paths(&q.read_roots, &p.read_roots);
	assert_same_paths(&q.write_roots, &p.write_roots);
	assert_same_paths(&q.protected_paths, &p.protected_paths);
	assert_same_paths(&q.decoys, &p.decoys);
	assert_same_paths(&q.cgroups, &p.cgroups);
	assert_true(q.notifies && q.uses_landlock && q.tty && q.keeps_stdin && !q.stdin_is_given);
	assert_true(q.rows == 24 && q.columns == 65535);
	assert_memory_equal(&q.limits, &p.limits, sizeof(p.limits));
	assert_int_equal(q.argc, 3);
	assert_same_list(q.argv, p.argv, 3);
	assert_null(q.argv[3]);
	assert_int_equal(q.env_count, 2);
	assert_same_list(q.env, p.env, 2);
	ar_free(text);
}

static void too_little_room_writes_nothing(void **state AR_UNUSED)
{
	struct ar_plan p = least();
	char out[512];
	size_t need = ar_plan_write(&p, out, sizeof(out));

	assert_true(need > 0 && need < sizeof(out));
	memset(out, '!', sizeof(out));
	assert_int_equal(ar_plan_write(&p, out, need - 1), need);
	assert_int_equal(out[0], '!');
	assert_int_equal(ar_plan_write(&p, out, need), need);
	assert_int_equal(out[need], '!');
}

#define LEAST "mode read_only\nnetwork none\nbackend root\nuid 5\ngid 5\ncwd /\narg x\n"

static bool reads(const char *text, size_t len)
{
	static struct ar_plan p;
	const char *wrong = NULL;
	char *copy = ar_new0(len + 1);
	bool is_read;

	memcpy(copy, text, len);
	is_read = ar_plan_read(copy, len, &p, &wrong);
	assert_true(is_read == (wrong == NULL));
	assert_true(is_read || wrong[0] != '\0');
	ar_free(copy);
	return is_read;
}

static void other_text_is_refused(void **state AR_UNUSED)
{
	static const char *const wrong[] = {
		"",
		"end\n",
		LEAST,
		LEAST "end",
		LEAST "end\nend\n",
		LEAST "end\n ",
		LEAST "\nend\n",
		LEAST "nonsense 1\nend\n",
		LEAST "uid 5\nend\n",
		LEAST "tty yes\ntty yes\nend\n",
		LEAST "tty no\nend\n",
		LEAST "tty\nend\n",
		LEAST "rows 65536\nend\n",
		LEAST "rows -1\nend\n",
		LEAST "rows \nend\n",
		LEAST "rows 0x1\nend\n",
		LEAST "memory_bytes 18446744073709551616\nend\n",
		LEAST "workspace_uid 4294967295\nend\n",
		LEAST "arg a b\nend\n",
		LEAST "arg a\tb\nend\n",
		LEAST "arg \xff\nend\n",
		LEAST "arg \\x0\nend\n",
		LEAST "arg \\x00\nend\n",
		LEAST "arg \\xGG\nend\n",
		LEAST "arg \\n\nend\n",
		LEAST "arg \\\nend\n",
		LEAST "env noequals\nend\n",
		LEAST "env =x\nend\n",
		LEAST "read usr\nend\n",
		LEAST "read /\nend\n",
		LEAST "read /usr/\nend\n",
		LEAST "read /usr//bin\nend\n",
		LEAST "read /usr/../etc\nend\n",
		LEAST "read /.\nend\n",
		LEAST "workspace /\nend\n",
		LEAST "workspace relative\nend\n",
		LEAST "protect x\nend\n",
		LEAST "workspace /w\nprotect /x\nend\n",
		LEAST "workspace /w\nprotect ../x\nend\n",
		LEAST "workspace /w\nprotect \nend\n",
		LEAST "filter 06\nend\n",
		LEAST "filter \nend\n",
		LEAST "filter 060000000000000G\nend\n",
		LEAST "notifies yes\nend\n",
		LEAST "keeps_stdin yes\nstdin_is_given yes\nend\n",
		LEAST "given 17\nend\n",
		"mode danger\nnetwork none\nbackend root\nuid 5\ngid 5\ncwd /\narg x\nend\n",
		"mode danger\nnetwork host\nbackend root\nuid 5\ngid 5\ncwd /\narg x\nlandlock yes\nend\n",
		"mode read_only\nnetwork none\nbackend root\nuid 0\ngid 5\ncwd /\narg x\nend\n",
		"mode read_only\nnetwork none\nbackend root\nuid 5\ncwd /\narg x\nend\n",
		"mode read_only\nnetwork none\nbackend root\nuid 5\ngid 5\ncwd .\narg x\nend\n",
		"mode read_only\nnetwork none\nbackend root\nuid 5\ngid 5\narg x\nend\n",
		"mode read_only\nnetwork none\nbackend root\nuid 5\ngid 5\ncwd /\nend\n",
		"mode read_only\nnetwork none\nbackend root\nuid 5\ngid 5\ncwd /\narg \nend\n",
		"mode workspace_write\nnetwork none\nbackend root\nuid 5\ngid 5\ncwd /\narg x\nworkspace "
		"/w\nend\n",
		"network none\nbackend root\nuid 5\ngid 5\ncwd /\narg x\nend\n",
		"mode root\nnetwork none\nbackend root\nuid 5\ngid 5\ncwd /\narg x\nend\n",
	};

	assert_true(reads(LEAST "end\n", strlen(LEAST "end\n")));
	for (size_t i = 0; i < AR_ARRAY_LEN(wrong); i++) {
		if (reads(wrong[i], strlen(wrong[i])))
			fail_msg("was read: %s", wrong[i]);
	}
	assert_false(reads(LEAST "arg \0\nend\n", sizeof(LEAST "arg \0\nend\n") - 1));
}

/* Cut anywhere, a plan is none. */
static void a_cut_plan_is_refused(void **state AR_UNUSED)
{
	struct ar_plan p = full();
	size_t len;
	char *text = text_of(&p, &len);

	for (size_t i = 0; i < len; i++)
		assert_false(reads(text, i));
	ar_free(text);
}

static void too_many_are_refused(void **state AR_UNUSED)
{
	size_t len = 0, room = AR_PLAN_TEXT_MAX + 4096;
	char *text = ar_new0(room);

	len += (size_t)snprintf(text, room, "%s", LEAST);
	for (int i = 0; i <= AR_PLAN_ARGS_MAX; i++)
		len += (size_t)snprintf(text + len, room - len, "arg x\n");
	snprintf(text + len, room - len, "end\n");
	assert_false(reads(text, strlen(text)));
	/* one fewer than too many, with the one in LEAST */
	snprintf(text + len - strlen("arg x\narg x\n"), room - len, "end\n");
	assert_true(reads(text, strlen(text)));
	memset(text, 'x', room - 1);
	memcpy(text, "arg ", 4);
	memcpy(text + AR_PLAN_TEXT_MAX, "\nend\n", 5);
	assert_false(reads(text, AR_PLAN_TEXT_MAX + 5));
	ar_free(text);
}

static void what_cannot_be_said_is_not_written(void **state AR_UNUSED)
{
	struct ar_plan p = least();

	p.uid = 0;
	assert_int_equal(ar_plan_write(&p, NULL, 0), 0);
	p = least();
	p.argc = AR_PLAN_ARGS_MAX + 1;
	assert_int_equal(ar_plan_write(&p, NULL, 0), 0);
	p = least();
	p.read_roots.count = 1; /* and NULL in it */
	assert_int_equal(ar_plan_write(&p, NULL, 0), 0);
	p = least();
	p.argv[0] = ar_new0(AR_PLAN_TEXT_MAX + 1);
	memset((char *)(uintptr_t)p.argv[0], 'x', AR_PLAN_TEXT_MAX);
	assert_int_equal(ar_plan_write(&p, NULL, 0), 0);
	ar_free((char *)(uintptr_t)p.argv[0]);
}

static void a_prewarmed_plan_has_all_but_the_command(void **state AR_UNUSED)
{
	struct ar_plan p = full(), prewarmed, q;
	const char *wrong = NULL;
	size_t len;
	char *text;

	ar_plan_strip(&p, &prewarmed);
	assert_true(prewarmed.is_prewarmed && prewarmed.argc == 0 && prewarmed.env_count == 0 &&
		    !prewarmed.tty && !prewarmed.keeps_stdin);
	assert_int_equal(prewarmed.protected_paths.count, 0);
	assert_string_equal(prewarmed.cwd, "/");
	assert_null(ar_plan_differs(&prewarmed, &p));
	text = text_of(&prewarmed, &len);
	assert_true(ar_plan_read(text, len, &q, &wrong));
	assert_true(q.is_prewarmed);
	assert_null(ar_plan_differs(&q, &p));
	ar_free(text);
}

/* What a boundary is made of, each of it. */
static void another_boundary_is_another(void **state AR_UNUSED)
{
	struct ar_plan p = full(), prewarmed, q;

	ar_plan_strip(&p, &prewarmed);
#define DIFFERS(word, change) \
	do { \
		q = p; \
		change; \
		assert_non_null(ar_plan_differs(&prewarmed, &q)); \
		assert_string_equal(ar_plan_differs(&prewarmed, &q), word); \
	} while (0)
	DIFFERS("mode", q.mode = AR_PLAN_READ_ONLY);
	DIFFERS("network", q.network = AR_PLAN_NET_NONE);
	DIFFERS("backend", q.backend = AR_PLAN_USERNS);
	DIFFERS("uid", q.uid++);
	DIFFERS("gid", q.gid++);
	DIFFERS("workspace", q.workspace = "/work");
	DIFFERS("workspace", q.workspace = NULL);
	DIFFERS("workspace_uid", q.workspace_uid++);
	DIFFERS("workspace_gid", q.workspace_gid++);
	DIFFERS("read", q.read_roots.at[1] = "/etc/shadow");
	DIFFERS("write", q.write_roots = p.read_roots);
	DIFFERS("decoy", q.decoys.count = 0);
	DIFFERS("cgroup", q.cgroups.count = 0);
	DIFFERS("filter", q.filter = "0600000000000000");
	DIFFERS("filter", q.filter = NULL);
	DIFFERS("notifies", q.notifies = false);
	DIFFERS("landlock", q.uses_landlock = false);
	DIFFERS("reads_workspace", q.reads_workspace = true);
	DIFFERS("processes", q.limits.processes = 0);
	DIFFERS("memory_bytes", q.limits.memory_bytes++);
	DIFFERS("file_bytes", q.limits.file_bytes++);
	DIFFERS("open_files", q.limits.open_files++);
	DIFFERS("tmp_bytes", q.limits.tmp_bytes = 0);
#undef DIFFERS
}

static void a_prewarmed_plan_of_danger_or_with_a_command_is_none(void **state AR_UNUSED)
{
	struct ar_plan p = least(), prewarmed;

	ar_plan_strip(&p, &prewarmed);
	assert_true(ar_plan_write(&prewarmed, NULL, 0) > 0);
	p.is_prewarmed = true;
	assert_int_equal(ar_plan_write(&p, NULL, 0), 0);
	prewarmed.mode = AR_PLAN_DANGER;
	prewarmed.network = AR_PLAN_NET_HOST;
	assert_int_equal(ar_plan_write(&prewarmed, NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(too_little_room_writes_nothing),
		cmocka_unit_test(other_text_is_refused),
		cmocka_unit_test(a_cut_plan_is_refused),
		cmocka_unit_test(too_many_are_refused),
		cmocka_unit_test(what_cannot_be_said_is_not_written),
		cmocka_unit_test(a_prewarmed_plan_has_all_but_the_command),
		cmocka_unit_test(another_boundary_is_another),
		cmocka_unit_test(a_prewarmed_plan_of_danger_or_with_a_command_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
