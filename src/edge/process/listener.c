/* The socket through which a process reaches the network: handed to the proxy that serves it, taken
 * back when the process is over, and its connections reported to the owner. Loop thread only. */
#include "proc.h"

#include <string.h>
#include <unistd.h>

/* The last part of the folder's path: nobody else has it. */
static struct ar_str name_of(const struct ar_proc *p)
{
	return ar_str_from(strrchr(p->folder, '/') + 1);
}

void ar_proc_open_listener(struct ar_proc *p, int fd)
{
	if (fd < 0)
		return;
	/* A later connection brings the same socket again. */
	if (p->has_listener || p->is_over || !p->all->on_listener) {
		close(fd);
		return;
	}
	p->has_listener = true;
	p->all->on_listener(p->all->context, name_of(p), fd);
}

void ar_proc_drop_listener(struct ar_proc *p)
{
	if (p->has_listener && p->all->on_listener_gone)
		p->all->on_listener_gone(p->all->context, name_of(p));
	p->has_listener = false;
}

void ar_processes_report_violation(struct ar_process_host *h, struct ar_str name, struct ar_str detail)
{
	struct ar_processes *all = AR_CONTAINER_OF(h, struct ar_processes, port);
	struct ar_process_report r = { .kind = AR_PROC_VIOLATION, .detail = detail };

	AR_LIST_FOR (it, &all->all) {
		struct ar_proc *p = AR_CONTAINER_OF(it, struct ar_proc, node);

		if (p->owner && p->has_listener && ar_str_eq(name_of(p), name)) {
			p->owner->v->on_report(p->owner, &r);
			return;
		}
	}
}
