/* Lookups of processes in session state. Pure; the owner of the session owns them. */
#include "process/record.h"
#include "machine.h"

struct ar_process_record *ar_session_process(const struct ar_session *s, struct ar_str id)
{
	return ar_vec_last_with(&s->processes, offsetof(struct ar_process_record, id), id);
}

struct ar_process_record *ar_session_process_of(const struct ar_session *s, struct ar_str call)
{
	return ar_vec_last_with(&s->processes, offsetof(struct ar_process_record, call), call);
}

bool ar_process_is_running(const struct ar_process_record *p)
{
	return p->status == AR_PROCESS_RUNNING;
}

struct ar_str ar_process_status(const struct ar_process_record *p)
{
	return ar_str_from(ar_machine_state_name(AR_MACHINE_PROCESS, (int)p->status));
}

struct ar_str ar_process_text(struct ar_str text, size_t max, struct ar_str otherwise)
{
	return ar_str_empty(text) ? otherwise : ar_str_utf8_prefix(text, max);
}
