/* See pair.h. */
#include "isolation/pair.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>

static const char *session_path(const struct tree *t)
{
	static char out[128];

	snprintf(out, sizeof(out), "%s/session", t->base);
	return out;
}

struct tree *pair_new(void)
{
	struct tree *t = store_tree();

	assert_int_equal(mkdir(session_path(t), 0700), 0);
	return t;
}

struct call *pair_try_fill(struct tree *t, const char *kind)
{
	char more[512];

	snprintf(more, sizeof(more), ",\"folder\":\"%s\",\"kind\":\"%s\",\"branch\":\"agent/one\"",
		 session_path(t), kind);
	return store_run(t, "workspace_fill", more);
}

void pair_fill(struct tree *t, const char *kind)
{
	struct call *c = pair_try_fill(t, kind);

	if (c->outcome != AR_TOOL_OK)
		print_error("fill: %s\n", c->text.p);
	assert_int_equal(c->outcome, AR_TOOL_OK);
}

struct call *pair_merge(struct tree *t, const char *base, const char *more)
{
	char all[1024];

	snprintf(all, sizeof(all), ",\"folder\":\"%s\",\"base\":\"%s\",\"apply\":\"a1\"%s", session_path(t),
		 base, more);
	return store_run(t, "workspace_merge", all);
}

void pair_shell(struct tree *t, const char *command)
{
	char line[4096];

	snprintf(line, sizeof(line), "SESSION='%s'; %s", session_path(t), command);
	store_shell(t, line);
}

bool pair_is_same(struct tree *t)
{
	char line[2048];

	snprintf(line, sizeof(line),
		 "s() { cd \"$1\" && find . -name .git -prune -o '(' -type f -o -type l ')' -print0 | "
		 "LC_ALL=C sort -z | "
		 "tar --no-recursion --null -T - --mtime=@0 --owner=0 --group=0 -cf - | sha256sum; }; "
		 "test \"$(s '%s')\" = \"$(s '%s')\"",
		 t->root, session_path(t));
	return system(line) == 0;
}

bool pair_mount(const char *path, const char *options)
{
	return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	       mount("tmpfs", path, "tmpfs", 0, options) == 0;
}
