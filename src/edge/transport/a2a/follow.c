/* The facts of one task: read up to now, then followed until it is settled. Each is folded once, and a stream
 * gets what it changed. Owner: the loop thread. */
#include "a2a/exchange.h"
#include "published.h"
#include "rpc/local_wire.h"
#include "server.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PAGE 200
#define TRIES 16 /* to follow again, without a fact in between */
#define WAIT_BYTES ((size_t)256 * 1024) /* of facts that wait to be folded */

bool ar_a2a_is_own(const struct ar_a2a_exchange *x)
{
	return !ar_str_absent(x->task.channel) && ar_str_eq(x->task.channel, x->channel);
}

/* ---- writing ---- */

static struct ar_str cursor_of(const struct ar_a2a_exchange *x, char room[static 24])
{
	if (!x->has_cursors)
		return AR_STR_NONE;
	snprintf(room, 24, "%" PRIu64, x->task.sequence);
	return ar_str_from(room);
}

/* One event of the stream. */
static void write_event(struct ar_a2a_exchange *x, struct ar_str json)
{
	struct ar_buf out = { 0 }, old = { 0 };
	char room[24];

	if (x->has_cursors)
		ar_buf_addf(&out, "id: %.*s\n", AR_STR_ARG(cursor_of(x, room)));
	ar_buf_addz(&out, "data: ");
	if (x->is_rpc)
		ar_buf_addf(&out, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":", AR_STR_ARG(x->id));
	ar_buf_adds(&out, ar_a2a_as_asked(x, json, &old));
	ar_buf_fini(&old);
	ar_buf_addz(&out, x->is_rpc ? "}\n\n" : "\n\n");
	if (!x->carrier->v->stream_bytes(x->carrier, ar_buf_str(&out)))
		x->is_busy = true;
	ar_buf_fini(&out);
}

static void write_task(struct ar_a2a_exchange *x, struct ar_buf *out, bool is_wrapped)
{
	struct ar_jw w = ar_jw(out);
	char room[24];

	if (is_wrapped) {
		ar_jw_open(&w);
		ar_jw_key(&w, "task");
	}
	ar_a2a_write_task(&w, &x->task, x->history, true, cursor_of(x, room));
	if (is_wrapped)
		ar_jw_close(&w);
}

void ar_a2a_answer_task(struct ar_a2a_exchange *x)
{
	struct ar_buf text = { 0 };

	write_task(x, &text, x->op == AR_A2A_OP_SEND);
	ar_a2a_answer(x, ar_buf_str(&text));
	ar_buf_fini(&text);
}

/* Artifacts come before the status that they belong to. */
static void write_changes(struct ar_a2a_exchange *x, unsigned changes)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);
	char room[24];

	if (!x->is_streaming)
		return;
	if (changes & AR_A2A_CHANGED_ARTIFACT)
		ar_a2a_write_artifact_update(&w, &x->task, cursor_of(x, room));
	else if (changes & AR_A2A_CHANGED_STATUS)
		ar_a2a_write_status_update(&w, &x->task, cursor_of(x, room));
	if (text.len)
		write_event(x, ar_buf_str(&text));
	ar_buf_fini(&text);
}

void ar_a2a_end_stream(struct ar_a2a_exchange *x)
{
	x->is_ending = true;
	if (x->is_busy || x->is_over)
		return;
	x->is_over = true;
	x->carrier->v->stream_end(x->carrier, 0, NULL);
}

/* ---- content ---- */

static void got_content(struct ar_a2a_exchange *x, bool is_good, struct ar_json json);

/* False: an artifact is read first, and got_content() goes on. */
static bool has_content(struct ar_a2a_exchange *x)
{
	const struct ar_a2a_artifact *f = ar_a2a_unread(&x->task);
	struct ar_buf params = { 0 };
	struct ar_jw w = ar_jw(&params);

	if (!f || ar_a2a_is_push(x->op) || (x->list && !ar_a2a_list_needs_content(x->list)))
		return true;
	ar_jw_open(&w);
	ar_jw_mstr(&w, "outputRef", f->ref);
	ar_jw_mint(&w, "length", AR_A2A_OUTPUT_BYTES);
	ar_jw_close(&w);
	ar_a2a_ask(x, "read_output", ar_buf_str(&params), got_content);
	ar_buf_fini(&params);
	return false;
}

/* Whether the wait of a request without a stream is over. */
static bool is_settled(const struct ar_a2a_exchange *x)
{
	if (x->op == AR_A2A_OP_CANCEL)
		return ar_a2a_is_terminal(x->task.state);
	return ar_a2a_is_terminal(x->task.state) || ar_a2a_is_interrupted(x->task.state);
}

