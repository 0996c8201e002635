/* The wall clock was set back while a session had open work. Facts stay in the order of their
 * sequence, whatever their times say; how long things took is known from the monotonic clock, by
 * which the step was measured: the fact about it moves the starts of what is open, so that they
 * and the times that follow belong to one clock again. Pure. */
#include "apply.h"
#include "decide.h"
#include "job/job.h"

#define CODE "clock_stepped"
#define MILLISECOND 1000

void ar_decide_clock_step(struct ar_decision *d)
{
	long long ms = (long long)(d->input->step / MILLISECOND);

	ar_decide_emit(d, AR_EV_RUNTIME_WARNING, &(struct ar_ids){ 0 },
		       &(struct ar_ev_runtime_warning){
			       .code = AR_STR(CODE),
			       .message =
				       ar_arena_fmt(d->arena,
						    "the clock of this host was set back by %lld ms; order "
						    "these facts by sequence, not by time",
						    -ms),
			       .scope = ar_arena_fmt(d->arena, "{\"sessionId\":\"%.*s\",\"stepMs\":%lld}",
						     AR_STR_ARG(d->session->id), ms) });
}

static void move_turn(struct ar_turn *turn, ar_usec step)
{
	turn->started += step;
	for (size_t i = 0; i < turn->calls.count; i++) {
		struct ar_invocation *call = turn->calls.at[i];

		if (call->started)
			call->started += step;
	}
}

static void move_task(struct ar_task *task, ar_usec step)
{
	struct ar_run *run = ar_task_open_run(task);

	if (run)
		run->started += step;
	if (task->sheet->alive)
		task->sheet->alive += step;
	if (task->sheet->retry_at)
		task->sheet->retry_at += step;
}

static void move_job(struct ar_job *job, ar_usec step)
{
	if (job->status != AR_JOB_RUNNING)
		return;
	job->started += step;
	job->progressed += step;
	job->alive += step;
}

enum ar_status ar_apply_runtime_warning(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_runtime_warning *p = PAYLOAD(e, runtime_warning);
	int64_t ms = 0;

	(void)err;
	if (!ar_str_is(p->code, CODE) ||
	    !ar_json_i64(ar_json_get(ar_apply_parse(s, p->scope), "stepMs"), &ms))
		return AR_OK;
	for (size_t i = 0; i < s->threads.count; i++) {
		struct ar_turn *turn = ar_thread_active(s->threads.at[i]);

		if (turn)
			move_turn(turn, ms * MILLISECOND);
	}
	for (size_t i = 0; i < s->declared.count; i++)
		move_task(s->declared.at[i], ms * MILLISECOND);
	for (size_t i = 0; i < s->jobs.count; i++)
		move_job(s->jobs.at[i], ms * MILLISECOND);
	return AR_OK;
}
