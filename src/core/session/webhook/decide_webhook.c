/* See webhook.h: reports of the host about its deliveries, and requests to send something again. Pure. */
#include "places.h"
#include "webhook/webhook.h"

/* ---- report_webhook ---- */

/* The position behind both: a report that comes late takes nothing back. Absent: there is nothing new. */
static enum ar_status join_cursors(struct ar_str known, struct ar_str told, struct ar_str *ret,
				   struct ar_error *err)
{
	struct ar_places have = { 0 }, more = { 0 };

	*ret = AR_STR_NONE;
	if (ar_str_absent(told))
		return AR_OK;
	if (ar_places_parse(told, &more, err) != AR_OK)
		return AR_E_REFUSED;
	if (ar_str_absent(known)) {
		*ret = told;
	} else if (ar_places_parse(known, &have, NULL) != AR_OK ||
		   (ar_places_beyond(&more, &have) && !ar_places_beyond(&have, &more))) {
		*ret = told;
	}
	ar_places_fini(&have);
	ar_places_fini(&more);
	return AR_OK;
}

/* The same of a push configuration, whose positions are sequences. */
static enum ar_status join_sequences(struct ar_str known, struct ar_str told, struct ar_str *ret,
				     struct ar_error *err)
{
	uint64_t have = 0, more = 0;

	*ret = AR_STR_NONE;
	if (ar_str_absent(told))
		return AR_OK;
	if (!ar_str_to_u64(told, &more))
		return ar_refuse(err, AR_ERR_INVALID_CURSOR, "the cursor is no sequence");
	if (ar_str_absent(known) || (ar_str_to_u64(known, &have) && more > have))
		*ret = told;
	return AR_OK;
}

/* Absent: there is nothing new. */
static enum ar_status next_cursor(const struct ar_webhook *w, const struct ar_cmd_report_webhook_in *in,
				  struct ar_str *ret, struct ar_error *err)
{
	struct ar_str known = w ? w->cursor : AR_STR_NONE;

	if (!w || !w->push)
		return join_cursors(known, in->cursor, ret, err);
	if (join_sequences(known, in->cursor, ret, err) != AR_OK)
		return AR_E_REFUSED;
	if (ar_str_absent(*ret) && in->is_over.set && in->is_over.v && !ar_webhook_is_over(w))
		*ret = ar_str_absent(known) ? AR_STR("0") : known;
	return AR_OK;
}

static void emit_failures(struct ar_decision *d, const struct ar_cmd_report_webhook_in *in)
{
	const struct ar_ids none = { 0 };

	for (size_t i = 0; i < in->failures.count; i++) {
		const struct ar_webhook *w = ar_session_webhook(d->session, in->name);
		struct ar_shape_webhook_failure f = in->failures.at[i];
		const struct ar_shape_webhook_failure *known =
			w ? ar_webhook_failure(w, f.delivery_id) : NULL;

		if (known && !(known->redelivering.set && known->redelivering.v))
			continue; /* the report came twice */
		f.failed_at = d->input->now;
		f.redelivering = (struct ar_opt_bool){ 0 };
		ar_decide_emit(d, AR_EV_WEBHOOK_FAILED, &none,
			       &(struct ar_ev_webhook_failed){ .webhook = in->name, .failure = &f });
	}
}

static void emit_redelivered(struct ar_decision *d, const struct ar_cmd_report_webhook_in *in)
{
	const struct ar_ids none = { 0 };

	for (size_t i = 0; i < in->redelivered.count; i++) {
		const struct ar_webhook *w = ar_session_webhook(d->session, in->name);

		if (w && ar_webhook_failure(w, in->redelivered.at[i]))
			ar_decide_emit(d, AR_EV_WEBHOOK_REDELIVERED, &none,
				       &(struct ar_ev_webhook_redelivered){
					       .webhook = in->name, .delivery_id = in->redelivered.at[i] });
	}
}

static void emit_report(struct ar_decision *d, const struct ar_cmd_report_webhook_in *in,
			struct ar_str cursor)
{
	const struct ar_ids none = { 0 };

	ar_decide_home(d);
	emit_failures(d, in);
	emit_redelivered(d, in);
	if (!ar_str_absent(cursor))
		ar_decide_emit(d, AR_EV_WEBHOOK_PROGRESSED, &none,
			       &(struct ar_ev_webhook_progressed){
				       .webhook = in->name, .cursor = cursor, .is_over = in->is_over });
}

enum ar_status ar_decide_report_webhook(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_report_webhook_in *in = d->input->command.args;
	const struct ar_webhook *w = ar_session_webhook(d->session, in->name);
	bool is_removed = !w && ar_str_starts(in->name, AR_STR(AR_WEBHOOK_PUSH_PREFIX));
	struct ar_str cursor;

	if (!d->input->is_runtime)
		return ar_refuse(err, AR_ERR_NOT_AUTHORIZED,
				 "report_webhook is sent by the runtime, not by callers");
	if (!is_removed && next_cursor(w, in, &cursor, err) != AR_OK)
		return AR_E_REFUSED;
	if (!is_removed)
		emit_report(d, in, cursor);
	ar_decide_reply(d, AR_CMD_REPORT_WEBHOOK, &(struct ar_cmd_report_webhook_out){ .name = in->name });
	return AR_OK;
}

/* ---- redeliver_webhook ---- */

enum ar_status ar_decide_redeliver_webhook(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_redeliver_webhook_in *in = d->input->command.args;
	const struct ar_webhook *w = ar_session_webhook(d->session, in->name);
	const struct ar_shape_webhook_failure *f = w ? ar_webhook_failure(w, in->delivery_id) : NULL;
	const struct ar_ids none = { 0 };

	if (!f)
		return ar_refuse(err, AR_ERR_NOT_FOUND,
				 "webhook '%.*s' has no failed delivery '%.*s'; list_webhooks shows them",
				 AR_STR_ARG(ar_str_utf8_prefix(in->name, 64)),
				 AR_STR_ARG(ar_str_utf8_prefix(in->delivery_id, 64)));
	if (!f->redelivering.set || !f->redelivering.v)
		ar_decide_emit(d, AR_EV_WEBHOOK_REDELIVERING, &none,
			       &(struct ar_ev_webhook_redelivering){ .webhook = in->name,
								     .delivery_id = in->delivery_id,
								     .actor = d->input->account });
	ar_decide_reply(d, AR_CMD_REDELIVER_WEBHOOK,
			&(struct ar_cmd_redeliver_webhook_out){ .name = in->name,
								.delivery_id = in->delivery_id });
	return AR_OK;
}
