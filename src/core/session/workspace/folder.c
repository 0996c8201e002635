/* The folder that a session works in, and whether it may work here at all. Everybody asks here, so that
 * no reader can forget one of the two questions. Pure. */
#include "decide.h"
#include "tenant.h"
#include "workspace/work_folder.h"
#include "workspace/workspace.h"

/* The workspace of the host belongs to AR_TENANT_LOCAL: its files, its instruction file, and the tools
 * that work in it. Another tenant is admitted only where none is configured, or where the operator
 * shares it. */
static bool admits(const struct ar_policy *policy, struct ar_str tenant)
{
	return ar_str_empty(policy->workspace) || policy->is_workspace_shared || ar_tenant_is_local(tenant);
}

bool ar_session_is_admitted(const struct ar_session *s, const struct ar_policy *policy)
{
	return s->bound || admits(policy, s->tenant);
}

struct ar_str ar_session_folder(const struct ar_session *s, const struct ar_policy *policy)
{
	if (s->bound)
		return s->bound->folder;
	return admits(policy, s->tenant) ? policy->workspace : AR_STR_NONE;
}

struct ar_str ar_session_folder_in(const struct ar_session *s, const struct ar_policy *policy,
				   struct ar_str thread)
{
	struct ar_work_folder p = ar_work_folder_in(s, thread);

	return p.child ? p.bound->folder : ar_session_folder(s, policy);
}

struct ar_str ar_session_worker(const struct ar_session *s)
{
	if (!s->bound)
		return AR_STR_NONE;
	return ar_str_absent(s->bound->worker) ? s->bound->pool : s->bound->worker;
}

bool ar_session_is_in_pool(const struct ar_session *s)
{
	return s->bound && !ar_str_absent(s->bound->pool);
}

bool ar_decide_is_admitted(const struct ar_decision *d)
{
	if (d->session->head > 0)
		return ar_session_is_admitted(d->session, d->input->policy);
	return ar_decide_workspace(d) || admits(d->input->policy, d->input->tenant);
}

struct ar_str ar_decide_folder(const struct ar_decision *d)
{
	if (d->session->head > 0)
		return ar_session_folder(d->session, d->input->policy);
	if (ar_decide_workspace(d))
		return ar_str_empty(d->input->command.own_folder) ? ar_decide_workspace(d)->root
								  : d->input->command.own_folder;
	return admits(d->input->policy, d->input->tenant) ? d->input->policy->workspace : AR_STR_NONE;
}

struct ar_str ar_decide_folder_of(const struct ar_decision *d, const struct ar_turn *turn)
{
	return d->session->head > 0 ? ar_session_folder_in(d->session, d->input->policy, turn->thread)
				    : ar_decide_folder(d);
}

/* ---- whom entries of the settings are for ---- */

/* A session that is there, or is about to be made. */
struct member {
	struct ar_str tenant, folder;
	struct ar_str workspace; /* ws_...; absent: none of its own */
};

static struct member member_of(const struct ar_session *s, const struct ar_policy *policy)
{
	return (struct member){ .tenant = ar_session_tenant(s),
				.folder = ar_session_folder(s, policy),
				.workspace = s->bound ? s->bound->workspace_id : AR_STR_NONE };
}

static struct member member_decided(const struct ar_decision *d)
{
	const struct ar_shape_workspace_record *w = ar_decide_workspace(d);

	if (d->session->head > 0)
		return member_of(d->session, d->input->policy);
	return (struct member){ .tenant = ar_str_absent(d->input->tenant) ? AR_STR(AR_TENANT_LOCAL)
									  : d->input->tenant,
				.folder = ar_decide_folder(d),
				.workspace = w ? w->workspace_id : AR_STR_NONE };
}

