/* What a checkpoint of a workspace costs: the adapter's save, through the sandbox, beside `git stash create`
 * on the same folder with the same ten files changed. They take turns. The first save, of everything, is
 * apart.
 *
 *   bench-checkpoint HELPERS FOLDER DIR ROUNDS
 *
 * FOLDER: a repository with all its files committed, ten of them f00000 to f00009 at its top; DIR: for the
 * stores. Prints {"<way>":{"us","cpu_us"}...}: medians of the time, means of the CPU time of all processes,
 * of "first", "save", "unchanged" and "stash". */
#include "checkpoints.h"
#include "clock.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS_MAX 200
#define CHANGED 10

struct times {
	double us[ROUNDS_MAX], cpu_us;
	int count;
};

struct bench {
	uv_loop_t loop;
	struct ar_sandbox *sandbox;
	struct ar_checkpoints *checkpoints;
	const char *folder;
	bool is_done;
};

static _Noreturn void give_up(const char *what, struct ar_str why)
{
	fprintf(stderr, "bench-checkpoint: %s: %.*s\n", what, AR_STR_ARG(why));
	exit(1);
}

static double now_us(void)
{
	struct ar_clock *clock = ar_clock_system();

	return (double)clock->mono(clock);
}

/* Of this process and all it waited for, with what those did. */
static double cpu_us(void)
{
	double sum = 0;

	for (int i = 0; i < 2; i++) {
		struct rusage u;

		getrusage(i ? RUSAGE_SELF : RUSAGE_CHILDREN, &u);
		sum += (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
		       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
	}
	return sum;
}

static bool name_folders(struct ar_str tenant AR_UNUSED, struct ar_str workspace_id AR_UNUSED,
			 char ret_tenant[AR_CHECKPOINTS_NAME_MAX],
			 char ret_workspace[AR_CHECKPOINTS_NAME_MAX])
{
	snprintf(ret_tenant, AR_CHECKPOINTS_NAME_MAX, "tenant");
	snprintf(ret_workspace, AR_CHECKPOINTS_NAME_MAX, "workspace");
	return true;
}

static void on_done(struct ar_checkpoint_run *r, const struct ar_checkpoint_result *result)
{
	struct bench **owner = (struct bench **)(void *)(r + 1);

	if (result->status != AR_OK)
		give_up("save", result->message);
	(*owner)->is_done = true;
}

static void save(struct bench *b)
{
	struct {
		struct ar_checkpoint_run run;
		struct bench *owner;
	} r = { .run = { .kind = AR_CHECKPOINT_SAVE,
			 .tenant = AR_STR("local"),
			 .workspace_id = AR_STR("ws_bench"),
			 .folder = ar_str_from(b->folder),
			 .session_id = AR_STR("sess_bench"),
			 .deadline = INT64_MAX / 2,
			 .on_done = on_done },
		.owner = b };

	b->is_done = false;
	b->checkpoints->v->start(b->checkpoints, &r.run);
	while (!b->is_done)
		uv_run(&b->loop, UV_RUN_ONCE);
}

static void stash(struct bench *b)
{
	char *argv[] = { "git",
			 "-c",
			 "safe.directory=*",
			 "-c",
			 "user.name=bench",
			 "-c",
			 "user.email=bench@localhost",
			 "stash",
			 "create",
			 NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;
	int status;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addchdir_np(&actions, b->folder);
	if (posix_spawnp(&pid, "git", &actions, NULL, argv, environ) != 0 ||
	    waitpid(pid, &status, 0) != pid || status != 0)
		give_up("git stash create", AR_STR("failed"));
	posix_spawn_file_actions_destroy(&actions);
}

static void change_files(const struct bench *b, int round)
{
	for (int i = 0; i < CHANGED; i++) {
		char path[4096];

		snprintf(path, sizeof(path), "%s/f%05d", b->folder, i);
		FILE *f = fopen(path, "w");

		if (!f)
			give_up(path, AR_STR("cannot be written"));
		fprintf(f, "round %d of file %d\n", round, i);
		fclose(f);
	}
}

static void measure(struct bench *b, void (*act)(struct bench *b), struct times *t)
{
	double cpu = cpu_us(), from = now_us();

	act(b);
	t->us[t->count++] = now_us() - from;
	uv_run(&b->loop, UV_RUN_DEFAULT); /* until its processes are waited for: their CPU counts then */
	t->cpu_us += cpu_us() - cpu;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void show(const char *name, struct times *t, const char *after)
{
	qsort(t->us, (size_t)t->count, sizeof(t->us[0]), compare);
	printf("\"%s\":{\"us\":%.0f,\"cpu_us\":%.0f}%s", name, t->us[t->count / 2], t->cpu_us / t->count,
	       after);
}

static void open_all(struct bench *b, char **argv)
{
	const struct ar_sandbox_options o = { .helpers = ar_str_from(argv[1]),
					      .state_dir = AR_STR("/var/lib/agentd-bench") };
	struct ar_error err = { 0 };

	b->folder = argv[2];
	uv_loop_init(&b->loop);
	if (ar_sandbox_open(&o, &b->sandbox, &err) != AR_OK)
		give_up("sandbox", ar_str_from(err.msg));
	b->checkpoints = ar_checkpoints_new(&b->loop, b->sandbox,
					    &(struct ar_checkpoints_options){ .dir = ar_str_from(argv[3]),
									      .name_folders = name_folders });
}

int main(int argc, char **argv)
{
	static struct times first, saves, unchanged, stashes;
	static struct bench b;
	int rounds = argc == 5 ? atoi(argv[4]) : 0;

	if (rounds < 1 || rounds > ROUNDS_MAX)
		give_up("usage", AR_STR("bench-checkpoint HELPERS FOLDER DIR ROUNDS"));
	open_all(&b, argv);
	measure(&b, save, &first);
	for (int i = 0; i < rounds; i++) {
		uv_run(&b.loop, UV_RUN_DEFAULT);
		change_files(&b, 2 * i);
		measure(&b, save, &saves);
		change_files(&b, 2 * i + 1);
		measure(&b, stash, &stashes);
		save(&b);
		usleep(50000); /* what was just written is read again: not what is measured here */
		save(&b);
		uv_run(&b.loop, UV_RUN_DEFAULT);
		measure(&b, save, &unchanged);
	}
	b.checkpoints->v->close(b.checkpoints);
	uv_run(&b.loop, UV_RUN_DEFAULT);
	ar_sandbox_close(b.sandbox);
	printf("{");
	show("first", &first, ",");
	show("save", &saves, ",");
	show("unchanged", &unchanged, ",");
	show("stash", &stashes, "}\n");
	return 0;
}
