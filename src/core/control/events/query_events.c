/* read_events: a page of the facts of a session, in either direction. The log is read a window at a time;
 * what is not asked for is passed over, and after a bounded number of bytes the call answers with what it
 * has and where it stopped. So a call costs the same whatever the log holds. Owner: the loop thread. */
#include "control_priv.h"
#include "mem.h"
#include "storage.h"

#define LIMIT_DEFAULT 50
#define LIMIT_MAX 500
#define WINDOW_BYTES ((size_t)256 * 1024) /* of one operation of the store */
#define SCAN_BYTES ((size_t)4 * 1024 * 1024) /* of one call; the last window may pass it */
#define FACT_BYTES ((size_t)2048) /* read per fact when all facts are wanted */

/* In its own memory: it is large, and outlives no answer. */
struct walk {
	struct ar_call *call;
	struct ar_store_read read;
	struct ar_str session_key;
	uint64_t head; /* newest fact when the call began; later ones are not looked at */
	uint64_t next; /* sequence to look at next; backward 0: there is none */
	size_t wanted, found, scanned;
	bool is_backward, has_filter, has_types;
	uint8_t types[AR_EV_COUNT];
	struct ar_jw w;
};

static void read_window(struct walk *k);

/* ---- answers ---- */

static void end(struct walk *k)
{
	ar_store_op_fini(&k->read.op);
	ar_free(k);
}

static void answer(struct walk *k, bool is_over)
{
	struct ar_call *c = k->call;

	ar_jw_close_array(&k->w);
	if (!is_over)
		ar_jw_mstr(&k->w, "nextCursor", ar_arena_fmt(&c->arena, "%llu", (unsigned long long)k->next));
	ar_jw_mint(&k->w, "asOfSequence", (int64_t)k->head);
	ar_jw_close(&k->w);
	end(k);
	ar_call_done(c, 200);
}

/* ---- facts ---- */

static bool is_text(struct ar_json fact, const char *name, struct ar_str wanted)
{
	struct ar_str s;

	return ar_str_absent(wanted) || (ar_json_str(ar_json_get(fact, name), &s) && ar_str_eq(s, wanted));
}

static bool is_wanted(struct walk *k, struct ar_str line)
{
	const struct ar_cmd_read_events_in *in = k->call->input;
	const struct ar_event_desc *desc;
	struct ar_str type = AR_STR_NONE;
	struct ar_json fact;

	if (!k->has_filter)
		return true;
	if (ar_json_parse(k->call->control->json, line, &fact, NULL) != AR_OK)
		return false;
	ar_json_str(ar_json_get(fact, "type"), &type);
	desc = ar_event_find(type);
	if (k->has_types && !(desc && k->types[desc->type]))
		return false;
	return is_text(fact, "threadId", in->thread_id) && is_text(fact, "turnId", in->turn_id) &&
	       is_text(fact, "taskId", in->task_id);
}

static void take_line(struct walk *k, uint64_t sequence, struct ar_str line)
{
	if (k->found == k->wanted || sequence > k->head ||
	    (k->is_backward ? sequence > k->next : sequence < k->next))
		return;
	k->next = k->is_backward ? sequence - 1 : sequence + 1;
	if (!is_wanted(k, line))
		return;
	ar_jw_raw(&k->w, line);
	k->found++;
}

/* The facts of a row are its lines, oldest first. */
static void take_row(struct walk *k, const struct ar_store_row *row)
{
	size_t count = (size_t)(row->last_seq - row->first_seq + 1), n = 0;
	struct ar_str *lines = ar_grow(NULL, count, sizeof(*lines)), rest = row->body, line;

	while (n < count && !ar_str_empty(rest)) {
		rest = ar_str_split(rest, '\n', &line);
		if (!ar_str_empty(line))
			lines[n++] = line;
	}
	for (size_t i = 0; i < n; i++) {
		size_t at = k->is_backward ? n - 1 - i : i;

		take_line(k, row->first_seq + at, lines[at]);
	}
	ar_free(lines);
	k->scanned += row->body.len;
}

/* Whether nothing is left in the direction of the walk. */
static bool is_at_end(const struct walk *k)
{
	return k->is_backward ? k->next == 0 : k->next > k->head;
}

static void failed(struct walk *k)
{
	struct ar_call *c = k->call;
	struct ar_error err = k->read.op.err;

	/* What was found before a damaged part is answered; the page after it names the damage. */
	if (k->found > 0) {
		answer(k, false);
		return;
	}
	ar_storage_refuse(&err, k->read.op.status, err.msg, k->session_key);
	end(k);
	ar_call_fail(c, &err);
}

