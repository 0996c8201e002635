/* The entry of the pure core: finds the function that decides an input, and writes the decision.
 *
 * A decision has four parts: facts (what became true), contents (texts that the facts refer to), effects
 * (what to do once the facts are stored) and a reply. The functions in decide_*.c produce them with the
 * writers here.
 *
 * ar_decide_emit() applies the fact to the session at once. The rest of the decision sees the state that a
 * replay of the log will see, so there is one place that knows what a fact means: its function in apply*.c.
 * Two rules follow. First, a refusal must come before the first fact, because there is no way back;
 * ar_session_decide() asserts it. Second, a loop whose body emits must not iterate over something that the
 * fact changes; it iterates over a copy (ar_vec_copy).
 *
 * A fact that cannot follow what is known is a bug. The decision then ends with AR_E_CORRUPT, nothing of it
 * is stored, and the engine loads the session again.
 *
 * Ids are counters of the session, times come with the input, policy is constant during a decision: the
 * same state and input always give the same bytes. tools/compare-core relies on that, and so does the
 * simulation.
 *
 * When the wall clock was set back since the last decision, a fact about it is emitted before the first
 * other fact (history/clock_step.c); it moves the start times of open work to the new clock. */
#include "decide.h"
#include "describe.h"
#include "identity.h"
#include "job/job.h"
#include "schema.h"
#include "trace/trace.h"

#include <string.h>

#define SCRATCH_ROOM 1000 /* bytes that most texts stay below: one allocation instead of five */

#define BY_COMMAND(id, name) [AR_CMD_##id] = ar_decide_##name,
static ar_decide_fn *const by_command[AR_CMD_COUNT] = { AR_SESSION_WRITES(BY_COMMAND) };
#undef BY_COMMAND

/* NULL: a command that is not implemented yet. */
static ar_decide_fn *decision_for(const struct ar_input *in)
{
	switch (in->kind) {
	case AR_IN_COMMAND:
		return by_command[in->command.id];
	case AR_IN_MODEL_DONE:
		return ar_decide_model_done;
	case AR_IN_RETRY_DUE:
		return ar_decide_retry_due;
	case AR_IN_RECOVER:
		return ar_decide_recover;
	case AR_IN_TOOL_DONE:
		return ar_decide_tool_done;
	case AR_IN_CALL_DUE:
		return ar_decide_call_due;
	case AR_IN_HOOK_DONE:
		return ar_decide_hook_done;
	case AR_IN_TOOL_ASKED:
		return ar_decide_tool_asked;
	case AR_IN_ACTION_DUE:
		return ar_decide_action_due;
	case AR_IN_BUDGET_DUE:
		return ar_decide_budget_due;
	case AR_IN_SILENCE_DUE:
		return ar_decide_silence_due;
	case AR_IN_PROCESS_READY:
		return ar_decide_process_ready;
	case AR_IN_PROCESS_REPORT:
		return ar_decide_process_told;
	case AR_IN_PROCESS_END:
		return ar_decide_process_over;
	case AR_IN_CHANNEL_FOLLOWED:
		return ar_decide_channel_followed;
	case AR_IN_CHANNEL_GONE:
		return ar_decide_channel_gone;
	case AR_IN_CHANNEL_DUE:
		return ar_decide_channel_due;
	case AR_IN_CHANNEL_READ:
		return ar_decide_channel_read;
	case AR_IN_TASK_DUE:
		return ar_decide_task_due;
	case AR_IN_ACCESS:
		return ar_decide_access;
	case AR_IN_CHECKPOINT_DONE:
		return ar_decide_checkpoint_done;
	case AR_IN_REPAIR:
		return ar_decide_repair;
	case AR_IN_INSPECTED:
		return ar_decide_inspected;
	case AR_IN_WORKER:
		return ar_decide_worker_changed;
	case AR_IN_SCHEDULE_DUE:
		return ar_decide_schedule_due;
	case AR_IN_SENT:
		return ar_decide_sent;
	case AR_IN_JOB_DUE:
		return ar_decide_job_due;
	case AR_IN_CONTENTS:
		return ar_decide_contents;
	case AR_IN_SERVERS:
		return ar_decide_servers;
	case AR_IN_WORKSPACE:
		return ar_decide_workspace_read;
	}
	return NULL;
}

static struct ar_str args_as_kept(struct ar_decision *d)
{
	struct ar_jw w = ar_decide_json(d);

	ar_struct_encode(&ar_command_describe(d->input->command.id)->in, d->input->command.args, AR_STR_NONE,
			 &w);
	return ar_decide_content(d, ar_decide_json_end(d));
}

/* The owner of what was masked in a command is the turn that it submits, or else what its first
 * fact is about. A command that changes nothing leaves nothing to tell. */
