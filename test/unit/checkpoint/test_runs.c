/* Runs of the adapter with the real sandbox, as the user of this test; as root with a folder of another user.
 * Skipped where the sandbox has nothing to enforce with. */
#include "checkpoints.h"
#include "clock.h"
#include "contained.h"
#include "files.h"
#include "mem.h"
#include "unit.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWNER 1000
#define WORKSPACE "ws_0000000000j0000000000000000"

struct desk {
	char base[64];
	char folder[80], dir[80], store[200];
	uv_loop_t loop;
	struct ar_sandbox *sandbox;
	struct ar_checkpoints *checkpoints;
	size_t done; /* runs */
};

struct run {
	struct ar_checkpoint_run run;
	struct desk *desk;
	size_t place; /* as which it was done; 0: not yet */
	enum ar_status status;
	int64_t files;
	char id[AR_CHECKPOINT_ID_MAX + 1], message[512], changes[512];
};

static bool name_folders(struct ar_str tenant, struct ar_str workspace_id,
			 char ret_tenant[AR_CHECKPOINTS_NAME_MAX],
			 char ret_workspace[AR_CHECKPOINTS_NAME_MAX])
{
	snprintf(ret_tenant, AR_CHECKPOINTS_NAME_MAX, "home-%.*s", AR_STR_ARG(tenant));
	snprintf(ret_workspace, AR_CHECKPOINTS_NAME_MAX, "%.*s", AR_STR_ARG(workspace_id));
	return ar_str_starts(workspace_id, AR_STR("ws_"));
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

static void shell(struct desk *d, const char *command)
{
	char line[2048];

	snprintf(line, sizeof(line), "set -e; cd '%s'; %s", d->folder, command);
	assert_int_equal(system(line), 0);
}

static void give_to_owner(struct desk *d)
{
	if (geteuid() == 0)
		shell(d, "chown -hR 1000:1000 .");
}

static struct desk *desk_new(void)
{
	struct desk *d = ar_new0(sizeof(*d));
	struct ar_error err = { 0 };

	snprintf(d->base, sizeof(d->base), "/tmp/ar-checkpoint-XXXXXX");
	assert_non_null(mkdtemp(d->base));
	assert_int_equal(chmod(d->base, 0755), 0);
	snprintf(d->folder, sizeof(d->folder), "%s/project", d->base);
	snprintf(d->dir, sizeof(d->dir), "%s/managed", d->base);
	snprintf(d->store, sizeof(d->store), "%s/home-local/" WORKSPACE "/checkpoints", d->dir);
	assert_int_equal(mkdir(d->folder, 0700), 0);
	assert_int_equal(mkdir(d->dir, 0700), 0);
	uv_loop_init(&d->loop);
	const struct ar_sandbox_options o = { .state_dir = AR_STR("/var/lib/agentd-test"),
					      .limits = { .processes = 100, .open_files = 1000 } };

	assert_int_equal(ar_sandbox_open(&o, &d->sandbox, &err), AR_OK);
	d->checkpoints = ar_checkpoints_new(&d->loop, d->sandbox,
					    &(struct ar_checkpoints_options){ .dir = ar_str_from(d->dir),
									      .name_folders = name_folders });
	return d;
}

static void desk_free(struct desk *d)
{
	if (d->checkpoints)
		d->checkpoints->v->close(d->checkpoints);
	uv_run(&d->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&d->loop), 0);
	ar_sandbox_close(d->sandbox);
	nftw(d->base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	ar_free(d);
}

static bool can(const struct desk *d)
{
	return ar_sandbox_host_of(d->sandbox)->profiles[AR_SANDBOX_WORKSPACE_WRITE].is_available;
}

static void keep(char *to, size_t room, struct ar_str s)
{
	snprintf(to, room, "%.*s", ar_str_absent(s) ? 0 : (int)s.len, ar_str_absent(s) ? "" : s.p);
}

static void on_done(struct ar_checkpoint_run *run, const struct ar_checkpoint_result *result)
{
	struct run *r = AR_CONTAINER_OF(run, struct run, run);

	assert_int_equal(r->place, 0); /* exactly once */
	r->place = ++r->desk->done;
	r->status = result->status;
	r->files = result->files;
	keep(r->id, sizeof(r->id), result->id);
	keep(r->message, sizeof(r->message), result->message);
	keep(r->changes, sizeof(r->changes), result->changes);
}

static void start(struct desk *d, struct run *r, enum ar_checkpoint_kind kind, const char *to)
{
	struct ar_clock *clock = ar_clock_system();

	*r = (struct run){ .desk = d,
			   .run = { .kind = kind,
				    .tenant = AR_STR("local"),
				    .workspace_id = AR_STR(WORKSPACE),
				    .folder = ar_str_from(d->folder),
				    .session_id = AR_STR("sess_one"),
				    .deadline = clock->mono(clock) + 60 * 1000000,
				    .on_done = on_done } };
	if (kind == AR_CHECKPOINT_DIFF)
		r->run.from = ar_str_from(to);
	else
		r->run.to = ar_str_from(to);
	d->checkpoints->v->start(d->checkpoints, &r->run);
	assert_int_equal(r->place, 0); /* never before start returns */
}

static void run(struct desk *d, struct run *r, enum ar_checkpoint_kind kind, const char *to)
{
	start(d, r, kind, to);
	while (!r->place)
		uv_run(&d->loop, UV_RUN_ONCE);
}

static void run_well(struct desk *d, struct run *r, enum ar_checkpoint_kind kind, const char *to)
{
	run(d, r, kind, to);
	if (r->status != AR_OK)
		print_error("%s\n", r->message);
	assert_int_equal(r->status, AR_OK);
}

static void expect_text(struct desk *d, const char *name, const char *want)
{
	char path[128], text[64] = "";

	snprintf(path, sizeof(path), "%s/%s", d->folder, name);
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	assert_non_null(fgets(text, sizeof(text), f));
	assert_string_equal(text, want);
	fclose(f);
}

static void test_files_come_back(void **state)
{
	(void)state;
	struct desk *d = desk_new();
	struct run one, two, r;
	struct stat st;

	if (!can(d)) {
		desk_free(d);
		skip();
	}
	shell(d, "echo one > a; mkdir -m 700 b; echo two > b/c; chmod 600 b/c; ln -s a link");
	give_to_owner(d);
	run_well(d, &one, AR_CHECKPOINT_SAVE, NULL);
	assert_int_equal(one.files, 3);
	assert_int_equal(stat(d->store, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	assert_int_equal(st.st_uid, geteuid() == 0 ? OWNER : geteuid());
	shell(d, "rm -r b link; echo changed > a; echo new > added");
	give_to_owner(d);
	run_well(d, &r, AR_CHECKPOINT_DIFF, one.id);
	assert_non_null(strstr(r.changes, "{\"path\":\"added\",\"change\":\"added\"}"));
	run_well(d, &two, AR_CHECKPOINT_RESTORE, one.id);
	assert_int_equal(two.files, 4);
	expect_text(d, "a", "one\n");
	expect_text(d, "b/c", "two\n");
	shell(d, "test ! -e added; test \"$(readlink link)\" = a");
	if (geteuid() == 0)
		shell(d, "test \"$(stat -c %u:%g a b b/c | sort -u)\" = 1000:1000");
	run_well(d, &r, AR_CHECKPOINT_SAVE, NULL);
	assert_string_equal(r.id, one.id);
	run_well(d, &r, AR_CHECKPOINT_RESTORE, two.id);
	expect_text(d, "a", "changed\n");
	desk_free(d);
}

static void test_forgotten(void **state)
{
	(void)state;
	struct desk *d = desk_new();
	struct run one, first, r;
	struct ar_str id;

	if (!can(d)) {
		desk_free(d);
		skip();
	}
	give_to_owner(d);
	run_well(d, &one, AR_CHECKPOINT_SAVE, NULL);
	start(d, &first, AR_CHECKPOINT_SAVE, NULL); /* so that the next waits, with its ids */
	id = ar_str_from(one.id);
	start(d, &r, AR_CHECKPOINT_FORGET, NULL);
	r.run.ids = &id;
	r.run.id_count = 1;
	while (!r.place)
		uv_run(&d->loop, UV_RUN_ONCE);
	assert_int_equal(r.status, AR_OK);
	assert_int_equal(first.place + 1, r.place);
	run(d, &r, AR_CHECKPOINT_RESTORE, one.id);
	assert_int_equal(r.status, AR_E_NOT_FOUND);
	desk_free(d);
}

/* ---- the folder of a session ---- */

static void run_between(struct desk *d, struct run *r, enum ar_checkpoint_kind kind, const char *from)
{
	struct ar_clock *clock = ar_clock_system();
	char session[128];

	snprintf(session, sizeof(session), "%s/session", d->dir);
	*r = (struct run){ .desk = d,
			   .run = { .kind = kind,
				    .tenant = AR_STR("local"),
				    .workspace_id = AR_STR(WORKSPACE),
				    .folder = ar_str_from(session),
				    .origin = ar_str_from(d->folder),
				    .session_id = AR_STR("sess_one"),
				    .from = ar_str_from(from),
				    .isolation = AR_ISOLATION_WORKTREE,
				    .label = AR_STR("agent/one"),
				    .deadline = clock->mono(clock) + 60 * 1000000,
				    .on_done = on_done } };
	d->checkpoints->v->start(d->checkpoints, &r->run);
	while (!r->place)
		uv_run(&d->loop, UV_RUN_ONCE);
	if (r->status != AR_OK)
		print_error("%s\n", r->message);
	assert_int_equal(r->status, AR_OK);
}

static void test_filled_and_merged(void **state)
{
	(void)state;
	struct desk *d = desk_new();
	struct run fill, r;

	if (!can(d)) {
		desk_free(d);
		skip();
	}
	shell(d, "mkdir .vscode ../managed/session; chmod 700 ../managed/session; echo one > a; echo one > "
		 ".vscode/tasks; "
		 "chmod 600 a; git init -q .; git -c user.name=n -c user.email=e commit -q --allow-empty -m "
		 "first");
	give_to_owner(d);
	if (geteuid() == 0)
		shell(d, "chown 1000:1000 ../managed/session");
	run_between(d, &fill, AR_CHECKPOINT_FILL, NULL);
	assert_int_equal(fill.files, 2);
	shell(d, "cd ../managed/session; test \"$(cat a)\" = one; test \"$(stat -c %a a)\" = 600; test -e "
		 ".git/refs/heads/agent/one; echo two > a; echo evil > .vscode/tasks; echo evil > .envrc; "
		 "echo new > b");
	if (geteuid() == 0)
		shell(d, "chown -hR 1000:1000 ../managed/session");
	run_between(d, &r, AR_CHECKPOINT_MERGE, fill.id);
	assert_string_equal(
		r.changes, "[{\"path\":\"a\",\"change\":\"changed\"},{\"path\":\"b\",\"change\":\"added\"}]");
	expect_text(d, "a", "two\n");
	expect_text(d, ".vscode/tasks", "one\n");
	shell(d, "test ! -e .envrc; test ! -e .git/refs/heads/agent");
	if (geteuid() == 0)
		shell(d, "test \"$(stat -c %u:%g a b)\" = \"$(printf '1000:1000\\n1000:1000')\"");
	desk_free(d);
}

/* Existing protected paths stay as they are; the rest is done, and it is told. */
static void test_protected_paths(void **state)
{
	(void)state;
	struct desk *d = desk_new();
	struct run one, r;

	if (!can(d)) {
		desk_free(d);
		skip();
	}
	shell(d, "mkdir .vscode; echo one > .vscode/tasks.json; echo one > a");
	give_to_owner(d);
	run_well(d, &one, AR_CHECKPOINT_SAVE, NULL);
	shell(d, "echo two > .vscode/tasks.json; echo two > a");
	run(d, &r, AR_CHECKPOINT_RESTORE, one.id);
	assert_int_equal(r.status, AR_E_IO);
	assert_non_null(strstr(r.message, ".vscode/tasks.json: it is protected"));
	assert_string_equal(r.changes, "[{\"path\":\"a\",\"change\":\"changed\"}]");
	assert_int_equal(strlen(r.id), 64);
	expect_text(d, "a", "one\n");
	expect_text(d, ".vscode/tasks.json", "two\n");
	desk_free(d);
}

static void test_runs_are_in_order(void **state)
{
	(void)state;
	struct desk *d = desk_new();
	struct run r[4], bad;

	if (!can(d)) {
		desk_free(d);
		skip();
	}
	shell(d, "echo one > a");
	give_to_owner(d);
	for (size_t i = 0; i < 4; i++)
		start(d, &r[i], AR_CHECKPOINT_SAVE, NULL);
	d->checkpoints->v->cancel(d->checkpoints, &r[1].run);
	while (d->done < 4)
		uv_run(&d->loop, UV_RUN_ONCE);
	assert_int_equal(r[1].status, AR_E_CANCELED);
	assert_true(r[0].place < r[2].place && r[2].place < r[3].place);
	assert_int_equal(r[3].status, AR_OK);
	start(d, &bad, AR_CHECKPOINT_SAVE, NULL);
	d->checkpoints->v->cancel(d->checkpoints, &bad.run);
	while (!bad.place)
		uv_run(&d->loop, UV_RUN_ONCE);
	assert_int_equal(bad.status, AR_E_CANCELED);
	start(d, &bad, AR_CHECKPOINT_SAVE, NULL);
	d->checkpoints->v->close(d->checkpoints); /* what runs is told at once */
	d->checkpoints = NULL;
	assert_int_equal(bad.status, AR_E_CANCELED);
	desk_free(d);
}

static void test_deadline(void **state)
{
	(void)state;
	struct desk *d = desk_new();
	struct run r = { .desk = d,
			 .run = { .kind = AR_CHECKPOINT_SAVE,
				  .tenant = AR_STR("local"),
				  .workspace_id = AR_STR(WORKSPACE),
				  .folder = ar_str_from(d->folder),
				  .session_id = AR_STR("sess_one"),
				  .deadline = 1,
				  .on_done = on_done } };

	if (!can(d)) {
		desk_free(d);
		skip();
	}
	give_to_owner(d);
	d->checkpoints->v->start(d->checkpoints, &r.run);
	while (!r.place)
		uv_run(&d->loop, UV_RUN_ONCE);
	assert_int_equal(r.status, AR_E_TIMEOUT);
	desk_free(d);
}

static void test_refused(void **state)
{
	(void)state;
	struct desk *d = desk_new();
	struct run r;

	run(d, &r, AR_CHECKPOINT_SAVE, NULL); /* as root: a folder of root is not written */
	assert_int_equal(r.status, geteuid() == 0 || !can(d) ? AR_E_UNAVAILABLE : AR_OK);
	char other[128];

	snprintf(other, sizeof(other), "%s/elsewhere", d->base);
	assert_int_equal(rename(d->folder, other), 0);
	assert_int_equal(symlink(other, d->folder), 0); /* a link that somebody put there */
	run(d, &r, AR_CHECKPOINT_SAVE, NULL);
	assert_int_equal(r.status, AR_E_UNAVAILABLE);
	desk_free(d);
}

/* ---- what such a run may do ---- */

struct direct {
	bool is_done;
	struct ar_buf output;
};

static void direct_done(void *arg, const struct ar_contained_end *end)
{
	struct direct *r = arg;

	ar_buf_adds(&r->output, end->output);
	ar_buf_addc(&r->output, '\0');
	r->is_done = true;
}

/* write_file in the workspace, by a run with a store. */
static void expect_write(struct desk *d, bool reads_workspace, const char *want)
{
	struct direct r = { 0 };
	struct ar_buf request = { 0 };

	ar_files_write_request(&(struct ar_files_request){ .tool = AR_STR("write_file"),
							   .args = AR_STR(
								   "{\"path\":\"made\",\"content\":\"x\"}"),
							   .workspace = ar_str_from(d->folder) },
			       &request);
	ar_contained_start(&d->loop, d->sandbox,
			   &(struct ar_contained_spec){ .program = "agent-files",
							.input = ar_buf_str(&request),
							.session_id = AR_STR(WORKSPACE),
							.workspace = ar_str_from(d->folder),
							.profile = AR_SANDBOX_WORKSPACE_WRITE,
							.store = ar_str_from(d->store),
							.reads_workspace = reads_workspace,
							.output_max = 65536,
							.done = direct_done,
							.arg = &r });
	while (!r.is_done)
		uv_run(&d->loop, UV_RUN_ONCE);
	if (!strstr(r.output.p, want))
		fail_msg("%s", r.output.p);
	ar_buf_fini(&request);
	ar_buf_fini(&r.output);
}

static void test_least_privilege(void **state)
{
	(void)state;
	struct desk *d = desk_new();
	struct run r;

	if (!can(d)) {
		desk_free(d);
		skip();
	}
	give_to_owner(d);
	run_well(d, &r, AR_CHECKPOINT_SAVE, NULL);
	expect_write(d, true, "\"category\":\"pr");
	shell(d, "test ! -e made");
	expect_write(d, false, "\"outcome\":1");
	shell(d, "test -e made");
	desk_free(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files_come_back),	  cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_filled_and_merged), cmocka_unit_test(test_protected_paths),
		cmocka_unit_test(test_runs_are_in_order), cmocka_unit_test(test_deadline),
		cmocka_unit_test(test_refused),		  cmocka_unit_test(test_least_privilege),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