static void on_window(struct ar_store_op *op)
{
	struct walk *k = AR_CONTAINER_OF(op, struct walk, read.op);

	if (op->status != AR_OK) {
		failed(k);
		return;
	}
	for (size_t i = 0; i < k->read.row_count; i++)
		take_row(k, &k->read.rows[k->is_backward ? k->read.row_count - 1 - i : i]);
	if (is_at_end(k))
		answer(k, true);
	else if (k->found == k->wanted || k->scanned >= SCAN_BYTES)
		answer(k, false);
	else
		read_window(k);
}

static void read_window(struct walk *k)
{
	size_t some = (k->wanted - k->found) * FACT_BYTES;

	ar_store_op_fini(&k->read.op);
	k->read = (struct ar_store_read){ .op = { .kind = AR_STORE_READ, .done = on_window },
					  .session = k->session_key,
					  .from = k->next,
					  .backward = k->is_backward,
					  .max_bytes = k->has_filter || some > WINDOW_BYTES ? WINDOW_BYTES
											    : some };
	ar_store_submit(k->call->control->store, &k->read.op);
}

/* ---- the call ---- */

/* Where the walk begins. */
static enum ar_status read_place(const struct ar_cmd_read_events_in *in, uint64_t head, uint64_t *ret,
				 struct ar_error *err)
{
	*ret = in->newest_first.v ? head : 1;
	if (!ar_str_absent(in->cursor)) {
		if (!ar_str_to_u64(in->cursor, ret) || *ret < 1 || *ret > head)
			return ar_refuse(err, AR_ERR_INVALID_CURSOR,
					 "cursor must be the nextCursor of an earlier reply");
		return AR_OK;
	}
	if (in->from_sequence.set && in->from_sequence.v < 1)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "fromSequence must be 1 or more");
	if (in->from_sequence.set && !(in->newest_first.v && (uint64_t)in->from_sequence.v > head))
		*ret = (uint64_t)in->from_sequence.v;
	return AR_OK;
}

static void begin(struct ar_call *c, struct walk *k)
{
	const struct ar_cmd_read_events_in *in = c->input;

	k->call = c;
	k->session_key = c->work->view.session;
	k->is_backward = in->newest_first.v;
	k->wanted = ar_call_limit(in->limit, LIMIT_DEFAULT, LIMIT_MAX);
	k->has_types = in->types.at != NULL;
	k->has_filter = k->has_types || !ar_str_absent(in->thread_id) || !ar_str_absent(in->turn_id) ||
			!ar_str_absent(in->task_id);
	k->w = ar_jw(&c->reply);
	ar_jw_open(&k->w);
	ar_jw_key(&k->w, "events");
	ar_jw_open_array(&k->w);
	if (is_at_end(k))
		answer(k, true);
	else
		read_window(k);
}

static void on_view(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = AR_CONTAINER_OF(v, struct ar_call_work, view)->call;
	const struct ar_cmd_read_events_in *in = c->input;
	struct ar_error why = { 0 };
	struct walk *k;

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	k = ar_new0(sizeof(*k));
	k->head = s->head;
	if (ar_call_types(in->types, k->types, &why) != AR_OK ||
	    read_place(in, k->head, &k->next, &why) != AR_OK) {
		ar_free(k);
		ar_call_fail(c, &why);
		return;
	}
	begin(c, k);
}

void ar_query_read_events(struct ar_call *c)
{
	const struct ar_cmd_read_events_in *in = c->input;
	const struct ar_str ids[] = { in->thread_id, in->turn_id, in->task_id };
	struct ar_str key = AR_STR_NONE;
	struct ar_error err = { 0 };

	if (!ar_str_absent(in->session_id) && ar_call_session(in->session_id, &key, &err) != AR_OK) {
		ar_call_fail(c, &err);
		return;
	}
	for (size_t i = 0; i < AR_ARRAY_LEN(ids) && ar_str_absent(key); i++)
		key = ar_id_session_key(ids[i]);
	if (ar_str_absent(key)) {
		ar_call_refuse(c, AR_ERR_INVALID_SCOPE,
			       "name the sessionId; the other ids do not contain it");
		return;
	}
	c->work->view.done = on_view;
	c->work->view.session = key;
	ar_call_look(c);
}
