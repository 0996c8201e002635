/* Workspaces for the tests of agent-init. They belong to a user of their own: root's are refused. */
#include "world.h"

#include "cmocka_unit.h"
#include "mem.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define NOBODY 65534
#define OWNER 1000

void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void shell(const char *format, const char *path, unsigned owner)
{
	char command[512];

	snprintf(command, sizeof(command), format, path, owner);
	assert_int_equal(system(command), 0);
}

int world_open(void **state)
{
	bool is_root = strcmp(*state, "root") == 0;
	struct world *w = ar_new0(sizeof(*w));

	w->starter = is_root ? 0 : NOBODY;
	snprintf(w->base, sizeof(w->base), "/tmp/agent-init-test-XXXXXX");
	assert_non_null(mkdtemp(w->base));
	chmod(w->base, 0755);
	snprintf(w->workspace, sizeof(w->workspace), "%s/ws", w->base);
	snprintf(w->secret, sizeof(w->secret), "%s/secret", w->base);
	write_file(w->secret, "secret\n");
	shell("mkdir -p %1$s/.git/hooks %1$s/sub/.git/hooks && echo old > %1$s/.git/config && echo old > "
	      "%1$s/file",
	      w->workspace, 0);
	if (geteuid() == 0)
		shell("chown -R %2$u:%2$u %1$s", w->workspace, is_root ? OWNER : NOBODY);
	*state = w;
	return 0;
}

int world_close(void **state)
{
	struct world *w = *state;

	shell("rm -rf %1$s", w->base, 0);
	ar_free(w);
	return 0;
}

void need(const struct world *w)
{
	if (w->starter == 0 && geteuid() != 0)
		skip();
}

struct ar_plan *plan_for(const struct world *w, const char *command)
{
	static struct ar_plan p;
	bool is_root = w->starter == 0;

	p = (struct ar_plan){
		.mode = AR_PLAN_WORKSPACE_WRITE,
		.network = AR_PLAN_NET_NONE,
		.backend = is_root ? AR_PLAN_ROOT : AR_PLAN_USERNS,
		.uid = is_root ? 61000 : 1234,
		.gid = is_root ? 61000 : 1234,
		.workspace = w->workspace,
		.workspace_uid = is_root ? OWNER : 1234,
		.workspace_gid = is_root ? OWNER : 1234,
		.cwd = w->workspace,
		.read_roots = { { "/usr", "/bin", "/lib", "/lib64", "/etc/passwd", "/nowhere" }, 6 },
		.protected_paths = { { ".git/hooks", ".git/config", "sub/.git/hooks", ".husky" }, 4 },
		.uses_landlock = true,
		.argv = { "bash", "-c", command },
		.argc = 3,
		.env = { "PATH=/usr/bin:/bin", "HOME=/home/agent", "LC_ALL=C" },
		.env_count = 3,
	};
	return &p;
}

void run_in(struct launched *l, const struct world *w, const struct ar_plan *plan)
{
	run(l, plan, geteuid() == 0 ? w->starter : 0);
	if (l->runs[0] == '\0')
		fail_msg("did not run: %s", l->failed);
	assert_true(l->is_empty);
	assert_int_equal(end(l), 0);
}

const char *printed(const struct world *w, const char *command)
{
	static struct launched l;

	run_in(&l, w, plan_for(w, command));
	return l.out[OUT];
}

const char *inside(const struct world *w, const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", w->workspace, name);
	return path;
}
