/* list_audit: pages of the trail from the store, what of them is asked for, and the words of the
 * answer. The store finds by tenant and time; the other filters are looked at here, a bounded
 * number of entries in one call. */
#include "audit/trail.h"
#include "storage.h"

#define PAGE 500
#define LOOK_MAX 5000 /* entries that one call looks at */
#define LINES_DEFAULT 1000
#define LINES_MAX 5000

struct walk {
	struct ar_call *call;
	struct ar_store_audit_list page;
	struct ar_str session_key; /* of the session that is asked for; absent: any */
	size_t wanted, found, looked;
	struct ar_jw w;
};

/* ---- places ---- */

static struct ar_str place_text(const struct ar_store_audit_place *p, struct ar_arena *a)
{
	return ar_arena_fmt(a, "%lld.%llu.%llu", (long long)p->at, (unsigned long long)p->lane,
			    (unsigned long long)p->n);
}

static bool take_number(struct ar_str *rest, uint64_t *ret)
{
	struct ar_str part;

	*rest = ar_str_split(*rest, '.', &part);
	return ar_str_to_u64(part, ret) && *ret <= INT64_MAX;
}

static bool read_place(struct ar_str text, struct ar_store_audit_place *ret)
{
	uint64_t at = 0;
	bool is_read =
		take_number(&text, &at) && take_number(&text, &ret->lane) && take_number(&text, &ret->n);

	ret->at = (ar_usec)at;
	return is_read && ar_str_absent(text);
}

/* ---- entries ---- */

static bool is_text(struct ar_json v, const char *name, struct ar_str wanted)
{
	struct ar_str s;

	return ar_str_absent(wanted) || (ar_json_str(ar_json_get(v, name), &s) && ar_str_eq(s, wanted));
}

static struct ar_str outcome_of(int outcome)
{
	if (!outcome)
		return AR_STR_NONE;
	return outcome == AR_LIST_AUDIT_OUTCOME_REFUSED ? AR_STR("refused") : AR_STR("allowed");
}

static bool is_wanted(struct walk *k, const struct ar_store_audit *e)
{
	const struct ar_cmd_list_audit_in *in = k->call->input;
	struct ar_json v;

	if (!ar_str_absent(k->session_key) && !ar_str_eq(k->session_key, e->session))
		return false;
	if (ar_json_parse(k->call->control->json, e->record, &v, NULL) != AR_OK)
		return false;
	return is_text(v, "actor", in->actor) && is_text(v, "command", in->command) &&
	       is_text(v, "outcome", outcome_of(in->outcome));
}

/* The record's own members stand between those of the row. */
static void write_entry(struct walk *k, const struct ar_store_audit_row *row)
{
	struct ar_call *c = k->call;
	char hash[AR_HASH_HEX];

	ar_hash_hex(&row->hash, hash);
	ar_jw_open(&k->w);
	ar_jw_mstr(&k->w, "entryId", place_text(&row->place, &c->arena));
	ar_jw_mtime(&k->w, "at", row->entry.at);
	ar_jw_mstr(&k->w, "tenant", row->entry.tenant);
	ar_buf_addc(&c->reply, ',');
	ar_buf_adds(&c->reply, ar_str_sub(row->entry.record, 1, row->entry.record.len - 2));
	if (!ar_str_absent(row->entry.session))
		ar_jw_mstr(&k->w, "sessionId", ar_id_root(&c->arena, "sess", row->entry.session));
	if (row->entry.sequence)
		ar_jw_mint(&k->w, "sequence", (int64_t)row->entry.sequence);
	ar_jw_mstr(&k->w, "hash", (struct ar_str){ hash, sizeof(hash) });
	ar_jw_close(&k->w);
}

static void add_entry(struct walk *k, const struct ar_store_audit_row *row)
{
	if (k->call->is_lines)
		k->w = ar_jw(&k->call->reply);
	write_entry(k, row);
	if (k->call->is_lines)
		ar_buf_addc(&k->call->reply, '\n');
	k->found++;
}

/* ---- the walk ---- */

static void read_next_page(struct walk *k);

