/* Control groups: found in every arrangement that hosts have, made with their limits, and gone afterwards. */
#include "cgroups.h"
#include "desk.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char hybrid_mounts[] =
	"25 1 0:22 / /proc rw shared:5 - proc proc rw\n"
	"30 25 0:26 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"
	"31 25 0:27 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
	"32 25 0:28 / /sys/fs/cgroup/pids rw,relatime - cgroup cgroup rw,pids\n"
	"33 25 0:29 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
static const char hybrid_groups[] = "8:pids:/\n4:memory:/api/x\n1:cpu:/\n0::/user.slice\n";

static void test_found_side_by_side(void **state)
{
	struct ar_arena a = { 0 };
	struct ar_cgroups c = { 0 };

	(void)state;
	ar_cgroups_parse(ar_str_from(hybrid_mounts), ar_str_from(hybrid_groups), &a, &c);
	assert_int_equal(c.count, 4);
	assert_str(c.at[0].folder, "/sys/fs/cgroup/memory/api/x/agentruntime");
	assert_str(c.at[1].folder, "/sys/fs/cgroup/cpu/agentruntime");
	assert_str(c.at[2].folder, "/sys/fs/cgroup/pids/agentruntime");
	assert_str(c.at[3].folder, "/sys/fs/cgroup/unified/user.slice/agentruntime");
	assert_true(c.at[0].weighs && c.at[1].paces && c.at[2].counts && c.at[3].is_v2);
	ar_arena_fini(&a);
}

static void test_found_elsewhere(void **state)
{
	static const struct {
		const char *mounts, *groups, *folder; /* NULL: none */
	} rows[] = {
		{ "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw,nsdelegate\n",
		  "0::/system.slice/agentd.service\n",
		  "/sys/fs/cgroup/system.slice/agentd.service/agentruntime" },
		{ "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup rw\n", "0::/\n",
		  "/sys/fs/cgroup/agentruntime" },
		{ "30 25 0:26 /docker/1 /cg rw - cgroup2 cgroup rw\n", "0::/docker/1\n", "/cg/agentruntime" },
		{ "30 25 0:26 /docker/1 /cg rw - cgroup2 cgroup rw\n", "0::/docker/1/sub\n",
		  "/cg/sub/agentruntime" },
		{ "30 25 0:26 /docker/1 /cg rw - cgroup2 cgroup rw\n", "0::/docker/12\n", NULL },
		{ "30 25 0:26 / /cg rw - cgroup2 cgroup rw\n", "0::/../other\n", NULL },
		{ "30 25 0:26 / /c\\040g rw - cgroup2 cgroup rw\n", "0::/\n", NULL },
		{ "30 25 0:26 / /cg rw - cgroup2 cgroup rw\n", "4:memory:/\n", NULL },
		{ "rubbish\n\n30 25\n", "0::/\n", NULL },
		{ "", "", NULL },
	};
	struct ar_arena a = { 0 };

	(void)state;
	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct ar_cgroups c = { 0 };

		ar_cgroups_parse(ar_str_from(rows[i].mounts), ar_str_from(rows[i].groups), &a, &c);
		assert_int_equal(c.count, rows[i].folder != NULL);
		if (rows[i].folder)
			assert_str(c.at[0].folder, rows[i].folder);
	}
	ar_arena_fini(&a);
}

static bool is_there(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

static void read_value(const char *folder, const char *name, char *out, size_t room)
{
	char path[512];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	out[0] = '\0';
	if (fd < 0)
		return;
	n = read(fd, out, room - 1);
	out[n > 0 ? n - 1 : 0] = '\0';
	close(fd);
}

static pid_t sleep_in(const char *folder)
{
	char path[512];
	pid_t pid;
	int fd;

	snprintf(path, sizeof(path), "%s/cgroup.procs", folder);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (write(fd, "0", 1) == 1)
			pause();
		_exit(1);
	}
	close(fd);
	for (char text[64] = ""; !text[0]; usleep(1000))
		read_value(folder, "cgroup.procs", text, sizeof(text));
	return pid;
}

