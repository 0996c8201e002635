/* What an owner asks of its process. Inputs are answered exactly once each, never from inside write(). Loop
 * thread only. */
#include "proc.h"

#include "mem.h"

#include <string.h>

#define FORCE_EXTRA_USEC (10 * 1000000) /* beyond the graces, before the shim itself is killed */
#define GRACE_MAX_MS ((int64_t)3600 * 1000)

void ar_proc_answer(struct ar_proc *p, uint64_t number, enum ar_process_write how)
{
	for (size_t i = 0; i < p->input_count; i++) {
		if (p->inputs[i].number == number && !p->inputs[i].how)
			p->inputs[i].how = how;
	}
}

void ar_proc_answer_all(struct ar_proc *p, enum ar_process_write how)
{
	for (size_t i = 0; i < p->input_count; i++) {
		if (!p->inputs[i].how)
			p->inputs[i].how = how;
	}
	if (p->input_count > 0) {
		p->answer_at = 1;
		ar_proc_arm(p);
	}
}

/* In the order they came: the first that has no answer yet holds back those behind it. */
void ar_proc_report_answers(struct ar_proc *p)
{
	while (p->owner && p->input_count > 0 && p->inputs[0].how) {
		struct ar_input_due due = p->inputs[0];

		memmove(p->inputs, p->inputs + 1, --p->input_count * sizeof(due));
		p->owner->v->on_written(p->owner, due.number, due.how);
	}
}

static bool is_waiting(const struct ar_proc *p, uint64_t number)
{
	for (size_t i = 0; i < p->input_count; i++) {
		if (p->inputs[i].number == number)
			return true;
	}
	return false;
}

static enum ar_process_write send_input(struct ar_proc *p, uint64_t number, struct ar_str bytes, bool is_eof)
{
	if (bytes.len > AR_PROC_INPUT_MAX)
		return AR_PROC_TOO_LARGE;
	if (p->is_alone)
		return AR_PROC_CLOSED;
	if (p->input_count >= AR_PROC_INPUTS_MAX ||
	    !ar_shim_control_input(&p->control, number, bytes, is_eof))
		return AR_PROC_BUSY;
	return (enum ar_process_write)0;
}

void ar_proc_write(struct ar_proc *p, uint64_t number, struct ar_str bytes, bool is_eof)
{
	enum ar_process_write how;

	/* The answer to the first is the answer to both. */
	if (is_waiting(p, number))
		return;
	how = send_input(p, number, bytes, is_eof);
	if (p->input_count == p->input_room) {
		p->input_room += AR_PROC_INPUTS_MAX;
		p->inputs = ar_grow(p->inputs, p->input_room, sizeof(*p->inputs));
	}
	p->inputs[p->input_count++] = (struct ar_input_due){ number, how };
	if (how) {
		p->answer_at = 1;
		ar_proc_arm(p);
	}
}

void ar_proc_end(struct ar_proc *p, struct ar_str by, struct ar_str reason, int64_t grace_ms)
{
	ar_usec force_at;

	if (grace_ms < 0)
		grace_ms = p->all->grace_ms;
	if (grace_ms > GRACE_MAX_MS)
		grace_ms = GRACE_MAX_MS;
	ar_shim_control_end(&p->control, by, reason, grace_ms);
	force_at = ar_proc_now() + 2 * grace_ms * 1000 + FORCE_EXTRA_USEC;
	if (!p->is_ending || force_at < p->force_at)
		p->force_at = force_at;
	p->is_ending = true;
	ar_proc_arm(p);
}
