/* What a host may claim: every mechanism missing once, in both ways of running. A profile is then unavailable
 * with words that help, or says by name what it no longer enforces; nothing stays as if nothing were
 * missing. */
#include "desk.h"
#include "json.h"

#include <unistd.h>

#define RO (1u << AR_SANDBOX_READ_ONLY)
#define WW (1u << AR_SANDBOX_WORKSPACE_WRITE)
#define NN (1u << AR_SANDBOX_NO_NETWORK)
#define AN (1u << AR_SANDBOX_ALLOWLISTED_NETWORK)
#define DF (1u << AR_SANDBOX_DANGER_FULL_ACCESS)
#define BOUNDED (RO | WW | NN | AN)
#define ALL (BOUNDED | DF)

static const struct {
	enum ar_mechanism missing;
	unsigned lost_by_root, lost_by_anybody;
	const char *said; /* in the guarantees of workspace_write, when it is still there */
} rows[] = {
	{ AR_MECH_LANDLOCK, 0, AN, "\"files\":\"mounts\"" },
	{ AR_MECH_MOUNT_VIEW, BOUNDED, BOUNDED, NULL },
	{ AR_MECH_PINS, WW | NN | AN, WW | NN | AN, NULL },
	{ AR_MECH_IDMAP, BOUNDED, 0, "" },
	{ AR_MECH_PID_NAMESPACE, ALL, BOUNDED, NULL },
	{ AR_MECH_NETWORK_NAMESPACE, BOUNDED, BOUNDED, NULL },
	{ AR_MECH_IPC_NAMESPACE, BOUNDED, BOUNDED, NULL },
	{ AR_MECH_USER_NAMESPACE, 0, BOUNDED, "" },
	{ AR_MECH_SECCOMP, ALL, ALL, NULL },
	{ AR_MECH_SECCOMP_NOTIFY, ALL, ALL, NULL },
	{ AR_MECH_CAPABILITIES, BOUNDED, BOUNDED, NULL },
	{ AR_MECH_FD_HYGIENE, ALL, ALL, NULL },
	{ AR_MECH_CGROUP_KILL, 0, 0, "\"ending\":\"pid_namespace\"" },
	{ AR_MECH_CGROUP_PIDS, 0, 0, "\"limits\":\"rlimit_only\"" },
	{ AR_MECH_CGROUP_MEMORY, 0, 0, "memory is limited per process" },
	{ AR_MECH_PTY, 0, 0, "" },
};

static void judge(struct ar_arena *a, int missing, enum ar_plan_backend backend, struct ar_sandbox_host *ret)
{
	const struct ar_assess_options o = { .backend = backend, .allows_danger = true, .has_proxy = true };
	struct ar_mechanisms m = { 0 };

	for (int i = 0; i < AR_MECH_COUNT; i++)
		m.works[i] = i != missing;
	ar_sandbox_assess(&m, &o, a, ret);
}

static void check(const struct ar_sandbox_host *h, int row, unsigned lost)
{
	const char *name = ar_mechanism_name(rows[row].missing);

	for (int i = 1; i < AR_SANDBOX_COUNT; i++) {
		const struct ar_sandbox_standing *s = &h->profiles[i];

		assert_int_equal(s->is_available, !(lost & (1u << i)));
		assert_int_equal(s->is_available, !ar_str_absent(s->guarantees));
		if (s->is_available)
			continue;
		assert_non_null(strstr(s->reason.p, name));
		assert_true(s->remedy.len > 20);
	}
	if (!(lost & WW) && rows[row].said)
		assert_non_null(strstr(h->profiles[AR_SANDBOX_WORKSPACE_WRITE].guarantees.p, rows[row].said));
}

static void test_each_missing_once(void **state)
{
	struct ar_arena a = { 0 };
	struct ar_sandbox_host h;

	(void)state;
	assert_int_equal(AR_ARRAY_LEN(rows), AR_MECH_COUNT);
	for (int i = 0; i < AR_MECH_COUNT; i++) {
		judge(&a, (int)rows[i].missing, AR_PLAN_ROOT, &h);
		check(&h, i, rows[i].lost_by_root);
		judge(&a, (int)rows[i].missing, AR_PLAN_USERNS, &h);
		check(&h, i, rows[i].lost_by_anybody);
	}
	ar_arena_fini(&a);
}

static void test_all_works(void **state)
{
	struct ar_arena a = { 0 };
	struct ar_sandbox_host h;
	struct ar_str g;

	(void)state;
	judge(&a, -1, AR_PLAN_ROOT, &h);
	for (int i = 1; i < AR_SANDBOX_COUNT; i++)
		assert_true(h.profiles[i].is_available);
	g = h.profiles[AR_SANDBOX_WORKSPACE_WRITE].guarantees;
	assert_non_null(strstr(g.p, "\"files\":\"mounts_and_landlock\""));
	assert_non_null(strstr(g.p, "\"limits\":\"cgroup\""));
	g = h.profiles[AR_SANDBOX_DANGER_FULL_ACCESS].guarantees;
	assert_non_null(strstr(g.p, "\"files\":\"host\""));
	assert_non_null(strstr(g.p, "only the user's own permissions"));
	ar_arena_fini(&a);
}

