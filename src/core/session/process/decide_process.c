/* A process from its barrier to its end. What its boundary is and that it is about to run are
 * facts before it does; what it reports becomes a fact once, by the numbers of its host; its end
 * is one fact. Pure: the running itself is an effect. */
#include "process/record.h"
#include "quota/quota.h"
#include "task/task.h"
#include "tool/calls.h"

#define DETAIL_MAX 4096

struct ar_ids ar_ids_process(struct ar_decision *d, const struct ar_process_record *p)
{
	struct ar_thread *t;
	const struct ar_turn *turn = ar_session_turn(d->session, p->turn, &t);
	struct ar_ids ids = { 0 };

	if (turn)
		ids = ar_ids_turn(d, turn);
	ids.at[AR_SCOPE_THREAD] = p->thread;
	ids.at[AR_SCOPE_TURN] = p->turn;
	ids.at[AR_SCOPE_STEP] = p->step;
	ids.at[AR_SCOPE_TOOL_CALL] = p->call;
	ids.at[AR_SCOPE_PROCESS] = p->id;
	return ids;
}

/* ---- it stands at its barrier ---- */

/* Why it does not run where its turn does; absent: it does. A host that has no folder of its own for the
 * turn decides alone. */
static struct ar_str other_folder(struct ar_decision *d, const struct ar_process_launched *p)
{
	struct ar_invocation *call;
	struct ar_thread *t;
	const struct ar_turn *turn = ar_session_call(d->session, p->call, &call, &t);
	const struct ar_shape_turn_environment *in =
		turn ? ar_session_turn_environment(d->session, turn->origin.environment) : NULL;

	if (!in || ar_str_empty(in->cwd) || ar_str_eq(in->cwd, p->ready.cwd))
		return AR_STR_NONE;
	return ar_process_text(p->justification, 1024, AR_STR("the tool call names this folder"));
}

static void say_started(struct ar_decision *d, const struct ar_ids *ids, const struct ar_invocation *call,
			const struct ar_process_launched *p, struct ar_str sandbox)
{
	struct ar_process_words words = ar_process_policy_words(d, p);

	ar_decide_emit(d, AR_EV_PROCESS_STARTED, ids,
		       &(struct ar_ev_process_started){
			       .safe_command = ar_str_utf8_prefix(p->command, 16384),
			       .parsed_subcommands = words.subcommands,
			       .cwd = ar_str_utf8_prefix(p->ready.cwd, 4096),
			       .sandbox_ref = sandbox,
			       .tty = p->tty,
			       .destructive = words.is_destructive,
			       .permission_ref = call->permission,
			       .path_validation = words.paths,
			       .network_decision =
				       ar_str_from(ar_profile_network((enum ar_sandbox_profile)p->profile)),
			       .justification = ar_process_text(p->justification, 4096, AR_STR("")),
			       .profile = ar_str_from(ar_sandbox_name((enum ar_sandbox_profile)p->profile)),
			       .handle = p->ready.handle,
			       .has_input = AR_OPT_BOOL(p->has_input),
			       .override_reason = other_folder(d, p) });
}

static void let_go(struct ar_decision *d, struct ar_str call, struct ar_str process)
{
	ar_decide_effect(d, AR_EFFECT_PROCESS_GO)->process_go =
		(struct ar_effect_process_go){ .call = call, .process = process };
}

/* Nothing of it has run yet. A call that is over, or is to be, lets nothing begin: the engine
 * hears no GO and ends it. */
enum ar_status ar_decide_process_ready(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_process_launched *p = d->input->process_ready;
	const struct ar_process_record *known = ar_session_process_of(d->session, p->call);
	struct ar_invocation *call;
	struct ar_thread *t;
	struct ar_turn *turn = ar_session_call(d->session, p->call, &call, &t);
	struct ar_str sandbox;
	struct ar_ids ids;

	(void)err;
	if (!turn || call->stage != AR_CALL_RUNNING || turn->is_interrupted)
		return AR_OK;
	if (known && ar_str_eq(known->handle, p->ready.handle)) { /* told again: the store had it after all */
		let_go(d, known->call, known->id);
		return AR_OK;
	}
	if (ar_tenant_claim_process(d, turn, call) == AR_HELD)
		return AR_OK;
	ids = ar_ids_call(d, turn, call);
	ids.at[AR_SCOPE_PROCESS] = ar_decide_mint(d, "proc", &d->counters.process.v);
	sandbox = ar_decide_boundary(d, &ids,
				     &(struct ar_boundary_words){ .profile = p->profile,
								  .justification = p->justification,
								  .ready = &p->ready });
	say_started(d, &ids, call, p, sandbox);
	ar_decide_masked(d, &ids, ar_decide_content(d, p->command), &p->masked);
	ar_task_note_process(d, turn, ids.at[AR_SCOPE_PROCESS]);
	let_go(d, call->id, ids.at[AR_SCOPE_PROCESS]);
	return AR_OK;
}

