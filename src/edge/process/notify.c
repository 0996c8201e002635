/* What a record means to the owner: at most one callback each, in the order of the journal. Also the look at
 * a silent terminal. Loop thread only. */
#include "boundary_text.h"
#include "proc.h"
#include "tree.h"

#define SILENCE_USEC (2 * 1000000) /* of a terminal, before it is looked at */

static void schedule_look(struct ar_proc *p)
{
	p->is_waiting_reported = false;
	p->look_at = ar_proc_now() + SILENCE_USEC;
	ar_proc_arm(p);
}

void ar_proc_look(struct ar_proc *p)
{
	struct ar_process_report r = { .kind = AR_PROC_WAITS_FOR_INPUT, .detail = AR_STR("{}") };

	if (p->is_alone || p->is_waiting_reported || !p->owner || p->command_pid == 0)
		return;
	p->look_at = ar_proc_now() + SILENCE_USEC;
	if (!ar_tree_reads_terminal(p->command_pid) || ar_tree_has_ended(p->command))
		return;
	p->is_waiting_reported = true;
	p->look_at = 0;
	p->owner->v->on_report(p->owner, &r);
}

/* ---- the boundary ---- */

static void notify_ready(struct ar_proc *p, const struct ar_record *r)
{
	struct ar_process_ready ready = p->ready;
	struct ar_arena kept = p->kept;
	struct ar_json read_back;

	if (!p->is_launched || p->is_ready_reported)
		return;
	if (ar_json_parse(p->all->parser, (struct ar_str){ r->payload, r->head.len }, &read_back, NULL) !=
	    AR_OK)
		read_back = (struct ar_json){ 0 };
	ready.boundary = ar_boundary_text(&kept, read_back, p->guarantees);
	p->is_ready_reported = true;
	p->kept = (struct ar_arena){ 0 };
	p->owner->v->on_ready(p->owner, &ready);
	ar_arena_fini(&kept);
}

/* ---- one record ---- */

static void notify_released(struct ar_proc *p, const struct ar_record *r AR_UNUSED)
{
	if (!p->is_ending)
		p->force_at = 0;
}

/* While its shim lives the ids in the journal are what they were; after that they may be somebody else's. */
static void notify_applied(struct ar_proc *p, const struct ar_record *r)
{
	if (!p->is_alone && p->first < 0)
		p->first = ar_tree_first((pid_t)p->state.shim_pid, (pid_t)p->state.first_pid);
	ar_proc_watch(p);
	notify_ready(p, r);
}

static void notify_started(struct ar_proc *p, const struct ar_record *r AR_UNUSED)
{
	if (p->first >= 0 && p->command < 0 && !ar_tree_has_ended(p->first))
		p->command = ar_tree_command((pid_t)p->state.first_pid, (pid_t)p->state.command_pid,
					     &p->command_pid);
	if (p->state.has_tty && p->command >= 0)
		schedule_look(p);
}

static void notify_output(struct ar_proc *p, const struct ar_record *r)
{
	if (p->look_at || p->is_waiting_reported)
		schedule_look(p);
	p->owner->v->on_output(p->owner, (enum ar_process_stream)r->head.stream,
			       (struct ar_str){ r->payload, r->head.len });
}

static void report_record(struct ar_proc *p, enum ar_process_report_kind kind, const struct ar_record *r)
{
	struct ar_process_report said = {
		.kind = kind,
		.seq = r->head.seq,
		.number = kind == AR_PROC_INPUT_WRITTEN ? p->state.number : 0,
		.detail = { r->payload, r->head.len },
	};

	p->owner->v->on_report(p->owner, &said);
}

static void notify_written(struct ar_proc *p, const struct ar_record *r)
{
	if (p->is_waiting_reported)
		schedule_look(p);
	report_record(p, AR_PROC_INPUT_WRITTEN, r);
}

static void notify_violation(struct ar_proc *p, const struct ar_record *r)
{
	report_record(p, AR_PROC_VIOLATION, r);
}

static void notify_limit(struct ar_proc *p, const struct ar_record *r)
{
	report_record(p, AR_PROC_LIMIT, r);
}

static void notify_truncated(struct ar_proc *p, const struct ar_record *r)
{
	report_record(p, AR_PROC_TRUNCATED, r);
}

static void (*const notifiers[AR_RECORD_TYPE_COUNT])(struct ar_proc *p, const struct ar_record *r) = {
	[AR_RECORD_APPLIED] = notify_applied,	    [AR_RECORD_RELEASED] = notify_released,
	[AR_RECORD_STARTED] = notify_started,	    [AR_RECORD_OUTPUT] = notify_output,
	[AR_RECORD_INPUT_WRITTEN] = notify_written, [AR_RECORD_VIOLATION] = notify_violation,
	[AR_RECORD_LIMIT] = notify_limit,	    [AR_RECORD_TRUNCATED] = notify_truncated,
};

_Static_assert((int)AR_PROC_STDOUT == (int)AR_STREAM_STDOUT && (int)AR_PROC_TTY == (int)AR_STREAM_TTY,
	       "a stream has one number");

void ar_proc_notify(struct ar_proc *p, const struct ar_record *r)
{
	if (notifiers[r->head.type])
		notifiers[r->head.type](p, r);
}
