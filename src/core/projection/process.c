/* Processes as read models show them: how far each is, what is kept of it, where it ran. Pure. */
#include "machine.h"
#include "parts/parts.h"

static struct ar_str unless_empty(struct ar_str text)
{
	return ar_str_empty(text) ? AR_STR_NONE : text;
}

struct ar_shape_process_record ar_projection_process(const struct ar_process_record *p)
{
	return (struct ar_shape_process_record){
		.process_id = p->id,
		.thread_id = p->thread,
		.turn_id = p->turn,
		.tool_call_id = p->call,
		.status = ar_str_from(ar_machine_state_name(AR_MACHINE_PROCESS, (int)p->status)),
		.command = p->command,
		.cwd = p->cwd,
		.profile = p->profile,
		.sandbox_ref = p->sandbox,
		.tty = p->tty,
		.is_background = p->is_background,
		.takes_input = p->status == AR_PROCESS_RUNNING && p->has_input && !p->is_closed,
		.inputs = p->inputs,
		.violations = p->violations,
		.exit_code = p->exit_code,
		.signal = unless_empty(p->signal),
		.terminated_by = unless_empty(p->by),
		.output_ref = unless_empty(p->output_ref),
		.output_bytes = p->output_bytes,
		.sequence = p->sequence,
		.outputs = p->outputs,
		.started_at = p->started,
		.ended_at = p->ended,
		.env_ref = p->environment,
		.resource_limits = p->limits,
		.override_reason = p->override_reason,
	};
}

void ar_projection_processes(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w)
{
	ar_jw_key(w, "processes");
	ar_jw_open_array(w);
	for (size_t i = 0; i < s->processes.count; i++) {
		const struct ar_process_record *p = s->processes.at[i];

		if (ar_str_eq(p->thread, t->id)) {
			const struct ar_shape_process_record record = ar_projection_process(p);

			ar_struct_encode(&ar_shape_process_record_desc, &record, AR_STR_NONE, w);
		}
	}
	ar_jw_close_array(w);
	ar_projection_sandbox(s, t, w);
}
