/* Readers of a whole tenant. Everything they get comes out of the store, where the facts of all
 * sessions have one order (port/store_feed.h): a reader takes pages until nothing newer is there, then
 * it joins the tenant's hub, which reads on once for all who are live. So what another node wrote is
 * found as well as what we did, and nothing is shown that is not durable.
 *
 * Joining is exact because the reader is held against where the ring goes to: it joins when it has all
 * of that, and leaves out of what is put into the ring later what it has. Owner: the loop thread. */
#include "follow_priv.h"
#include "describe.h"
#include "mem.h"
#include "storage.h"

#include <string.h>

#define PAGE_BYTES (256u * 1024u)

/* ---- pages ---- */

static struct ar_str tenant_of(const struct ar_feed *feed)
{
	return (struct ar_str){ feed->key + 1, feed->key_len - 1 };
}

static struct ar_store_feed page_behind(const struct ar_feed *feed, const struct ar_places *at,
					struct ar_store_place after[AR_FEED_LANES], ar_store_done_fn *done)
{
	return (struct ar_store_feed){ .op = { .kind = AR_STORE_FEED, .done = done },
				       .tenant = tenant_of(feed),
				       .after = after,
				       .after_count = ar_places_after(at, after),
				       .max_bytes = PAGE_BYTES };
}

typedef void take_fn(void *arg, struct ar_frame *f); /* takes the reference */

/* Where the frames of a page go. */
struct taking {
	struct ar_follow *follow;
	struct ar_places *at; /* moves along */
	take_fn *take;
	void *arg;
};

static enum ar_status take_fact(const struct taking *t, const struct ar_store_feed_row *row,
				struct ar_str json, struct ar_error *err)
{
	struct ar_frame fact = { .place = row->at, .json = json };
	const struct ar_event_desc *desc;
	struct ar_str name = AR_STR_NONE;
	struct ar_json event;
	int64_t sequence = 0;

	if (ar_json_parse(t->follow->json, json, &event, err) != AR_OK)
		return ar_fail_wrap(err, "stored fact");
	ar_json_str(ar_json_get(event, "type"), &name);
	ar_json_i64(ar_json_get(event, "sequence"), &sequence);
	desc = ar_event_find(name);
	if (!desc)
		return ar_fail(err, AR_E_CORRUPT, "stored fact %lld has an unknown type",
			       (long long)sequence);
	fact.type = desc->type;
	fact.sequence = (uint64_t)sequence;
	if (ar_places_have(t->at, row->at, fact.sequence))
		return AR_OK;
	if (!ar_places_move(t->at, row->at, fact.sequence == row->last_seq ? 0 : fact.sequence))
		return ar_refuse(err, AR_ERR_UNAVAILABLE,
				 "too many nodes write to this store; follow its sessions one by one");
	t->take(t->arg, ar_frame_placed(&fact, t->at));
	return AR_OK;
}

static enum ar_status take_page(const struct taking *t, const struct ar_store_feed *page,
				struct ar_error *err)
{
	for (size_t i = 0; i < page->row_count; i++) {
		struct ar_str rest = page->rows[i].body, line;

		while (!ar_str_empty(rest)) {
			rest = ar_str_split(rest, '\n', &line);
			if (!ar_str_empty(line) && take_fact(t, &page->rows[i], line, err) != AR_OK)
				return err->status;
		}
	}
	return AR_OK;
}

/* ---- the hub of a tenant ---- */

static void hub_read(struct ar_hub *h);

static bool has_live(const struct ar_hub *h)
{
	AR_LIST_FOR (it, &h->readers) {
		if (AR_CONTAINER_OF(it, struct ar_follow_cursor, node)->state == AR_READER_LIVE)
			return true;
	}
	return false;
}

/* They come back by their cursors. */
static void end_live(struct ar_hub *h, const struct ar_error *err)
{
	AR_LIST_FOR_SAFE (it, &h->readers) {
		struct ar_follow_cursor *c = AR_CONTAINER_OF(it, struct ar_follow_cursor, node);

		if (c->state == AR_READER_LIVE)
			ar_reader_end(c, err);
	}
}

static void push_to_hub(void *hub, struct ar_frame *f)
{
	ar_hub_push(hub, f);
}

