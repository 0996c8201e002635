/* Readers and the live ring of a session. The way of a reader: stored rows (catchup.c) until nothing newer is stored, then the
 * ring. Joining is exact because everything happens on one thread: what was published before the reader opened is stored,
 * what is published after is in the ring. */
#include "follow_priv.h"
#include "describe.h"
#include "mem.h"

#include <string.h>

/* ---- hubs ---- */

static struct ar_str hub_key(const struct ar_hub *h)
{
	return (struct ar_str){ h->core, AR_ID_CORE };
}

static struct ar_hub *hub_get(struct ar_follow *f, struct ar_str core)
{
	struct ar_hub *h = ar_map_get(&f->hubs, core);

	if (h)
		return h;
	h = ar_new0(sizeof(*h));
	h->follow = f;
	memcpy(h->core, core.p, AR_ID_CORE);
	h->partition = ar_id_partition(core);
	ar_list_init(&h->readers);
	ar_list_init(&h->outputs);
	ar_map_put(&f->hubs, hub_key(h), h);
	return h;
}

static void hub_drop_oldest(struct ar_hub *h)
{
	struct ar_frame *f = h->ring[h->first % h->room];

	h->bytes -= f->sse.len;
	h->first++;
	ar_frame_unref(f);
}

static void hub_release(struct ar_hub *h)
{
	if (!ar_list_empty(&h->readers) || !ar_list_empty(&h->outputs))
		return;
	while (h->first < h->next)
		hub_drop_oldest(h);
	ar_free(h->ring);
	ar_map_del(&h->follow->hubs, hub_key(h));
	ar_free(h);
}

static void ring_grow(struct ar_hub *h)
{
	size_t room = h->room ? h->room * 2 : 16;
	struct ar_frame **ring = ar_new0(room * sizeof(*ring));

	for (uint64_t i = h->first; i < h->next; i++)
		ring[i % room] = h->ring[i % h->room];
	ar_free(h->ring);
	h->ring = ring;
	h->room = room;
}

/* Takes the reference; readers that wait are told. */
static void hub_push(struct ar_hub *h, struct ar_frame *f)
{
	if (h->next - h->first == h->room)
		ring_grow(h);
	f->order = h->next;
	h->ring[h->next++ % h->room] = f;
	h->bytes += f->sse.len;
	while (h->bytes > h->follow->ring_bytes && h->first + 1 < h->next)
		hub_drop_oldest(h);
}

/* Live readers go on as `state`. */
static void hub_wake(struct ar_hub *h, enum ar_reader_state state)
{
	AR_LIST_FOR_SAFE (it, &h->readers) {
		struct ar_follow_cursor *c = AR_CONTAINER_OF(it, struct ar_follow_cursor, node);

		if (c->state != AR_READER_LIVE)
			continue;
		c->state = state;
		if (!c->is_idle)
			continue;
		c->is_idle = false;
		c->sub->v->ready(c->sub);
	}
}

/* Where a reader is that has everything published so far. */
static struct ar_cursor hub_cursor(const struct ar_hub *h)
{
	struct ar_cursor at = { .sequence = h->head };

	AR_LIST_FOR (it, &h->outputs) {
		const struct ar_output *o = AR_CONTAINER_OF(it, struct ar_output, node);

		ar_cursor_set(&at, o->step, o->pos);
	}
	return at;
}

/* ---- the writing side ---- */

struct ar_follow *ar_follow_new(const struct ar_follow_options *o)
{
	struct ar_follow *f = ar_new0(sizeof(*f));

	f->store = o->store;
	f->clock = o->clock;
	f->ring_bytes = o->ring_bytes;
	f->runtime_id = ar_str_from(o->store->runtime_id);
	f->json = ar_json_parser_new();
	return f;
}

void ar_follow_free(struct ar_follow *f)
{
	if (!f)
		return;
	ar_json_parser_free(f->json);
	ar_map_fini(&f->hubs);
	ar_free(f);
}

