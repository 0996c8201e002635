/* A workspace is created, changed, trusted, archived: commands to its own log. Its folder is not looked at.
 * Pure. */
#include "decide.h"
#include "tenant.h"
#include "workspace/environment.h"
#include "workspace/workspace.h"

#include <string.h>

static const struct ar_ids none;

static struct ar_str last_part(struct ar_str path)
{
	const char *slash = memrchr(path.p, '/', path.len);

	return ar_str_sub(path, (size_t)(slash + 1 - path.p), path.len);
}

static struct ar_str name_of(const struct ar_workspace_folder *folder, struct ar_str wanted, struct ar_str id)
{
	if (!ar_str_empty(wanted))
		return wanted;
	return folder->is_managed ? id : ar_str_utf8_prefix(last_part(folder->root), AR_WORKSPACE_NAME_MAX);
}

static enum ar_status check_isolation(int isolation, bool is_far, struct ar_error *err)
{
	if (!is_far || !isolation || isolation == AR_WORKSPACE_ISOLATION_SHARED)
		return AR_OK;
	return ar_refuse(err, AR_ERR_ISOLATION_UNSUPPORTED, "%s", AR_NO_ISOLATION_THERE);
}

/* What is masked in the input would be a root that nobody finds again. */
static enum ar_status check_root(const struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_create_workspace_in *in = d->input->command.args;
	const struct ar_workspace_folder *folder = d->input->command.folder;

	if (folder->worker && folder->worker->status != AR_WORKER_RECORD_STATUS_ACTIVE)
		return ar_refuse(err, AR_ERR_WORKER_REMOVED, "worker %.*s was removed; use another",
				 AR_STR_ARG(folder->worker->worker_id));
	if (folder->is_managed || folder->worker || ar_str_eq(in->root, folder->root))
		return check_isolation(in->isolation, folder->worker || !ar_str_absent(folder->pool), err);
	return ar_refuse(
		err, AR_ERR_INVALID_INPUT,
		"the path contains text that looks like a secret, which is not stored; use another folder");
}

/* Users of this machine share the account of the server: the person says which of them it was. */
static struct ar_str caller_of(const struct ar_decision *d)
{
	return ar_str_absent(d->input->person) ? d->input->account : d->input->person;
}

static struct ar_shape_workspace_record new_record(const struct ar_decision *d)
{
	const struct ar_cmd_create_workspace_in *in = d->input->command.args;
	const struct ar_workspace_folder *folder = d->input->command.folder;
	struct ar_str id = ar_id_root(d->arena, "ws", d->session->session_key);

	return (struct ar_shape_workspace_record){
		.workspace_id = id,
		.tenant = ar_str_absent(d->input->tenant) ? AR_STR(AR_TENANT_LOCAL) : d->input->tenant,
		.owner = caller_of(d),
		.name = name_of(folder, in->name, id),
		.kind = folder->is_managed ? AR_WORKSPACE_RECORD_KIND_MANAGED
					   : AR_WORKSPACE_RECORD_KIND_FOLDER,
		.root = folder->root,
		.worker = folder->worker ? folder->worker->worker_id : AR_STR_NONE,
		.pool = folder->pool,
		.status = AR_WORKSPACE_RECORD_STATUS_ACTIVE,
		.trust = AR_WORKSPACE_TRUST_UNTRUSTED,
		.isolation = in->isolation,
		.version = 1,
		.created_at = d->input->now,
		.updated_at = d->input->now,
		.environment = ar_environment_copy(d->arena, &in->environment),
		.allowed_profiles =
			in->allowed_profiles.count > 0 ? in->allowed_profiles : (struct ar_texts){ 0 },
	};
}

static void emit_created(struct ar_decision *d, const struct ar_shape_workspace_record *record)
{
	ar_decide_emit(d, AR_EV_SESSION_CREATED, &none,
		       &(struct ar_ev_session_created){ .title = record->name,
							.workspace_id = record->workspace_id,
							.account_ref = d->input->account,
							.created_at = d->input->now,
							.tenant = ar_tenant_told(d->input->tenant),
							.source = AR_STR(AR_SOURCE_SYSTEM) });
	ar_decide_emit(d, AR_EV_WORKSPACE_CREATED, &none,
		       &(struct ar_ev_workspace_created){ .workspace = record });
}

static enum ar_status check_new(const struct ar_decision *d, const struct ar_shape_workspace_record *record,
				struct ar_error *err)
{
	if (check_root(d, err) != AR_OK ||
	    ar_environment_check(d, record, &record->environment, err) != AR_OK)
		return AR_E_REFUSED;
	return ar_allowed_profiles_check(&record->allowed_profiles, err);
}

