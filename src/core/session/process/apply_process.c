/* Facts about processes. Ended ones leave after a window, running ones stay whatever their
 * number. Pure; see apply.c. */
#include "apply.h"
#include "process/record.h"
#include "task/words.h"

static struct ar_process_record *find_process(struct ar_session *s, const struct ar_event *e)
{
	return ar_session_process(s, e->ids[AR_SCOPE_PROCESS]);
}

static void drop_old(struct ar_session *s)
{
	size_t ended = 0;

	for (size_t i = s->processes.count; i > 0; i--) {
		if (!ar_process_is_running(s->processes.at[i - 1]) && ++ended > AR_WINDOW_PROCESSES)
			ar_vec_remove(&s->processes, i - 1);
	}
}

enum ar_status ar_apply_boundary(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_sandbox_applied *p = PAYLOAD(e, sandbox_applied);

	(void)err;
	s->environment_ref = ar_apply_keep(s, p->environment_ref);
	s->limits = ar_apply_keep(s, p->process_limits);
	return AR_OK;
}

enum ar_status ar_apply_process_started(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_process_started *p = PAYLOAD(e, process_started);
	struct ar_process_record *r = ar_arena_alloc(&s->arena, sizeof(*r));
	struct ar_thread *t;

	if (find_process(s, e))
		return ar_fail(err, AR_E_CORRUPT, "fact %llu starts a process that exists",
			       (unsigned long long)e->sequence);
	*r = (struct ar_process_record){ .id = ar_apply_keep(s, e->ids[AR_SCOPE_PROCESS]),
					 .thread = ar_apply_keep(s, e->ids[AR_SCOPE_THREAD]),
					 .turn = ar_apply_keep(s, e->ids[AR_SCOPE_TURN]),
					 .step = ar_apply_keep(s, e->ids[AR_SCOPE_STEP]),
					 .call = ar_apply_keep(s, e->ids[AR_SCOPE_TOOL_CALL]),
					 .handle = ar_apply_keep(s, p->handle),
					 .command =
						 ar_apply_keep(s, ar_str_utf8_prefix(p->safe_command, 1024)),
					 .cwd = ar_apply_keep(s, p->cwd),
					 .profile = ar_apply_keep(s, p->profile),
					 .sandbox = ar_apply_keep(s, p->sandbox_ref),
					 .tty = p->tty,
					 .has_input = p->has_input.v,
					 .sequence = (int64_t)e->sequence,
					 .override_reason = ar_apply_keep(s, p->override_reason),
					 .started = e->time };
	if (ar_apply_is_shown(ar_apply_turn(s, e, &t))) { /* the fact of its boundary comes before this one */
		r->output_ref = ar_arena_fmt(&s->arena, "%.*s.%s", AR_STR_ARG(r->id),
					     r->tty ? "pty" : "stdout"); /* as read_output reads it now */
		r->environment = s->environment_ref;
		r->limits = s->limits;
	}
	ar_vec_push(&s->arena, &s->processes, r);
	ar_apply_count(&s->counters.process.v, r->id);
	s->counters.process.set = true;
	return ar_apply_move(&r->status, AR_MACHINE_PROCESS, e, err);
}

enum ar_status ar_apply_process_input(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_process_input *p = PAYLOAD(e, process_input);
	struct ar_process_record *r = find_process(s, e);
	struct ar_process_input *in = ar_arena_alloc(&s->arena, sizeof(*in));

	if (!r)
		return ar_apply_unknown(err, e, "process");
	*in = (struct ar_process_input){ .number = p->number.v,
					 .ref = ar_apply_keep(s, p->input_ref),
					 .is_eof = p->eof.v };
	r->inputs = p->number.v;
	r->is_closed |= p->eof.v;
	ar_vec_push(&s->arena, &r->written, in);
	if (r->written.count > AR_PROCESS_INPUTS)
		ar_vec_remove(&r->written, 0);
	return ar_apply_move(&r->status, AR_MACHINE_PROCESS, e, err);
}

