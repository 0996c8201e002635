/* A run of a declared task by a peer: a turn of the runtime's own with one call of delegate_to_peer. The
 * task is complete when the peer has ended and left an artifact that is stored here; what it merely said is
 * no result, and a person says then whether the task is complete. Pure. */
#include "artifact/artifact.h"
#include "checkpoint/checkpoints.h"
#include "peer/remote.h"
#include "quota/quota.h"
#include "task/task.h"
#include "tool/calls.h"

#define SHOWN_MAX 256 /* bytes of a text that are quoted */

enum ar_status ar_peer_plan(struct ar_decision *d, const struct ar_task *task, struct ar_task_plan *ret,
			    struct ar_error *err)
{
	const struct ar_inventory *tools = d->input->policy->inventory;

	const struct ar_tool *tool = tools ? ar_inventory_find(tools, AR_STR(AR_PEER_TOOL)) : NULL;

	if (!tool || !ar_decide_may_use(d, tool))
		return ar_refuse(err, AR_ERR_WORKER_UNAVAILABLE,
				 "no peer is configured; add one to `peers` of the settings");
	if (ar_str_empty(ret->run.worker->id))
		return ar_refuse(err, AR_ERR_WORKER_UNAVAILABLE, "the worker has no id: name the peer");
	if (ar_tenant_check_turn(d, false, err) != AR_OK ||
	    ar_task_own_turn(d, task, AR_TURN_OPTIONS_PURPOSE_PEER, &ret->turn, err) != AR_OK)
		return AR_E_REFUSED;
	ret->run.turn = ret->turn.in->turn_id;
	return AR_OK;
}

static void request_call(struct ar_decision *d, struct ar_turn *turn, const struct ar_task *task)
{
	struct ar_str peer = ar_task_open_run(task)->worker->id;
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "peer", peer);
	ar_jw_mstr(&w, "message", task->objective);
	ar_jw_close(&w);
	ar_task_run_call(d, turn,
			 &(struct ar_own_call){ .tool = AR_PEER_TOOL,
						.title = "A task is handed on to a peer",
						.args = ar_decide_json_end(d),
						.detail = ar_str_utf8_prefix(peer, SHOWN_MAX) });
}

/* ---- its end ---- */

static void emit_produced(struct ar_decision *d, const struct ar_task *task, struct ar_texts artifacts)
{
	for (size_t i = 0; i < artifacts.count; i++) {
		const struct ar_edge edge = { .kind = AR_STR("produced_artifact"),
					      .target = artifacts.at[i],
					      .status = AR_STR(AR_EDGE_ACTIVE) };

		if (!ar_task_edge(task, edge.kind, edge.target) && task->edges.count < AR_EDGES_MAX)
			ar_task_say_edge(d, task, &edge, AR_TASK_DEPENDENCY_UPDATED_CHANGE_ADDED);
	}
}

/* What the peer left is stored: with that its end is settled. */
static void settle(struct ar_decision *d, const struct ar_task *task, struct ar_texts artifacts)
{
	const struct ar_shape_remote_task *known = ar_run_remote(ar_task_open_run(task));
	struct ar_shape_remote_task r;

	if (!known || artifacts.count == 0)
		return;
	emit_produced(d, task, artifacts);
	r = *known;
	r.remote_artifact_refs = artifacts;
	r.status = AR_TASK_STATUS_COMPLETED;
	r.recovery_state = AR_REMOTE_TASK_RECOVERY_STATE_ENDED;
	ar_task_emit(d, task, AR_EV_TASK_PROGRESS,
		     &(struct ar_ev_task_progress){ .phase = AR_TASK_PROGRESS_PHASE_DELIVERING,
						    .counters = AR_STR("{}"),
						    .remote_task = &r });
}

static void ended_well(struct ar_decision *d, struct ar_turn *turn, const struct ar_task *task)
{
	struct ar_texts artifacts = ar_artifacts_of_turn(d->session, turn->id, d->arena);
	const struct ar_shape_artifact_record *first =
		artifacts.count ? ar_session_artifact(d->session, artifacts.at[0]) : NULL;

	if (ar_checkpoint_before_end(d, turn) != AR_GO_ON)
		return;
	settle(d, task, artifacts);
	if (!ar_task_lacks_artifact(d, turn))
		ar_decide_complete(d, turn, first ? first->read_ref : AR_STR_NONE, AR_STR("peer_ended"));
}

/* The sentence of the call that has just ended; absent: it ended otherwise. */
static struct ar_str reason_of(const struct ar_decision *d)
{
	struct ar_str said =
		d->input->kind == AR_IN_TOOL_DONE ? d->input->tool_done.result->message : AR_STR_NONE;

	return ar_str_utf8_prefix(ar_str_empty(said) ? AR_STR("tool.failed has the reason") : said,
				  SHOWN_MAX);
}

/* What was not handed on can be handed on again, and a peer that failed may not fail again. */
static bool is_retryable(struct ar_str category)
{
	return ar_str_is(category, AR_CATEGORY_PEER_FAILED) || ar_str_is(category, AR_CATEGORY_NETWORK);
}

static void ended_badly(struct ar_decision *d, struct ar_turn *turn, const struct ar_invocation *call)
{
	ar_decide_fail(d, turn,
		       &(struct ar_ending){
			       .status = AR_TURN_FAILED_STATUS_FAILED,
			       .category = ar_str_empty(call->category) ? AR_STR(AR_CATEGORY_PEER_FAILED)
									: call->category,
			       .message = ar_arena_fmt(d->arena, "The peer did not do it (%.*s): %.*s",
						       AR_STR_ARG(call->status), AR_STR_ARG(reason_of(d))),
			       .advice = AR_STR("look at remoteTask of the task, then retry the task"),
			       .retryable = is_retryable(call->category) });
}

void ar_peer_go_on(struct ar_decision *d, struct ar_turn *turn, const struct ar_task *task)
{
	const struct ar_invocation *call = turn->calls.count ? ar_call_at(turn, turn->calls.count - 1) : NULL;

	if (!call)
		request_call(d, turn, task);
	else if (call->stage != AR_CALL_ENDED)
		return;
	else if (ar_str_is(call->status, "ok"))
		ended_well(d, turn, task);
	else
		ended_badly(d, turn, call);
}

struct ar_str ar_peer_open_end(const struct ar_task *task)
{
	const struct ar_shape_remote_task *r = ar_run_remote(ar_task_run(task));

	if (!r || r->recovery_state != AR_REMOTE_TASK_RECOVERY_STATE_UNRECONCILED)
		return AR_STR_NONE;
	return AR_STR(
		"the peer has ended its task and left no artifact that is stored here; what it said is no "
		"result: complete_task says that the task is complete");
}
