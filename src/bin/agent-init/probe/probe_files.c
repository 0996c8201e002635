/* Questions about files: Landlock, the view, pins, id maps, terminals. The view is built by the code that
 * builds it for commands; the attacks run before privilege is given up, where only the boundary can refuse
 * them. */
#include "identity.h"
#include "landlock.h"
#include "probe/probe.h"
#include "streams.h"
#include "view/guard.h"
#include "view/idmap.h"
#include "view/view.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define VIEW (CLONE_NEWNS | CLONE_NEWPID)

bool ar_probe_landlock(struct ar_probe *p)
{
	int abi = ar_landlock_abi(), rules;

	if (abi == 0)
		return ar_probe_fails(p, "Landlock");
	rules = ar_landlock_new(abi);
	if (rules < 0 || ar_landlock_allow(rules, abi, "/dev/zero", LL_FS_WRITE_FILE) < 0)
		return ar_probe_fails(p, "rules of Landlock");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || ar_landlock_enforce(rules, abi) < 0)
		return ar_probe_fails(p, "enforcing Landlock");
	if (open("/dev/zero", O_WRONLY | O_CLOEXEC) < 0)
		return ar_probe_fails(p, "writing where it is allowed");
	if (!ar_probe_refused(p, open("/dev/null", O_WRONLY | O_CLOEXEC), EACCES,
			      "writing where it is not allowed"))
		return false;
	snprintf(p->detail, sizeof(p->detail), "ABI %d", abi);
	return true;
}

/* Path of a name in the scratch folder. */
struct path {
	char text[PATH_MAX + 32];
};

static struct path scratch_path(const struct ar_probe *p, const char *name)
{
	struct path path;

	snprintf(path.text, sizeof(path.text), "%s/%s", p->scratch, name);
	return path;
}

static bool build_view(struct ar_probe *p, struct ar_init *in)
{
	if (ar_view_build(in) < 0 || ar_guard_paths(in) < 0 || ar_view_close(in) < 0)
		return ar_probe_fails(p, in->about);
	return true;
}

/* Runs an attack inside a view whose workspace is `ws` of the scratch folder. */
static bool in_view(struct ar_probe *p, struct ar_init *in,
		    bool (*attack)(struct ar_probe *p, struct ar_init *in))
{
	struct path workspace = scratch_path(p, "ws");

	if (!p->scratch[0]) {
		errno = 0;
		return ar_probe_fails(p, "no folder can be made to try it in");
	}
	in->plan.workspace = workspace.text;
	if (ar_idmap_open(in) < 0)
		return ar_probe_fails(p, in->about);
	return ar_probe_inside(p, in, VIEW, attack);
}

static int create_file(const struct path *path)
{
	return open(path->text, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
}

static bool attack_view(struct ar_probe *p, struct ar_init *in)
{
	struct path secret = scratch_path(p, "secret"), made = scratch_path(p, "ws/made");

	if (access(secret.text, F_OK) < 0)
		return ar_probe_fails(p, "a file that should be there");
	if (!build_view(p, in))
		return false;
	if (create_file(&made) < 0)
		return ar_probe_fails(p, "writing in the workspace");
	/* Files without a name: should one be made after all, nothing is left of it. */
	return ar_probe_refused(p, access(secret.text, F_OK), ENOENT, "seeing a file outside of the view") &&
	       ar_probe_refused(p, open("/", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600), EROFS,
				"writing in the root") &&
	       ar_probe_refused(p, open("/usr", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600), EROFS,
				"writing in a read root") &&
	       ar_probe_refused(p, open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC), EROFS,
				"writing in /proc");
}

bool ar_probe_mount_view(struct ar_probe *p)
{
	struct ar_init in;

	ar_probe_prepare(&in);
	return in_view(p, &in, attack_view);
}

static bool attack_pins(struct ar_probe *p, struct ar_init *in)
{
	struct path made = scratch_path(p, "ws/a/made"), guarded = scratch_path(p, "ws/a/b/guarded"),
		    pinned = scratch_path(p, "ws/a"), folder = scratch_path(p, "ws/a/b"),
		    beside = scratch_path(p, "ws/a/other"), other = scratch_path(p, "ws/other");

	if (!build_view(p, in))
		return false;
	if (create_file(&made) < 0)
		return ar_probe_fails(p, "writing beside a protected path");
	return ar_probe_refused(p, create_file(&guarded), EROFS, "writing in a protected path") &&
	       ar_probe_refused(p, rename(folder.text, beside.text), EBUSY, "renaming a protected path") &&
	       ar_probe_refused(p, rename(pinned.text, other.text), EBUSY,
				"renaming the parent of a protected path");
}

bool ar_probe_pins(struct ar_probe *p)
{
	struct ar_init in;

	ar_probe_prepare(&in);
	return in_view(p, &in, attack_pins);
}

static bool write_as_other(struct ar_probe *p, struct ar_init *in)
{
	struct path made = scratch_path(p, "ws/mapped");

	if (!build_view(p, in))
		return false;
	if (ar_identity_set(in) < 0)
		return ar_probe_fails(p, in->about);
	if (create_file(&made) < 0)
		return ar_probe_fails(p, "writing in a mapped workspace");
	return true;
}

bool ar_probe_idmap(struct ar_probe *p)
{
	struct path workspace = scratch_path(p, "ws"), made = scratch_path(p, "ws/mapped");
	struct ar_init in;
	struct stat st = { 0 };
	bool is_working;

	ar_probe_prepare(&in);
	errno = EPERM;
	if (in.plan.backend != AR_PLAN_ROOT)
		return ar_probe_fails(p, "id maps need root");
	if (p->scratch[0] && chown(workspace.text, AR_PROBE_OWNER, AR_PROBE_OWNER) < 0)
		return ar_probe_fails(p, "giving a folder away");
	in.plan.workspace_uid = AR_PROBE_OWNER;
	in.plan.workspace_gid = AR_PROBE_OWNER;
	is_working = in_view(p, &in, write_as_other);
	if (is_working &&
	    (stat(made.text, &st) < 0 || st.st_uid != AR_PROBE_OWNER || st.st_gid != AR_PROBE_OWNER)) {
		errno = 0;
		is_working = ar_probe_fails(p, "a new file does not belong to the owner of the workspace");
	}
	unlink(made.text);
	return is_working;
}

static bool use_terminal(struct ar_probe *p, struct ar_init *in)
{
	char name[64] = "", got[4] = "";

	if (!build_view(p, in))
		return false;
	in->plan.tty = true;
	if (ar_identity_set(in) < 0 || ar_streams_open(in) < 0)
		return ar_probe_fails(p, in->about);
	if (ttyname_r(in->stdio[0], name, sizeof(name)) != 0 || strcmp(name, "/dev/pts/0") != 0)
		return ar_probe_fails(p, "the terminal has no name inside");
	if (write(in->fds[AR_INIT_FD_TTY], "x\n", 2) != 2 || read(in->stdio[0], got, 3) != 2)
		return ar_probe_fails(p, "the terminal does not carry what is typed");
	return true;
}

bool ar_probe_pty(struct ar_probe *p)
{
	struct ar_init in;

	ar_probe_prepare(&in);
	return in_view(p, &in, use_terminal);
}