static void tell_masked_args(struct ar_decision *d)
{
	size_t first = d->input->step ? 1 : 0;
	struct ar_str ref = AR_STR_NONE;
	struct ar_ids owner;

	if (d->input->kind != AR_IN_COMMAND || d->input->command.masked.count == 0 || d->event_count == 0)
		return;
	memcpy(owner.at, d->events[first].ids, sizeof(owner.at));
	for (size_t i = 0; i < d->event_count; i++) {
		if (d->events[i].type != AR_EV_TURN_SUBMITTED)
			continue;
		ref = ((const struct ar_ev_turn_submitted *)d->events[i].payload)->input_ref;
		memcpy(owner.at, d->events[i].ids, sizeof(owner.at));
	}
	if (ar_str_absent(ref))
		ref = args_as_kept(d);
	ar_decide_masked(d, &owner, ref, &d->input->command.masked);
}

enum ar_status ar_session_decide(struct ar_session *s, const struct ar_input *in, struct ar_json_parser *json,
				 struct ar_arena *arena, struct ar_decision *ret, struct ar_error *err)
{
	ar_decide_fn *decide = decision_for(in);
	enum ar_status rc;

	*ret = (struct ar_decision){ .arena = arena,
				     .session = s,
				     .input = in,
				     .json = json,
				     .head = s->head,
				     .updated = s->updated,
				     .counters = s->counters,
				     .schema_steps = AR_SCHEMA_STEPS_MAX };
	if (!decide)
		return ar_refuse(err, AR_ERR_UNAVAILABLE, "%s is not implemented yet",
				 ar_command_describe(in->command.id)->name);
	rc = decide(ret, err);
	AR_ASSERT(rc == AR_OK || ret->event_count == 0); /* what is refused has changed nothing */
	if (rc == AR_OK)
		tell_masked_args(ret);
	ar_buf_fini(&ret->scratch);
	if (ret->fault == AR_OK)
		return rc;
	*err = ret->fault_err;
	return ret->fault;
}

/* Room for one more of `size` bytes in an arena array that doubles; not zeroed, for its callers
 * assign it whole. */
static void *one_more(struct ar_arena *a, void *array, size_t *count, size_t *room, size_t size)
{
	if (*count == *room) {
		size_t larger = *room ? *room * 2 : 16;
		void *grown = ar_arena_room(a, larger * size);

		if (*count > 0)
			memcpy(grown, array, *count * size);
		array = grown;
		*room = larger;
	}
	(*count)++;
	return array;
}

static struct ar_event *add_event(struct ar_decision *d, enum ar_event_type type, const struct ar_ids *ids,
				  const void *payload)
{
	const struct ar_event_desc *desc = ar_event_describe(type);
	struct ar_event *e;

	d->events = one_more(d->arena, d->events, &d->event_count, &d->event_room, sizeof(*d->events));
	e = &d->events[d->event_count - 1];
	*e = (struct ar_event){
		.type = type,
		.sequence = d->head + d->event_count,
		.time = d->input->now,
		.session_id = d->session->id,
		.runtime_id = d->input->policy->runtime_id,
		.payload = ar_struct_copy(&desc->payload, payload, AR_COPY_FILL, d->arena),
	};
	e->event_id = ar_id_inner(d->arena, "evt", d->session->session_key, e->sequence);
	memcpy(e->ids, ids->at, sizeof(e->ids));
	if (d->input->policy->is_traced)
		ar_trace_name(d, e);
	return e;
}

static bool has_clock_to_tell(const struct ar_decision *d)
{
	return d->input->step && !d->is_clock_told;
}

uint64_t ar_decide_next_sequence(const struct ar_decision *d)
{
	return d->session->head + 1 + has_clock_to_tell(d);
}

void ar_decide_emit(struct ar_decision *d, enum ar_event_type type, const struct ar_ids *ids,
		    const void *payload)
{
	struct ar_event *e;

	if (has_clock_to_tell(d)) {
		d->is_clock_told = true;
		ar_decide_clock_step(d);
	}
	e = add_event(d, type, ids, payload);
	if (d->fault == AR_OK)
		d->fault = ar_session_apply(d->session, e, &d->fault_err);
}

struct ar_effect *ar_decide_effect(struct ar_decision *d, enum ar_effect_kind kind)
{
	d->effects = one_more(d->arena, d->effects, &d->effect_count, &d->effect_room, sizeof(*d->effects));
	d->effects[d->effect_count - 1] = (struct ar_effect){ .kind = kind };
	return &d->effects[d->effect_count - 1];
}

