/* A worker is created, enrolled, changed, removed: commands to its own log. Its tokens are core/access's, its
 * connection the host's. Pure. */
#include "decide.h"
#include "tenant.h"
#include "worker/worker.h"

static const struct ar_ids none;

/* ---- labels ---- */

static bool is_label_name(struct ar_str name)
{
	if (ar_str_empty(name) || name.len > AR_WORKER_LABEL_NAME_MAX)
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '.' || c == '_' || c == '-' || c == '/'))
			return false;
	}
	return true;
}

static enum ar_status check_labels(const struct ar_decision *d, struct ar_str labels, struct ar_error *err)
{
	struct ar_json v;
	struct ar_str value;
	size_t count = 0;

	if (ar_str_absent(labels))
		return AR_OK;
	if (ar_json_parse(d->json, labels, &v, NULL) != AR_OK)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "labels are an object of texts");
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		if (++count > AR_WORKER_LABELS_MAX)
			return ar_refuse(err, AR_ERR_INVALID_INPUT, "a worker has at most %d labels",
					 AR_WORKER_LABELS_MAX);
		if (!is_label_name(it.name) || !ar_json_str(it.value, &value) ||
		    value.len > AR_WORKER_LABEL_MAX)
			return ar_refuse(err, AR_ERR_INVALID_INPUT,
					 "a label is named by 1 to %d of the characters A-Z a-z 0-9 . _ / -, "
					 "and is a text of at most %d bytes",
					 AR_WORKER_LABEL_NAME_MAX, AR_WORKER_LABEL_MAX);
	}
	return AR_OK;
}

/* ---- create_worker ---- */

static struct ar_str caller_of(const struct ar_decision *d)
{
	return ar_str_absent(d->input->person) ? d->input->account : d->input->person;
}

static void emit_created(struct ar_decision *d)
{
	const struct ar_cmd_create_worker_in *in = d->input->command.args;
	struct ar_str id = ar_id_root(d->arena, "wk", d->session->session_key);
	const struct ar_shape_worker_record record = {
		.worker_id = id,
		.tenant = ar_str_absent(d->input->tenant) ? AR_STR(AR_TENANT_LOCAL) : d->input->tenant,
		.created_by = caller_of(d),
		.name = in->name,
		.labels = in->labels,
		.status = AR_WORKER_RECORD_STATUS_ACTIVE,
		.version = 1,
		.created_at = d->input->now,
		.updated_at = d->input->now,
	};

	ar_decide_emit(d, AR_EV_SESSION_CREATED, &none,
		       &(struct ar_ev_session_created){ .title = record.name,
							.account_ref = d->input->account,
							.created_at = d->input->now,
							.tenant = ar_tenant_told(d->input->tenant),
							.source = AR_STR(AR_SOURCE_SYSTEM) });
	ar_decide_emit(d, AR_EV_WORKER_CREATED, &none, &(struct ar_ev_worker_created){ .worker = &record });
}

static enum ar_status check_active(const struct ar_session *s, struct ar_error *err)
{
	if (!s->own_worker)
		return ar_refuse(err, AR_ERR_WORKER_NOT_FOUND, "%s", AR_NO_WORKER);
	if (s->own_worker->status == AR_WORKER_RECORD_STATUS_ACTIVE)
		return AR_OK;
	return ar_refuse(err, AR_ERR_WORKER_REMOVED, "worker %.*s was removed",
			 AR_STR_ARG(s->own_worker->worker_id));
}

/* A log that is there under the key of a caller, without the receipt of it: its receipt has ended. */
enum ar_status ar_decide_create_worker(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_create_worker_in *in = d->input->command.args;

	if (d->session->head > 0)
		return ar_refuse(err, AR_ERR_ID_CONFLICT, "the key was used before for another worker");
	if (ar_str_empty(in->name))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "the name is empty");
	if (check_labels(d, in->labels, err) != AR_OK)
		return AR_E_REFUSED;
	emit_created(d);
	ar_decide_reply(d, AR_CMD_CREATE_WORKER,
			&(struct ar_cmd_create_worker_out){ .worker = d->session->own_worker });
	return AR_OK;
}

