/* read_output: stored content by ref, a window of it. */
#include "base64.h"
#include "control_priv.h"
#include "identity.h"

#define READ_DEFAULT (256u * 1024u)
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

static void on_blob(struct ar_store_op *op)
{
	struct ar_call_work *q = AR_CONTAINER_OF(op, struct ar_call_work, blobs.op);
	struct ar_call *c = q->call;
	const struct ar_cmd_read_output_in *in = c->input;
	struct ar_cmd_read_output_out out = { .output_ref = in->output_ref,
					      .state = AR_READ_OUTPUT_STATE_AVAILABLE };
	struct ar_jw w = ar_jw(&c->reply);
	struct ar_str bytes = op->status == AR_OK ? q->blobs.bytes[0] : AR_STR_NONE;
	size_t offset = in->offset.set && in->offset.v > 0 ? (size_t)in->offset.v : 0;

	if (op->status != AR_OK || ar_str_absent(bytes)) {
		uint16_t code = op->status == AR_OK ? AR_ERR_REF_NOT_FOUND : AR_ERR_STORAGE_UNAVAILABLE;

		ar_store_op_fini(op);
		ar_call_refuse(c, code, "the content cannot be read");
		return;
	}
	out.offset = AR_OPT_INT((int64_t)offset);
	out.size_bytes = AR_OPT_INT((int64_t)bytes.len);
	write_content(c, ar_str_sub(bytes, offset, q->limit), &out);
	ar_struct_encode(&ar_command_describe(c->command)->out, &out, AR_STR_NONE, &w);
	ar_store_op_fini(op);
	ar_call_done(c, 200);
}

void ar_query_read_output(struct ar_call *c)
{
	const struct ar_cmd_read_output_in *in = c->input;
	struct ar_call_work *q = c->work;
	struct ar_str core;

	if (!ar_ref_parse(in->output_ref, &core, &q->hash)) {
		ar_call_refuse(c, AR_ERR_REF_NOT_FOUND, "there is no content under '%.*s'",
			       AR_STR_ARG(ar_str_utf8_prefix(in->output_ref, 100)));
		return;
	}
	q->limit = in->length.set && in->length.v > 0 ? (size_t)in->length.v : READ_DEFAULT;
	if (q->limit > READ_MAX)
		q->limit = READ_MAX;
	q->blobs = (struct ar_store_blobs_get){ .op = { .kind = AR_STORE_BLOBS, .done = on_blob },
						.session = core,
						.hashes = &q->hash,
						.count = 1 };
	ar_store_submit(c->control->store, &q->blobs.op);
}