static void test_made_and_removed(void **state)
{
	const struct ar_plan_limits limits = { .processes = 33, .memory_bytes = 1u << 26, .cpu_percent = 30 };
	struct ar_plan_paths made = { 0 };
	struct ar_arena a = { 0 };
	struct ar_cgroups c;
	struct ar_error err;
	char value[64];
	bool has_counted = false, has_paced = false;
	pid_t pid;

	(void)state;
	ar_cgroups_open(&c, true, &a);
	if (!c.counts) {
		ar_cgroups_close(&c);
		ar_arena_fini(&a);
		skip();
	}
	assert_int_equal(ar_cgroups_make(&c, &limits, &a, &made, &err), AR_OK);
	assert_int_equal(made.count, c.count);
	for (size_t i = 0; i < made.count; i++) {
		assert_true(is_there(made.at[i]));
		read_value(made.at[i], "pids.max", value, sizeof(value));
		has_counted |= strcmp(value, "33") == 0;
		read_value(made.at[i], "cpu.cfs_quota_us", value, sizeof(value));
		has_paced |= strcmp(value, "30000") == 0;
		read_value(made.at[i], "cpu.max", value, sizeof(value));
		has_paced |= strcmp(value, "30000 100000") == 0;
	}
	assert_true(has_counted);
	assert_int_equal(has_paced, c.paces);

	/* Still in use: kept, and gone as soon as it can be. */
	pid = sleep_in(made.at[0]);
	ar_cgroups_remove(&c, &made);
	assert_true(is_there(made.at[0]));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (int i = 0; i < 1000 && c.pending_count > 0; i++) {
		usleep(1000);
		ar_cgroups_remove(&c, &(struct ar_plan_paths){ 0 });
	}
	for (size_t i = 0; i < made.count; i++)
		assert_false(is_there(made.at[i]));
	ar_cgroups_close(&c);
	ar_arena_fini(&a);
}

/* The text of a plan may be anything by the time it is read again. */
static void test_nothing_else_is_removed(void **state)
{
	struct ar_plan_paths wrong = { 0 };
	struct desk *d = desk_new();
	struct ar_cgroups c;
	const char *other, *outside;

	(void)state;
	ar_cgroups_open(&c, true, &d->arena);
	if (c.count == 0) {
		desk_free(d);
		skip();
	}
	other = ar_arena_fmt(&d->arena, "%s/keep-%d", c.at[0].folder.p, (int)getpid()).p;
	outside = desk_path(d, "agentruntime/0123456789abcdef");
	assert_int_equal(mkdir(other, 0755), 0);
	desk_folder(d, "agentruntime/0123456789abcdef/");
	wrong.at[wrong.count++] = other;
	wrong.at[wrong.count++] = outside;
	wrong.at[wrong.count++] = "";
	ar_cgroups_remove(&c, &wrong);
	assert_true(is_there(other));
	assert_true(is_there(outside));
	rmdir(other);
	ar_cgroups_close(&c);
	desk_free(d);
}

static void test_a_launch_has_its_own(void **state)
{
	struct desk *d = desk_new();
	const char *folder;

	(void)state;
	assert_int_equal(desk_plan(d, AR_SANDBOX_READ_ONLY), AR_OK);
	if (d->launch.plan->cgroups.count == 0) {
		desk_free(d);
		skip();
	}
	assert_non_null(strstr(d->launch.limits.p, "\"enforcedBy\":\"cgroup\""));
	folder = d->launch.plan->cgroups.at[0];
	assert_true(is_there(folder));
	ar_sandbox_release(d->sandbox, &d->launch);
	assert_false(is_there(folder));
	d->launch.plan = NULL;
	desk_free(d);
}

static void test_none_is_said(void **state)
{
	struct desk *d = desk_new();

	(void)state;
	desk_probe(d, "cgroup_pids,cgroup_kill,cgroup_memory");
	assert_int_equal(desk_plan(d, AR_SANDBOX_WORKSPACE_WRITE), AR_OK);
	assert_int_equal(d->launch.plan->cgroups.count, 0);
	assert_non_null(strstr(d->launch.limits.p, "\"enforcedBy\":\"rlimit_only\""));
	assert_non_null(strstr(d->launch.guarantees.p, "\"limits\":\"rlimit_only\""));
	desk_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found_side_by_side),   cmocka_unit_test(test_found_elsewhere),
		cmocka_unit_test(test_made_and_removed),     cmocka_unit_test(test_nothing_else_is_removed),
		cmocka_unit_test(test_a_launch_has_its_own), cmocka_unit_test(test_none_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
