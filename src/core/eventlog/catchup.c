/* A reader's way through the stored log: one page of rows at a time, its step content fetched beside it, frames made from both,
 * the next page only when the reader has taken them. Memory is one page, whatever the history. */
#include "follow_priv.h"
#include "mem.h"

#define PAGE_BYTES (256u * 1024u)

static void page_done(struct ar_follow_cursor *c);

void ar_catchup_free(struct ar_follow_cursor *c)
{
	ar_store_op_fini(&c->read.op);
	ar_store_op_fini(&c->blobs.op);
	for (size_t i = 0; i < c->line_count; i++)
		ar_output_fini(&c->lines[i].output);
	ar_arena_fini(&c->page);
	ar_free(c->hashes);
	ar_free(c);
}

/* True when the reader left while the operation ran; it is freed then. */
static bool is_gone(struct ar_follow_cursor *c)
{
	c->is_busy = false;
	if (c->state != AR_READER_ENDED)
		return false;
	ar_catchup_free(c);
	return true;
}

static void end_by_store(struct ar_follow_cursor *c, const struct ar_store_op *op)
{
	struct ar_error err;

	if (op->status == AR_E_NOT_FOUND)
		ar_refuse(&err, AR_ERR_SESSION_NOT_FOUND, "there is no such session");
	else
		ar_refuse(&err, AR_ERR_STORAGE_UNAVAILABLE, "the log cannot be read: %.150s", op->err.msg);
	ar_reader_end(c, &err);
}

static void on_blobs(struct ar_store_op *op)
{
	struct ar_follow_cursor *c = AR_CONTAINER_OF(op, struct ar_follow_cursor, blobs.op);

	if (is_gone(c))
		return;
	if (op->status != AR_OK) {
		end_by_store(c, op);
		return;
	}
	page_done(c);
}

static void on_read(struct ar_store_op *op)
{
	struct ar_follow_cursor *c = AR_CONTAINER_OF(op, struct ar_follow_cursor, read.op);
	struct ar_error err;

	if (is_gone(c))
		return;
	if (op->status != AR_OK) {
		end_by_store(c, op);
		return;
	}
	if (c->from_now)
		c->at.sequence = c->read.head;
	if (c->at.sequence > c->read.head) {
		ar_refuse(&err, AR_ERR_INVALID_CURSOR, "the cursor is ahead of the session, which is at %llu",
			  (unsigned long long)c->read.head);
		ar_reader_end(c, &err);
		return;
	}
	if (ar_page_read(c, &err) != AR_OK) {
		ar_reader_end(c, &err);
		return;
	}
	if (c->hash_count == 0) {
		page_done(c);
		return;
	}
	ar_store_op_fini(&c->blobs.op);
	c->blobs = (struct ar_store_blobs_get){ .op = { .kind = AR_STORE_BLOBS, .done = on_blobs },
						.hashes = c->hashes,
						.count = c->hash_count };
	c->is_busy = true;
	ar_store_submit(c->hub->follow->store, &c->blobs.op);
}

static void page_done(struct ar_follow_cursor *c)
{
	bool at_end = c->read.at_end;

	ar_page_frames(c);
	c->state = AR_READER_QUEUED;
	if (at_end && c->at.sequence >= c->hub->head)
		ar_reader_join(c);
	if (!c->is_open) {
		c->is_open = true;
		c->sub->v->opened(c->sub);
		if (c->state == AR_READER_ENDED)
			return;
	}
	c->is_idle = false;
	c->sub->v->ready(c->sub);
}

void ar_catchup_begin(struct ar_follow_cursor *c)
{
	ar_store_op_fini(&c->read.op);
	c->read = (struct ar_store_read){ .op = { .kind = AR_STORE_READ, .done = on_read },
					  .session = { c->core, AR_ID_CORE },
					  .from = c->from_now ? INT64_MAX : c->at.sequence + 1,
					  .max_bytes = PAGE_BYTES };
	c->state = AR_READER_READING;
	c->is_busy = true;
	ar_store_submit(c->hub->follow->store, &c->read.op);
}
