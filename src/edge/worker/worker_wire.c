/* See worker_wire.h. Reading first, then writing. */
#include "worker_wire.h"

#include "mem.h"

#include <string.h>

#define LENGTH_BYTES 4
#define LINK_BUSY ((size_t)1024 * 1024) /* that wait in the link: the rest waits here */
#define NAME_MAX_BYTES 64 /* of `op` */

/* ---- reading ---- */

static bool split_message(struct ar_str message, struct ar_str *ret_head, struct ar_str *ret_bytes)
{
	const unsigned char *p = (const unsigned char *)message.p;
	size_t len;

	if (message.len < LENGTH_BYTES)
		return false;
	len = (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | p[3];
	if (len > AR_WIRE_HEAD_MAX || len > message.len - LENGTH_BYTES)
		return false;
	*ret_head = ar_str_sub(message, LENGTH_BYTES, len);
	*ret_bytes = ar_str_sub(message, LENGTH_BYTES + len, SIZE_MAX);
	return true;
}

static bool is_ref(struct ar_str ref)
{
	if (ref.len == 0 || ref.len > AR_WIRE_REF_MAX)
		return false;
	for (size_t i = 0; i < ref.len; i++) {
		if (ref.p[i] <= ' ' || ref.p[i] >= 127)
			return false;
	}
	return true;
}

static bool read_head(struct ar_wire_in *in, struct ar_str head, struct ar_wire_message *ret)
{
	struct ar_json ref;

	*ret = (struct ar_wire_message){ .checker = in->checker };
	if (ar_json_parse(in->parser, head, &ret->head, NULL) != AR_OK ||
	    ar_json_type(ret->head) != AR_JSON_OBJECT)
		return false;
	ref = ar_json_get(ret->head, "ref");
	if (ar_json_type(ref) != AR_JSON_NONE && (!ar_json_str(ref, &ret->ref) || !is_ref(ret->ref)))
		return false;
	return ar_json_str(ar_json_get(ret->head, "op"), &ret->op) && ret->op.len > 0 &&
	       ret->op.len <= NAME_MAX_BYTES;
}

static bool add_part(struct ar_wire_in *in, struct ar_str bytes)
{
	size_t held = in->held ? *in->held : 0;

	if (bytes.len == 0 || bytes.len > AR_WIRE_BYTES_MAX - in->parts.len)
		return false;
	if (in->held && bytes.len > in->held_max - (held < in->held_max ? held : in->held_max))
		return false;
	in->parts.cap = AR_WIRE_BYTES_MAX;
	ar_buf_adds(&in->parts, bytes);
	if (in->parts.failed)
		return false;
	if (in->held)
		*in->held += bytes.len;
	return true;
}

/* Its bytes, and those that came before it. What may overtake others (a short message without bytes) does
 * not end what is being gathered. */
static bool join_parts(struct ar_wire_in *in, struct ar_wire_message *m, struct ar_str bytes)
{
	int64_t size = ar_wire_int(m, m->head, "size", 0, (int64_t)AR_WIRE_BYTES_MAX);

	m->bytes = bytes;
	if (size == 0)
		return !m->is_broken && bytes.len == 0;
	if (in->parts.len > 0 && (bytes.len == 0 || !add_part(in, bytes)))
		return false;
	if (in->parts.len > 0)
		m->bytes = ar_buf_str(&in->parts);
	return !m->is_broken && m->bytes.len == (size_t)size;
}

enum ar_wire_read ar_wire_read(struct ar_wire_in *in, struct ar_str message, struct ar_wire_message *ret)
{
	struct ar_str head, bytes;

	if (!split_message(message, &head, &bytes) || !read_head(in, head, ret))
		return AR_WIRE_BROKEN;
	if (ar_str_is(ret->op, "part"))
		return add_part(in, bytes) ? AR_WIRE_PART : AR_WIRE_BROKEN;
	return join_parts(in, ret, bytes) ? AR_WIRE_WHOLE : AR_WIRE_BROKEN;
}

void ar_wire_in_done(struct ar_wire_in *in, const struct ar_wire_message *m)
{
	if (m->bytes.p == in->parts.p)
		ar_wire_in_fini(in);
}

void ar_wire_in_fini(struct ar_wire_in *in)
{
	if (in->held)
		*in->held -= in->parts.len;
	ar_buf_fini(&in->parts);
}

/* ---- members ---- */

struct ar_str ar_wire_piece(struct ar_wire_message *m, struct ar_json pair)
{
	int64_t at = -1, len = -1;

	if (ar_json_type(pair) == AR_JSON_ARRAY && ar_json_len(pair) == 2 &&
	    ar_json_i64(ar_json_at(pair, 0), &at) && ar_json_i64(ar_json_at(pair, 1), &len) && at >= 0 &&
	    len >= 0 && (uint64_t)at <= m->bytes.len && (uint64_t)len <= m->bytes.len - (size_t)at)
		return len > 0 ? (struct ar_str){ m->bytes.p + at, (size_t)len } : AR_STR("");
	m->is_broken = true;
	return AR_STR_NONE;
}

struct ar_str ar_wire_bytes(struct ar_wire_message *m, struct ar_json v, const char *name)
{
	struct ar_json pair = ar_json_get(v, name);

	return ar_json_type(pair) == AR_JSON_NONE ? AR_STR_NONE : ar_wire_piece(m, pair);
}

struct ar_str ar_wire_text(struct ar_wire_message *m, struct ar_json v, const char *name)
{
	struct ar_str text = ar_wire_bytes(m, v, name);

	if (ar_str_absent(text) || ar_str_is_utf8(text))
		return text;
	m->is_broken = true;
	return AR_STR_NONE;
}

static bool is_shallow(struct ar_json v, int depth)
{
	enum ar_json_type type = ar_json_type(v);

	if (type != AR_JSON_ARRAY && type != AR_JSON_OBJECT)
		return true;
	if (depth == AR_WIRE_DEPTH_MAX)
		return false;
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		if (!is_shallow(it.value, depth + 1))
			return false;
	}
	return true;
}

