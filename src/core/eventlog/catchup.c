/* A reader's way through the stored log: one page of rows at a time, its step content fetched
 * beside it, frames made from both, the next page only when the reader has taken them. Memory is
 * one page, whatever the history. */
#include "follow_priv.h"
#include "mem.h"
#include "storage.h"

#define PAGE_BYTES (256u * 1024u)

static void page_done(struct ar_follow_cursor *c);

/* What the page was made of is in its frames now. */
static void drop_page(struct ar_follow_cursor *c)
{
	struct ar_page *p = c->page;

	if (!p)
		return;
	c->page = NULL;
	ar_store_op_fini(&p->read.op);
	ar_store_op_fini(&p->blobs.op);
	for (size_t i = 0; i < p->line_count; i++)
		ar_page_line_fini(&p->lines[i]);
	ar_arena_fini(&p->arena);
	ar_free(p->hashes);
	ar_free(p);
}

void ar_catchup_free(struct ar_follow_cursor *c)
{
	drop_page(c);
	ar_tenant_free(c);
	ar_cursor_fini(&c->at);
	ar_free(c->types);
	ar_free(c->filter);
	ar_free(c);
}

static bool is_gone(struct ar_follow_cursor *c)
{
	c->is_busy = false;
	if (c->state != AR_READER_ENDED)
		return false;
	ar_catchup_free(c);
	return true;
}

static void end(struct ar_follow_cursor *c, const struct ar_store_op *op)
{
	struct ar_str session =
		c->tenant ? c->tenant->read.damaged : (struct ar_str){ c->session_key, AR_SESSION_KEY_LEN };
	struct ar_error err = op->err;

	if (op->status == AR_E_NOT_FOUND)
		ar_refuse(&err, AR_ERR_SESSION_NOT_FOUND, "there is no such session");
	else
		ar_storage_refuse(&err, op->status, err.msg, session);
	ar_reader_end(c, &err);
}

static void end_corrupt(struct ar_follow_cursor *c, struct ar_error err)
{
	end(c, &(struct ar_store_op){ .status = AR_E_CORRUPT, .err = err });
}

bool ar_catchup_goes_on(struct ar_follow_cursor *c, const struct ar_store_op *op)
{
	if (is_gone(c))
		return false;
	if (op->status == AR_OK)
		return true;
	end(c, op);
	return false;
}

static void on_blobs(struct ar_store_op *op)
{
	struct ar_follow_cursor *c = AR_CONTAINER_OF(op, struct ar_page, blobs.op)->reader;

	if (!ar_catchup_goes_on(c, op))
		return;
	page_done(c);
}

/* Facts that were published, or that this reader has, are in the log for good; one that ends
 * before them has lost them. */
static bool has_lost_its_end(const struct ar_follow_cursor *c)
{
	uint64_t least = c->page->published;

	if (c->is_open && c->at.sequence > least)
		least = c->at.sequence;
	return c->page->read.head < least;
}

static void on_read(struct ar_store_op *op)
{
	struct ar_follow_cursor *c = AR_CONTAINER_OF(op, struct ar_page, read.op)->reader;
	struct ar_error err;

	if (!ar_catchup_goes_on(c, op))
		return;
	if (has_lost_its_end(c)) {
		ar_fail(&err, AR_E_CORRUPT, "the log ends at %llu, but later facts were stored",
			(unsigned long long)c->page->read.head);
		end_corrupt(c, err);
		return;
	}
	if (!c->is_open)
		c->opened_at = c->page->read.head;
	if (c->from_now)
		c->at.sequence = c->page->read.head;
	if (c->at.sequence > c->page->read.head) {
		ar_refuse(&err, AR_ERR_INVALID_CURSOR, "the cursor is ahead of the session, which is at %llu",
			  (unsigned long long)c->page->read.head);
		ar_reader_end(c, &err);
		return;
	}
	if (ar_page_read(c, &err) != AR_OK) {
		end_corrupt(c, err);
		return;
	}
	if (c->page->hash_count == 0) {
		page_done(c);
		return;
	}
	c->page->blobs = (struct ar_store_blobs_get){ .op = { .kind = AR_STORE_BLOBS, .done = on_blobs },
						      .hashes = c->page->hashes,
						      .count = c->page->hash_count };
	c->is_busy = true;
	ar_store_submit(c->hub->follow->store, &c->page->blobs.op);
}

static void page_done(struct ar_follow_cursor *c)
{
	bool at_end = c->page->read.at_end && !c->page->is_cut;

	ar_page_frames(c);
	drop_page(c);
	c->state = AR_READER_QUEUED;
	if (at_end && c->at.sequence >= c->hub->head)
		ar_reader_join(c);
	ar_catchup_signal(c);
}

/* The memory stays while a callback runs: the reader may leave in it. */
void ar_catchup_signal(struct ar_follow_cursor *c)
{
	c->is_busy = true;
	if (!c->is_open) {
		c->is_open = true;
		c->sub->v->opened(c->sub);
	}
	if (is_gone(c))
		return;
	c->is_idle = false;
	c->sub->v->ready(c->sub);
}

void ar_catchup_begin(struct ar_follow_cursor *c)
{
	drop_page(c);
	c->page = ar_new0(sizeof(*c->page));
	c->page->reader = c;
	c->page->published = c->hub->head;
	c->page->read = (struct ar_store_read){ .op = { .kind = AR_STORE_READ, .done = on_read },
						.session = { c->session_key, AR_SESSION_KEY_LEN },
						.from = c->from_now ? INT64_MAX : c->at.sequence + 1,
						.max_bytes = PAGE_BYTES };
	c->state = AR_READER_READING;
	c->is_busy = true;
	ar_store_submit(c->hub->follow->store, &c->page->read.op);
}

/* ---- whose it is ---- */

static void on_whose(struct ar_store_op *op)
{
	struct ar_whose *w = AR_CONTAINER_OF(op, struct ar_whose, lookup.op);
	struct ar_follow_cursor *c = w->reader;
	struct ar_store_op end = { .status = op->status, .err = op->err };

	if (op->status == AR_OK && !ar_str_is(w->lookup.tenant, w->tenant))
		end.status = AR_E_NOT_FOUND;
	ar_store_op_fini(op);
	ar_free(w->tenant);
	ar_free(w);
	if (ar_catchup_goes_on(c, &end))
		ar_catchup_begin(c);
}

void ar_catchup_check(struct ar_follow_cursor *c, struct ar_str tenant)
{
	struct ar_whose *w = ar_new0(sizeof(*w));

	w->reader = c;
	w->tenant = ar_str_dup(tenant);
	w->lookup = (struct ar_store_tenant){ .op = { .kind = AR_STORE_TENANT, .done = on_whose },
					      .session = { c->session_key, AR_SESSION_KEY_LEN } };
	c->state = AR_READER_READING;
	c->is_busy = true;
	ar_store_submit(c->hub->follow->store, &w->lookup.op);
}
