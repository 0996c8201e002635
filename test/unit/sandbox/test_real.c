/* From settings to a command that runs: plans of this module under the real agent-init, which is what they
 * are for. What a command finds inside is what the launch says of it. Skipped where the self-test finds
 * nothing to enforce with. */
#include "json.h"
#include "run.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <stdlib.h>
#include <unistd.h>

static struct desk *real_desk(void)
{
	struct desk *d = desk_new();

	d->options.helpers = AR_STR_NONE; /* beside this program */
	d->options.allows_danger = true;
	d->options.limits = (struct ar_plan_limits){ .processes = 100,
						     .memory_bytes = 1u << 29,
						     .file_bytes = 1 << 20,
						     .open_files = 200,
						     .tmp_bytes = 8 << 20 };
	desk_open(d);
	return d;
}

static bool can(const struct desk *d, enum ar_sandbox_profile profile)
{
	return ar_sandbox_host_of(d->sandbox)->profiles[profile].is_available;
}

static void give_to_owner(struct desk *d, const char *path)
{
	if (geteuid() == 0)
		assert_int_equal(lchown(desk_path(d, "%s", path), 1000, 1000), 0);
}

/* The script prints `ok` for each thing that is as it should be, and says what is not. */
static void expect(struct desk *d, enum ar_sandbox_profile profile, const char *script, const char *want)
{
	struct run r;

	run_script(d, profile, script, &r);
	if (r.code != 0 || strcmp(r.said.p, want) != 0)
		fail_msg("%s: code %d, said:\n%s\nready: %s", ar_sandbox_name(profile), r.code, r.said.p,
			 r.ready.p);
	run_fini(&r);
}

static void test_it_runs(void **state)
{
	struct desk *d = real_desk();

	(void)state;
	for (int i = 1; i < AR_SANDBOX_COUNT; i++) {
		if (can(d, (enum ar_sandbox_profile)i))
			expect(d, (enum ar_sandbox_profile)i, "pwd; echo out; echo err >&2; exit 0",
			       ar_arena_fmt(&d->arena, "%s\nout\nerr\n", d->workspace).p);
	}
	desk_free(d);
}

static int listen_here(uint16_t *ret_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
	*ret_port = ntohs(at.sin_port);
	return fd;
}

/* What each mode lets a command write, and whether it reaches a server of the host. */
static void test_modes(void **state)
{
	static const struct {
		enum ar_sandbox_profile profile;
		const char *want;
	} rows[] = {
		{ AR_SANDBOX_READ_ONLY, "-workspace +tmp +home -usr -root -etc -connect\n" },
		{ AR_SANDBOX_WORKSPACE_WRITE, "+workspace +tmp +home -usr -root -etc -connect\n" },
		{ AR_SANDBOX_NO_NETWORK, "+workspace +tmp +home -usr -root -etc -connect\n" },
		{ AR_SANDBOX_DANGER_FULL_ACCESS, "+workspace +tmp +home -usr -root -etc +connect\n" },
	};
	struct desk *d = real_desk();
	const char *script;
	uint16_t port;
	int server;

	(void)state;
	if (!can(d, AR_SANDBOX_WORKSPACE_WRITE)) {
		desk_free(d);
		skip();
	}
	server = listen_here(&port);
	script = ar_arena_fmt(&d->arena,
			      "can() { if (: > $1/p-$$) 2>/dev/null; then rm $1/p-$$; echo -n \"+$2 \"; else "
			      "echo -n \"-$2 "
			      "\"; fi; }\n"
			      "can . workspace; can /tmp tmp; can \"${WRITABLE_HOME:-$HOME}\" home; can /usr "
			      "usr; can / root; "
			      "can /etc etc\n"
			      "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", %u), 5)' "
			      "2>/dev/null && echo "
			      "+connect || echo -connect\n",
			      port)
			 .p;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct ar_str home =
			AR_STR("WRITABLE_HOME=/tmp"); /* whoever owns the workspace may have none */

		d->spec.env = &home;
		d->spec.env_count = rows[i].profile == AR_SANDBOX_DANGER_FULL_ACCESS;
		expect(d, rows[i].profile, script, rows[i].want);
	}
	close(server);
	desk_free(d);
}