static void test_danger_and_proxy_are_not_there_by_themselves(void **state)
{
	const struct ar_assess_options o = { .backend = AR_PLAN_ROOT };
	struct ar_mechanisms m = { 0 };
	struct ar_sandbox_host h;
	struct ar_arena a = { 0 };

	(void)state;
	memset(m.works, true, sizeof(m.works));
	ar_sandbox_assess(&m, &o, &a, &h);
	assert_true(h.profiles[AR_SANDBOX_WORKSPACE_WRITE].is_available);
	assert_false(h.profiles[AR_SANDBOX_DANGER_FULL_ACCESS].is_available);
	assert_non_null(strstr(h.profiles[AR_SANDBOX_DANGER_FULL_ACCESS].remedy.p, "sandbox.allow_danger"));
	assert_false(h.profiles[AR_SANDBOX_ALLOWLISTED_NETWORK].is_available);
	ar_arena_fini(&a);
}

static void test_cpu_time_without_a_limit_is_said(void **state)
{
	struct ar_assess_options o = { .backend = AR_PLAN_ROOT };
	struct ar_mechanisms m = { 0 };
	struct ar_sandbox_host h;
	struct ar_arena a = { 0 };

	(void)state;
	memset(m.works, true, sizeof(m.works));
	ar_sandbox_assess(&m, &o, &a, &h);
	assert_null(strstr(h.profiles[AR_SANDBOX_READ_ONLY].guarantees.p, "CPU time"));
	o.lacks_cpu = true;
	ar_sandbox_assess(&m, &o, &a, &h);
	assert_non_null(strstr(h.profiles[AR_SANDBOX_READ_ONLY].guarantees.p, "CPU time has no limit"));
	assert_true(h.profiles[AR_SANDBOX_READ_ONLY].is_available);
	ar_arena_fini(&a);
}

/* Whatever stands in the way of the self-test, no profile is claimed. */
static void none_available(struct desk *d, const char *reason)
{
	const struct ar_sandbox_host *h;

	d->options.allows_danger = d->options.has_proxy = true;
	desk_open(d);
	h = ar_sandbox_host_of(d->sandbox);
	for (int i = 1; i < AR_SANDBOX_COUNT; i++) {
		assert_false(h->profiles[i].is_available);
		assert_true(ar_str_absent(h->profiles[i].guarantees));
		if (!strstr(h->profiles[i].reason.p, reason))
			fail_msg("'%s' is not in '%s'", reason, h->profiles[i].reason.p);
		assert_int_equal(desk_plan(d, (enum ar_sandbox_profile)i), AR_E_UNAVAILABLE);
	}
	desk_free(d);
}

static void test_no_program(void **state)
{
	struct desk *d = desk_new();

	(void)state;
	unlink(desk_path(d, "bin/agent-init"));
	none_available(d, "could not be started");
}

static void test_rubbish_answers(void **state)
{
	static const struct {
		const char *script, *reason;
	} answers[] = {
		{ "#!/bin/sh\nexit 0\n", "printed nothing" },
		{ "#!/bin/sh\necho '{\"a\":1}'\n", "printed no list" },
		{ "#!/bin/sh\necho '[]'\n", "does not work here" },
		{ "#!/bin/sh\necho '[{\"mechanism\":\"seccomp\",\"isWorking\":\"yes\"}]'\n",
		  "does not work here" },
		{ "#!/bin/sh\necho '[{\"mechanism\":'\n", "" },
		{ "#!/bin/sh\nyes\n", "did not finish" },
	};

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(answers); i++) {
		struct desk *d = desk_new();

		desk_file(d, "bin/agent-init", answers[i].script);
		none_available(d, answers[i].reason);
	}
}

static void test_the_ladder_names_what_to_do(void **state)
{
	struct desk *d = desk_new();
	struct ar_str ladder;

	(void)state;
	desk_probe(d, "landlock");
	desk_open(d);
	ladder = ar_sandbox_host_of(d->sandbox)->ladder;
	assert_non_null(
		strstr(ladder.p,
		       "{\"mechanism\":\"landlock\",\"isWorking\":false,\"detail\":\"fake\",\"remedy\":\""));
	assert_non_null(
		strstr(ladder.p, "{\"mechanism\":\"seccomp\",\"isWorking\":true,\"detail\":\"fake\"}"));
	desk_free(d);
}

static void test_without_is_handed_on(void **state)
{
	struct desk *d = desk_new();

	(void)state;
	desk_file(d, "bin/agent-init",
		  "#!/bin/sh\nprintf '[{\"mechanism\":\"pty\",\"detail\":\"%s\"}]' \"$*\"\n");
	d->options.without = AR_STR("landlock, pins");
	desk_open(d);
	assert_non_null(strstr(ar_sandbox_host_of(d->sandbox)->ladder.p,
			       "\"detail\":\"--probe --without landlock --without pins\""));
	desk_free(d);

	d = desk_new();
	d->options.without = AR_STR("landlock,magic");
	assert_int_equal(ar_sandbox_open(&d->options, &d->sandbox, &d->err), AR_E_INVALID);
	assert_non_null(strstr(d->err.msg, "'magic'"));
	d->sandbox = NULL;
	desk_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_missing_once),
		cmocka_unit_test(test_all_works),
		cmocka_unit_test(test_danger_and_proxy_are_not_there_by_themselves),
		cmocka_unit_test(test_cpu_time_without_a_limit_is_said),
		cmocka_unit_test(test_no_program),
		cmocka_unit_test(test_rubbish_answers),
		cmocka_unit_test(test_the_ladder_names_what_to_do),
		cmocka_unit_test(test_without_is_handed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