enum ar_status ar_workspace_check_active(const struct ar_session *s, struct ar_error *err)
{
	if (!s->own)
		return ar_refuse(err, AR_ERR_WORKSPACE_NOT_FOUND, "%s", AR_NO_WORKSPACE);
	if (s->own->status == AR_WORKSPACE_RECORD_STATUS_ACTIVE)
		return AR_OK;
	return ar_refuse(err, AR_ERR_WORKSPACE_ARCHIVED, "workspace %.*s is archived",
			 AR_STR_ARG(s->own->workspace_id));
}

enum ar_status ar_decide_create_workspace(struct ar_decision *d, struct ar_error *err)
{
	struct ar_shape_workspace_record record;
	bool is_new = d->session->head == 0;

	if (is_new)
		record = new_record(d);
	if ((is_new ? check_new(d, &record, err) : ar_workspace_check_active(d->session, err)) != AR_OK)
		return AR_E_REFUSED;
	if (is_new)
		emit_created(d, &record);
	ar_decide_reply(d, AR_CMD_CREATE_WORKSPACE,
			&(struct ar_cmd_create_workspace_out){ .workspace = d->session->own,
							       .created = is_new });
	return AR_OK;
}

/* What is trusted becomes instructions of the owner's own sessions. */
static bool is_owners(const struct ar_decision *d)
{
	struct ar_str caller = caller_of(d);

	return ar_str_is(caller, AR_PERSON_LOCAL) || ar_str_eq(caller, d->session->own->owner);
}

/* Who trusts has seen a list: it must be that of what is there now. */
static enum ar_status check_trust(const struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_update_workspace_in *in = d->input->command.args;

	if (in->trust && !is_owners(d))
		return ar_refuse(err, AR_ERR_POLICY_DENIED,
				 "the owner of the workspace, or the server's own user, decides whether it "
				 "is trusted");
	if (in->trust != AR_WORKSPACE_TRUST_TRUSTED)
		return AR_OK;
	if (ar_str_absent(in->items_digest))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "to trust a workspace, pass the itemsDigest of inspect_workspace");
	if (ar_str_absent(d->input->command.items_digest))
		return ar_refuse(err, AR_ERR_UNAVAILABLE, "the folder of the workspace cannot be read now");
	if (ar_str_eq(in->items_digest, d->input->command.items_digest))
		return AR_OK;
	return ar_refuse(err, AR_ERR_VERSION_CONFLICT,
			 "the items of the workspace have changed since; inspect it again");
}

/* What they say counts for the commands of everybody who works there. */
static enum ar_status check_environment(const struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_update_workspace_in *in = d->input->command.args;

	if ((in->environment.at || in->allowed_profiles.at) && !is_owners(d))
		return ar_refuse(err, AR_ERR_POLICY_DENIED,
				 "the owner of the workspace, or the server's own user, sets its environment "
				 "and profiles");
	if (ar_environment_check(d, d->session->own, &in->environment, err) != AR_OK)
		return AR_E_REFUSED;
	return ar_allowed_profiles_check(&in->allowed_profiles, err);
}

static bool is_anything_named(const struct ar_cmd_update_workspace_in *in)
{
	return !ar_str_absent(in->name) || in->trust || in->isolation || in->environment.at ||
	       in->allowed_profiles.at;
}

static enum ar_status check_update(const struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_update_workspace_in *in = d->input->command.args;

	if (ar_workspace_check_active(d->session, err) != AR_OK)
		return AR_E_REFUSED;
	if (!is_anything_named(in))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "nothing to change: pass a name, trust, isolation, environment or "
				 "allowedProfiles");
	if (!ar_str_absent(in->name) && ar_str_empty(in->name))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "the name is empty");
	if (check_isolation(in->isolation, ar_workspace_is_far(d->session->own), err) != AR_OK ||
	    check_environment(d, err) != AR_OK)
		return AR_E_REFUSED;
	if (!in->version.set || in->version.v == d->session->own->version)
		return check_trust(d, err);
	return ar_refuse(err, AR_ERR_VERSION_CONFLICT,
			 "the workspace has version %lld, and the change is based on %lld",
			 (long long)d->session->own->version, (long long)in->version.v);
}

static void set_trust(const struct ar_decision *d, struct ar_shape_workspace_record *r)
{
	const struct ar_cmd_update_workspace_in *in = d->input->command.args;
	bool is_trusted = in->trust == AR_WORKSPACE_TRUST_TRUSTED;

	r->trust = in->trust;
	r->items_digest = is_trusted ? in->items_digest : AR_STR_NONE;
	r->servers_digest = is_trusted ? d->input->command.servers_digest : AR_STR_NONE;
	r->trusted_by = is_trusted ? caller_of(d) : AR_STR_NONE;
	r->trusted_at = is_trusted ? d->input->now : 0;
}

