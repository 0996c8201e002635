/* See frame.h. A frame holds its server-sent-event text once; every reader shares it. */
#include "frame.h"
#include "codec.h"
#include "mem.h"
#include "provider.h"
#include "identity.h"

struct ar_frame *ar_frame_ref(struct ar_frame *f)
{
	f->refs++;
	return f;
}

void ar_frame_unref(struct ar_frame *f)
{
	if (!f || --f->refs > 0)
		return;
	ar_buf_fini(&f->bytes);
	ar_free(f);
}

static struct ar_frame *begin(enum ar_event_type type, const struct ar_cursor *after)
{
	struct ar_frame *f = ar_new0(sizeof(*f));

	f->refs = 1;
	f->type = type;
	f->sequence = after->sequence;
	ar_list_init(&f->node);
	ar_buf_addz(&f->bytes, "id: ");
	ar_cursor_print(after, &f->bytes);
	f->id.len = f->bytes.len - 4;
	ar_buf_addz(&f->bytes, "\ndata: ");
	f->json.len = f->bytes.len; /* where the JSON begins, until end() */
	return f;
}

static struct ar_frame *end(struct ar_frame *f)
{
	size_t start = f->json.len;

	f->json.len = f->bytes.len - start;
	ar_buf_addz(&f->bytes, "\n\n");
	f->id.p = f->bytes.p + 4;
	f->json.p = f->bytes.p + start;
	f->sse = ar_buf_str(&f->bytes);
	return f;
}

struct ar_frame *ar_frame_fact(enum ar_event_type type, uint64_t sequence, const struct ar_cursor *after,
			       struct ar_str json)
{
	struct ar_frame *f = begin(type, after);

	f->sequence = sequence;
	ar_buf_adds(&f->bytes, json);
	return end(f);
}

/* The id follows from everything that the frame says, so equal ids mean equal bytes. */
static struct ar_str delta_id(struct ar_arena *a, const struct ar_output *o,
			      const struct ar_output_piece *piece, uint64_t sequence, ar_usec time)
{
	return ar_arena_fmt(a, "evt_%.*s_%llu.%llu.%llu-%llu.%llx", AR_STR_ARG(o->session),
			    (unsigned long long)sequence, (unsigned long long)o->step,
			    (unsigned long long)piece->pos, (unsigned long long)(piece->pos + piece->len),
			    (unsigned long long)time);
}

struct ar_frame *ar_frame_delta(const struct ar_output *o, const struct ar_output_piece *piece,
				const struct ar_cursor *after, struct ar_str runtime_id, ar_usec time)
{
	struct ar_ev_model_delta text = { .kind = AR_MODEL_DELTA_KIND_TEXT,
					  .delta = piece->bytes,
					  .offset = AR_OPT_INT((int64_t)piece->offset),
					  .content_index = AR_OPT_INT(piece->segment->index) };
	struct ar_ev_reasoning_delta reasoning = { .delta = piece->bytes,
						   .offset = AR_OPT_INT((int64_t)piece->offset) };
	struct ar_ev_tool_args args = { .args_delta = piece->bytes,
					.offset = AR_OPT_INT((int64_t)piece->offset),
					.complete = AR_OPT_BOOL(false) };
	const struct {
		enum ar_event_type type;
		const void *payload;
	} by_kind[] = {
		[AR_OUT_TEXT] = { AR_EV_MODEL_DELTA, &text },
		[AR_OUT_REASONING] = { AR_EV_REASONING_DELTA, &reasoning },
		[AR_OUT_TOOL_ARGS] = { AR_EV_TOOL_ARGS, &args },
	};
	struct ar_event e = { .sequence = after->sequence, .time = time, .runtime_id = runtime_id };
	struct ar_arena a = { 0 };
	struct ar_frame *f;

	if (ar_str_absent(piece->bytes))
		return NULL;
	e.type = by_kind[piece->segment->kind].type;
	e.payload = by_kind[piece->segment->kind].payload;
	e.event_id = delta_id(&a, o, piece, after->sequence, time);
	e.session_id = ar_id_root(&a, "sess", o->session);
	for (size_t i = 0; i < AR_SCOPE_COUNT; i++)
		e.ids[i] = o->ids[i];
	if (e.type == AR_EV_TOOL_ARGS)
		e.ids[AR_SCOPE_TOOL_CALL] = ar_tool_call_id(&a, o->ids[AR_SCOPE_STEP], piece->segment->index);
	f = begin(e.type, after);
	f->is_delta = true;
	ar_event_encode(&e, &f->bytes);
	ar_arena_fini(&a);
	return end(f);
}
