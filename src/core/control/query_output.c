/* read_output: stored content by ref, a window of it. */
#include "base64.h"
#include "clock.h"
#include "control_priv.h"
#include "identity.h"
#include "output/outputs.h"
#include "process/record.h"
#include "storage.h"

#define READ_DEFAULT (256u * 1024u)
#define NO_CONTENT "the content cannot be read"
#define READ_MAX (1024u * 1024u)

static void write_content(struct ar_call *c, struct ar_str window, struct ar_cmd_read_output_out *out)
{
	if (ar_str_is_utf8(window)) {
		out->encoding = AR_READ_OUTPUT_ENCODING_UTF_8;
		out->media_type = AR_STR("text/plain; charset=utf-8");
		out->content = window;
		return;
	}
	out->encoding = AR_READ_OUTPUT_ENCODING_BASE64;
	out->media_type = AR_STR("application/octet-stream");
	out->content = ar_base64(&c->arena, window);
}

static void fetch(struct ar_call *c, struct ar_str session_key);

/* ---- content that is gone: the session may say why ---- */

static void on_removed(struct ar_engine_view *view, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = AR_CONTAINER_OF(view, struct ar_call_work, view)->call;
	struct ar_call_work *q = c->work;
	const struct ar_removed_output *removed;
	struct ar_str ref, session_key;
	char at[AR_TIME_TEXT];

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	ref = ar_ref_make(&c->arena, s->session_key, &q->hash);
	ref = ar_session_output_now(s, ref, &removed);
	if (!removed) {
		ar_call_refuse(c, AR_ERR_REF_NOT_FOUND, NO_CONTENT);
		return;
	}
	ar_time_format(removed->at, at);
	if (ar_str_absent(removed->replacement))
		ar_call_refuse(c, AR_ERR_EXPIRED,
			       "the output is unavailable: its lifetime was over, and it was removed at %s",
			       at);
	else if (removed->whole.v)
		ar_call_refuse(c, AR_ERR_REDACTED, "the content is unavailable: it was redacted at %s", at);
	else if (q->is_replaced || !ar_ref_parse(ref, &session_key, &q->hash))
		ar_call_refuse(c, AR_ERR_REF_NOT_FOUND, NO_CONTENT);
	else {
		q->is_replaced = true;
		fetch(c, s->session_key);
	}
}

static void look_for_removed(struct ar_call *c)
{
	c->work->view.session = c->work->blobs.session;
	c->work->view.done = on_removed;
	ar_call_look(c);
}

static void on_blob(struct ar_store_op *op)
{
	struct ar_call_work *q = AR_CONTAINER_OF(op, struct ar_call_work, blobs.op);
	struct ar_call *c = q->call;
	const struct ar_cmd_read_output_in *in = c->input;
	struct ar_cmd_read_output_out out = { .output_ref = in->output_ref,
					      .state = AR_READ_OUTPUT_STATE_AVAILABLE };
	struct ar_jw w = ar_jw(&c->reply);
	struct ar_str bytes = op->status == AR_OK ? q->blobs.bytes[0] : AR_STR_NONE;
	size_t from = in->offset.set && in->offset.v > 0 ? (size_t)in->offset.v : 0;
	size_t offset = from > q->base ? from - q->base : 0;

	if (op->status != AR_OK) {
		uint16_t code = ar_storage_code(op->status);

		ar_store_op_fini(op);
		ar_call_refuse(c, code, NO_CONTENT);
		return;
	}
	if (ar_str_absent(bytes)) {
		ar_store_op_fini(op);
		look_for_removed(c);
		return;
	}
	out.offset = AR_OPT_INT((int64_t)(offset + q->base));
	out.size_bytes = AR_OPT_INT((int64_t)(bytes.len > q->size ? bytes.len : q->size));
	write_content(c, ar_str_sub(bytes, offset, q->limit), &out);
	ar_struct_encode(&ar_command_describe(c->command)->out, &out, AR_STR_NONE, &w);
	ar_store_op_fini(op);
	ar_call_done(c, 200);
}

static void fetch(struct ar_call *c, struct ar_str session_key)
{
	struct ar_call_work *q = c->work;

	q->blobs = (struct ar_store_blobs_get){ .op = { .kind = AR_STORE_BLOBS, .done = on_blob },
						.session = session_key,
						.hashes = &q->hash,
						.count = 1 };
	ar_store_submit(c->control->store, &q->blobs.op);
}

/* ---- one stream of a process that has ended ---- */