bool ar_wire_is_json(struct ar_json_parser *p, struct ar_str text, enum ar_json_type type)
{
	struct ar_json v;

	return ar_json_parse(p, text, &v, NULL) == AR_OK && ar_json_type(v) == type && is_shallow(v, 0);
}

struct ar_str ar_wire_json(struct ar_wire_message *m, struct ar_json v, const char *name,
			   enum ar_json_type type)
{
	struct ar_str text = ar_wire_bytes(m, v, name);

	if (ar_str_absent(text) || ar_wire_is_json(m->checker, text, type))
		return text;
	m->is_broken = true;
	return AR_STR_NONE;
}

int64_t ar_wire_int(struct ar_wire_message *m, struct ar_json v, const char *name, int64_t min, int64_t max)
{
	struct ar_json member = ar_json_get(v, name);
	int64_t n = 0;

	if (ar_json_type(member) == AR_JSON_NONE)
		return 0;
	if (ar_json_i64(member, &n) && n >= min && n <= max)
		return n;
	m->is_broken = true;
	return 0;
}

bool ar_wire_bool(struct ar_wire_message *m, struct ar_json v, const char *name)
{
	struct ar_json member = ar_json_get(v, name);
	bool b = false;

	if (ar_json_type(member) != AR_JSON_NONE && !ar_json_bool(member, &b))
		m->is_broken = true;
	return b;
}

struct ar_json ar_wire_array(struct ar_wire_message *m, struct ar_json v, const char *name, size_t max)
{
	struct ar_json array = ar_json_get(v, name);

	if (ar_json_type(array) == AR_JSON_NONE)
		return array;
	if (ar_json_type(array) == AR_JSON_ARRAY && ar_json_len(array) <= max)
		return array;
	m->is_broken = true;
	return (struct ar_json){ 0 };
}

/* ---- writing ---- */

void ar_wire_begin(struct ar_wire_writer *w, const char *op, struct ar_str ref)
{
	ar_buf_clear(&w->head);
	ar_buf_clear(&w->bytes);
	w->w = ar_jw(&w->head);
	ar_jw_open(&w->w);
	ar_jw_mstr(&w->w, "op", ar_str_from(op));
	ar_jw_mstr(&w->w, "ref", ref);
}

void ar_wire_add_piece(struct ar_wire_writer *w, struct ar_str bytes)
{
	ar_jw_open_array(&w->w);
	ar_jw_int(&w->w, (int64_t)w->bytes.len);
	ar_jw_int(&w->w, (int64_t)bytes.len);
	ar_jw_close_array(&w->w);
	if (bytes.len > 0)
		ar_buf_adds(&w->bytes, bytes);
}

void ar_wire_add(struct ar_wire_writer *w, const char *name, struct ar_str bytes)
{
	if (ar_str_absent(bytes))
		return;
	ar_jw_key(&w->w, name);
	ar_wire_add_piece(w, bytes);
}

void ar_wire_writer_fini(struct ar_wire_writer *w)
{
	ar_buf_fini(&w->head);
	ar_buf_fini(&w->bytes);
}

