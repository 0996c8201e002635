/* See telemetry.h: requests by their ids, for the request log. */
#include "action/action.h"
#include "attributes.h"
#include "describe.h"
#include "process/record.h"
#include "subagent/subagents.h"

static void put(struct ar_str *at, struct ar_str id)
{
	if (ar_str_empty(*at))
		*at = id;
}

/* What a call, a process or a question says about the turn that has it. */
static void relate_parts(const struct ar_session *s, struct ar_str *at)
{
	const struct ar_action *action =
		ar_str_empty(at[AR_SCOPE_ACTION]) ? NULL : ar_session_action(s, at[AR_SCOPE_ACTION]);
	const struct ar_process_record *process =
		ar_str_empty(at[AR_SCOPE_PROCESS]) ? NULL : ar_session_process(s, at[AR_SCOPE_PROCESS]);
	struct ar_invocation *call;
	struct ar_thread *thread;
	const struct ar_turn *turn;

	if (action) {
		put(&at[AR_SCOPE_TURN], action->turn);
		put(&at[AR_SCOPE_TOOL_CALL], action->call);
	}
	if (process) {
		put(&at[AR_SCOPE_TURN], process->turn);
		put(&at[AR_SCOPE_TOOL_CALL], process->call);
	}
	if (!ar_str_empty(at[AR_SCOPE_TURN]) || ar_str_empty(at[AR_SCOPE_TOOL_CALL]))
		return;
	turn = ar_session_call(s, at[AR_SCOPE_TOOL_CALL], &call, &thread);
	if (turn)
		at[AR_SCOPE_TURN] = turn->id;
}

bool ar_telemetry_has_waited(const struct ar_turn *t)
{
	return t->started == 0 || t->started > t->submitted;
}

static void relate_turn(const struct ar_session *s, struct ar_request_ids *ids)
{
	struct ar_thread *thread;
	const struct ar_turn *turn = ar_session_turn(s, ids->at[AR_SCOPE_TURN], &thread);

	if (!turn)
		return;
	put(&ids->at[AR_SCOPE_THREAD], thread->id);
	put(&ids->at[AR_SCOPE_RUN], turn->run);
	if (turn->task)
		put(&ids->at[AR_SCOPE_TASK], turn->task->id);
	if (ar_telemetry_has_waited(turn))
		put(&ids->queued_turn, turn->id);
}

void ar_telemetry_relate(const struct ar_session *s, struct ar_request_ids *ids)
{
	const struct ar_shape_subagent_record *child;

	put(&ids->session, s->id);
	relate_parts(s, ids->at);
	if (!ar_str_empty(ids->at[AR_SCOPE_TURN]))
		relate_turn(s, ids);
	child = ar_str_empty(ids->at[AR_SCOPE_THREAD]) ? NULL
						       : ar_session_subagent_in(s, ids->at[AR_SCOPE_THREAD]);
	if (child)
		put(&ids->at[AR_SCOPE_SUBAGENT], child->subagent_id);
}

/* ---- calls to models ---- */

static void completed(const struct ar_ev_model_completed *p, struct ar_model_line *l)
{
	l->provider = p->provider;
	l->model = p->model;
	l->outcome = AR_STR("completed");
	l->duration_ms = p->latency_ms;
	l->first_token_ms = p->ttft_ms;
	if (!p->usage)
		return;
	l->input_tokens = p->usage->input_tokens;
	l->output_tokens = p->usage->output_tokens;
	l->cached_tokens = p->usage->cached_tokens;
}

static void failed(const struct ar_ev_model_failed *p, struct ar_model_line *l)
{
	l->provider = p->provider;
	l->model = p->model;
	l->outcome =
		ar_str_from(p->outcome ? ar_enum_name(&ar_model_failed_outcome_desc, p->outcome) : "failed");
	l->category = p->error ? p->error->category : AR_STR_NONE;
	l->status = p->status;
	l->attempt = AR_OPT_INT(p->attempt);
}

/* An open question of the turn, if it has one. */
static struct ar_str question_of(const struct ar_session *s, struct ar_str turn)
{
	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *action = s->actions.at[i];

		if (action->resolved == 0 && ar_str_eq(action->turn, turn))
			return action->id;
	}
	return AR_STR_NONE;
}

bool ar_telemetry_model_line(const struct ar_session *s, const struct ar_event *e, struct ar_model_line *ret)
{
	const struct ar_turn *turn;
	const struct ar_step *step;
	struct ar_thread *thread;

	if (e->type != AR_EV_MODEL_COMPLETED && e->type != AR_EV_MODEL_FAILED)
		return false;
	*ret = (struct ar_model_line){ .time = e->time };
	ret->ids.session = e->session_id;
	for (int i = 0; i < AR_SCOPE_COUNT; i++)
		ret->ids.at[i] = e->ids[i];
	if (e->type == AR_EV_MODEL_COMPLETED)
		completed(e->payload, ret);
	else
		failed(e->payload, ret);
	turn = ar_session_turn(s, e->ids[AR_SCOPE_TURN], &thread);
	step = turn ? ar_turn_step(turn, e->ids[AR_SCOPE_STEP]) : NULL;
	if (step && step->started && !ret->duration_ms.set)
		ret->duration_ms = AR_OPT_INT((e->time - step->started) / 1000);
	put(&ret->ids.at[AR_SCOPE_ACTION], question_of(s, e->ids[AR_SCOPE_TURN]));
	ar_telemetry_relate(s, &ret->ids);
	return true;
}
