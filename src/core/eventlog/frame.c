/* See frame.h. A frame holds its server-sent-event text once; every reader shares it. */
#include "frame.h"
#include "base64.h"
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

/* Its id comes next. */
static struct ar_frame *blank(enum ar_event_type type, uint64_t sequence)
{
	struct ar_frame *f = ar_new0(sizeof(*f));

	f->refs = 1;
	f->type = type;
	f->sequence = sequence;
	ar_list_init(&f->node);
	ar_buf_addz(&f->bytes, "id: ");
	return f;
}

/* The id is there; the JSON comes next. */
static void end_id(struct ar_frame *f)
{
	f->id.len = f->bytes.len - 4;
	ar_buf_addz(&f->bytes, "\ndata: ");
	f->json.len = f->bytes.len; /* where the JSON begins, until end() */
}

static struct ar_frame *begin(enum ar_event_type type, const struct ar_cursor *after)
{
	struct ar_frame *f = blank(type, after->sequence);

	ar_cursor_print(after, &f->bytes);
	end_id(f);
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

struct ar_frame *ar_frame_moved(const struct ar_frame *f, const struct ar_cursor *after)
{
	struct ar_frame *moved = begin(f->type, after);

	moved->sequence = f->sequence;
	moved->is_delta = f->is_delta;
	ar_buf_adds(&moved->bytes, f->json);
	return end(moved);
}

struct ar_frame *ar_frame_placed(const struct ar_frame *f, const struct ar_places *after)
{
	struct ar_frame *placed = blank(f->type, f->sequence);

	placed->place = f->place;
	ar_places_print(after, &placed->bytes);
	end_id(placed);
	ar_buf_adds(&placed->bytes, f->json);
	return end(placed);
}

struct ar_frame *ar_frame_event(const struct ar_event *e, const struct ar_cursor *after)
{
	struct ar_frame *f = begin(e->type, after);

	f->is_delta = true;
	ar_event_encode(e, &f->bytes);
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

/* A piece of a stream: as text when it is text. */
static struct ar_ev_process_output stream_piece(const struct ar_output *o,
						const struct ar_output_piece *piece, struct ar_arena *a)
{
	struct ar_ev_process_output p = { .stream = o->stream,
					  .output_ref =
						  ar_process_ref_make(a, o->ids[AR_SCOPE_PROCESS], o->stream),
					  .offset = (int64_t)piece->pos,
					  .length = (int64_t)piece->len };

	if (ar_str_absent(piece->bytes))
		return p;
	if (ar_str_is_utf8(piece->bytes)) {
		p.preview = piece->bytes;
		p.encoding = AR_STR("utf-8");
		return p;
	}
	p.preview = ar_base64(a, piece->bytes);
	p.encoding = AR_STR("base64");
	return p;
}

static struct ar_frame *stream_frame(const struct ar_output *o, const struct ar_output_piece *piece,
				     const struct ar_cursor *after, struct ar_event e)
{
	struct ar_arena a = { 0 };
	struct ar_ev_process_output p = stream_piece(o, piece, &a);
	struct ar_frame *f;

	e.type = AR_EV_PROCESS_OUTPUT;
	e.payload = &p;
	e.event_id = delta_id(&a, o, piece, after->sequence, e.time);
	e.session_id = ar_id_root(&a, "sess", o->session);
	for (size_t i = 0; i < AR_SCOPE_COUNT; i++)
		e.ids[i] = o->ids[i];
	f = ar_frame_event(&e, after);
	f->step = o->step;
	f->from = piece->pos;
	f->until = piece->pos + piece->len;
	ar_arena_fini(&a);
	return f;
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

	if (o->stream)
		return stream_frame(o, piece, after, e);
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
	f = ar_frame_event(&e, after);
	ar_arena_fini(&a);
	return f;
}