/* ---- enrol_worker ---- */

/* The intent: the token that lasts is made after it. A crash between both leaves the enrolment token as it
 * was, and the machine asks again. */
enum ar_status ar_decide_enrol_worker(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_enrol_worker_in *in = d->input->command.args;
	struct ar_shape_worker_record record;

	if (check_active(d->session, err) != AR_OK || check_labels(d, in->labels, err) != AR_OK)
		return AR_E_REFUSED;
	record = *d->session->own_worker;
	record.own_labels = in->labels;
	record.info = in->info;
	record.enrolled_at = d->input->now;
	record.version++;
	record.updated_at = d->input->now;
	ar_decide_emit(d, AR_EV_WORKER_ENROLLED, &none,
		       &(struct ar_ev_worker_enrolled){ .actor = d->input->account, .worker = &record });
	ar_decide_reply(d, AR_CMD_ENROL_WORKER,
			&(struct ar_cmd_enrol_worker_out){ .worker_id = record.worker_id,
							   .token = AR_STR("") });
	return AR_OK;
}

/* ---- update_worker ---- */

static enum ar_status check_update(const struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_update_worker_in *in = d->input->command.args;

	if (check_active(d->session, err) != AR_OK)
		return AR_E_REFUSED;
	if (ar_str_absent(in->name) && ar_str_absent(in->labels) && !in->draining.set)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "nothing to change: pass a name, labels or draining");
	if (!ar_str_absent(in->name) && ar_str_empty(in->name))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "the name is empty");
	if (in->version.set && in->version.v != d->session->own_worker->version)
		return ar_refuse(err, AR_ERR_VERSION_CONFLICT,
				 "the worker has version %lld, and the change is based on %lld",
				 (long long)d->session->own_worker->version, (long long)in->version.v);
	return check_labels(d, in->labels, err);
}

static bool is_changed(const struct ar_shape_worker_record *r, const struct ar_cmd_update_worker_in *in)
{
	return (!ar_str_absent(in->name) && !ar_str_eq(in->name, r->name)) ||
	       (!ar_str_absent(in->labels) && !ar_str_eq(in->labels, r->labels)) ||
	       (in->draining.set && in->draining.v != r->draining);
}

enum ar_status ar_decide_update_worker(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_update_worker_in *in = d->input->command.args;
	struct ar_shape_worker_record record;

	if (check_update(d, err) != AR_OK)
		return AR_E_REFUSED;
	record = *d->session->own_worker;
	if (is_changed(&record, in)) {
		record.name = ar_str_absent(in->name) ? record.name : in->name;
		record.labels = ar_str_absent(in->labels) ? record.labels : in->labels;
		record.draining = in->draining.set ? in->draining.v : record.draining;
		record.version++;
		record.updated_at = d->input->now;
		ar_decide_emit(d, AR_EV_WORKER_UPDATED, &none,
			       &(struct ar_ev_worker_updated){ .actor = d->input->account,
							       .worker = &record });
	}
	ar_decide_reply(d, AR_CMD_UPDATE_WORKER,
			&(struct ar_cmd_update_worker_out){ .worker = d->session->own_worker });
	return AR_OK;
}

/* ---- remove_worker ---- */

enum ar_status ar_decide_remove_worker(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_remove_worker_in *in = d->input->command.args;
	bool is_active;

	if (!d->session->own_worker)
		return check_active(d->session, err);
	is_active = d->session->own_worker->status == AR_WORKER_RECORD_STATUS_ACTIVE;
	if (is_active)
		ar_decide_emit(d, AR_EV_WORKER_REMOVED, &none,
			       &(struct ar_ev_worker_removed){ .actor = d->input->account,
							       .reason = in->reason });
	ar_decide_reply(d, AR_CMD_REMOVE_WORKER,
			&(struct ar_cmd_remove_worker_out){
				.worker_id = d->session->own_worker->worker_id,
				.result = is_active ? AR_REMOVE_WORKER_RESULT_REMOVED
						    : AR_REMOVE_WORKER_RESULT_NO_OP });
	return AR_OK;
}
