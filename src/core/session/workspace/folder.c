/* The folder that a session works in, and whether it may work here at all. Everybody asks here, so that
 * no reader can forget one of the two questions. Pure. */
#include "decide.h"
#include "tenant.h"

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

struct ar_str ar_session_worker(const struct ar_session *s)
{
	return s->bound ? s->bound->worker : AR_STR_NONE;
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

static bool is_usable(const struct ar_tool *tool, struct ar_str folder, bool is_admitted)
{
	return tool->works_in_folder ? !ar_str_empty(folder) : is_admitted;
}

bool ar_session_is_apart(const struct ar_session *s, const struct ar_policy *policy)
{
	return !policy->is_workspace_shared && !ar_tenant_is_local(s->tenant);
}

bool ar_session_may_use(const struct ar_session *s, const struct ar_policy *policy,
			const struct ar_tool *tool)
{
	return is_usable(tool, ar_session_folder(s, policy), admits(policy, s->tenant));
}

bool ar_decide_may_use(const struct ar_decision *d, const struct ar_tool *tool)
{
	struct ar_str tenant = d->session->head > 0 ? d->session->tenant : d->input->tenant;

	return is_usable(tool, ar_decide_folder(d), admits(d->input->policy, tenant));
}

const struct ar_sandbox_host *ar_session_sandbox(const struct ar_session *s, const struct ar_policy *policy)
{
	if (!ar_str_absent(ar_session_worker(s)))
		return NULL; /* what this machine can enforce says nothing about a worker */
	return ar_str_empty(ar_session_folder(s, policy)) ? NULL : policy->sandbox;
}