/* The range that has the wanted byte, or else the next one that is kept. */
static bool find_kept(struct ar_call *c, const struct ar_process_record *p, int stream)
{
	static const char *const words[] = { "", "stdout", "stderr", "pty" };
	const struct ar_cmd_read_output_in *in = c->input;
	struct ar_call_work *q = c->work;
	int64_t from = in->offset.set ? in->offset.v : 0;
	bool is_found = false;
	struct ar_str session_key;

	for (size_t i = 0; i < p->outputs.count; i++) {
		const struct ar_shape_process_output *kept = &p->outputs.at[i];
		int64_t end = kept->offset.v + kept->length.v;

		if (!ar_str_is(kept->stream, words[stream]))
			continue;
		q->size = (size_t)end;
		if (is_found || from >= end || !ar_ref_parse(kept->ref, &session_key, &q->hash))
			continue;
		q->base = (size_t)kept->offset.v;
		is_found = true;
	}
	return is_found;
}

/* ---- one that runs ---- */

static void reply_running(struct ar_call *c, const struct ar_engine_output *o)
{
	const struct ar_cmd_read_output_in *in = c->input;
	struct ar_cmd_read_output_out out = { .output_ref = in->output_ref,
					      .state = AR_READ_OUTPUT_STATE_AVAILABLE,
					      .offset = AR_OPT_INT((int64_t)o->offset),
					      .size_bytes = AR_OPT_INT((int64_t)o->size) };
	struct ar_jw w = ar_jw(&c->reply);

	write_content(c, ar_str_sub(o->bytes, 0, c->work->limit), &out);
	ar_struct_encode(&ar_command_describe(c->command)->out, &out, AR_STR_NONE, &w);
	ar_call_done(c, 200);
}

static void read_running(struct ar_call *c, struct ar_str process, int stream)
{
	const struct ar_cmd_read_output_in *in = c->input;
	struct ar_engine_output o = { .session_key = ar_id_session_key(process),
				      .process = process,
				      .stream = stream,
				      .from = in->offset.set && in->offset.v > 0 ? (uint64_t)in->offset.v
										 : 0 };

	if (ar_engine_output(c->control->engine, &o))
		reply_running(c, &o);
	else
		ar_call_refuse(c, AR_ERR_UNAVAILABLE,
			       "%.*s still runs, and its output cannot be reached; read when it has ended",
			       AR_STR_ARG(process));
}

static void on_view(struct ar_engine_view *view, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = AR_CONTAINER_OF(view, struct ar_call_work, view)->call;
	const struct ar_cmd_read_output_in *in = c->input;
	const struct ar_process_record *p;
	struct ar_str id;
	int stream = 0;

	if (!s) {
		ar_call_fail_or_move(c, err);
		return;
	}
	ar_process_ref_parse(in->output_ref, &id, &stream);
	p = ar_session_process(s, id);
	if (p && p->status == AR_PROCESS_RUNNING)
		read_running(c, id, stream);
	else if (!p || !find_kept(c, p, stream))
		ar_call_refuse(c, AR_ERR_REF_NOT_FOUND, "%.*s has no such output", AR_STR_ARG(id));
	else
		fetch(c, ar_id_session_key(id));
}

static void fetch_ref(struct ar_call *c)
{
	const struct ar_cmd_read_output_in *in = c->input;
	struct ar_str session_key;

	AR_ASSERT(ar_ref_parse(in->output_ref, &session_key, &c->work->hash));
	fetch(c, session_key);
}

static void no_content(struct ar_call *c)
{
	ar_call_refuse(c, AR_ERR_REF_NOT_FOUND, NO_CONTENT);
}

void ar_query_read_output(struct ar_call *c)
{
	const struct ar_cmd_read_output_in *in = c->input;
	struct ar_call_work *q = c->work;
	struct ar_str session_key, process;
	int stream;

	q->limit = in->length.set && in->length.v > 0 ? (size_t)in->length.v : READ_DEFAULT;
	if (q->limit > READ_MAX)
		q->limit = READ_MAX;
	if (ar_process_ref_parse(in->output_ref, &process, &stream)) {
		q->view.session = ar_id_session_key(process);
		q->view.done = on_view;
		ar_call_look(c);
		return;
	}
	if (!ar_ref_parse(in->output_ref, &session_key, &q->hash)) {
		ar_call_refuse(c, AR_ERR_REF_NOT_FOUND, "there is no content under '%.*s'",
			       AR_STR_ARG(ar_str_utf8_prefix(in->output_ref, 100)));
		return;
	}
	ar_call_check_tenant(c, session_key, fetch_ref, no_content);
}
