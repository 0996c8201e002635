/* Deliveries in the state of a session: reading them, and the list of those that are open. Pure. */
#include "delivery/delivery.h"
#include "task/task.h"

const struct ar_shape_task_delivery *ar_delivery_to(const struct ar_deliverable *what)
{
	return what->task ? what->task->sheet->deliver_to : what->job->deliver_to;
}

const struct ar_shape_delivery_state *ar_delivery_state(const struct ar_deliverable *what)
{
	return what->task ? what->task->sheet->delivery : what->job->delivery;
}

struct ar_str ar_delivery_subject(const struct ar_deliverable *what)
{
	return what->task ? what->task->id : what->job->id;
}

/* A task is completed when its result is delivered, and one that was cancelled meanwhile delivers nothing. */
static bool may_deliver(const struct ar_deliverable *what)
{
	if (what->job)
		return ar_job_is_over(what->job);
	return !ar_task_is_over(what->task) || what->task->status == AR_TASK_COMPLETED ||
	       what->task->status == AR_TASK_ARCHIVED;
}

bool ar_delivery_is_open(const struct ar_deliverable *what)
{
	const struct ar_shape_delivery_state *state = ar_delivery_state(what);

	return may_deliver(what) && ar_delivery_to(what) && state &&
	       (ar_str_is(state->state, "queued") || ar_str_is(state->state, "pending"));
}

bool ar_session_deliverable(const struct ar_session *s, struct ar_str id, struct ar_deliverable *ret)
{
	*ret = (struct ar_deliverable){ .task = ar_session_declared(s, id) };
	if (!ret->task)
		ret->job = ar_session_job(s, id);
	return (ret->task || ret->job) && ar_delivery_to(ret);
}

struct ar_str ar_delivery_result(const struct ar_session *s, const struct ar_deliverable *what)
{
	const struct ar_run *run = what->task ? ar_task_run(what->task) : NULL;
	struct ar_thread *t;
	const struct ar_turn *turn = run ? ar_session_turn(s, run->turn, &t) : NULL;

	if (turn)
		return turn->output_ref;
	/* a turn that is not in memory any more: what it left is its last output */
	return run && !ar_str_absent(run->turn) && run->outputs.count > 0
		       ? run->outputs.at[run->outputs.count - 1]
		       : AR_STR_NONE;
}

struct ar_str ar_delivery_needs(const struct ar_session *s, struct ar_str id)
{
	struct ar_deliverable what;

	if (!ar_session_deliverable(s, id, &what) || !ar_delivery_is_open(&what) ||
	    !ar_str_is(ar_delivery_to(&what)->kind, AR_DELIVERY_FILE))
		return AR_STR_NONE;
	return ar_delivery_result(s, &what);
}

/* ---- those that are open ---- */

static bool find_open(const struct ar_session *s, const struct ar_deliverable *what, size_t *ret)
{
	for (size_t i = 0; i < s->deliveries.count; i++) {
		const struct ar_deliverable *other = s->deliveries.at[i];

		*ret = i;
		if (other->task == what->task && other->job == what->job)
			return true;
	}
	return false;
}

void ar_deliveries_note(struct ar_session *s, const struct ar_deliverable *what)
{
	bool is_open = ar_delivery_is_open(what);
	struct ar_deliverable *kept;
	size_t at;

	if (!ar_delivery_to(what) || find_open(s, what, &at) == is_open)
		return;
	if (!is_open) {
		ar_vec_remove(&s->deliveries, at);
		return;
	}
	kept = ar_arena_alloc(&s->arena, sizeof(*kept));
	*kept = *what;
	ar_vec_push(&s->arena, &s->deliveries, kept);
}

void ar_deliveries_restore(struct ar_session *s)
{
	for (size_t i = 0; i < s->declared.count; i++)
		ar_deliveries_note(s, &(struct ar_deliverable){ .task = s->declared.at[i] });
	for (size_t i = 0; i < s->jobs.count; i++)
		ar_deliveries_note(s, &(struct ar_deliverable){ .job = s->jobs.at[i] });
}
