/* Processes as read models show them: how far each is, what is kept of it, where it ran. Pure. */
#include "machine.h"
#include "thread.h"

void ar_projection_process(const struct ar_process_record *p, struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "processId", p->id);
	ar_jw_mstr(w, "threadId", p->thread);
	ar_jw_mstr(w, "turnId", p->turn);
	ar_jw_mstr(w, "toolCallId", p->call);
	ar_jw_mstr(w, "status", ar_str_from(ar_machine_state_name(AR_MACHINE_PROCESS, (int)p->status)));
	ar_jw_mstr(w, "command", p->command);
	ar_jw_mstr(w, "cwd", p->cwd);
	ar_jw_mstr(w, "profile", p->profile);
	ar_jw_mstr(w, "sandboxRef", p->sandbox);
	ar_jw_mbool(w, "tty", p->tty);
	ar_jw_mbool(w, "isBackground", p->is_background);
	ar_jw_mbool(w, "takesInput", p->status == AR_PROCESS_RUNNING && p->has_input && !p->is_closed);
	ar_jw_mint(w, "inputs", p->inputs);
	ar_jw_mint(w, "violations", p->violations);
	if (p->exit_code.set)
		ar_jw_mint(w, "exitCode", p->exit_code.v);
	if (!ar_str_empty(p->signal))
		ar_jw_mstr(w, "signal", p->signal);
	if (!ar_str_empty(p->by))
		ar_jw_mstr(w, "terminatedBy", p->by);
	if (!ar_str_empty(p->output_ref))
		ar_jw_mstr(w, "outputRef", p->output_ref);
	ar_jw_mint(w, "outputBytes", p->output_bytes);
	ar_jw_mint(w, "sequence", p->sequence);
	ar_jw_mraw(w, "outputs", p->outputs);
	ar_jw_mtime(w, "startedAt", p->started);
	ar_jw_mtime(w, "endedAt", p->ended);
	ar_jw_close(w);
}

static const struct ar_process_record *newest(const struct ar_session *s, const struct ar_thread *t)
{
	for (size_t i = s->processes.count; i > 0; i--) {
		const struct ar_process_record *p = s->processes.at[i - 1];

		if (!t || ar_str_eq(p->thread, t->id))
			return p;
	}
	return NULL;
}

/* The boundary of the newest process of the thread: nothing is called confined that has no such fact. */
static void sandbox_state(const struct ar_process_record *p, struct ar_jw *w)
{
	ar_jw_key(w, "sandboxState");
	ar_jw_open(w);
	ar_jw_mstr(w, "state", p ? AR_STR("applied") : AR_STR("unavailable"));
	if (p) {
		ar_jw_mstr(w, "profile", p->profile);
		ar_jw_mstr(w, "sandboxRef", p->sandbox);
		ar_jw_mint(w, "violations", p->violations);
	}
	ar_jw_close(w);
}

void ar_projection_processes(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w)
{
	ar_jw_key(w, "processes");
	ar_jw_open_array(w);
	for (size_t i = 0; i < s->processes.count; i++) {
		const struct ar_process_record *p = s->processes.at[i];

		if (ar_str_eq(p->thread, t->id))
			ar_projection_process(p, w);
	}
	ar_jw_close_array(w);
	sandbox_state(newest(s, t), w);
}

void ar_projection_environment(const struct ar_session *s, struct ar_jw *w)
{
	const struct ar_process_record *p = newest(s, NULL);

	ar_jw_key(w, "executionEnvironment");
	ar_jw_open(w);
	ar_jw_mstr(w, "state", p ? AR_STR("recorded") : AR_STR("unavailable"));
	if (p) {
		ar_jw_mstr(w, "cwd", p->cwd);
		ar_jw_mstr(w, "sandboxProfile", p->profile);
		ar_jw_mstr(w, "sandboxRef", p->sandbox);
		ar_jw_mstr(w, "envRef", s->environment_ref);
		ar_jw_mraw(w, "resourceLimits", s->limits);
	}
	ar_jw_key(w, "activeProcesses");
	ar_jw_open_array(w);
	for (size_t i = 0; i < s->processes.count; i++) {
		const struct ar_process_record *r = s->processes.at[i];

		if (r->status == AR_PROCESS_RUNNING)
			ar_jw_str(w, r->id);
	}
	ar_jw_close_array(w);
	ar_jw_close(w);
}