static void on_hub_read(struct ar_store_op *op)
{
	struct ar_feed *feed = AR_CONTAINER_OF(op, struct ar_feed, read.op);
	struct ar_hub *h = feed->hub;
	struct taking t = { h->follow, &feed->tail, push_to_hub, h };
	struct ar_error err = { 0 };

	if (op->status != AR_OK)
		ar_storage_refuse(&err, op->status, op->err.msg, feed->read.damaged);
	else if (has_live(h))
		(void)take_page(&t, &feed->read, &err);
	feed->has_grown |= op->status == AR_OK && !feed->read.at_end;
	ar_store_op_fini(op);
	if (err.status != AR_OK)
		end_live(h, &err);
	else
		ar_hub_wake(h, AR_READER_LIVE);
	feed->is_busy = false;
	if (ar_list_empty(&h->readers))
		ar_hub_release(h);
	else
		hub_read(h);
}

/* Reads on if there may be something, somebody waits for it, and it is not being read already. */
static void hub_read(struct ar_hub *h)
{
	struct ar_feed *feed = h->feed;

	if (!feed->has_grown || feed->is_busy || !has_live(h))
		return;
	feed->has_grown = false;
	feed->is_busy = true;
	feed->read = page_behind(feed, &feed->tail, feed->after, on_hub_read);
	ar_store_submit(h->follow->store, &feed->read.op);
}

void ar_feed_free(struct ar_feed *feed)
{
	if (!feed)
		return;
	ar_list_del(&feed->node);
	ar_places_fini(&feed->tail);
	ar_free(feed);
}

static struct ar_hub *hub_new(struct ar_follow *f, struct ar_str key)
{
	struct ar_hub *h = ar_new0(sizeof(*h));
	struct ar_feed *feed = h->feed = ar_new0(sizeof(*feed) + key.len);

	memcpy(feed->key, key.p, key.len);
	feed->key_len = key.len;
	feed->hub = h;
	h->follow = f;
	h->partition = AR_PARTITIONS; /* of none: it stays wherever its sessions go */
	ar_list_init(&h->readers);
	ar_list_init(&h->outputs);
	if (ar_list_empty(&f->feeds))
		f->look_at = f->clock->mono(f->clock) + f->look_every;
	ar_list_push(&f->feeds, &feed->node);
	ar_map_put(&f->hubs, (struct ar_str){ feed->key, key.len }, h);
	return h;
}

static struct ar_hub *find_hub(struct ar_follow *f, struct ar_str tenant, bool make)
{
	struct ar_buf key = { 0 };
	struct ar_hub *h;

	ar_buf_addc(&key, '@');
	ar_buf_adds(&key, tenant);
	h = ar_map_get(&f->hubs, ar_buf_str(&key));
	if (!h && make)
		h = hub_new(f, ar_buf_str(&key));
	ar_buf_fini(&key);
	return h;
}

static void read_feed(struct ar_hub *h)
{
	h->feed->has_grown = true;
	hub_read(h);
}

void ar_follow_tenant_grew(struct ar_follow *f, struct ar_str tenant)
{
	struct ar_hub *h = ar_list_empty(&f->feeds) ? NULL : find_hub(f, tenant, false);

	if (h)
		read_feed(h);
}

ar_usec ar_follow_deadline(const struct ar_follow *f)
{
	return ar_list_empty(&f->feeds) || !f->look_every ? 0 : f->look_at;
}

void ar_follow_tick(struct ar_follow *f)
{
	ar_usec due = ar_follow_deadline(f), now = f->clock->mono(f->clock);

	if (!due || now < due)
		return;
	f->look_at = now + f->look_every;
	AR_LIST_FOR (it, &f->feeds)
		read_feed(AR_CONTAINER_OF(it, struct ar_feed, node)->hub);
}

/* ---- a reader ---- */

static void push_to_reader(void *reader, struct ar_frame *f)
{
	ar_reader_push(reader, f);
}

/* It has what the ring has; a ring that nobody reads begins where it is. */
static void join_ring(struct ar_follow_cursor *c)
{
	struct ar_feed *feed = c->hub->feed;
	const struct ar_places *at = &c->tenant->at;

	if (!has_live(c->hub)) {
		ar_places_fini(&feed->tail);
		for (size_t i = 0; i < at->count; i++)
			AR_ASSERT(ar_places_move(&feed->tail, at->lanes[i],
						 at->lanes[i].lane == at->part_lane ? at->part_sequence : 0));
	}
	if (!ar_places_cover(at, &feed->tail))
		return;
	c->order = c->hub->next;
	c->state = AR_READER_LIVE;
	hub_read(c->hub);
}