/* ---- what it reports ---- */

static void violated(struct ar_decision *d, const struct ar_process_record *p,
		     const struct ar_process_report *r)
{
	struct ar_ids ids = ar_ids_process(d, p);

	ar_decide_violation(d, &ids,
			    &(struct ar_violation_words){ .detail = r->detail,
							  .is_limit = r->kind == AR_PROC_LIMIT,
							  .seq = r->seq,
							  .sandbox = p->sandbox });
}

static void waits_for_input(struct ar_decision *d, const struct ar_process_record *p,
			    const struct ar_process_report *r)
{
	struct ar_ids ids = ar_ids_process(d, p);

	ar_decide_emit(d, AR_EV_RUN_STATUS, &ids,
		       &(struct ar_ev_run_status){
			       .phase = AR_STR(AR_PHASE_WAITS_FOR_INPUT),
			       .title = AR_STR("a command seems to wait for input"),
			       .detail = ar_str_utf8_prefix(p->command, DETAIL_MAX),
			       .metadata = &(struct ar_shape_run_metadata){
				       .process_id = p->id, .record_seq = AR_OPT_INT((int64_t)r->seq) } });
}

/* What is on record is not said again: after attach() a host tells everything from the first
 * report. Inputs that were written and bytes that were left out need no fact: the intent to
 * write is one, and the end says what was kept. */
enum ar_status ar_decide_process_told(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_process_report *r = &d->input->process_report->report;
	const struct ar_process_record *p = ar_session_process(d->session, d->input->process_report->process);

	(void)err;
	if (!p || !ar_process_is_running(p) || (r->seq > 0 && (int64_t)r->seq <= p->seq))
		return AR_OK;
	if (r->kind == AR_PROC_VIOLATION || r->kind == AR_PROC_LIMIT)
		violated(d, p, r);
	else if (r->kind == AR_PROC_WAITS_FOR_INPUT)
		waits_for_input(d, p, r);
	return AR_OK;
}

/* ---- where it goes on ---- */

static void end_it(struct ar_decision *d, const struct ar_process_record *p, const char *by,
		   struct ar_str reason)
{
	ar_decide_effect(d, AR_EFFECT_PROCESS_END)->process_end =
		(struct ar_effect_process_end){ .process = p->id,
						.by = ar_str_from(by),
						.reason = reason,
						.grace_ms = d->input->policy->process_grace_ms };
}

void ar_decide_end_process_of(struct ar_decision *d, const struct ar_invocation *call, struct ar_str reason)
{
	const struct ar_process_record *p = ar_session_process_of(d->session, call->id);

	if (p && ar_process_is_running(p))
		end_it(d, p, "parent_cancellation", reason);
}

/* By the rule of the host; it may have ended meanwhile. */
static void end_with_turn(struct ar_decision *d, const struct ar_process_record *p)
{
	if (ar_process_is_running(p) && ar_str_absent(p->stop_reason))
		end_it(d, p, "policy", AR_STR("its turn has ended (process.on_turn_end)"));
}

void ar_decide_end_processes(struct ar_decision *d, const struct ar_turn *turn)
{
	for (size_t i = 0; d->input->policy->ends_with_turn && i < d->session->processes.count; i++) {
		const struct ar_process_record *p = d->session->processes.at[i];

		if (ar_str_eq(p->turn, turn->id))
			end_with_turn(d, p);
	}
}

static bool has_turn_ended(const struct ar_session *s, const struct ar_process_record *p)
{
	struct ar_thread *t;
	const struct ar_turn *turn = ar_session_turn(s, p->turn, &t);

	return !turn || !ar_str_absent(turn->outcome);
}

void ar_decide_attach(struct ar_decision *d)
{
	for (size_t i = 0; i < d->session->processes.count; i++) {
		const struct ar_process_record *p = d->session->processes.at[i];

		if (!ar_process_is_running(p))
			continue;
		ar_decide_effect(d, AR_EFFECT_PROCESS_ATTACH)->process_attach = p;
		if (!ar_str_absent(p->stop_reason))
			end_it(d, p, "user", p->stop_reason);
		else if (d->input->policy->ends_with_turn && has_turn_ended(d->session, p))
			end_with_turn(d, p); /* the runtime stopped before it had */
	}
}