void ar_follow_publish(struct ar_follow *f, struct ar_str core, const struct ar_fact *facts, size_t count)
{
	struct ar_hub *h = ar_map_get(&f->hubs, core);
	struct ar_cursor at;

	if (!h)
		return;
	at = hub_cursor(h);
	for (size_t i = 0; i < count; i++) {
		at.sequence = h->head = facts[i].sequence;
		if (!ar_list_empty(&h->readers))
			hub_push(h, ar_frame_fact(facts[i].type, facts[i].sequence, &at, facts[i].json));
	}
	hub_wake(h, AR_READER_LIVE);
}

void ar_follow_reread(struct ar_follow *f, struct ar_str core, uint64_t head)
{
	struct ar_hub *h = ar_map_get(&f->hubs, core);

	if (!h)
		return;
	h->head = head;
	hub_wake(h, AR_READER_QUEUED);
}

void ar_follow_output_open(struct ar_follow *f, struct ar_output *o, uint64_t head)
{
	struct ar_hub *h = hub_get(f, o->session);

	if (h->head < head)
		h->head = head; /* published before anyone read, when there was no hub */
	ar_list_push(&h->outputs, &o->node);
}

void ar_follow_output_grew(struct ar_follow *f, struct ar_output *o, uint64_t from)
{
	struct ar_hub *h = ar_map_get(&f->hubs, o->session);
	struct ar_output_piece piece;
	struct ar_cursor at;

	if (ar_list_empty(&h->readers))
		return;
	at = hub_cursor(h);
	while (ar_output_piece_at(o, from, AR_DELTA_MAX, &piece)) {
		from = piece.pos + piece.len;
		ar_cursor_set(&at, o->step, from);
		hub_push(h, ar_frame_delta(o, &piece, &at, f->runtime_id, f->clock->wall(f->clock)));
	}
	hub_wake(h, AR_READER_LIVE);
}

void ar_follow_output_close(struct ar_follow *f, struct ar_output *o)
{
	struct ar_hub *h = ar_map_get(&f->hubs, o->session);

	ar_list_del(&o->node);
	hub_release(h);
}

/* ---- readers ---- */

enum ar_status ar_follow_open(struct ar_follow *f, struct ar_subscription *s,
			      const struct ar_follow_request *r, struct ar_error *err)
{
	bool from_now = ar_str_is(r->after, "now");
	struct ar_follow_cursor *c;
	struct ar_cursor at;

	if (ar_cursor_parse(from_now ? AR_STR_NONE : r->after, &at, err) != AR_OK)
		return AR_E_REFUSED;
	c = ar_new0(sizeof(*c));
	c->sub = s;
	c->at = at;
	c->from_now = from_now;
	c->deltas = r->deltas;
	c->is_strict = r->is_strict;
	c->has_types = r->types != NULL;
	if (r->types)
		memcpy(c->types, r->types, sizeof(c->types));
	ar_list_init(&c->pending);
	c->hub = hub_get(f, r->session);
	memcpy(c->core, r->session.p, AR_ID_CORE);
	ar_list_push(&c->hub->readers, &c->node);
	s->at = c;
	ar_catchup_begin(c);
	return AR_OK;
}

bool ar_reader_wants(const struct ar_follow_cursor *c, const struct ar_frame *f)
{
	if (f->is_delta && !c->deltas)
		return false;
	if (c->is_strict && ar_event_describe(f->type)->class == AR_CLASS_EXTENDED)
		return false;
	return !c->has_types || c->types[f->type];
}

void ar_reader_push(struct ar_follow_cursor *c, struct ar_frame *f)
{
	if (!f)
		return;
	if (ar_reader_wants(c, f))
		ar_list_push(&c->pending, &f->node);
	else
		ar_frame_unref(f);
}

/* Everything stored was taken and nothing newer is published: give what the open steps have said so far, then the ring. */
void ar_reader_join(struct ar_follow_cursor *c)
{
	struct ar_hub *h = c->hub;
	struct ar_follow *f = h->follow;

	AR_LIST_FOR (it, &h->outputs) {
		const struct ar_output *o = AR_CONTAINER_OF(it, struct ar_output, node);
		uint64_t pos = c->from_now ? o->pos : ar_cursor_pos(&c->at, o->step);
		struct ar_output_piece piece;

		while (ar_output_piece_at(o, pos, AR_DELTA_MAX, &piece)) {
			pos = piece.pos + piece.len;
			ar_cursor_set(&c->at, o->step, pos);
			ar_reader_push(c, ar_frame_delta(o, &piece, &c->at, f->runtime_id,
							 f->clock->wall(f->clock)));
		}
	}
	c->order = h->next;
	c->from_now = false;
	c->state = AR_READER_LIVE;
}