/* Counts the variables that the JSON has and the process sees, and the other way round. */
static void check_environment(struct desk *d, const struct run *r)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_str rest = ar_str_from(strstr(r->said.p, "env:\n") + 5), line;
	struct ar_json json;
	size_t seen = 0;

	assert_int_equal(ar_json_parse(parser, d->launch.environment, &json, &d->err), AR_OK);
	while (!ar_str_empty(rest)) {
		struct ar_str name, value, said;

		rest = ar_str_split(rest, '\n', &line);
		value = ar_str_split(line, '=', &name);
		assert_true(ar_json_str(ar_json_get(json, ar_arena_str(&d->arena, name).p), &said));
		assert_true(ar_str_eq(said, value));
		seen++;
	}
	assert_int_equal(seen, ar_json_len(json));
	ar_json_parser_free(parser);
}

/* Where it is, what it may open, how much it may use, and every variable: as the launch says. */
static void test_inside_is_what_is_said(void **state)
{
	struct desk *d = real_desk();
	struct run r;

	(void)state;
	if (!can(d, AR_SANDBOX_WORKSPACE_WRITE)) {
		desk_free(d);
		skip();
	}
	run_script(d, AR_SANDBOX_WORKSPACE_WRITE,
		   "pwd; ulimit -n; awk '$2 ~ \"^/(tmp|home/agent)$\" {print $2}' /proc/mounts | sort -u; "
		   "echo env:; "
		   "tr '\\0' '\\n' < /proc/self/environ",
		   &r);
	assert_int_equal(strncmp(r.said.p, d->launch.plan->cwd, strlen(d->launch.plan->cwd)), 0);
	assert_non_null(strstr(r.said.p, "\n200\n/home/agent\n/tmp\n"));
	assert_non_null(strstr(d->launch.limits.p, "\"openFiles\":200"));
	assert_string_equal(d->launch.write_roots.p,
			    ar_arena_fmt(&d->arena, "[\"%s\",\"/tmp\",\"/home/agent\"]", d->workspace).p);
	check_environment(d, &r);
	run_fini(&r);
	desk_free(d);
}

static void test_protected_paths_hold(void **state)
{
	static const char script[] = "no() { if (eval \"$1\") 2>/dev/null; then echo \"done: $1\"; fi; }\n"
				     "no 'echo x > .git/config'; no 'echo x > .git/hooks/pre-commit'; no 'mv "
				     ".git .g'; no 'rm -r .git/hooks'\n"
				     "no 'echo x > tools/husky/pre'; no 'echo x > .githooks/pre-commit'; no "
				     "'mv .git/hooks .git/h'\n"
				     "echo x > .git/index && echo x > tools/free && echo fine\n";
	struct desk *d = real_desk();

	(void)state;
	if (!can(d, AR_SANDBOX_WORKSPACE_WRITE)) {
		desk_free(d);
		skip();
	}
	desk_file(d, "ws/.git/config", "[core]\n\thooksPath = .githooks\n");
	desk_folder(d, "ws/.git/hooks/");
	desk_folder(d, "ws/.githooks/");
	desk_folder(d, "ws/tools/husky/");
	desk_link(d, "ws/.husky", "tools/husky");
	give_to_owner(d, "ws/.git");
	give_to_owner(d, "ws/.git/config");
	give_to_owner(d, "ws/.git/hooks");
	give_to_owner(d, "ws/.githooks");
	give_to_owner(d, "ws/tools");
	give_to_owner(d, "ws/tools/husky");
	expect(d, AR_SANDBOX_WORKSPACE_WRITE, script, "fine\n");
	desk_free(d);
}

