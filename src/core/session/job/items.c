/* The inputs of a job: texts become items, items a chain of contents. Pure. */
#include "job/job.h"

#include <string.h>

static enum ar_status check_item(const struct ar_job_list *list, struct ar_str text, struct ar_error *err)
{
	if (list->count >= AR_JOB_ITEMS_MAX)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "a job has at most %d items; make several jobs",
				 AR_JOB_ITEMS_MAX);
	if (text.len > AR_JOB_ITEM_BYTES)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "item %zu has %zu bytes, and at most %zu are allowed; put what is long "
				 "where the items can read it",
				 list->count, text.len, AR_JOB_ITEM_BYTES);
	if (!ar_str_is_text(text))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "item %zu is not UTF-8 text", list->count);
	return AR_OK;
}

static struct ar_job_part *new_part(struct ar_decision *d, struct ar_job_list *list)
{
	if (list->part_count == list->part_room) {
		size_t larger = list->part_room ? list->part_room * 2 : 4;
		struct ar_job_part *grown = ar_arena_room(d->arena, larger * sizeof(*grown));

		if (list->part_count > 0)
			memcpy(grown, list->parts, list->part_count * sizeof(*grown));
		list->parts = grown;
		list->part_room = larger;
	}
	list->parts[list->part_count] = (struct ar_job_part){ .first = list->count };
	return &list->parts[list->part_count++];
}

/* The part that the next item goes into; NULL: none has room for it. */
static struct ar_job_part *part_with_room(const struct ar_job_list *list, size_t bytes)
{
	struct ar_job_part *last = list->part_count > 0 ? &list->parts[list->part_count - 1] : NULL;

	return last && last->count < AR_JOB_LIST_ITEMS && last->bytes + bytes <= AR_JOB_LIST_BYTES ? last
												   : NULL;
}

static void count_item(struct ar_job_list *list, struct ar_job_part *part, size_t bytes)
{
	part->count++;
	part->bytes += bytes;
	list->count++;
}

static enum ar_status add_item(struct ar_decision *d, struct ar_job_list *list, struct ar_str text,
			       struct ar_error *err)
{
	struct ar_job_part *part;

	if (check_item(list, text, err) != AR_OK)
		return AR_E_REFUSED;
	part = part_with_room(list, text.len);
	if (!part || !part->items) {
		part = new_part(d, list);
		part->items = ar_arena_room(d->arena, AR_JOB_LIST_ITEMS * sizeof(*part->items));
	}
	part->items[part->count] = text;
	count_item(list, part, text.len);
	return AR_OK;
}

/* ---- lines ---- */

/* The next line that is not empty, at or after *at; false: there is none. */
static bool next_line(struct ar_str text, size_t *at, struct ar_str *ret)
{
	while (*at < text.len) {
		const char *nl = memchr(text.p + *at, '\n', text.len - *at);
		size_t end = nl ? (size_t)(nl - text.p) : text.len;

		*ret = (struct ar_str){ text.p + *at, end - *at };
		if (ret->len > 0 && ret->p[ret->len - 1] == '\r')
			ret->len--;
		*at = end + 1;
		if (ret->len > 0)
			return true;
	}
	return false;
}

/* A list may have a million lines: where each of them is is not kept. */
static enum ar_status split_lines(struct ar_decision *d, struct ar_str text, struct ar_job_list *list,
				  struct ar_error *err)
{
	const struct ar_job_part *own = NULL; /* the newest part of this text */
	struct ar_str line;
	size_t at = 0;

	while (next_line(text, &at, &line)) {
		struct ar_job_part *part = own ? part_with_room(list, line.len) : NULL;

		if (check_item(list, line, err) != AR_OK)
			return AR_E_REFUSED;
		if (!part) {
			own = part = new_part(d, list);
			part->lines.p = line.p;
		}
		/* with its carriage return, so that it is the same item when it is read again */
		part->lines.len = (size_t)(text.p + at - 1 - part->lines.p);
		count_item(list, part, line.len);
	}
	return AR_OK;
}

