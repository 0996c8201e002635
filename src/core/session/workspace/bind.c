/* A session gets its workspace when it is made, and keeps a copy of what it needs of it: a replay or a
 * takeover reads no other log. Pure. */
#include "apply.h"
#include "decide.h"
#include "permission/permission.h"
#include "subagent/subagents.h"
#include "tenant.h"
#include "workspace/workspace.h"

const struct ar_shape_workspace_record *ar_decide_workspace(const struct ar_decision *d)
{
	return d->input->kind == AR_IN_COMMAND ? d->input->command.workspace : NULL;
}

/* Of the command; 0: it does not say. */
static int wanted_isolation(const struct ar_decision *d)
{
	const struct ar_cmd_submit_turn_in *turn = d->input->command.args;

	if (d->input->command.id == AR_CMD_CREATE_SESSION)
		return ((const struct ar_cmd_create_session_in *)d->input->command.args)->isolation;
	if (d->input->command.id == AR_CMD_SUBMIT_TURN && turn->create_policy)
		return turn->create_policy->isolation;
	return 0;
}

static int isolation_of(const struct ar_decision *d)
{
	int wanted = wanted_isolation(d), usual = ar_decide_workspace(d)->isolation;

	return wanted ? wanted : usual ? usual : AR_WORKSPACE_ISOLATION_SHARED;
}

static enum ar_status check_isolation(const struct ar_decision *d, struct ar_error *err)
{
	if (isolation_of(d) == AR_WORKSPACE_ISOLATION_SHARED)
		return AR_OK;
	if (ar_workspace_is_far(ar_decide_workspace(d)))
		return ar_refuse(err, AR_ERR_ISOLATION_UNSUPPORTED, "%s", AR_NO_ISOLATION_THERE);
	if (d->input->policy->checkpoints <= 0 || ar_str_empty(d->input->command.own_folder))
		return ar_refuse(
			err, AR_ERR_ISOLATION_UNSUPPORTED,
			"this server has no folders for sessions; it needs workspaces.dir, a sandbox, and "
			"workspaces.checkpoints above 0");
	return AR_OK;
}

enum ar_status ar_decide_check_binding(const struct ar_decision *d, struct ar_str workspace,
				       struct ar_error *err)
{
	const struct ar_shape_workspace_record *record = ar_decide_workspace(d);

	if (!record && ar_str_absent(ar_workspace_key_in(workspace)))
		return wanted_isolation(d) ? ar_refuse(err, AR_ERR_INVALID_INPUT,
						       "isolation needs a workspaceId that is the id of a "
						       "workspace")
					   : AR_OK;
	if (!record)
		return ar_refuse(err, AR_ERR_WORKSPACE_NOT_FOUND, "%s", AR_NO_WORKSPACE);
	if (record->status == AR_WORKSPACE_RECORD_STATUS_ACTIVE)
		return check_isolation(d, err);
	return ar_refuse(err, AR_ERR_WORKSPACE_ARCHIVED, "workspace %.*s is archived; use another",
			 AR_STR_ARG(record->workspace_id));
}

void ar_decide_bind(struct ar_decision *d)
{
	const struct ar_shape_workspace_record *record = ar_decide_workspace(d);
	struct ar_shape_workspace_binding binding;
	const struct ar_ids none = { 0 };
	bool is_trusted;

	if (!record)
		return;
	is_trusted = record->trust == AR_WORKSPACE_TRUST_TRUSTED;
	binding = (struct ar_shape_workspace_binding){ .workspace_id = record->workspace_id,
						       .version = record->version,
						       .folder = record->root,
						       .worker = record->worker,
						       .pool = record->pool,
						       .trusted = { is_trusted, is_trusted },
						       .servers_digest = is_trusted ? record->servers_digest
										    : AR_STR_NONE,
						       .environment = record->environment,
						       .allowed_profiles = record->allowed_profiles };
	if (isolation_of(d) != AR_WORKSPACE_ISOLATION_SHARED) {
		binding.isolation = isolation_of(d);
		binding.folder = d->input->command.own_folder;
		binding.origin = record->root;
	}
	ar_decide_emit(d, AR_EV_WORKSPACE_BOUND, &none,
		       &(struct ar_ev_workspace_bound){ .binding = &binding });
	ar_decide_workspace_policy(d, record);
}

enum ar_status ar_apply_workspace_bound(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_workspace_bound *p = PAYLOAD(e, workspace_bound);

	if (!p->binding)
		return ar_apply_unknown(err, e, "workspace");
	if (!ar_str_absent(e->ids[AR_SCOPE_SUBAGENT])) {
		if (!ar_session_subagent(s, e->ids[AR_SCOPE_SUBAGENT]))
			return ar_apply_unknown(err, e, "subagent");
		ar_apply_subagent_folder(s, e->ids[AR_SCOPE_SUBAGENT], p->binding);
		return AR_OK;
	}
	s->bound = ar_struct_copy(&ar_shape_workspace_binding_desc, p->binding, AR_COPY_TEXT, &s->arena);
	return AR_OK;
}
