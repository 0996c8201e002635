/* Rows of processes, for lists over all sessions: as the newest fact about each says it. Owner: the loop
 * thread. */
#include "index_rows.h"
#include "machine.h"
#include "process/record.h"
#include "projection.h"

static bool is_new(const struct ar_store_item_row *rows, size_t count, uint64_t number)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i].list == AR_INDEX_PROCESSES && rows[i].number == number)
			return false;
	}
	return true;
}

static struct ar_str encode(const struct ar_shape_process_record *record, struct ar_arena *a)
{
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	struct ar_str text;

	ar_struct_encode(&ar_shape_process_record_desc, record, AR_STR_NONE, &w);
	text = ar_arena_str(a, ar_buf_str(&out));
	ar_buf_fini(&out);
	return text;
}

static size_t add_row(const struct ar_shape_process_record *record, struct ar_arena *a,
		      struct ar_store_item_row *rows, size_t n)
{
	uint64_t number = 0;

	if (ar_id_counter(record->process_id, &number) && is_new(rows, n, number))
		rows[n++] = (struct ar_store_item_row){ AR_INDEX_PROCESSES, number, encode(record, a) };
	return n;
}

static size_t add_process(const struct ar_session *s, const struct ar_process_record *p, struct ar_arena *a,
			  struct ar_store_item_row *rows, size_t n)
{
	struct ar_shape_process_record record = ar_projection_process(p);

	record.session_id = s->id;
	return add_row(&record, a, rows, n);
}

/* One that ends when many others have ended since it began is not in the state any more: its row says that it
 * ended, and no more. */
static size_t add_end(const struct ar_session *s, const struct ar_event *e, struct ar_arena *a,
		      struct ar_store_item_row *rows, size_t n)
{
	int state = 0;

	if (!ar_machine_next(AR_MACHINE_PROCESS, AR_PROCESS_RUNNING, e->type, &state) ||
	    state == AR_PROCESS_RUNNING)
		return n;
	return add_row(&(struct ar_shape_process_record){ .process_id = e->ids[AR_SCOPE_PROCESS],
							  .session_id = s->id,
							  .thread_id = e->ids[AR_SCOPE_THREAD],
							  .turn_id = e->ids[AR_SCOPE_TURN],
							  .tool_call_id = e->ids[AR_SCOPE_TOOL_CALL],
							  .status = ar_str_from(ar_machine_state_name(
								  AR_MACHINE_PROCESS, state)),
							  .ended_at = e->time },
		       a, rows, n);
}

/* The end of the call that started it makes a process one in the background. */
static const struct ar_process_record *process_of_call(const struct ar_session *s, struct ar_str call)
{
	for (size_t i = 0; !ar_str_absent(call) && i < s->processes.count; i++) {
		const struct ar_process_record *p = s->processes.at[i];

		if (ar_process_is_running(p) && ar_str_eq(p->call, call))
			return p;
	}
	return NULL;
}

size_t ar_index_processes(const struct ar_session *s, const struct ar_event *events, size_t count,
			  struct ar_arena *a, struct ar_store_item_row *rows)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		struct ar_str id = events[i].ids[AR_SCOPE_PROCESS];
		const struct ar_process_record *p =
			ar_str_absent(id) ? process_of_call(s, events[i].ids[AR_SCOPE_TOOL_CALL])
					  : ar_session_process(s, id);

		if (p)
			n = add_process(s, p, a, rows, n);
		else if (!ar_str_absent(id))
			n = add_end(s, &events[i], a, rows, n);
	}
	return n;
}