static struct ar_frame *take_pending(struct ar_follow_cursor *c)
{
	struct ar_list *node = ar_list_pop(&c->pending);

	return node ? AR_CONTAINER_OF(node, struct ar_frame, node) : NULL;
}

static struct ar_frame *take_live(struct ar_follow_cursor *c)
{
	struct ar_hub *h = c->hub;
	struct ar_cursor at;
	struct ar_error err;

	if (c->order < h->first) {
		ar_refuse(&err, AR_ERR_OVERLOADED,
			  "the reader fell behind; connect again with its last event id");
		ar_reader_end(c, &err);
		return NULL;
	}
	while (c->order < h->next) {
		struct ar_frame *f = h->ring[c->order++ % h->room];

		if (!f->is_delta && f->sequence <= c->at.sequence)
			continue; /* the reader found it in the store before it was published */
		if (!ar_reader_wants(c, f))
			continue;
		if (ar_cursor_parse(f->id, &at, NULL) == AR_OK)
			c->at = at;
		return ar_frame_ref(f);
	}
	return NULL;
}

struct ar_frame *ar_follow_next(struct ar_subscription *s)
{
	struct ar_follow_cursor *c = s->at;
	struct ar_frame *f;

	if (!c)
		return NULL;
	f = take_pending(c);
	if (!f && c->state == AR_READER_LIVE)
		f = take_live(c);
	if (f || !s->at)
		return f;
	c->is_idle = true;
	if (c->state == AR_READER_QUEUED)
		ar_catchup_begin(c);
	return NULL;
}

/* Frees the reader now, or when its store operation is back. */
static void detach(struct ar_follow_cursor *c)
{
	struct ar_hub *h = c->hub;

	c->sub->at = NULL;
	c->state = AR_READER_ENDED;
	ar_list_del(&c->node);
	c->hub = NULL;
	for (struct ar_frame *f = take_pending(c); f; f = take_pending(c))
		ar_frame_unref(f);
	hub_release(h);
	if (!c->is_busy)
		ar_catchup_free(c);
}

void ar_reader_end(struct ar_follow_cursor *c, const struct ar_error *err)
{
	struct ar_subscription *s = c->sub;

	detach(c);
	s->v->ended(s, err);
}

void ar_follow_close(struct ar_subscription *s)
{
	if (s->at)
		detach(s->at);
}

/* The first session that has a reader, of that partition or (AR_PARTITIONS) of any. */
static struct ar_hub *hub_with_reader(struct ar_follow *f, unsigned partition)
{
	struct ar_hub *h;
	size_t cursor = 0;

	while ((h = ar_map_next(&f->hubs, &cursor))) {
		if (ar_list_empty(&h->readers))
			continue;
		if (partition == AR_PARTITIONS || h->partition == partition)
			return h;
	}
	return NULL;
}

void ar_follow_end_partition(struct ar_follow *f, unsigned partition, const struct ar_error *err)
{
	struct ar_hub *h;

	while ((h = hub_with_reader(f, partition)))
		ar_reader_end(AR_CONTAINER_OF(h->readers.next, struct ar_follow_cursor, node), err);
}

void ar_follow_end_session(struct ar_follow *f, struct ar_str core, const struct ar_error *err)
{
	struct ar_hub *h;

	while ((h = ar_map_get(&f->hubs, core)) && !ar_list_empty(&h->readers))
		ar_reader_end(AR_CONTAINER_OF(h->readers.next, struct ar_follow_cursor, node), err);
}

void ar_follow_end_all(struct ar_follow *f, const struct ar_error *err)
{
	ar_follow_end_partition(f, AR_PARTITIONS, err);
}
