/* See report.h. */
#include "describe.h"
#include "job/job.h"
#include "limits/money.h"
#include "report/report.h"
#include "schedule/schedule.h"

/* ---- this session's turns ---- */

static struct ar_str report_of(struct ar_decision *d, const struct ar_turn *turn)
{
	const struct ar_shape_failure error = { .category = turn->error_category,
						.message = turn->error_message,
						.retryable = turn->retryable };
	const struct ar_shape_usage usage = { .input_tokens = AR_OPT_INT(turn->input_tokens),
					      .output_tokens = AR_OPT_INT(turn->output_tokens),
					      .cached_tokens = AR_OPT_INT(turn->cached_tokens) };
	const struct ar_cmd_report_turn_in in = {
		.to = turn->report_to,
		.turn_id = turn->id,
		.session_id = d->session->id,
		.status = turn->outcome,
		.output_ref = turn->output_ref,
		.error = ar_str_absent(turn->error_category) ? NULL : &error,
		.usage = &usage,
		.cost = turn->spent.unpriced ? AR_STR_NONE : ar_money_text(d->arena, turn->spent.cost),
	};
	struct ar_jw w = ar_decide_json(d);

	ar_struct_encode(&ar_command_describe(AR_CMD_REPORT_TURN)->in, &in, AR_STR_NONE, &w);
	return ar_decide_json_end(d);
}

void ar_turn_report(struct ar_decision *d, const struct ar_turn *turn)
{
	if (ar_str_absent(turn->report_to))
		return;
	ar_decide_send(d, &(struct ar_effect_send){ .subject = turn->id,
						    .command = AR_CMD_REPORT_TURN,
						    .body = report_of(d, turn) });
}

void ar_reports_recover(struct ar_decision *d)
{
	for (size_t i = 0; i < d->session->threads.count; i++) {
		const struct ar_thread *t = d->session->threads.at[i];

		for (size_t n = 0; n < t->turns.count; n++) {
			const struct ar_turn *turn = t->turns.at[n];

			if (!ar_str_absent(turn->outcome))
				ar_turn_report(d, turn);
		}
	}
}

/* Refused: what started the turn is gone, or not what it was. Nobody else wants to know. */
static void reported(struct ar_decision *d, const struct ar_turn *turn)
{
	uint16_t code = d->input->sent->code;

	ar_turn_emit(d, turn, AR_EV_TURN_REPORTED,
		     &(struct ar_ev_turn_reported){ .to = turn->report_to,
						    .result = code ? AR_TURN_REPORTED_RESULT_REFUSED
								   : AR_TURN_REPORTED_RESULT_ACCEPTED,
						    .code = code ? ar_str_from(ar_error_describe(code)->name)
								 : AR_STR_NONE });
}

enum ar_status ar_decide_sent(struct ar_decision *d, struct ar_error *err AR_UNUSED)
{
	struct ar_thread *t;
	const struct ar_turn *turn = ar_session_turn(d->session, d->input->sent->subject, &t);

	if (turn && !ar_str_absent(turn->outcome) && !ar_str_absent(turn->report_to))
		reported(d, turn);
	else if (ar_str_starts(d->input->sent->subject, AR_STR(AR_SCHEDULE_PREFIX "_")))
		ar_schedule_sent(d);
	else if (ar_str_starts(d->input->sent->subject, AR_STR("job_")))
		ar_job_sent(d);
	return AR_OK;
}

/* ---- what this session started elsewhere ---- */

enum ar_status ar_decide_report_job(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_report_job_in *in = d->input->command.args;

	if (!d->input->is_runtime)
		return ar_refuse(err, AR_ERR_NOT_AUTHORIZED,
				 "report_job is sent by sessions, not by callers");
	if (ar_schedule_report_job(d, in, err) != AR_OK)
		return AR_E_REFUSED;
	ar_decide_reply(d, AR_CMD_REPORT_JOB, &(struct ar_cmd_report_job_out){ .to = in->to });
	return AR_OK;
}

static const struct {
	const char *prefix; /* of the id that is reported to */
	ar_report_fn *decide;
} kinds[] = {
	{ AR_SCHEDULE_PREFIX "_", ar_schedule_report_turn },
	{ "job_", ar_job_report_turn },
};

enum ar_status ar_decide_report_turn(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_report_turn_in *in = d->input->command.args;

	if (!d->input->is_runtime)
		return ar_refuse(err, AR_ERR_NOT_AUTHORIZED,
				 "report_turn is sent by sessions, not by callers");
	for (size_t i = 0; i < AR_ARRAY_LEN(kinds); i++) {
		if (!ar_str_starts(in->to, ar_str_from(kinds[i].prefix)))
			continue;
		if (kinds[i].decide(d, in, err) != AR_OK)
			return AR_E_REFUSED;
		ar_decide_reply(d, AR_CMD_REPORT_TURN, &(struct ar_cmd_report_turn_out){ .to = in->to });
		return AR_OK;
	}
	return ar_refuse(err, AR_ERR_NOT_FOUND, "nothing in this session has the id %.*s",
			 AR_STR_ARG(ar_str_utf8_prefix(in->to, 64)));
}
