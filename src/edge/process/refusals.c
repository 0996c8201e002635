/* Violations that only the kernel knows of: a process is watched from when its sandbox is reported until its
 * end, and its end waits until they are all reported (half a second at most). They are not in its journal, so
 * their number is 0. Loop thread only. */
#include "proc.h"

static struct ar_proc *proc_of(struct ar_audit_watcher *w)
{
	return AR_CONTAINER_OF(w, struct ar_proc, watcher);
}

static void on_violation(struct ar_audit_watcher *w, struct ar_str detail)
{
	struct ar_process_report r = { .kind = AR_PROC_VIOLATION, .detail = detail };
	struct ar_proc *p = proc_of(w);

	if (p->owner)
		p->owner->v->on_report(p->owner, &r);
}

static void on_settled(struct ar_audit_watcher *w)
{
	struct ar_proc *p = proc_of(w);

	p->is_watched = p->is_settling = false;
	if (p->owner)
		ar_proc_conclude(p);
}

void ar_proc_watch(struct ar_proc *p)
{
	if (!p->all->audit || p->is_watched || p->state.session == 0 || !p->is_same_boot)
		return;
	p->watcher = (struct ar_audit_watcher){ .session = p->state.session,
						.pid = p->state.first_pid,
						.on_violation = on_violation,
						.on_settled = on_settled };
	p->is_watched = true;
	ar_audit_watch(p->all->audit, &p->watcher);
}

void ar_proc_unwatch(struct ar_proc *p)
{
	if (p->is_watched)
		ar_audit_unwatch(p->all->audit, &p->watcher);
	p->is_watched = p->is_settling = false;
}

bool ar_proc_is_settled(struct ar_proc *p)
{
	if (!p->is_watched)
		return true;
	if (!p->is_settling)
		ar_audit_settle(p->all->audit, &p->watcher);
	p->is_settling = true;
	return false;
}