/* A path names the workspace that this tenant has there, wherever the session works. */
static bool is_in_workspace(const struct member *m, struct ar_str workspace)
{
	char key[AR_SESSION_KEY_LEN];

	if (ar_str_empty(workspace))
		return true;
	if (!ar_str_starts(workspace, AR_STR("/")))
		return ar_str_eq(m->workspace, workspace);
	if (ar_str_absent(m->workspace))
		return ar_str_eq(m->folder, workspace);
	ar_workspace_key(m->tenant, workspace, key);
	return ar_str_eq(ar_workspace_key_in(m->workspace), (struct ar_str){ key, sizeof(key) });
}

static bool is_among(const struct member *m, const struct ar_audience *a, bool otherwise)
{
	bool is_named = ar_texts_have(a->tenants, m->tenant) || ar_texts_have(a->tenants, AR_STR("*"));

	return (a->tenants.count > 0 ? is_named : otherwise) && is_in_workspace(m, a->workspace);
}

bool ar_session_is_among(const struct ar_session *s, const struct ar_policy *policy,
			 const struct ar_audience *audience, bool otherwise)
{
	const struct member m = member_of(s, policy);

	return is_among(&m, audience, otherwise);
}

uint64_t ar_session_withheld(const struct ar_session *s, const struct ar_policy *policy)
{
	uint64_t withheld = 0;

	for (size_t i = 0; i < policy->secret_count; i++) {
		if (!ar_session_is_among(s, policy, &policy->secrets[i], !ar_session_is_apart(s, policy)))
			withheld |= UINT64_C(1) << i;
	}
	return withheld;
}

bool ar_workspace_has_secret(const struct ar_shape_workspace_record *w, const struct ar_policy *policy,
			     struct ar_str name)
{
	const struct member m = { .tenant = w->tenant, .folder = w->root, .workspace = w->workspace_id };
	bool otherwise = policy->is_workspace_shared || ar_tenant_is_local(w->tenant);

	for (size_t i = 0; i < policy->secret_names.count; i++) {
		if (ar_str_eq(policy->secret_names.at[i], name) &&
		    is_among(&m, &policy->secrets[i], otherwise))
			return true;
	}
	return false;
}

static const struct ar_audience *audience_of(const struct ar_policy *policy, const struct ar_tool *tool)
{
	static const struct ar_audience as_usual;
	struct ar_str name = tool->owner == AR_TOOL_MCP ? tool->origin : tool->name;

	for (size_t i = 0; i < policy->tool_entry_count; i++) {
		if (policy->tool_entries[i].owner == tool->owner &&
		    ar_str_eq(policy->tool_entries[i].name, name))
			return &policy->tool_entries[i].audience;
	}
	return &as_usual;
}

static bool is_usable(const struct ar_tool *tool, const struct ar_policy *policy, const struct member *m)
{
	if (tool->is_of_workspace) /* the inventory has only those of the session's own */
		return !ar_str_absent(m->workspace);
	if (tool->works_in_folder)
		return !ar_str_empty(m->folder);
	return is_among(m, audience_of(policy, tool), admits(policy, m->tenant));
}

bool ar_session_is_apart(const struct ar_session *s, const struct ar_policy *policy)
{
	return !policy->is_workspace_shared && !ar_tenant_is_local(s->tenant);
}

bool ar_session_may_use(const struct ar_session *s, const struct ar_policy *policy,
			const struct ar_tool *tool)
{
	const struct member m = member_of(s, policy);

	return is_usable(tool, policy, &m);
}

bool ar_decide_may_use(const struct ar_decision *d, const struct ar_tool *tool)
{
	const struct member m = member_decided(d);

	return is_usable(tool, d->input->policy, &m);
}

const struct ar_sandbox_host *ar_session_sandbox(const struct ar_session *s, const struct ar_policy *policy)
{
	if (!ar_str_absent(ar_session_worker(s)))
		return NULL; /* what this machine can enforce says nothing about a worker */
	return ar_str_empty(ar_session_folder(s, policy)) ? NULL : policy->sandbox;
}