/* An authorization comes from elsewhere, so a stream goes on; an input comes with the next message, which
 * brings a stream of its own. A subscription is there until the task ends; in 0.3 it is such a stream. */
static bool is_stream_over(const struct ar_a2a_exchange *x)
{
	bool is_until_end = x->op == AR_A2A_OP_SUBSCRIBE && ar_str_absent(x->old);

	return ar_a2a_is_terminal(x->task.state) || (x->task.state == AR_A2A_INPUT_REQUIRED && !is_until_end);
}

static void got_content(struct ar_a2a_exchange *x, bool is_good, struct ar_json json)
{
	ar_a2a_take_output(&x->task, ar_a2a_unread(&x->task), is_good ? json : (struct ar_json){ 0 });
	if (!x->following) {
		if (has_content(x))
			x->loaded(x, true, (struct ar_json){ 0 });
		return;
	}
	write_changes(x, x->owed);
	x->owed = 0;
	ar_a2a_take_events(x);
}

/* ---- reading ---- */

static void ask_page(struct ar_a2a_exchange *x, struct ar_str cursor);

/* What cannot be read is not there, for all that a caller may know. */
static void refuse_page(struct ar_a2a_exchange *x, struct ar_json json)
{
	struct ar_str code = AR_STR_NONE;
	bool is_missing;

	ar_json_str(ar_json_get(ar_json_get(json, "error"), "code"), &code);
	is_missing = ar_str_is(code, "session_not_found") || ar_str_is(code, "invalid_scope") ||
		     ar_str_is(code, "invalid_input");
	if (is_missing && x->list)
		x->loaded(x, false, json);
	else if (is_missing)
		ar_a2a_refuse_with(x, AR_A2A_TASK_NOT_FOUND, "there is no such task");
	else
		ar_a2a_refuse_inner(x, json);
}

/* A client that comes back has seen the facts up to its cursor; those behind it are followed. */
static void fold_page(struct ar_a2a_exchange *x, struct ar_json events)
{
	for (struct ar_json_iter it = ar_json_iter(events); ar_json_next(&it);) {
		int64_t sequence = 0;

		ar_json_i64(ar_json_get(it.value, "sequence"), &sequence);
		if (!x->after || (uint64_t)sequence <= x->after)
			ar_a2a_fold(&x->task, it.value);
	}
}

static void got_page(struct ar_a2a_exchange *x, bool is_good, struct ar_json json)
{
	struct ar_str cursor = AR_STR_NONE;
	int64_t as_of = 0;

	if (!is_good) {
		refuse_page(x, json);
		return;
	}
	fold_page(x, ar_json_get(json, "events"));
	ar_json_i64(ar_json_get(json, "asOfSequence"), &as_of);
	x->as_of = x->after ? x->after : (uint64_t)as_of;
	if (ar_json_str(ar_json_get(json, "nextCursor"), &cursor))
		ask_page(x, ar_arena_str(&x->arena, cursor));
	else if (has_content(x))
		x->loaded(x, true, (struct ar_json){ 0 });
}

static void ask_page(struct ar_a2a_exchange *x, struct ar_str cursor)
{
	struct ar_buf params = { 0 };
	struct ar_jw w = ar_jw(&params);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "taskId", x->task.id);
	ar_jw_mraw(&w, "types", ar_a2a_types);
	ar_jw_mint(&w, "limit", PAGE);
	ar_jw_mstr(&w, "cursor", cursor);
	ar_jw_close(&w);
	ar_a2a_ask(x, "read_events", ar_buf_str(&params), got_page);
	ar_buf_fini(&params);
}

void ar_a2a_load(struct ar_a2a_exchange *x, ar_a2a_next_fn *loaded)
{
	ar_a2a_task_fini(&x->task);
	ar_arena_reset(&x->facts);
	x->task = (struct ar_a2a_task){ .arena = &x->facts, .id = x->task.id, .base = x->published->url };
	x->loaded = loaded;
	ask_page(x, AR_STR_NONE);
}

/* ---- following ---- */

static void wake(struct ar_a2a_exchange *x)
{
	ar_list_del(&x->due);
	ar_list_push(&x->server->a2a_due, &x->due);
	ar_server_wake(x->server);
}

static void on_opened(void *arg AR_UNUSED, struct ar_str json AR_UNUSED)
{
}

/* A reader that fell behind, or whose node is gone, may come again. Inside a text the quotes would be
 * escaped. */
