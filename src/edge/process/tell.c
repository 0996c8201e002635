/* What a record means to the owner: at most one callback each, in the order of the journal. Also the look at a silent terminal. Loop thread only. */
#include "boundary_text.h"
#include "proc.h"
#include "tree.h"

#define SILENCE_USEC (2 * 1000000) /* of a terminal, before it is looked at */

static void look_again(struct ar_proc *p)
{
	p->is_waiting_told = false;
	p->look_at = ar_proc_now() + SILENCE_USEC;
	ar_proc_arm(p);
}

void ar_proc_look(struct ar_proc *p)
{
	struct ar_process_report r = { .kind = AR_PROC_WAITS_FOR_INPUT, .detail = AR_STR("{}") };

	if (p->is_alone || p->is_waiting_told || !p->owner || p->command_pid == 0)
		return;
	p->look_at = ar_proc_now() + SILENCE_USEC;
	if (!ar_tree_reads_terminal(p->command_pid) || ar_tree_has_ended(p->command))
		return;
	p->is_waiting_told = true;
	p->look_at = 0;
	p->owner->v->on_report(p->owner, &r);
}

/* ---- the boundary ---- */

static void tell_ready(struct ar_proc *p, const struct ar_record *r)
{
	struct ar_process_ready ready = p->ready;
	struct ar_arena kept = p->kept;
	struct ar_json read_back;

	if (!p->is_launched || p->is_ready_told)
		return;
	if (ar_json_parse(p->all->parser, (struct ar_str){ r->payload, r->head.len }, &read_back, NULL) !=
	    AR_OK)
		read_back = (struct ar_json){ 0 };
	ready.boundary = ar_boundary_text(&kept, read_back, p->guarantees);
	p->is_ready_told = true;
	p->kept = (struct ar_arena){ 0 };
	p->owner->v->on_ready(p->owner, &ready);
	ar_arena_fini(&kept);
}

/* ---- one record ---- */

static void tell_released(struct ar_proc *p, const struct ar_record *r AR_UNUSED)
{
	if (!p->is_ending)
		p->force_at = 0;
}

/* While its shim lives the ids in the journal are what they were; after that they may be somebody else's. */
static void tell_applied(struct ar_proc *p, const struct ar_record *r)
{
	if (!p->is_alone && p->first < 0)
		p->first = ar_tree_first((pid_t)p->told.shim_pid, (pid_t)p->told.first_pid);
	ar_proc_watch(p);
	tell_ready(p, r);
}

static void tell_started(struct ar_proc *p, const struct ar_record *r AR_UNUSED)
{
	if (p->first >= 0 && p->command < 0 && !ar_tree_has_ended(p->first))
		p->command = ar_tree_command((pid_t)p->told.first_pid, (pid_t)p->told.command_pid,
					     &p->command_pid);
	if (p->told.has_tty && p->command >= 0)
		look_again(p);
}

static void tell_output(struct ar_proc *p, const struct ar_record *r)
{
	if (p->look_at || p->is_waiting_told)
		look_again(p);
	p->owner->v->on_output(p->owner, (enum ar_process_stream)r->head.stream,
			       (struct ar_str){ r->payload, r->head.len });
}

static void report(struct ar_proc *p, enum ar_process_report_kind kind, const struct ar_record *r)
{
	struct ar_process_report said = {
		.kind = kind,
		.seq = r->head.seq,
		.number = kind == AR_PROC_INPUT_WRITTEN ? p->told.number : 0,
		.detail = { r->payload, r->head.len },
	};

	p->owner->v->on_report(p->owner, &said);
}

static void tell_written(struct ar_proc *p, const struct ar_record *r)
{
	if (p->is_waiting_told)
		look_again(p);
	report(p, AR_PROC_INPUT_WRITTEN, r);
}

static void tell_violation(struct ar_proc *p, const struct ar_record *r)
{
	report(p, AR_PROC_VIOLATION, r);
}

static void tell_limit(struct ar_proc *p, const struct ar_record *r)
{
	report(p, AR_PROC_LIMIT, r);
}

static void tell_truncated(struct ar_proc *p, const struct ar_record *r)
{
	report(p, AR_PROC_TRUNCATED, r);
}

static void (*const tells[AR_RECORD_TYPE_COUNT])(struct ar_proc *p, const struct ar_record *r) = {
	[AR_RECORD_APPLIED] = tell_applied,	  [AR_RECORD_RELEASED] = tell_released,
	[AR_RECORD_STARTED] = tell_started,	  [AR_RECORD_OUTPUT] = tell_output,
	[AR_RECORD_INPUT_WRITTEN] = tell_written, [AR_RECORD_VIOLATION] = tell_violation,
	[AR_RECORD_LIMIT] = tell_limit,		  [AR_RECORD_TRUNCATED] = tell_truncated,
};

_Static_assert((int)AR_PROC_STDOUT == (int)AR_STREAM_STDOUT && (int)AR_PROC_TTY == (int)AR_STREAM_TTY,
	       "a stream has one number");

void ar_proc_tell(struct ar_proc *p, const struct ar_record *r)
{
	if (tells[r->head.type])
		tells[r->head.type](p, r);
}