void ar_decide_wake(struct ar_decision *d, enum ar_input_kind input, struct ar_str subject, ar_usec at)
{
	ar_decide_effect(d, AR_EFFECT_WAKE)->wake =
		(struct ar_effect_wake){ .input = input, .subject = subject, .at = at };
}

void ar_decide_wake_cancel(struct ar_decision *d, struct ar_str subject)
{
	ar_decide_effect(d, AR_EFFECT_WAKE_CANCEL)->wake_cancel = subject;
}

void ar_decide_send(struct ar_decision *d, const struct ar_effect_send *send)
{
	ar_decide_effect(d, AR_EFFECT_SEND)->send = *send;
}

static void add_content(struct ar_decision *d, struct ar_content content)
{
	d->contents =
		one_more(d->arena, d->contents, &d->content_count, &d->content_room, sizeof(*d->contents));
	d->contents[d->content_count - 1] = content;
}

struct ar_str ar_decide_content(struct ar_decision *d, struct ar_str bytes)
{
	struct ar_hash hash = ar_hash_of(bytes);

	add_content(d, (struct ar_content){ hash, bytes });
	return ar_ref_make(d->arena, d->session->session_key, &hash);
}

void ar_decide_content_of(struct ar_decision *d, struct ar_str ref, struct ar_str bytes)
{
	struct ar_str session_key;
	struct ar_hash hash;

	AR_ASSERT(ar_ref_parse(ref, &session_key, &hash));
	add_content(d, (struct ar_content){ hash, bytes });
}

struct ar_str ar_decide_ref(struct ar_decision *d, struct ar_str bytes)
{
	struct ar_hash hash = ar_hash_of(bytes);

	return ar_ref_make(d->arena, d->session->session_key, &hash);
}

struct ar_str ar_decide_text(const struct ar_decision *d, struct ar_str ref)
{
	const struct ar_hook_end *end = d->input->kind == AR_IN_HOOK_DONE ? d->input->hook_done : NULL;
	const struct ar_job_read *read = d->input->read;
	struct ar_str session_key;
	struct ar_hash hash;

	if (!ar_ref_parse(ref, &session_key, &hash))
		return AR_STR_NONE;
	for (size_t i = 0; i < d->content_count; i++) {
		if (memcmp(&d->contents[i].hash, &hash, sizeof(hash)) == 0)
			return d->contents[i].bytes;
	}
	for (size_t i = 0; end && i < end->text_count; i++) {
		if (ar_str_eq(end->texts[i].ref, ref))
			return end->texts[i].bytes;
	}
	for (size_t i = 0; read && i < read->text_count; i++) {
		if (ar_str_eq(read->texts[i].ref, ref))
			return read->texts[i].bytes;
	}
	return AR_STR_NONE;
}

struct ar_str ar_decide_mint(struct ar_decision *d, const char *prefix, int64_t *counter)
{
	return ar_id_inner(d->arena, prefix, d->session->session_key, (uint64_t)++ * counter);
}

void ar_decide_reply(struct ar_decision *d, enum ar_command command, const void *out)
{
	struct ar_jw w = ar_decide_json(d);

	ar_struct_encode(&ar_command_describe(command)->out, out, AR_STR_NONE, &w);
	d->reply = ar_decide_json_end(d);
}

struct ar_jw ar_decide_json(struct ar_decision *d)
{
	ar_buf_clear(&d->scratch);
	ar_buf_room(&d->scratch, SCRATCH_ROOM);
	return ar_jw(&d->scratch);
}

struct ar_str ar_decide_json_end(struct ar_decision *d)
{
	return ar_arena_str(d->arena, ar_buf_str(&d->scratch));
}

struct ar_ids ar_ids_thread(const struct ar_thread *t)
{
	struct ar_ids ids = { 0 };

	ids.at[AR_SCOPE_THREAD] = t->id;
	return ids;
}

struct ar_ids ar_ids_turn(struct ar_decision *d, const struct ar_turn *turn)
{
	return ar_ids_run(d, turn, turn->run);
}

struct ar_ids ar_ids_run(struct ar_decision *d, const struct ar_turn *turn, struct ar_str run)
{
	struct ar_ids ids = { 0 };
	uint64_t n;

	ids.at[AR_SCOPE_THREAD] = turn->thread;
	ids.at[AR_SCOPE_TURN] = turn->id;
	if (turn->task)
		ids.at[AR_SCOPE_TASK] = turn->task->id;
	if (ar_str_absent(run))
		return ids;
	ids.at[AR_SCOPE_RUN] = run;
	if (ar_id_counter(run, &n))
		ids.at[AR_SCOPE_ATTEMPT] = ar_id_inner(d->arena, "attempt", d->session->session_key, n);
	return ids;
}