/* ---- sending ---- */

struct item {
	struct ar_list node;
	struct ar_buf head, bytes;
	size_t sent; /* of the bytes */
};

void ar_wire_out_init(struct ar_wire_out *o, struct ar_link *link)
{
	*o = (struct ar_wire_out){ .link = link };
	ar_list_init(&o->items);
}

static enum ar_status send_message(struct ar_wire_out *o, struct ar_str head, struct ar_str bytes)
{
	AR_AUTO(ar_buf_fini) struct ar_buf message = { 0 };
	char len[LENGTH_BYTES] = { (char)(head.len >> 24), (char)(head.len >> 16), (char)(head.len >> 8),
				   (char)head.len };

	ar_buf_add(&message, len, sizeof(len));
	ar_buf_adds(&message, head);
	ar_buf_adds(&message, bytes);
	return o->link->v->send(o->link, ar_buf_str(&message));
}

static void item_free(struct ar_wire_out *o, struct item *item)
{
	o->queued -= item->bytes.len + item->head.len;
	ar_list_del(&item->node);
	ar_buf_fini(&item->head);
	ar_buf_fini(&item->bytes);
	ar_free(item);
}

static enum ar_status send_piece(struct ar_wire_out *o, struct item *item)
{
	struct ar_str rest = ar_str_sub(ar_buf_str(&item->bytes), item->sent, SIZE_MAX);
	enum ar_status status;

	if (rest.len > AR_WIRE_PART_BYTES) {
		item->sent += AR_WIRE_PART_BYTES;
		return send_message(o, AR_STR("{\"op\":\"part\"}"), ar_str_sub(rest, 0, AR_WIRE_PART_BYTES));
	}
	status = send_message(o, ar_buf_str(&item->head), rest);
	item_free(o, item);
	return status;
}

enum ar_status ar_wire_out_pump(struct ar_wire_out *o)
{
	enum ar_status status = AR_OK;

	while (o->link && status == AR_OK && !ar_list_empty(&o->items) &&
	       o->link->v->waiting(o->link) < LINK_BUSY)
		status = send_piece(o, AR_CONTAINER_OF(o->items.next, struct item, node));
	return status;
}

static void end_head(struct ar_wire_writer *w)
{
	if (w->bytes.len > 0)
		ar_jw_mint(&w->w, "size", (int64_t)w->bytes.len);
	ar_jw_close(&w->w);
}

enum ar_status ar_wire_out_send(struct ar_wire_out *o, struct ar_wire_writer *w)
{
	struct item *item;

	if (!o->link)
		return AR_E_UNAVAILABLE;
	end_head(w);
	if (w->bytes.failed || w->head.failed || w->bytes.len > AR_WIRE_BYTES_MAX ||
	    w->head.len > AR_WIRE_HEAD_MAX || o->queued + w->bytes.len > AR_WIRE_QUEUE_MAX)
		return AR_E_LIMIT;
	item = ar_new0(sizeof(*item));
	item->head = w->head;
	item->bytes = w->bytes;
	o->queued += item->head.len + item->bytes.len;
	w->head = w->bytes = (struct ar_buf){ 0 };
	ar_list_push(&o->items, &item->node);
	return ar_wire_out_pump(o);
}

enum ar_status ar_wire_out_send_now(struct ar_wire_out *o, struct ar_wire_writer *w)
{
	AR_ASSERT(w->bytes.len == 0);
	if (!o->link)
		return AR_E_UNAVAILABLE;
	end_head(w);
	return send_message(o, ar_buf_str(&w->head), AR_STR(""));
}

enum ar_status ar_wire_out_send_copy(struct ar_wire_out *o, const struct ar_wire_writer *w)
{
	AR_AUTO(ar_wire_writer_fini) struct ar_wire_writer copy = { 0 };

	ar_buf_adds(&copy.head, ar_buf_str(&w->head));
	ar_buf_adds(&copy.bytes, ar_buf_str(&w->bytes));
	copy.w = (struct ar_jw){ &copy.head, w->w.comma };
	return ar_wire_out_send(o, &copy);
}

size_t ar_wire_out_waiting(const struct ar_wire_out *o)
{
	return o->queued + (o->link ? o->link->v->waiting(o->link) : 0);
}

void ar_wire_out_fini(struct ar_wire_out *o)
{
	AR_LIST_FOR_SAFE (it, &o->items)
		item_free(o, AR_CONTAINER_OF(it, struct item, node));
	o->link = NULL;
}
