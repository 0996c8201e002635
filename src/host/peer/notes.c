/* Reports to the session about work that is with a peer (report_peer_task): one after another, each when the
 * one before is durable. Of a peer that sends many updates fewer are reported in a time, and of what came
 * meanwhile only the newest is kept. See delegate_priv.h. */
#include "codec.h"
#include "describe.h"
#include "mem.h"
#include "peer/delegate_priv.h"
#include "peer/remote.h"

#define NOTES_MAX 16 /* that wait */
#define FREE_NOTES 32 /* without a pause */
#define SLOW_NOTES 1000 /* from then on it is once a minute */
#define PAUSE ((ar_usec)1000000)
#define LONG_PAUSE (60 * PAUSE)
#define AGAIN_MS 1000 /* after a report that was not taken for now */

static struct ar_peer_note *note_at(struct ar_list *node)
{
	return AR_CONTAINER_OF(node, struct ar_peer_note, node);
}

static void note_free(struct ar_peer_note *n)
{
	ar_list_del(&n->node);
	ar_arena_fini(&n->arena);
	ar_free(n);
}

void ar_work_drop_notes(struct ar_work *w)
{
	AR_LIST_FOR_SAFE (it, &w->notes)
		note_free(note_at(it));
}

/* The one that is on its way is the first, and stays as it is. */
static void make_room(struct ar_work *w)
{
	size_t count = 0;

	AR_LIST_FOR (it, &w->notes)
		count++;
	if (count >= NOTES_MAX)
		note_free(note_at(w->notes.prev));
}

struct ar_peer_note *ar_work_note(struct ar_work *w, int event)
{
	struct ar_peer_note *n = ar_new0(sizeof(*n));

	make_room(w);
	n->event = event;
	ar_list_push(&w->notes, &n->node);
	return n;
}

/* ---- the report ---- */

static void encode(struct ar_work *w, const struct ar_peer_note *n)
{
	bool is_begin = n->event == AR_REPORT_PEER_TASK_EVENT_BEGIN;
	const struct ar_cmd_report_peer_task_in in = {
		.tool_call_id = w->call_id,
		.operation_id = w->operation,
		.peer = w->name,
		.event = n->event,
		.message_id = w->message_id,
		.remote_task_id = n->task_id,
		.remote_context_id = n->context_id,
		.native_status = n->native_status,
		.delivery_mechanism = is_begin ? w->mechanism : 0,
		.message = n->message,
		.remote_message_id = n->message_id,
		.agent_card = n->card,
		.capabilities = is_begin ? w->capabilities : (struct ar_texts){ 0 },
		.transport = !is_begin				  ? 0
			     : ar_str_is(w->binding, "HTTP+JSON") ? AR_TRANSPORT_HTTP_JSON
								  : AR_TRANSPORT_JSON_RPC,
		.since = n->since,
		.reason = n->reason,
	};
	struct ar_jw json = ar_jw(&w->body);

	ar_buf_clear(&w->body);
	ar_struct_encode(&ar_command_describe(AR_CMD_REPORT_PEER_TASK)->in, &in, AR_STR_NONE, &json);
}

/* What the session knows of the operation. */
static void begun(struct ar_work *w, struct ar_str reply)
{
	struct ar_cmd_report_peer_task_out out = { 0 };
	struct ar_arena a = { 0 };
	struct ar_json doc;

	if (ar_json_parse(w->all->json, reply, &doc, NULL) != AR_OK ||
	    ar_struct_decode(&ar_command_describe(AR_CMD_REPORT_PEER_TASK)->out, doc, &a, &out, NULL, NULL) !=
		    AR_OK)
		out = (struct ar_cmd_report_peer_task_out){ .is_sent = true };
	ar_work_begun(w, &out);
	ar_arena_fini(&a);
}

static void on_due(uv_timer_t *timer)
{
	struct ar_work *w = timer->data;

	w->reported_at = 0;
	ar_work_report(w);
}

static void on_reported(struct ar_send_run *run, uint16_t code, struct ar_str reply)
{
	struct ar_work *w = AR_CONTAINER_OF(run, struct ar_work, report);
	struct ar_peer_note *n = note_at(w->notes.next);
	bool is_begin = n->event == AR_REPORT_PEER_TASK_EVENT_BEGIN;

	w->is_reporting = false;
	if (!w->call) {
		ar_work_let_go(w);
		return;
	}
	if (code && ar_error_describe(code)->retryable) {
		uv_timer_start(&w->report_timer, on_due, AGAIN_MS, 0);
		return;
	}
	note_free(n);
	if (code == AR_ERR_CONFLICT)
		ar_work_end_confused(w);
	else if (code)
		ar_work_refused(w);
	else if (is_begin)
		begun(w, reply);
	if (w->call && ar_list_empty(&w->notes))
		ar_work_reported(w);
	else if (w->call)
		ar_work_report(w);
}

static ar_usec pause_of(const struct ar_work *w)
{
	if (w->is_ending || w->report_count < FREE_NOTES)
		return 0;
	return w->report_count < SLOW_NOTES ? PAUSE : LONG_PAUSE;
}

void ar_work_report(struct ar_work *w)
{
	ar_usec due = w->reported_at ? w->reported_at + pause_of(w) : 0, now = ar_work_now();

	if (w->is_reporting || ar_list_empty(&w->notes))
		return;
	if (due > now) {
		uv_timer_start(&w->report_timer, on_due, (uint64_t)(due - now) / 1000 + 1, 0);
		return;
	}
	uv_timer_stop(&w->report_timer);
	encode(w, note_at(w->notes.next));
	w->is_reporting = true;
	w->report_count++;
	w->reported_at = now;
	w->report = (struct ar_send_run){ .command = AR_CMD_REPORT_PEER_TASK,
					  .body = ar_buf_str(&w->body),
					  .tenant = w->tenant,
					  .on_done = on_reported };
	w->all->sender->v->start(w->all->sender, &w->report);
}
