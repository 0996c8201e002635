/* A call whose process ended just before the runtime did: its end is in the log, and what it wrote is
 * stored. The call gets it as if it had just happened. */
#include "process/process_priv.h"
#include "identity.h"
#include "process/record.h"

static void finish_recall(struct ar_live_process *p)
{
	p->is_over = true;
	ar_process_deliver_end(p);
	ar_process_settle(p);
}

static void on_text(struct ar_store_op *op)
{
	struct ar_live_process *p = AR_CONTAINER_OF(op, struct ar_live_process, blobs.op);
	struct ar_live *l = p->live;

	l->busy--;
	p->busy--;
	if (l->engine->is_stopping)
		return;
	if (op->status == AR_OK && !ar_str_absent(p->blobs.bytes[0]))
		p->over.text = p->blobs.bytes[0]; /* in the operation, which goes with the process */
	else
		p->over.is_truncated = true;
	finish_recall(p);
	ar_live_pump(l); /* a session that moves away may have waited for this alone */
}

void ar_process_recall(struct ar_live *l, const struct ar_process_record *ended)
{
	static const struct ar_shape_process_ending unknown;
	struct ar_live_process *p = ar_process_new(l, ended->call);
	struct ar_arena *a = &p->arena;
	const struct ar_shape_process_ending *ending =
		ar_struct_copy(&ar_shape_process_ending_desc, ended->end ? ended->end : &unknown,
			       AR_COPY_TEXT, a);
	struct ar_str session_key;

	p->id = ar_arena_str(a, ended->id);
	p->has_ended = true;
	p->over.end = ar_process_end_told(ending);
	p->over.is_truncated = ending->is_truncated.v;
	p->over.is_binary = ending->is_binary.v;
	if (!ar_ref_parse(ending->text_ref, &session_key, &p->hashes[0])) {
		p->is_over = true; /* its call claims it when it begins */
		return;
	}
	p->blobs = (struct ar_store_blobs_get){ .op = { .kind = AR_STORE_BLOBS, .done = on_text },
						.hashes = p->hashes,
						.count = 1 };
	p->busy++;
	l->busy++;
	ar_store_submit(l->engine->o.store, &p->blobs.op);
}
