/* What hangs on a request: its one answer, or the stream that it opened. Frames and the text of another
 * node become `event` notifications; while the wire is full the stream is not asked for more, and waits
 * for its turn. Owner: the loop thread. */
#include "mem.h"
#include "rpc/task.h"
#include "server.h"

#include <stdio.h>

#define EVENT_BYTES ((size_t)16 * 1024 * 1024) /* of one event of another node */
#define NAME_BYTES 40

static struct ar_rpc_task *task_of(struct ar_carrier *c)
{
	return AR_CONTAINER_OF(c, struct ar_rpc_task, carrier);
}

static struct ar_str name_of(const struct ar_rpc_task *t, char out[static NAME_BYTES])
{
	int len = snprintf(out, NAME_BYTES, "subscription_%llu", (unsigned long long)t->number);

	return (struct ar_str){ out, (size_t)len };
}

static void drop_request(struct ar_carrier *c)
{
	ar_http_request_fini(c->request);
	ar_free(c->request);
	c->request = NULL;
}

/* ---- one answer ---- */

/* The answers of a batch are kept until the last is there: what they may hold together has an end. */
static bool is_too_large(const struct ar_rpc_task *t, size_t bytes)
{
	return t->post->is_batch && t->post->answers.len + bytes > AR_RPC_BATCH_BYTES;
}

static void on_reply(struct ar_carrier *c)
{
	struct ar_rpc_task *t = task_of(c);
	const struct ar_reply *reply = &c->request->reply;
	struct ar_buf text = { 0 };

	if (!ar_str_absent(t->id) && is_too_large(t, reply->body.len))
		ar_rpc_write_error(
			&text, t->id, AR_ERR_PAYLOAD_TOO_LARGE,
			"the answers of this batch are too large together; ask for this one alone");
	else if (!ar_str_absent(t->id))
		ar_rpc_write_reply(c->server->parser, &text, t->id, reply->status, reply->body);
	ar_rpc_task_answered(t, ar_buf_str(&text));
	ar_buf_fini(&text);
	ar_rpc_task_drop(t);
}

/* ---- a stream ---- */

/* Asked before anything is pulled. */
static bool takes_more(struct ar_carrier *c)
{
	struct ar_rpc_task *t = task_of(c);

	if (t->rpc->v->takes_more(t->rpc))
		return true;
	ar_list_del(&t->waiting);
	ar_list_push(&t->rpc->waiting, &t->waiting);
	return false;
}

/* After something was sent. The subscription that had its turn goes to the end of the queue. */
static bool goes_on(struct ar_rpc_task *t)
{
	if (t->rpc->v->takes_more(t->rpc))
		return true;
	ar_list_del(&t->waiting);
	ar_list_push(&t->rpc->served, &t->waiting);
	return false;
}

static void become_subscription(struct ar_rpc_task *t)
{
	struct ar_rpc *r = t->rpc;

	t->number = ++r->last_number;
	r->call_count--;
	r->subscription_count++;
	ar_list_del(&t->node);
	ar_list_push(&r->subscriptions, &t->node);
	drop_request(&t->carrier);
}

static void write_result(struct ar_rpc_task *t, struct ar_buf *out)
{
	uint64_t opened_at = ar_carrier_opened_at(&t->carrier);
	struct ar_jw w = ar_jw(out);
	char name[NAME_BYTES];

	ar_jw_open(&w);
	ar_jw_mstr(&w, "subscriptionId", name_of(t, name));
	if (opened_at)
		ar_jw_mint(&w, "asOfSequence", (int64_t)opened_at);
	ar_jw_close(&w);
}

static bool on_stream_begin(struct ar_carrier *c)
{
	struct ar_rpc_task *t = task_of(c);
	struct ar_rpc *r = t->rpc;
	struct ar_buf result = { 0 }, text = { 0 };
	bool is_told = !t->post->is_batch;

	become_subscription(t);
	write_result(t, &result);
	if (!ar_str_absent(t->id))
		ar_rpc_write_result(&text, t->id, ar_buf_str(&result));
	/* A name has to be known before events come under it: in a batch they wait until
	 * the answers are out. */
	if (!is_told)
		ar_list_push(&t->post->held, &t->waiting);
	ar_rpc_task_answered(t, ar_buf_str(&text));
	ar_buf_fini(&result);
	ar_buf_fini(&text);
	r->v->moved(r);
	return is_told && goes_on(t);
}

static void send_event(struct ar_rpc_task *t, struct ar_buf *scratch, struct ar_str cursor,
		       struct ar_str json)
{
	char name[NAME_BYTES];

	ar_buf_clear(scratch);
	ar_rpc_write_event(scratch, name_of(t, name), cursor, json);
	ar_buf_clear(&t->cursor);
	ar_buf_adds(&t->cursor, cursor);
	t->rpc->v->send(t->rpc, ar_buf_str(scratch));
}

