/* The view: an empty root in memory, the plan's roots hung into it under their own names, then pivot_root.
 * What is hung in is opened without following any link, so that nothing inside a workspace decides what the
 * next command sees. */
#include "view/view.h"

#include "message.h"
#include "sys.h"
#include "view/dev.h"
#include "view/view_path.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PLAIN (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)

/* On top of the old root, where a place is always there: until pivot_root our own lookups still begin below
 * it. */
static int mount_root(struct ar_init *in)
{
	char size[24] = "";
	const char *options[] = { "mode", "0755", "size", size, NULL };
	int old;

	if (in->plan.limits.tmp_bytes > 0)
		snprintf(size, sizeof(size), "%llu", (unsigned long long)in->plan.limits.tmp_bytes);
	else
		options[2] = NULL;
	in->root = ar_dev_new_mount("tmpfs", options, PLAIN);
	if (in->root < 0)
		return ar_init_fail(in, "tmpfs", NULL);
	old = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (old < 0 || sys_attach(in->root, old) < 0)
		return ar_init_fail(in, "root of the view", NULL);
	close(old);
	return 0;
}

/* Landlock denies what it has no rule for, and says so; where all may be written anyway, or without it, only
 * the mode does. */
static bool needs_mode(const struct ar_plan *p, const char *decoy)
{
	return !p->uses_landlock || strncmp(decoy, AR_INIT_HOME "/", strlen(AR_INIT_HOME "/")) == 0 ||
	       strncmp(decoy, "/tmp/", strlen("/tmp/")) == 0;
}

/* Before anything else is hung in, so that none of them ever lands on a disk. */
static int make_decoys(struct ar_init *in)
{
	const struct ar_plan_paths *decoys = &in->plan.decoys;

	for (size_t i = 0; i < decoys->count; i++) {
		int fd = ar_view_path_open(in, decoys->at[i], AR_VIEW_PATH_FILE);

		if (fd < 0)
			return -1;
		close(fd);
		if (needs_mode(&in->plan, decoys->at[i]) && fchmodat(in->root, decoys->at[i] + 1, 0, 0) < 0)
			return ar_init_fail(in, "decoy", decoys->at[i]);
	}
	return 0;
}

static int repeat_link(struct ar_init *in, int link, const char *path)
{
	char text[PATH_MAX];
	ssize_t len = readlinkat(link, "", text, sizeof(text) - 1);

	if (len < 0)
		return ar_init_fail(in, "link", path);
	text[len] = '\0';
	return ar_view_path_link(in, path, text);
}

/* One tree of the host, under its own name; attr may be NULL. */
static int mount_tree(struct ar_init *in, int source, const char *path, struct mount_attr *attr)
{
	struct stat st;
	int tree;

	if (fstat(source, &st) < 0)
		return ar_init_fail(in, "root", path);
	if (S_ISLNK(st.st_mode))
		return repeat_link(in, source, path);
	tree = sys_clone_tree(source, "");
	if (tree < 0)
		return ar_init_fail(in, "copy of the mounts of", path);
	if (attr && mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, attr, sizeof(*attr)) < 0) {
		close(tree);
		return ar_init_fail(in, (attr->attr_set & MOUNT_ATTR_IDMAP) ? "id map of" : "attributes of",
				    path);
	}
	return ar_view_path_mount(in, path, S_ISDIR(st.st_mode) ? AR_VIEW_PATH_FOLDER : AR_VIEW_PATH_FILE,
				  tree);
}

static int open_source(const char *path)
{
	return sys_openat2(AT_FDCWD, path, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS);
}

static int mount_read_root(struct ar_init *in, size_t n)
{
	const char *path = in->plan.read_roots.at[n];
	int source = open_source(path), failed;

	in->is_missing[n] = source < 0 && errno == ENOENT;
	if (in->is_missing[n])
		return 0;
	if (source < 0)
		return ar_init_fail(in, "read root", path);
	failed = mount_tree(in, source, path, NULL);
	close(source);
	return failed;
}

/* All that is there so far becomes read-only at once; the view's own root is taken out again, until it is
 * complete. */
static int close_read_roots(struct ar_init *in)
{
	struct mount_attr open_root = { .attr_clr = MOUNT_ATTR_RDONLY };

	if (sys_set_attr(in->root, PLAIN | MOUNT_ATTR_RDONLY) < 0 ||
	    mount_setattr(in->root, "", AT_EMPTY_PATH, &open_root, sizeof(open_root)) < 0)
		return ar_init_fail(in, "read-only roots", NULL);
	return 0;
}

static int mount_read_roots(struct ar_init *in)
{
	for (size_t i = 0; i < in->plan.read_roots.count; i++) {
		if (mount_read_root(in, i) < 0)
			return -1;
	}
	return close_read_roots(in);
}

/* Whether this tree belongs to whom the map is for. */
static bool is_mapped(const struct ar_init *in, int source)
{
	struct stat st;

	return in->idmap >= 0 && fstat(source, &st) == 0 && st.st_uid == in->plan.workspace_uid;
}

static int mount_writable(struct ar_init *in, const char *path, bool is_read)
{
	struct mount_attr attr = { .attr_set = PLAIN };
	int source = sys_openat2(AT_FDCWD, path, O_PATH, RESOLVE_NO_SYMLINKS), failed;

	if (source < 0)
		return ar_init_fail(in, "root", path);
	if (in->plan.mode == AR_PLAN_READ_ONLY || is_read)
		attr.attr_set |= MOUNT_ATTR_RDONLY;
	if (is_mapped(in, source)) {
		attr.attr_set |= MOUNT_ATTR_IDMAP;
		attr.userns_fd = (unsigned)in->idmap;
	}
	failed = mount_tree(in, source, path, &attr);
	close(source);
	return failed;
}

static int mount_write_roots(struct ar_init *in)
{
	const struct ar_plan_paths *roots = &in->plan.write_roots;

	if (in->plan.workspace && mount_writable(in, in->plan.workspace, in->plan.reads_workspace) < 0)
		return -1;
	for (size_t i = 0; i < roots->count; i++) {
		if (mount_writable(in, roots->at[i], false) < 0)
			return -1;
	}
	return 0;
}

static int enter_view(struct ar_init *in)
{
	if (fchdir(in->root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return ar_init_fail(in, "pivot_root", NULL);
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return ar_init_fail(in, "leaving the host's root", NULL);
	return 0;
}

/* What the host mounts later still comes in; what is mounted here does not get out. */
static int refresh_proc(struct ar_init *in)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return ar_init_fail(in, "mounts of its own", NULL);
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return ar_init_fail(in, "proc", NULL);
	return 0;
}

int ar_view_build(struct ar_init *in)
{
	/* Read roots first: what makes them read-only must not meet anything else. */
	static int (*const steps[])(struct ar_init *) = { mount_root,	     make_decoys,
							  mount_read_roots,  ar_dev_mount,
							  ar_dev_mount_proc, ar_dev_mount_private,
							  mount_write_roots, enter_view };

	if (!(in->namespaces & CLONE_NEWNS))
		return 0;
	if (!ar_init_is_bounded(in))
		return refresh_proc(in);
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return ar_init_fail(in, "private mounts", NULL);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (steps[i](in) < 0)
			return -1;
	}
	return 0;
}

int ar_view_close(struct ar_init *in)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	if (in->root < 0)
		return 0;
	ar_view_path_forget(in);
	if (mount_setattr(in->root, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return ar_init_fail(in, "read-only root", NULL);
	close(in->root);
	in->root = -1;
	return 0;
}