static bool is_trust_changed(const struct ar_decision *d)
{
	const struct ar_cmd_update_workspace_in *in = d->input->command.args;
	const struct ar_shape_workspace_record *r = d->session->own;

	if (in->trust == AR_WORKSPACE_TRUST_TRUSTED)
		return r->trust != AR_WORKSPACE_TRUST_TRUSTED ||
		       !ar_str_eq(r->items_digest, in->items_digest) ||
		       !ar_str_eq(r->servers_digest, d->input->command.servers_digest);
	return in->trust && r->trust == AR_WORKSPACE_TRUST_TRUSTED;
}

/* The members that were named and differ; true: there are any. */
static bool change_record(const struct ar_decision *d, struct ar_shape_workspace_record *r)
{
	const struct ar_cmd_update_workspace_in *in = d->input->command.args;
	bool is_renamed = !ar_str_absent(in->name) && !ar_str_eq(in->name, r->name);
	bool is_trust_new = is_trust_changed(d);
	bool is_isolation_new = in->isolation && in->isolation != r->isolation;
	bool is_environment_new = in->environment.at && !ar_list_equal(&ar_shape_workspace_variable_desc,
								       &in->environment, &r->environment);
	bool are_profiles_new =
		in->allowed_profiles.at && !ar_texts_eq(in->allowed_profiles, r->allowed_profiles);

	if (is_renamed)
		r->name = in->name;
	if (is_trust_new)
		set_trust(d, r);
	if (is_isolation_new)
		r->isolation = in->isolation;
	if (is_environment_new)
		r->environment = ar_environment_copy(d->arena, &in->environment);
	if (are_profiles_new)
		r->allowed_profiles =
			in->allowed_profiles.count > 0 ? in->allowed_profiles : (struct ar_texts){ 0 };
	return is_renamed || is_trust_new || is_isolation_new || is_environment_new || are_profiles_new;
}

static void emit_policy_changed(struct ar_decision *d, struct ar_str before)
{
	ar_decide_emit(d, AR_EV_POLICY_CHANGED, &none,
		       &(struct ar_ev_policy_changed){
			       .scope = AR_POLICY_CHANGED_SCOPE_WORKSPACE,
			       .policy_ref = ar_workspace_policy_content(d, d->session->own),
			       .previous_policy_ref = before,
			       .changed_by = &(struct ar_shape_policy_author){ .account_ref =
										       d->input->account } });
}

enum ar_status ar_decide_update_workspace(struct ar_decision *d, struct ar_error *err)
{
	struct ar_shape_workspace_record record;

	if (check_update(d, err) != AR_OK)
		return AR_E_REFUSED;
	record = *d->session->own;
	if (change_record(d, &record)) {
		bool is_policy = !ar_texts_eq(record.allowed_profiles, d->session->own->allowed_profiles);
		struct ar_str before =
			is_policy ? ar_workspace_policy_content(d, d->session->own) : AR_STR_NONE;

		record.version++;
		record.updated_at = d->input->now;
		record.policy = NULL; /* the fact leaves it as it is */
		record.policy_author = NULL;
		ar_decide_emit(d, AR_EV_WORKSPACE_UPDATED, &none,
			       &(struct ar_ev_workspace_updated){ .actor = d->input->account,
								  .workspace = &record });
		if (is_policy)
			emit_policy_changed(d, before);
	}
	ar_decide_reply(d, AR_CMD_UPDATE_WORKSPACE,
			&(struct ar_cmd_update_workspace_out){ .workspace = d->session->own });
	return AR_OK;
}

enum ar_status ar_decide_archive_workspace(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_archive_workspace_in *in = d->input->command.args;
	bool is_active;

	if (!d->session->own)
		return ar_workspace_check_active(d->session, err);
	is_active = d->session->own->status == AR_WORKSPACE_RECORD_STATUS_ACTIVE;
	if (is_active)
		ar_decide_emit(d, AR_EV_WORKSPACE_ARCHIVED, &none,
			       &(struct ar_ev_workspace_archived){ .actor = d->input->account,
								   .reason = in->reason });
	ar_decide_reply(d, AR_CMD_ARCHIVE_WORKSPACE,
			&(struct ar_cmd_archive_workspace_out){
				.workspace_id = d->session->own->workspace_id,
				.result = is_active ? AR_ARCHIVE_WORKSPACE_RESULT_ARCHIVED
						    : AR_ARCHIVE_WORKSPACE_RESULT_NO_OP });
	return AR_OK;
}
