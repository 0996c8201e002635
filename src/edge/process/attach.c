/* Finds a process again by its handle, and its shim again when the connection went. Whether a shim lives is
 * what its lock says, never an id. Loop thread only. */
#include "proc.h"

#include "mem.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define HELLO_USEC \
	(3 * 1000000) /* of a shim that takes the connection; its journal is read without a greeting then */
#define RETRY_MIN_USEC 20000
#define RETRY_MAX_USEC (5 * 1000000)
#define RETRY_DOUBLINGS 8

static void unavailable(struct ar_proc *p, const char *why)
{
	struct ar_error err;

	ar_fail(&err, AR_E_UNAVAILABLE, "%s", why);
	ar_proc_fail(p, AR_PROC_UNAVAILABLE, "", &err);
}

/* At once after a connection that lasted; a shim that drops each of them, or takes none, is asked more and
 * more seldom. */
void ar_proc_retry(struct ar_proc *p)
{
	ar_usec now = ar_proc_now(), pause = (ar_usec)RETRY_MIN_USEC << p->retries;

	if (p->connected_at && now - p->connected_at > RETRY_MAX_USEC)
		pause = p->retries = 0;
	p->connected_at = 0;
	p->retry_at = now + pause;
	if (p->retries < RETRY_DOUBLINGS)
		p->retries++;
	ar_proc_arm(p);
}

static void connect_to(struct ar_proc *p)
{
	int fd = ar_folder_connect(p->dir);

	if (fd < 0) {
		ar_proc_retry(p);
		return;
	}
	p->connected_at = ar_proc_now();
	ar_shim_control_open(&p->control, fd);
	ar_proc_arm(p);
}

/* The journal goes on without a connection, so it is read all the same. */
void ar_proc_reconnect(struct ar_proc *p)
{
	if (p->child && p->is_over)
		return;
	if (!p->child && !ar_folder_is_locked(p->dir)) {
		ar_proc_alone(p);
		return;
	}
	if (p->is_over)
		return;
	if (p->is_attached_reported || p->is_launched || p->hello_by == 0)
		ar_proc_follow(p);
	connect_to(p);
}

static bool find_folder(struct ar_proc *p, const struct ar_handle *h)
{
	struct ar_arena a = { 0 };
	struct ar_plan_paths cgroups;

	p->dir = ar_folder_open(h->folder);
	if (p->dir < 0 || faccessat(p->dir, AR_FOLDER_JOURNAL, R_OK, 0) != 0)
		return false;
	/* Somebody has it: the sweep leaves it alone for another day. */
	(void)utimensat(p->dir, AR_FOLDER_JOURNAL, NULL, AT_SYMLINK_NOFOLLOW);
	p->folder = ar_str_dup(h->folder);
	ar_folder_cgroups(p->dir, &a, &cgroups);
	ar_proc_copy_cgroups(p, &cgroups);
	ar_arena_fini(&a);
	return true;
}

void ar_proc_begin_attach(struct ar_proc *p)
{
	const struct ar_machine *here = &p->all->machine;
	struct ar_handle h;

	if (!ar_handle_parse(ar_str_from(p->handle), &h))
		unavailable(p, "its handle is not one of this runtime");
	else if (!ar_str_is(h.machine, here->id))
		unavailable(p, "it was started on another machine; only a runtime there can reach it");
	else if (!find_folder(p, &h))
		unavailable(p,
			    "its directory is gone, or belongs to another user: nothing is left of it here");
	else {
		p->is_same_boot = ar_str_is(h.boot, here->boot);
		if (!p->is_same_boot || !ar_folder_is_locked(p->dir)) {
			ar_proc_alone(p);
			return;
		}
		p->hello_by = ar_proc_now() + HELLO_USEC;
		connect_to(p);
	}
}