static void on_ended(void *arg, struct ar_str json)
{
	static const char retryable[] = "\"retryable\":true";
	struct ar_a2a_exchange *x = arg;

	x->is_following_over = true;
	x->may_follow_again =
		!ar_str_absent(json) && memmem(json.p, json.len, retryable, sizeof retryable - 1);
	wake(x);
}

/* Facts are JSON without line feeds. */
static void on_event(void *arg, struct ar_str cursor AR_UNUSED, struct ar_str json)
{
	struct ar_a2a_exchange *x = arg;

	ar_buf_adds(&x->events, json);
	ar_buf_addc(&x->events, '\n');
	wake(x);
}

static bool takes_more(void *arg)
{
	const struct ar_a2a_exchange *x = arg;

	return x->events.len < WAIT_BYTES;
}

static void subscribe(struct ar_a2a_exchange *x)
{
	static const struct ar_local_vtable callbacks = { on_opened, on_ended, on_event, on_ended,
							  takes_more };
	struct ar_buf params = { 0 };
	struct ar_jw w = ar_jw(&params);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", x->task.session);
	ar_jw_mstr(&w, "taskId", x->task.id);
	ar_jw_mraw(&w, "types", ar_a2a_types);
	ar_jw_mint(&w, "fromSequence",
		   (int64_t)(x->as_of > x->task.sequence ? x->as_of : x->task.sequence) + 1);
	ar_jw_mbool(&w, "deltas", false);
	ar_jw_close(&w);
	x->following = ar_local_open(x->server, &callbacks, x, x->carrier->who);
	ar_local_ask(x->following, AR_STR("subscribe_events"), ar_buf_str(&params));
	ar_buf_fini(&params);
}

/* The next fact that came; false: none. */
static bool fold_next(struct ar_a2a_exchange *x, unsigned *ret_changes)
{
	struct ar_str line, rest = ar_str_split(ar_buf_str(&x->events), '\n', &line);
	struct ar_json fact;

	*ret_changes = 0;
	if (ar_str_absent(rest))
		return false;
	x->tries = 0;
	if (ar_json_parse(x->server->parser, line, &fact, NULL) == AR_OK)
		*ret_changes = ar_a2a_fold(&x->task, fact);
	ar_buf_eat(&x->events, line.len + 1);
	return true;
}

/* What was folded is not read again. */
static void follow_again(struct ar_a2a_exchange *x)
{
	if (x->may_follow_again && ++x->tries < TRIES) {
		ar_local_close(x->following);
		x->is_following_over = false;
		subscribe(x);
	} else if (x->is_streaming) {
		ar_a2a_end_stream(x);
	} else {
		ar_a2a_answer_task(x);
	}
}

void ar_a2a_take_events(struct ar_a2a_exchange *x)
{
	unsigned changes;

	while (!x->is_busy && !x->call && !x->is_over && fold_next(x, &changes)) {
		x->owed = changes;
		if (!has_content(x))
			return;
		write_changes(x, changes);
		x->owed = 0;
		if (x->is_streaming && is_stream_over(x)) {
			ar_a2a_end_stream(x);
			return;
		}
	}
	if (x->is_busy || x->call || x->is_over)
		return;
	if (!x->is_streaming && is_settled(x))
		ar_a2a_answer_task(x);
	else if (x->is_following_over)
		follow_again(x);
	else
		ar_local_drained(x->following);
}

void ar_a2a_begin_events(struct ar_a2a_exchange *x)
{
	struct ar_buf text = { 0 };

	x->is_task_owed = false;
	if (!x->after) {
		write_task(x, &text, true);
		write_event(x, ar_buf_str(&text));
		ar_buf_fini(&text);
	}
	if (is_stream_over(x))
		ar_a2a_end_stream(x);
	else
		subscribe(x);
}

/* The answer is a stream from here on; the request is gone. */
static void begin_stream(struct ar_a2a_exchange *x)
{
	struct ar_carrier *c = x->carrier;

	x->until = 0;
	x->is_streaming = x->is_task_owed = true;
	c->server->counters.streams++;
	c->request->is_calling = false;
	c->request->reply.status = 200;
	x->is_busy = !c->v->stream_begin(c);
	if (!c->is_closed && !x->is_busy)
		ar_a2a_begin_events(x);
}

void ar_a2a_follow(struct ar_a2a_exchange *x)
{
	if (x->op == AR_A2A_OP_STREAM || x->op == AR_A2A_OP_SUBSCRIBE)
		begin_stream(x);
	else if (x->send.is_immediate || is_settled(x))
		ar_a2a_answer_task(x);
	else
		subscribe(x);
}