static const struct ar_str *items_of(const struct ar_job_part *part, struct ar_str *room)
{
	size_t at = 0, n = 0;

	if (part->items)
		return part->items;
	while (n < part->count && next_line(part->lines, &at, &room[n]))
		n++;
	AR_ASSERT(n == part->count);
	return room;
}

/* ---- JSON ---- */

static enum ar_status split_json(struct ar_decision *d, struct ar_str text, struct ar_job_list *list,
				 struct ar_error *err)
{
	struct ar_error why = { 0 };
	struct ar_json v;

	if (ar_json_parse(d->json, text, &v, &why) != AR_OK || ar_json_type(v) != AR_JSON_ARRAY)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "the items are not a JSON array: %.120s",
				 why.msg[0] ? why.msg : "another value");
	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		struct ar_buf out = { 0 };
		struct ar_str item;
		enum ar_status rc;

		if (!ar_json_str(it.value, &item)) {
			ar_json_print(it.value, &out);
			item = ar_buf_str(&out);
		}
		rc = add_item(d, list, ar_arena_str(d->arena, item), err);
		ar_buf_fini(&out);
		if (rc != AR_OK)
			return rc;
	}
	return AR_OK;
}

/* ---- CSV (RFC 4180): a header, then rows ---- */

#define COLUMNS_MAX 256

struct csv {
	struct ar_str text;
	size_t at;
	struct ar_buf field; /* a quoted one, without its quotes */
};

/* One field; *ret_last says that the row ends after it. */
static enum ar_status csv_field(struct csv *c, bool *ret_last, struct ar_error *err)
{
	bool is_quoted = c->at < c->text.len && c->text.p[c->at] == '"';

	ar_buf_clear(&c->field);
	for (c->at += is_quoted; c->at < c->text.len; c->at++) {
		char ch = c->text.p[c->at];

		if (is_quoted && ch == '"') {
			c->at++;
			if (c->at < c->text.len && c->text.p[c->at] == '"') {
				ar_buf_addc(&c->field, '"');
				continue;
			}
			is_quoted = false;
			c->at--;
			continue;
		}
		if (!is_quoted && (ch == ',' || ch == '\n' || ch == '\r'))
			break;
		ar_buf_addc(&c->field, ch);
	}
	if (is_quoted)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "the table ends inside a quoted field");
	*ret_last = c->at >= c->text.len || c->text.p[c->at] != ',';
	if (*ret_last && c->at < c->text.len && c->text.p[c->at] == '\r')
		c->at++;
	if (c->at < c->text.len)
		c->at++;
	return AR_OK;
}

static enum ar_status csv_header(struct ar_decision *d, struct csv *c, struct ar_str *names,
				 size_t *ret_count, struct ar_error *err)
{
	bool is_last = false;

	*ret_count = 0;
	while (!is_last) {
		if (*ret_count == COLUMNS_MAX)
			return ar_refuse(err, AR_ERR_INVALID_INPUT, "the table has more than %d columns",
					 COLUMNS_MAX);
		if (csv_field(c, &is_last, err) != AR_OK)
			return AR_E_REFUSED;
		names[(*ret_count)++] = ar_arena_str(d->arena, ar_buf_str(&c->field));
	}
	return AR_OK;
}

/* A name of a column may have any character: it is written as a text, and then a colon. */
static void add_member(struct ar_buf *row, struct ar_str name, struct ar_str value)
{
	struct ar_jw w = ar_jw(row);

	if (row->len > 1)
		ar_buf_addc(row, ',');
	ar_jw_str(&w, name);
	ar_buf_addc(row, ':');
	w.comma = false;
	ar_jw_str(&w, value);
}

static enum ar_status csv_row(struct csv *c, const struct ar_str *names, size_t count, struct ar_buf *row,
			      struct ar_error *err)
{
	bool is_last = false;
	size_t n = 0;

