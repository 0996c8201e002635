/* What of a view does not come from the disk: devices, processes, private folders. The root of the view is a
 * tmpfs that ends up read-only; the private folders are further mounts of the same one, so one size bounds
 * them all. */
#include "view/dev.h"

#include "message.h"
#include "sys.h"
#include "view/view_path.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static int configure_fs(int fs, const char *const options[])
{
	for (; options[0]; options += 2) {
		int failed = options[1] ? fsconfig(fs, FSCONFIG_SET_STRING, options[0], options[1], 0)
					: fsconfig(fs, FSCONFIG_SET_FLAG, options[0], NULL, 0);

		if (failed)
			return -1;
	}
	return fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
}

int ar_dev_new_mount(const char *type, const char *const options[], unsigned attrs)
{
	int fs = fsopen(type, FSOPEN_CLOEXEC), mount_fd = -1, saved;

	if (fs < 0)
		return -1;
	if (configure_fs(fs, options) == 0)
		mount_fd = fsmount(fs, FSMOUNT_CLOEXEC, attrs);
	saved = errno;
	close(fs);
	errno = saved;
	return mount_fd;
}

/* Names in /dev are looked up from its own descriptor: nothing else is there yet that a name could lead
 * to. */
static int mount_device(struct ar_init *in, int dev, const char *path)
{
	const char *name = path + strlen("/dev/");
	int tree = sys_clone_tree(AT_FDCWD, path), failed;

	if (tree < 0)
		return ar_init_fail(in, "device", path);
	failed = mknodat(dev, name, S_IFREG | 0444, 0) < 0 || sys_attach_at(tree, dev, name) < 0 ? -1 : 0;
	if (failed)
		ar_init_fail(in, "mount on", path);
	close(tree);
	return failed;
}

static int mount_terminals(struct ar_init *in, int dev)
{
	static const char *const options[] = {
		"newinstance", NULL, "ptmxmode", "0666", "mode", "0620", NULL
	};
	int tree = ar_dev_new_mount("devpts", options, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC), failed;

	if (tree < 0)
		return ar_init_fail(in, "devpts", NULL);
	failed = mkdirat(dev, "pts", 0755) < 0 || sys_attach_at(tree, dev, "pts") < 0 ? -1 : 0;
	if (failed)
		ar_init_fail(in, "mount on", "/dev/pts");
	close(tree);
	return failed;
}

static int fill_dev(struct ar_init *in, int dev)
{
	static const char *const devices[] = { "/dev/null",   "/dev/zero",    "/dev/full",
					       "/dev/random", "/dev/urandom", "/dev/tty" };
	static const char *const links[][2] = {
		{ "fd", "/proc/self/fd" },	 { "stdin", "/proc/self/fd/0" },
		{ "stdout", "/proc/self/fd/1" }, { "stderr", "/proc/self/fd/2" },
		{ "ptmx", "pts/ptmx" },
	};

	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		if (mount_device(in, dev, devices[i]) < 0)
			return -1;
	}
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		if (symlinkat(links[i][1], dev, links[i][0]) < 0)
			return ar_init_fail(in, "link /dev/", links[i][0]);
	}
	return mount_terminals(in, dev);
}

int ar_dev_mount(struct ar_init *in)
{
	int dev = ar_view_path_open(in, "/dev", AR_VIEW_PATH_FOLDER), failed;

	if (dev < 0)
		return -1;
	failed = fill_dev(in, dev);
	close(dev);
	return failed;
}

int ar_dev_mount_proc(struct ar_init *in)
{
	static const char *const options[] = { NULL };
	int tree = ar_dev_new_mount("proc", options,
				    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
					    MOUNT_ATTR_NOEXEC);

	if (tree < 0)
		return ar_init_fail(in, "proc", NULL);
	return ar_view_path_mount(in, "/proc", AR_VIEW_PATH_FOLDER, tree);
}

/* Put on itself: from there the folder stays writable when the root is not. */
static int put_on_itself(int place)
{
	int tree = sys_clone_tree(place, ""), failed;

	if (tree < 0)
		return -1;
	failed = sys_attach(tree, place);
	close(tree);
	return failed;
}

static int mount_private(struct ar_init *in, const char *path, mode_t mode)
{
	int place = ar_view_path_open(in, path, AR_VIEW_PATH_FOLDER), failed;

	if (place < 0)
		return -1;
	failed = fchownat(place, "", in->plan.uid, in->plan.gid, AT_EMPTY_PATH);
	if (!failed)
		failed = fchmodat(in->root, path + 1, mode, 0);
	if (!failed)
		failed = put_on_itself(place);
	if (failed)
		ar_init_fail(in, "private folder", path);
	close(place);
	return failed;
}

int ar_dev_mount_private(struct ar_init *in)
{
	if (mount_private(in, "/tmp", 01777) < 0 || mount_private(in, "/dev/shm", 01777) < 0)
		return -1;
	return mount_private(in, AR_INIT_HOME, 0700);
}
