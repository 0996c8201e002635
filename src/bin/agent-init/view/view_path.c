/* Places inside the view: every lookup is RESOLVE_IN_ROOT on its mount, since read roots and links in them
 * may say anything. */
#include "view/view_path.h"

#include "message.h"
#include "sys.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

static int look_up(struct ar_init *in, const char *path)
{
	return sys_openat2(in->root, path, O_PATH, RESOLVE_IN_ROOT);
}

static int make_entry(int parent, const char *name, enum ar_view_path_kind kind)
{
	if (kind == AR_VIEW_PATH_FOLDER)
		return mkdirat(parent, name, 0755);
	return mknodat(parent, name, S_IFREG | 0444, 0);
}

/* `path` ends with the component that is looked for, whose name is `name`; closes parent, but for the view's
 * own root. */
static int step_into(struct ar_init *in, int parent, const char *path, const char *name,
		     enum ar_view_path_kind kind)
{
	int fd = -1, saved;

	if (make_entry(parent, name, kind) == 0 || errno == EEXIST)
		fd = look_up(in, path);
	saved = errno;
	if (parent != in->root)
		close(parent);
	errno = saved;
	return fd;
}

static int copy_path(const char *path, char out[PATH_MAX])
{
	size_t len = strlen(path);

	if (len >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(out, path, len + 1);
	return 0;
}

int ar_view_path_open(struct ar_init *in, const char *path, enum ar_view_path_kind kind)
{
	char part[PATH_MAX];
	char *name = part + 1;
	int fd;

	if (copy_path(path, part) < 0)
		return ar_init_fail(in, "place", path);
	fd = look_up(in, path);
	if (fd >= 0)
		return fd;
	fd = in->root;
	while (fd >= 0) {
		char *slash = strchr(name, '/');

		if (slash)
			*slash = '\0';
		fd = step_into(in, fd, part, name, slash ? AR_VIEW_PATH_FOLDER : kind);
		if (!slash)
			break;
		*slash = '/';
		name = slash + 1;
	}
	return fd < 0 ? ar_init_fail(in, "place", path) : fd;
}

int ar_view_path_link(struct ar_init *in, const char *path, const char *text)
{
	char part[PATH_MAX];
	char *name;
	int parent, failed;

	if (copy_path(path, part) < 0)
		return ar_init_fail(in, "link", path);
	name = strrchr(part, '/');
	*name++ = '\0';
	parent = part[0] ? ar_view_path_open(in, part, AR_VIEW_PATH_FOLDER) : look_up(in, "/");
	if (parent < 0)
		return -1;
	failed = symlinkat(text, parent, name);
	if (failed && errno == EEXIST)
		failed = 0;
	if (failed)
		ar_init_fail(in, "link", path);
	close(parent);
	return failed;
}

void ar_view_path_forget(struct ar_init *in)
{
	if (in->parent >= 0)
		close(in->parent);
	in->parent = -1;
}

/* Roots come in families (/etc/...): the folder of the last one is kept. */
static int parent_of(struct ar_init *in, const char *path, size_t len)
{
	char part[PATH_MAX];

	if (len == 0)
		return in->root;
	if (in->parent >= 0 && in->parent_len == len && memcmp(in->parent_path, path, len) == 0)
		return in->parent;
	ar_view_path_forget(in);
	if (copy_path(path, part) < 0)
		return ar_init_fail(in, "place", path);
	part[len] = '\0';
	in->parent = ar_view_path_open(in, part, AR_VIEW_PATH_FOLDER);
	in->parent_path = path;
	in->parent_len = len;
	return in->parent;
}

/* Whether what is hung in at path hides the folder that is kept. */
static bool is_over_parent(const struct ar_init *in, const char *path)
{
	size_t len = strlen(path);

	return in->parent >= 0 && len <= in->parent_len && memcmp(in->parent_path, path, len) == 0;
}

static int attach_tree(struct ar_init *in, const char *path, enum ar_view_path_kind kind, int tree)
{
	const char *name = strrchr(path, '/') + 1;
	int parent = parent_of(in, path, (size_t)(name - 1 - path));

	if (parent < 0)
		return -1;
	if ((make_entry(parent, name, kind) < 0 && errno != EEXIST) || sys_attach_at(tree, parent, name) < 0)
		return ar_init_fail(in, "mount on", path);
	if (is_over_parent(in, path))
		ar_view_path_forget(in);
	return 0;
}

int ar_view_path_mount(struct ar_init *in, const char *path, enum ar_view_path_kind kind, int tree)
{
	int failed = attach_tree(in, path, kind, tree);

	close(tree);
	return failed;
}
