/* POST /v1/verify with "audit": the chains of the audit trail, a page at a time, to
 * {"checked","faults":[{lane,entry,what}],"nextCursor"}. The cursor holds what the page
 * before ended with. */
#include "audit/trail.h"
#include "storage.h"

#define PAGE 5000

struct check {
	struct ar_store_audit_verify op;
	struct ar_call *call;
};

static bool read_number(struct ar_str *rest, uint64_t *ret)
{
	struct ar_str part;

	*rest = ar_str_split(*rest, '.', &part);
	return ar_str_to_u64(part, ret);
}

/* lane.n.hash */
static bool read_cursor(struct ar_str text, struct ar_store_audit_verify *ret)
{
	return read_number(&text, &ret->lane) && read_number(&text, &ret->n) &&
	       ar_hash_parse(text, &ret->last);
}

static void write_faults(struct ar_jw *w, const struct ar_store_audit_verify *op)
{
	ar_jw_key(w, "faults");
	ar_jw_open_array(w);
	for (size_t i = 0; i < op->fault_count && i < AR_STORE_AUDIT_FAULTS; i++) {
		ar_jw_open(w);
		ar_jw_mint(w, "lane", (int64_t)op->faults[i].lane);
		ar_jw_mint(w, "entry", (int64_t)op->faults[i].n);
		ar_jw_mstr(w, "what",
			   op->faults[i].what == AR_STORE_AUDIT_CHANGED ? AR_STR("changed")
									: AR_STR("missing_before"));
		ar_jw_close(w);
	}
	ar_jw_close_array(w);
	ar_jw_mint(w, "faultCount", (int64_t)op->fault_count);
}

static void on_page(struct ar_store_op *base)
{
	struct check *k = AR_CONTAINER_OF(base, struct check, op.op);
	struct ar_call *c = k->call;
	struct ar_jw w = ar_jw(&c->reply);
	char hash[AR_HASH_TEXT];

	ar_store_op_fini(base);
	if (base->status != AR_OK) {
		ar_call_refuse(c, ar_storage_code(base->status), "%.200s", base->err.msg);
		return;
	}
	ar_jw_open(&w);
	ar_jw_mint(&w, "checked", (int64_t)k->op.checked);
	write_faults(&w, &k->op);
	ar_hash_text(&k->op.last, hash);
	if (k->op.more)
		ar_jw_mstr(&w, "nextCursor",
			   ar_arena_fmt(&c->arena, "%llu.%llu.%.*s", (unsigned long long)k->op.lane,
					(unsigned long long)k->op.n, AR_HASH_TEXT, hash));
	ar_jw_close(&w);
	ar_call_done(c, 200);
}

void ar_trail_verify(struct ar_call *c, struct ar_str cursor)
{
	struct check *k = ar_arena_alloc(&c->arena, sizeof(*k));

	k->call = c;
	k->op = (struct ar_store_audit_verify){ .op = { .kind = AR_STORE_AUDIT_VERIFY, .done = on_page },
						.limit = PAGE };
	if (!ar_principal_is_operator(c->who))
		ar_call_refuse(c, AR_ERR_NOT_AUTHORIZED,
			       "the audit trail is verified by the operator, over the server's unix socket: "
			       "its chain is of all tenants");
	else if (!ar_str_absent(cursor) && !read_cursor(cursor, &k->op))
		ar_call_refuse(c, AR_ERR_INVALID_CURSOR, "cursor must be the nextCursor of an earlier reply");
	else
		ar_store_submit(c->control->store, &k->op.op);
}