static void saw(struct ar_process_record *r, int64_t seq)
{
	if (seq > r->seq)
		r->seq = seq;
}

/* One that a call without a process of its own came to is nobody's here. */
enum ar_status ar_apply_violation(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_sandbox_violation *p = PAYLOAD(e, sandbox_violation);
	struct ar_process_record *r = find_process(s, e);
	struct ar_thread *t;

	(void)err;
	if (ar_apply_is_shown(ar_apply_turn(s, e, &t))) {
		t->violations = AR_OPT_INT(t->violations.v + 1);
		t->violation_refs = ar_texts_joined(&s->arena, t->violation_refs, AR_TEXTS(p->violation_ref),
						    AR_WINDOW_VIOLATIONS);
	}
	if (!r)
		return AR_OK;
	r->violations++;
	saw(r, p->record_seq.v);
	return AR_OK;
}

void ar_apply_process_status(struct ar_session *s, const struct ar_event *e)
{
	const struct ar_ev_run_status *p = PAYLOAD(e, run_status);
	struct ar_process_record *r = find_process(s, e);

	if (r && ar_str_is(p->phase, AR_PHASE_TERMINATING))
		r->stop_reason = ar_apply_keep(s, p->detail);
	if (r && p->metadata && ar_str_is(p->phase, AR_PHASE_WAITS_FOR_INPUT))
		saw(r, p->metadata->record_seq.v);
}

static void keep_ending(struct ar_process_record *r, const struct ar_shape_process_ending *end)
{
	if (!end)
		return;
	r->end = end;
	r->output_ref = end->text_ref;
	r->signal = end->signal;
	r->output_bytes = end->stdout_bytes.v + end->stderr_bytes.v + end->tty_bytes.v;
	if (!r->exit_code.set)
		r->exit_code = end->exit_code;
}

/* What is given lives in the session's memory. */
static enum ar_status ended(struct ar_session *s, const struct ar_event *e,
			    struct ar_shape_process_output_list outputs,
			    const struct ar_shape_process_ending *end, struct ar_error *err)
{
	struct ar_process_record *r = find_process(s, e);

	if (!r)
		return ar_apply_unknown(err, e, "process");
	r->outputs = outputs;
	keep_ending(r, end);
	r->ended = e->time;
	r->written.count = 0;
	r->limits = AR_STR_NONE;
	if (ar_apply_move(&r->status, AR_MACHINE_PROCESS, e, err) != AR_OK)
		return AR_E_CORRUPT;
	drop_old(s);
	return AR_OK;
}

enum ar_status ar_apply_process_completed(struct ar_session *s, const struct ar_event *e,
					  struct ar_error *err)
{
	const struct ar_ev_process_completed *p = KEPT(s, e, process_completed);
	struct ar_process_record *r = find_process(s, e);

	if (r)
		r->exit_code = AR_OPT_INT(p->exit_code);
	return ended(s, e, p->outputs, p->end, err);
}

enum ar_status ar_apply_process_failed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_process_failed *p = KEPT(s, e, process_failed);

	return ended(s, e, p->outputs, p->end, err);
}

enum ar_status ar_apply_process_terminated(struct ar_session *s, const struct ar_event *e,
					   struct ar_error *err)
{
	const struct ar_ev_process_terminated *p = KEPT(s, e, process_terminated);
	struct ar_process_record *r = find_process(s, e);

	if (r) {
		r->exit_code = p->exit_code;
		r->by = ar_apply_word(e, "terminatedBy", p->terminated_by);
	}
	return ended(s, e, p->outputs, p->end, err);
}

/* Only one that names a process is about one. */
enum ar_status ar_apply_repaired(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	if (ar_str_absent(e->ids[AR_SCOPE_PROCESS]))
		return AR_OK;
	return ended(s, e, (struct ar_shape_process_output_list){ 0 }, NULL, err);
}

void ar_apply_call_over(struct ar_session *s, const struct ar_invocation *call)
{
	struct ar_process_record *r = ar_session_process_of(s, call->id);

	if (r && ar_process_is_running(r))
		r->is_background = true;
}
