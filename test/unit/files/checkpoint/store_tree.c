/* See store_tree.h. */
#include "checkpoint/store_tree.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

const char *store_path(const struct tree *t, const char *name)
{
	static char out[256];

	snprintf(out, sizeof(out), "%s/store%s%s", t->base, *name ? "/" : "", name);
	return out;
}

struct tree *store_tree(void)
{
	struct tree *t = tree_new();

	t->max_ms = 120000;
	assert_int_equal(mkdir(store_path(t, ""), 0700), 0);
	return t;
}

static const char *session = "one";

void store_session(const char *name)
{
	session = name;
}

struct call *store_run(struct tree *t, const char *tool, const char *more)
{
	char args[512];

	snprintf(args, sizeof(args), "{\"store\":\"%s\",\"session\":\"%s\"%s}", store_path(t, ""), session,
		 more);
	return tree_run(t, tool, args);
}

static void run(struct tree *t, const char *tool, const char *more)
{
	struct call *c = store_run(t, tool, more);

	if (c->outcome != AR_TOOL_OK)
		print_error("%s: %s\n", tool, c->text.p);
	assert_int_equal(c->outcome, AR_TOOL_OK);
}

void store_save(struct tree *t, char ret_id[ID])
{
	run(t, "checkpoint_save", "");
	assert_int_equal(strlen(t->last.id.p), ID - 1);
	memcpy(ret_id, t->last.id.p, ID);
}

void store_restore(struct tree *t, const char *to)
{
	char more[128];

	snprintf(more, sizeof(more), ",\"to\":\"%s\"", to);
	run(t, "checkpoint_restore", more);
}

void store_diff(struct tree *t, const char *from, const char *to)
{
	char more[256];

	if (to)
		snprintf(more, sizeof(more), ",\"from\":\"%s\",\"to\":\"%s\"", from, to);
	else
		snprintf(more, sizeof(more), ",\"from\":\"%s\"", from);
	run(t, "checkpoint_diff", more);
}

void store_forget(struct tree *t, const char *id)
{
	char more[128];

	snprintf(more, sizeof(more), ",\"ids\":[\"%s\"]", id);
	run(t, "checkpoint_forget", more);
}

size_t store_packs(const struct tree *t)
{
	DIR *d = opendir(store_path(t, "checkpoints.git/objects/pack"));
	size_t count = 0;

	assert_non_null(d);
	for (struct dirent *e = readdir(d); e; e = readdir(d))
		count += strstr(e->d_name, ".pack") != NULL;
	closedir(d);
	return count;
}

void store_shell(struct tree *t, const char *command)
{
	char line[4096];

	snprintf(line, sizeof(line), "set -e; STORE='%s'; cd '%s'; %s", store_path(t, ""), t->root, command);
	assert_int_equal(system(line), 0);
}

static void read_line(const char *command, char *ret, size_t room)
{
	FILE *f = popen(command, "r");

	assert_non_null(f);
	assert_non_null(fgets(ret, (int)room, f));
	assert_int_equal(pclose(f), 0);
}

void store_state(struct tree *t, char ret[ID])
{
	char line[1024];

	snprintf(line, sizeof(line),
		 "cd '%s' && find . -name .git -prune -o '(' -type f -o -type l ')' -print0 | LC_ALL=C sort "
		 "-z | "
		 "tar --no-recursion --null -T - --mtime=@0 --owner=0 --group=0 -cf - | sha256sum",
		 t->root);
	read_line(line, ret, ID);
}

bool store_holds(struct tree *t, const char *text)
{
	char line[1024], count[32];

	snprintf(line, sizeof(line),
		 "git --git-dir='%s' cat-file --batch --batch-all-objects | grep -aFc '%s' || :",
		 store_path(t, "checkpoints.git"), text);
	read_line(line, count, sizeof(count));
	return atoi(count) > 0;
}
