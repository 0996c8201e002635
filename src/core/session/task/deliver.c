/* Where the result of a task goes when the task is complete: a message to a channel of its session. It is
 * delivered when the peer acknowledges the message, queued until then, also over a restart, and failed when
 * there is no such channel. Each of these is a fact of the task. Pure. */
#include "channel/channel.h"
#include "task/task.h"

#define PREVIEW_MAX 1024

/* The answer of its newest run; absent: somebody outside has it. */
static struct ar_str answer_of(const struct ar_decision *d, const struct ar_task *task)
{
	const struct ar_run *run = ar_task_run(task);
	struct ar_thread *t;
	const struct ar_turn *turn = run ? ar_session_turn(d->session, run->turn, &t) : NULL;

	return turn ? turn->output_ref : AR_STR_NONE;
}

static void send_message(struct ar_decision *d, const struct ar_task *task, struct ar_str summary)
{
	struct ar_ids ids = ar_task_ids(task, ar_task_run(task));
	struct ar_str ref = answer_of(d, task);

	if (ar_str_empty(summary))
		summary = ar_arena_fmt(d->arena, "Task %.*s is completed", AR_STR_ARG(task->id));
	ids.at[AR_SCOPE_CHANNEL] = task->sheet->deliver_to->target;
	ar_decide_emit(d, AR_EV_CHANNEL_MESSAGE, &ids,
		       &(struct ar_ev_channel_message){
			       .message_kind = AR_CHANNEL_MESSAGE_MESSAGE_KIND_OTHER,
			       .message_ref = ref,
			       .preview = ar_str_absent(ref) ? ar_str_utf8_prefix(summary, PREVIEW_MAX)
							     : AR_STR_NONE,
			       .direction = AR_CHANNEL_MESSAGE_DIRECTION_OUT });
}

const struct ar_shape_delivery_state *ar_task_deliver(struct ar_decision *d, const struct ar_task *task,
						      struct ar_str summary)
{
	const struct ar_shape_task_delivery *to = task->sheet->deliver_to;
	struct ar_shape_delivery_state *state;

	if (!to)
		return NULL;
	state = ar_arena_alloc(d->arena, sizeof(*state));
	*state = (struct ar_shape_delivery_state){ .state = AR_STR("queued"), .to = to->target };
	if (!ar_session_channel(d->session, to->target)) {
		state->state = AR_STR("failed");
		state->reason = AR_STR("the session has no such channel");
		return state;
	}
	state->sequence = AR_OPT_INT((int64_t)ar_decide_next_sequence(d));
	send_message(d, task, summary);
	return state;
}

static void say_delivered(struct ar_decision *d, const struct ar_task *task)
{
	struct ar_shape_delivery_state state = *task->sheet->delivery;
	struct ar_ids ids = ar_task_ids(task, ar_task_run(task));

	state.state = AR_STR("delivered");
	ar_decide_emit(d, AR_EV_TASK_PROGRESS, &ids,
		       &(struct ar_ev_task_progress){ .phase = AR_TASK_PROGRESS_PHASE_DELIVERING,
						      .counters = AR_STR("{}"),
						      .delivery_state = &state });
}

void ar_task_acknowledged(struct ar_decision *d, struct ar_str channel, int64_t sequence)
{
	for (size_t i = 0; i < d->session->declared.count; i++) {
		const struct ar_task *task = d->session->declared.at[i];
		const struct ar_shape_delivery_state *state = task->sheet->delivery;

		if (task->status == AR_TASK_COMPLETED && task->sheet->deliver_to && state &&
		    ar_str_is(state->state, "queued") && ar_str_eq(state->to, channel) &&
		    state->sequence.set && state->sequence.v <= sequence)
			say_delivered(d, task);
	}
}