static void test_what_is_not_seen(void **state)
{
	struct desk *d = real_desk();
	const char *script;

	(void)state;
	if (!can(d, AR_SANDBOX_READ_ONLY)) {
		desk_free(d);
		skip();
	}
	desk_file(d, "state/store.db", "secret");
	desk_file(d, "home/.ssh/id_rsa", "secret");
	script =
		ar_arena_fmt(
			&d->arena,
			"cat %s/state/store.db %s/home/.ssh/id_rsa /proc/1/environ ~/.ssh/id_rsa /etc/shadow "
			"2>/dev/null; env | grep -c secret; ls -d /root /var /srv 2>/dev/null; exit 0",
			d->base, d->base)
			.p;
	setenv("AR_TEST_SECRET", "secret", 1);
	expect(d, AR_SANDBOX_READ_ONLY, script, "0\n");
	unsetenv("AR_TEST_SECRET");
	desk_free(d);
}

static void test_refused_calls_are_told(void **state)
{
	struct desk *d = real_desk();
	struct run r;

	(void)state;
	if (!can(d, AR_SANDBOX_WORKSPACE_WRITE)) {
		desk_free(d);
		skip();
	}
	run_script(d, AR_SANDBOX_WORKSPACE_WRITE,
		   "touch f; chmod u+s f 2>/dev/null || unshare -U true 2>/dev/null || echo no", &r);
	assert_string_equal(r.said.p, "no\n");
	assert_true(r.told[SYS_fchmodat]);
	assert_true(r.told[SYS_unshare]);
	assert_int_equal(r.code, 0);
	run_fini(&r);
	desk_free(d);
}

static void test_system_programs_work(void **state)
{
	static const char script[] =
		"python3 -c 'import ssl,json,ctypes; print(1)' && git --version >/dev/null && "
		"getent passwd root >/dev/null && date >/dev/null && awk 'BEGIN{print 2}' && "
		"perl -e 'print \"3\\n\"' && test -c /dev/null && ls /bin/sh /lib >/dev/null && echo 4";
	struct desk *d = real_desk();

	(void)state;
	if (!can(d, AR_SANDBOX_WORKSPACE_WRITE)) {
		desk_free(d);
		skip();
	}
	expect(d, AR_SANDBOX_WORKSPACE_WRITE, script, "1\n2\n3\n4\n");
	desk_free(d);
}

static void test_limits_hold(void **state)
{
	struct desk *d = real_desk();
	struct run r;

	(void)state;
	if (!can(d, AR_SANDBOX_WORKSPACE_WRITE) || d->sandbox == NULL) {
		desk_free(d);
		skip();
	}
	/* More than 100 processes, a file over 1 MiB, more than 8 MiB of /tmp. */
	run_script(d, AR_SANDBOX_WORKSPACE_WRITE,
		   "ulimit -n; (trap '' XFSZ; head -c 2000000 /dev/zero > big) 2>/dev/null; stat -c %s big\n"
		   "i=0; while [ $i -lt 9 ] && head -c 1000000 /dev/zero > /tmp/f$i; do i=$((i+1)); done "
		   "2>/dev/null; "
		   "echo $((i < 9))\n"
		   "python3 -c '\nimport os,time\nn=0\ntry:\n  while n<300:\n    if os.fork()==0: "
		   "time.sleep(30)\n    n+=1\n"
		   "except OSError: pass\nprint(n<100, flush=True)\nos._exit(0)'",
		   &r);
	assert_string_equal(r.said.p, "200\n1048576\n1\nTrue\n");
	run_fini(&r);
	desk_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_it_runs),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_inside_is_what_is_said),
		cmocka_unit_test(test_protected_paths_hold),
		cmocka_unit_test(test_what_is_not_seen),
		cmocka_unit_test(test_refused_calls_are_told),
		cmocka_unit_test(test_system_programs_work),
		cmocka_unit_test(test_limits_hold),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