	ar_buf_clear(row);
	ar_buf_addc(row, '{');
	while (!is_last) {
		if (csv_field(c, &is_last, err) != AR_OK)
			return AR_E_REFUSED;
		if (n < count)
			add_member(row, names[n], ar_buf_str(&c->field));
		n++;
	}
	ar_buf_addc(row, '}');
	if (n == 1 && c->field.len == 0 && count > 1) {
		ar_buf_clear(row); /* an empty line */
		return AR_OK;
	}
	if (n != count)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "a row of the table has %zu fields, and its header %zu", n, count);
	return AR_OK;
}

static enum ar_status split_csv(struct ar_decision *d, struct ar_str text, struct ar_job_list *list,
				struct ar_error *err)
{
	struct ar_str *names = ar_arena_alloc(d->arena, COLUMNS_MAX * sizeof(*names));
	struct csv c = { .text = text };
	struct ar_buf row = { 0 };
	size_t count = 0;
	enum ar_status rc;

	if (ar_str_starts(text, AR_STR("\xef\xbb\xbf")))
		c.at = 3; /* a byte order mark */
	rc = csv_header(d, &c, names, &count, err);
	while (rc == AR_OK && c.at < text.len) {
		rc = csv_row(&c, names, count, &row, err);
		if (rc == AR_OK && row.len > 0)
			rc = add_item(d, list, ar_arena_str(d->arena, ar_buf_str(&row)), err);
		if (rc != AR_OK && err->code == AR_ERR_INVALID_INPUT)
			break;
	}
	ar_buf_fini(&c.field);
	ar_buf_fini(&row);
	return rc;
}

enum ar_status ar_job_split(struct ar_decision *d, struct ar_str text, int format, struct ar_job_list *list,
			    struct ar_error *err)
{
	switch (format) {
	case AR_JOB_INPUT_FORMAT_LINES:
		return split_lines(d, text, list, err);
	case AR_JOB_INPUT_FORMAT_JSON:
		return split_json(d, text, list, err);
	case AR_JOB_INPUT_FORMAT_CSV:
		return split_csv(d, text, list, err);
	default:
		return add_item(d, list, text, err);
	}
}

/* ---- the chain of contents ---- */

static struct ar_str store_part(struct ar_decision *d, const struct ar_job_part *part, struct ar_str *room,
				struct ar_str next)
{
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open(&w);
	ar_jw_mint(&w, "first", (int64_t)part->first);
	ar_jw_mstr(&w, "next", next);
	ar_jw_key(&w, "items");
	ar_jw_texts(&w, (struct ar_texts){ items_of(part, room), part->count });
	ar_jw_close(&w);
	return ar_decide_content(d, ar_decide_json_end(d));
}

/* From the end, since each names the one after it. */
struct ar_str ar_job_store_list(struct ar_decision *d, const struct ar_job_list *list)
{
	struct ar_str *room = ar_arena_room(d->arena, AR_JOB_LIST_ITEMS * sizeof(*room));
	struct ar_str next = AR_STR_NONE;

	for (size_t i = list->part_count; i > 0; i--)
		next = store_part(d, &list->parts[i - 1], room, next);
	return next;
}

bool ar_job_read_list(struct ar_decision *d, struct ar_str ref, struct ar_job_page *ret)
{
	struct ar_str text = ar_decide_text(d, ref);
	struct ar_json v, items;

	*ret = (struct ar_job_page){ 0 };
	if (ar_str_absent(text) || ar_json_parse(d->json, text, &v, NULL) != AR_OK ||
	    !ar_json_i64(ar_json_get(v, "first"), &ret->first))
		return false;
	if (ar_json_str(ar_json_get(v, "next"), &ret->next))
		ret->next = ar_arena_str(d->arena, ret->next);
	items = ar_json_get(v, "items");
	ret->items = ar_arena_alloc(d->arena, (ar_json_len(items) + 1) * sizeof(*ret->items));
	for (struct ar_json_iter it = ar_json_iter(items); ar_json_next(&it);) {
		struct ar_str item;

		if (!ar_json_str(it.value, &item))
			return false;
		ret->items[ret->count++] = ar_arena_str(d->arena, item);
	}
	return ret->count > 0;
}