static void answer(struct walk *k, bool has_more)
{
	struct ar_call *c = k->call;

	c->next_cursor = has_more ? place_text(&k->page.after, &c->arena) : AR_STR_NONE;
	ar_store_op_fini(&k->page.op);
	if (!c->is_lines) {
		ar_jw_close_array(&k->w);
		ar_jw_mstr(&k->w, "nextCursor", c->next_cursor);
		ar_jw_close(&k->w);
	}
	ar_call_done(c, 200);
}

static void on_page(struct ar_store_op *op)
{
	struct walk *k = AR_CONTAINER_OF(op, struct walk, page.op);
	struct ar_call *c = k->call;
	size_t i = 0;

	if (op->status != AR_OK) {
		ar_store_op_fini(op);
		c->is_lines = false;
		ar_call_refuse(c, ar_storage_code(op->status), "%.200s", op->err.msg);
		return;
	}
	for (; i < k->page.count && k->found < k->wanted; i++) {
		if (is_wanted(k, &k->page.rows[i].entry))
			add_entry(k, &k->page.rows[i]);
		k->page.after = k->page.rows[i].place;
		k->page.has_after = true;
	}
	k->looked += i;
	if (!k->page.more && i == k->page.count)
		answer(k, false);
	else if (k->found == k->wanted || k->looked >= LOOK_MAX)
		answer(k, true);
	else
		read_next_page(k);
}

static void read_next_page(struct walk *k)
{
	ar_store_op_fini(&k->page.op);
	k->page.op = (struct ar_store_op){ .kind = AR_STORE_AUDIT_LIST, .done = on_page };
	k->page.limit = PAGE;
	ar_store_submit(k->call->control->store, &k->page.op);
}

/* ---- the question ---- */

static enum ar_status read_question(struct ar_call *c, struct walk *k, struct ar_error *err)
{
	const struct ar_cmd_list_audit_in *in = c->input;
	bool is_operator = ar_principal_is_operator(c->who);

	if (in->format == AR_LIST_AUDIT_FORMAT_NDJSON && !c->takes_lines)
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "ndjson is for HTTP; here the result is one JSON object");
	if (!ar_str_absent(in->session_id) && ar_call_session(in->session_id, &k->session_key, err) != AR_OK)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "sessionId is sess_ and 26 base32 characters");
	k->page = (struct ar_store_audit_list){ .tenant = is_operator ? in->tenant : c->who->tenant,
						.since = in->since,
						.until = in->until,
						.is_oldest_first = in->oldest_first.set && in->oldest_first.v,
						.has_after = !ar_str_absent(in->cursor) };
	if (k->page.has_after && !read_place(in->cursor, &k->page.after))
		return ar_refuse(err, AR_ERR_INVALID_CURSOR,
				 "cursor must be the nextCursor of an earlier reply, or an entryId");
	c->is_lines = c->takes_lines &&
		      (in->format == AR_LIST_AUDIT_FORMAT_NDJSON || (!in->format && c->wants_lines));
	k->wanted = c->is_lines ? ar_call_limit(in->limit, LINES_DEFAULT, LINES_MAX)
				: ar_call_limit(in->limit, AR_LIST_DEFAULT, AR_LIST_MAX);
	return AR_OK;
}

static void begin(struct ar_call *c)
{
	struct walk *k = c->work->walk;

	if (!c->is_lines) {
		k->w = ar_jw(&c->reply);
		ar_jw_open(&k->w);
		ar_jw_key(&k->w, "entries");
		ar_jw_open_array(&k->w);
	}
	read_next_page(k);
}

/* What leaves as a file leaves an entry. */
void ar_query_list_audit(struct ar_call *c)
{
	struct walk *k = ar_arena_alloc(&c->arena, sizeof(*k));
	struct ar_error err = { 0 };

	k->call = c;
	if (read_question(c, k, &err) != AR_OK) {
		ar_call_fail(c, &err);
		return;
	}
	c->work->walk = k;
	if (c->is_lines)
		ar_trail_then(c, "export_audit", begin);
	else
		begin(c);
}