static bool on_stream_frames(struct ar_carrier *c, struct ar_frame **frames, size_t count)
{
	struct ar_rpc_task *t = task_of(c);
	struct ar_buf scratch = { 0 };

	for (size_t i = 0; i < count; i++) {
		send_event(t, &scratch, frames[i]->id, frames[i]->json);
		ar_frame_unref(frames[i]);
	}
	ar_buf_fini(&scratch);
	if (t->rpc->subscription_count == 1)
		t->rpc->v->hurry(t->rpc);
	return goes_on(t);
}

/* ---- a stream of another node ---- */

struct reading {
	struct ar_rpc_task *task;
	struct ar_buf scratch;
};

static void on_event(void *arg, struct ar_str cursor, struct ar_str json)
{
	struct reading *r = arg;

	send_event(r->task, &r->scratch, cursor, json);
}

static bool on_stream_bytes(struct ar_carrier *c, struct ar_str bytes)
{
	struct ar_rpc_task *t = task_of(c);
	struct reading reading = { .task = t };

	/* Our own nodes write no such event: what is kept of it is dropped, and the next
	 * one is looked for. */
	if (!ar_sse_text_feed(&t->text, bytes, EVENT_BYTES, on_event, &reading))
		ar_sse_text_fini(&t->text);
	ar_buf_fini(&reading.scratch);
	return goes_on(t);
}

/* ---- the end ---- */

static void send_ended(struct ar_rpc_task *t, const struct ar_error *err)
{
	struct ar_str cursor = t->cursor.len ? ar_buf_str(&t->cursor) : AR_STR_NONE;
	struct ar_buf text = { 0 }, error = { 0 };
	char name[NAME_BYTES];

	if (err)
		ar_rpc_write_error_object(&error, err->code ? err->code : AR_ERR_INTERNAL, err->msg);
	ar_rpc_write_ended(&text, name_of(t, name), cursor, err ? ar_buf_str(&error) : AR_STR_NONE);
	t->rpc->v->send(t->rpc, ar_buf_str(&text));
	ar_buf_fini(&text);
	ar_buf_fini(&error);
}

static void on_stream_end(struct ar_carrier *c, unsigned retry_ms AR_UNUSED, const struct ar_error *err)
{
	struct ar_rpc_task *t = task_of(c);
	struct ar_error lost = { 0 };

	/* What another node sent is over: its reader finds the session again by its cursor. */
	if (!err && c->forward)
		ar_refuse(
			&lost, AR_ERR_OWNER_UNREACHABLE,
			"the node that owned the session ended the stream; subscribe again after the cursor");
	send_ended(t, lost.code ? &lost : err);
	ar_rpc_task_drop(t);
}

static void on_released(struct ar_carrier *c)
{
	ar_rpc_task_drop(task_of(c));
}

const struct ar_carrier_vtable ar_rpc_carrier = {
	.reply = on_reply,
	.takes_more = takes_more,
	.stream_begin = on_stream_begin,
	.stream_frames = on_stream_frames,
	.stream_bytes = on_stream_bytes,
	.stream_end = on_stream_end,
	.released = on_released,
};

/* ---- unsubscribe ---- */

static struct ar_rpc_task *find_subscription(const struct ar_rpc *r, struct ar_str name)
{
	char its[NAME_BYTES];

	AR_LIST_FOR (it, &r->subscriptions) {
		struct ar_rpc_task *t = AR_CONTAINER_OF(it, struct ar_rpc_task, node);

		if (ar_str_eq(name_of(t, its), name))
			return t;
	}
	return NULL;
}

/* The one member that it takes; absent when there is another, or none. */
static struct ar_str read_name(struct ar_rpc *r, struct ar_str params)
{
	struct ar_str name = AR_STR_NONE;
	struct ar_json doc;

	if (ar_json_parse(r->server->parser, params, &doc, NULL) == AR_OK && ar_json_len(doc) == 1)
		ar_json_str(ar_json_get(doc, "subscriptionId"), &name);
	return name;
}

void ar_rpc_unsubscribe(struct ar_rpc *r, const struct ar_rpc_request *request, struct ar_buf *out)
{
	struct ar_str name = read_name(r, request->params);
	struct ar_buf result = { 0 };
	struct ar_jw w = ar_jw(&result);
	struct ar_rpc_task *t;

	if (ar_str_absent(name)) {
		ar_rpc_write_error(out, request->id, AR_ERR_INVALID_INPUT,
				   "unsubscribe takes subscriptionId, a string, and nothing else");
		return;
	}
	t = find_subscription(r, name);
	if (!t) {
		ar_rpc_write_error(out, request->id, AR_ERR_SCOPE_NOT_FOUND,
				   "this connection has no such subscription");
		return;
	}
	ar_jw_open(&w);
	ar_jw_mstr(&w, "subscriptionId", name);
	if (t->cursor.len)
		ar_jw_mstr(&w, "cursor", ar_buf_str(&t->cursor));
	ar_jw_close(&w);
	send_ended(t, NULL);
	ar_rpc_task_drop(t);
	ar_rpc_write_result(out, request->id, ar_buf_str(&result));
	ar_buf_fini(&result);
}