static void on_read(struct ar_store_op *op)
{
	struct ar_tenant_reader *t = AR_CONTAINER_OF(op, struct ar_tenant_reader, read.op);
	struct ar_follow_cursor *c = t->reader;
	struct taking taking = { .at = &t->at, .take = push_to_reader, .arg = c };
	struct ar_error err = { 0 };

	if (!ar_catchup_goes_on(c, op))
		return;
	taking.follow = c->hub->follow;
	if (take_page(&taking, &t->read, &err) != AR_OK) {
		ar_reader_end(c, &err);
		return;
	}
	ar_store_op_fini(op);
	c->state = AR_READER_QUEUED;
	if (t->read.at_end)
		join_ring(c);
	ar_catchup_signal(c);
}

void ar_tenant_read(struct ar_follow_cursor *c)
{
	struct ar_tenant_reader *t = c->tenant;

	ar_store_op_fini(&t->read.op);
	t->read = page_behind(c->hub->feed, &t->at, t->after, on_read);
	c->state = AR_READER_READING;
	c->is_busy = true;
	ar_store_submit(c->hub->follow->store, &t->read.op);
}

/* What there is: a cursor must not be ahead of it, and who wants only what is new begins there. */
static void on_heads(struct ar_store_op *op)
{
	struct ar_tenant_reader *t = AR_CONTAINER_OF(op, struct ar_tenant_reader, read.op);
	struct ar_follow_cursor *c = t->reader;
	struct ar_error err = { 0 };

	if (!ar_catchup_goes_on(c, op))
		return;
	if (ar_places_reach(&t->at) > t->read.limit) {
		ar_refuse(&err, AR_ERR_INVALID_CURSOR,
			  "the cursor is ahead of the stored events; start again without it");
		ar_reader_end(c, &err);
		return;
	}
	if (c->from_now) /* what was removed lies behind it as well */
		AR_ASSERT(ar_places_raise(&t->at, t->read.heads, t->read.head_count) &&
			  ar_places_raise(&t->at, t->read.floors, t->read.floor_count));
	ar_tenant_read(c);
}

void ar_tenant_begin(struct ar_follow_cursor *c)
{
	struct ar_tenant_reader *t = c->tenant;

	t->read = page_behind(c->hub->feed, &t->at, t->after, on_heads);
	t->read.only_heads = true;
	c->state = AR_READER_READING;
	c->is_busy = true;
	ar_store_submit(c->hub->follow->store, &t->read.op);
}

enum ar_status ar_tenant_open(struct ar_follow *f, struct ar_follow_cursor *c,
			      const struct ar_follow_request *r, struct ar_error *err)
{
	struct ar_places at;

	if (ar_places_parse(c->from_now ? AR_STR_NONE : r->after, &at, err) != AR_OK)
		return AR_E_REFUSED;
	c->tenant = ar_new0(sizeof(*c->tenant));
	c->tenant->reader = c;
	c->tenant->at = at;
	c->hub = find_hub(f, r->tenant, true);
	return AR_OK;
}

/* The frame's id says where the ring is; a reader that was ahead of it stays where it is. */
struct ar_frame *ar_tenant_take(struct ar_follow_cursor *c, struct ar_frame *f)
{
	struct ar_places *had = &c->tenant->at, at;
	struct ar_frame *own;

	if (ar_places_have(had, f->place, f->sequence) || !ar_reader_wants(c, f))
		return NULL;
	if (ar_places_parse(f->id, &at, NULL) != AR_OK)
		return NULL;
	if (ar_places_cover(&at, had)) {
		ar_places_fini(had);
		*had = at;
		return ar_frame_ref(f);
	}
	AR_ASSERT(ar_places_move(had, f->place, at.part_lane == f->place.lane ? at.part_sequence : 0));
	ar_places_fini(&at);
	own = ar_frame_placed(f, had);
	return own;
}

void ar_tenant_free(struct ar_follow_cursor *c)
{
	if (!c->tenant)
		return;
	ar_store_op_fini(&c->tenant->read.op);
	ar_places_fini(&c->tenant->at);
	ar_free(c->tenant);
	c->tenant = NULL;
}
