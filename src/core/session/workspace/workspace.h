/* Workspaces: the log of each is one of its own, under a reserved key (tenant.h). Its first fact is
 * session.created, which names the tenant; the record follows. Sessions copy what they need of it. Pure. */
#ifndef AR_SESSION_WORKSPACE_WORKSPACE_H
#define AR_SESSION_WORKSPACE_WORKSPACE_H

#include "session.h"

#define AR_WORKSPACE_NAME_MAX 256 /* bytes, as the catalogue has it */

#define AR_NO_ISOLATION_THERE "sessions in a workspace on a worker share its files; use isolation shared"

#define AR_SERVERS_CHANGED \
	"changed: .mcp.json is not the one that was trusted; trust the workspace again, for new sessions"

/* The folder of a workspace that is to be created: checked or made before anything is decided. */
struct ar_workspace_folder {
	struct ar_str root; /* absolute, no link on it */
	bool is_managed; /* the runtime made it */
	const struct ar_shape_worker_record *worker; /* that has it; NULL: this machine, or a pool */
	struct ar_str pool; /* whose workers have it; absent: none */
};

struct ar_inspected;

/* inspect.c: the turn still waits for what its workspace brings. It may have been interrupted, or have gone
 * on by another look. */
bool ar_workspace_is_awaited(const struct ar_thread *t, const struct ar_turn *turn);

/* servers.c: after a look at the files, before the first request of a turn. Held: the answer goes on with
 * it. */
enum ar_hold ar_servers_start(struct ar_decision *d, const struct ar_turn *turn,
			      const struct ar_inspected *found);

/* policy.c: set_policy of a workspace, in its log; and what the fact leaves in the record. */
AR_MUST_USE enum ar_status ar_decide_set_workspace_policy(struct ar_decision *d, struct ar_error *err);
void ar_apply_workspace_policy(struct ar_session *s, const struct ar_event *e);

/* policy.c: what the workspace takes away of what the host lets its sessions do, as a content; {}: none. */
struct ar_str ar_workspace_policy_content(struct ar_decision *d, const struct ar_shape_workspace_record *r);

/* decide_workspace.c: refuses what is no workspace, and one that is archived. */
AR_MUST_USE enum ar_status ar_workspace_check_active(const struct ar_session *s, struct ar_error *err);

/* folder.c: whether the settings have a secret of this name for commands in the workspace. */
bool ar_workspace_has_secret(const struct ar_shape_workspace_record *w, const struct ar_policy *policy,
			     struct ar_str name);

/* A worker, or a pool of them, has the files. */
static inline bool ar_workspace_is_far(const struct ar_shape_workspace_record *r)
{
	return !ar_str_absent(r->worker) || !ar_str_absent(r->pool);
}

#endif
