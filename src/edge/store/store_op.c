/* The parts of an operation that do not depend on the engine: session keys, guards, shared sentences. The
 * engines keep the state; nothing here does. */
#include "store_op.h"

#include "base32.h"
#include "auth.h"
#include "store/usage.h"

#include <stdio.h>
#include <string.h>

_Static_assert(AR_BASE32_LEN(AR_STORE_KEY) == AR_SESSION_KEY_LEN,
	       "a session key is what the id core stands for");

bool ar_store_key_parse(struct ar_str session, struct ar_store_key *ret)
{
	return !ar_str_absent(session) && ar_base32_decode(session, ret->b, sizeof ret->b);
}

struct ar_str ar_store_key_text(struct ar_arena *a, const struct ar_store_key *key)
{
	char *text = ar_arena_alloc(a, AR_SESSION_KEY_LEN + 1);

	ar_id_encode(key->b, text);
	return (struct ar_str){ text, AR_SESSION_KEY_LEN };
}

struct ar_str ar_store_key_bytes(const struct ar_store_key *key)
{
	return (struct ar_str){ (const char *)key->b, sizeof key->b };
}

/* Where each kind keeps its session; 0 for none (an operation starts with its header, never with the
 * session). */
static const size_t session_offset[AR_STORE_OP_COUNT] = {
	[AR_STORE_APPEND] = offsetof(struct ar_store_append, session),
	[AR_STORE_CHUNK] = offsetof(struct ar_store_chunk, session),
	[AR_STORE_LOAD] = offsetof(struct ar_store_load, session),
	[AR_STORE_READ] = offsetof(struct ar_store_read, session),
	[AR_STORE_TASKS] = offsetof(struct ar_store_tasks, session),
	[AR_STORE_ACTIONS] = offsetof(struct ar_store_actions, session),
	[AR_STORE_INDEX] = offsetof(struct ar_store_index, session),
	[AR_STORE_ITEMS] = offsetof(struct ar_store_items, session),
	[AR_STORE_TENANT] = offsetof(struct ar_store_tenant, session),
};

struct ar_str ar_store_op_session(const struct ar_store_op *op)
{
	struct ar_str session;

	AR_ASSERT(op->kind > 0 && op->kind < AR_STORE_OP_COUNT);
	if (!session_offset[op->kind])
		return AR_STR_NONE;
	memcpy(&session, (const char *)op + session_offset[op->kind], sizeof session);
	return session;
}

bool ar_store_op_is_write(const struct ar_store_op *op)
{
	return op->kind == AR_STORE_APPEND || op->kind == AR_STORE_CHUNK || op->kind == AR_STORE_UPKEEP ||
	       op->kind == AR_STORE_TOKEN_PUT || op->kind == AR_STORE_AUDIT_PUT;
}

struct ar_str ar_store_tenant_of(struct ar_str tenant)
{
	return ar_str_absent(tenant) ? AR_STR(AR_TENANT_LOCAL) : tenant;
}

bool ar_store_partitions_have(const uint64_t *partitions, const struct ar_store_key *key)
{
	char session_key[AR_SESSION_KEY_LEN];
	unsigned partition;

	if (!partitions)
		return true;
	ar_id_encode(key->b, session_key);
	partition = ar_id_partition((struct ar_str){ session_key, sizeof session_key });
	return partitions[partition / 64] >> partition % 64 & 1;
}

bool ar_store_sessions_match(const struct ar_store_sessions *op, const struct ar_store_key *key)
{
	return ar_store_partitions_have(op->partitions, key);
}

enum ar_store_actions_filter ar_store_actions_filter(const struct ar_store_actions *op)
{
	if (!ar_str_absent(op->session))
		return AR_STORE_ACTIONS_SESSION;
	if (ar_str_absent(op->tenant))
		return AR_STORE_ACTIONS_ALL;
	return ar_str_absent(op->account) ? AR_STORE_ACTIONS_TENANT : AR_STORE_ACTIONS_TENANT_ACCOUNT;
}

static enum ar_status check_size(struct ar_str value, const char *what, struct ar_error *err)
{
	if (value.len <= AR_STORE_VALUE_MAX)
		return AR_OK;
	return ar_fail(err, AR_E_LIMIT, "%s of %zu bytes is over the store's limit of %u", what, value.len,
		       AR_STORE_VALUE_MAX);
}

static enum ar_status check_sizes(const struct ar_store_append *a, struct ar_error *err)
{
	enum ar_status st = check_size(a->body, "a body", err);

	if (!st)
		st = check_size(a->snapshot, "a snapshot", err);
	if (!st && a->row)
		st = check_size(a->row->shell, "a session row", err);
	if (!st && a->receipt)
		st = check_size(a->receipt->reply, "a reply", err);
	if (!st && a->audit)
		st = check_size(a->audit->record, "an audit entry", err);
	for (size_t i = 0; !st && i < a->task_count; i++)
		st = check_size(a->tasks[i].record, "a task record", err);
	for (size_t i = 0; !st && i < a->action_count; i++)
		st = check_size(a->actions[i].record, "an action record", err);
	for (size_t i = 0; !st && i < a->item_count; i++)
		st = check_size(a->items[i].record, "an item record", err);
	for (size_t i = 0; !st && i < a->blob_count; i++)
		st = check_size(a->blobs[i].bytes, "a blob", err);
	return st;
}

static bool is_name(struct ar_str name)
{
	return !ar_str_absent(name) && name.len <= AR_STORE_NAME_MAX;
}

static bool is_name_or_none(struct ar_str name)
{
	return ar_str_absent(name) || is_name(name);
}

static bool is_action(const struct ar_store_action_row *row)
{
	return is_name(row->action) && !ar_str_empty(row->action) && row->created >= 0 &&
	       is_name_or_none(row->account) && is_name_or_none(row->tenant);
}

static bool is_audit(const struct ar_store_audit *e)
{
	return !ar_str_empty(e->tenant) && is_name(e->tenant) && is_name_or_none(e->session) && e->at >= 0 &&
	       !ar_str_empty(e->record);
}

static bool is_short(struct ar_str name)
{
	return ar_str_absent(name) || name.len <= AR_STORE_USAGE_NAME;
}

static bool is_usage(const struct ar_store_usage_row *row)
{
	return row->hour >= 0 && is_name_or_none(row->tenant) && is_short(row->workspace) &&
	       is_short(row->model) && is_short(row->currency) && row->requests >= 0 &&
	       row->input_tokens >= 0 && row->output_tokens >= 0 && row->cached_tokens >= 0 && row->cost >= 0;
}

/* What the rows of an append are found by has to be there, and be short enough for an index. */
static enum ar_status check_names(const struct ar_store_append *a, struct ar_error *err)
{
	bool named = !a->receipt || (is_name(a->receipt->scope) && is_name(a->receipt->key));

	named = named && (!a->row || is_name_or_none(a->row->tenant)) && (!a->audit || is_audit(a->audit));
	for (size_t i = 0; named && i < a->task_count; i++)
		named = is_name(a->tasks[i].task);
	for (size_t i = 0; named && i < a->action_count; i++)
		named = is_action(&a->actions[i]);
	for (size_t i = 0; named && i < a->item_count; i++)
		named = a->items[i].list <= INT64_MAX && a->items[i].number <= INT64_MAX;
	for (size_t i = 0; named && i < a->usage_count; i++)
		named = is_usage(&a->usage[i]);
	for (size_t i = 0; named && i < a->blob_count; i++)
		named = !ar_str_absent(a->blobs[i].bytes);
	return named ? AR_OK
		     : ar_fail(err, AR_E_INVALID,
			       "a receipt, tenant, task, action, item, audit entry or blob of the append has "
			       "no "
			       "name, one over "
			       "%d "
			       "bytes, or no bytes",
			       AR_STORE_NAME_MAX);
}

enum ar_status ar_store_check_append(const struct ar_store_append *a, struct ar_store_key *ret,
				     struct ar_error *err)
{
	if (!ar_store_key_parse(a->session, ret))
		return ar_store_fail_key(err, a->session);
	if (a->first_seq < 1 || a->last_seq > INT64_MAX || a->last_seq + 1 < a->first_seq)
		return ar_fail(err, AR_E_INVALID, "facts %llu to %llu are not a sequence",
			       (unsigned long long)a->first_seq, (unsigned long long)a->last_seq);
	if ((a->last_seq >= a->first_seq) == ar_str_empty(a->body))
		return ar_fail(err, AR_E_INVALID, "a body belongs to facts, and facts to a body");
	if (check_names(a, err))
		return AR_E_INVALID;
	return check_sizes(a, err);
}

enum ar_status ar_store_check_chunk(const struct ar_store_chunk *c, struct ar_store_key *ret,
				    struct ar_error *err)
{
	if (!ar_store_key_parse(c->session, ret))
		return ar_store_fail_key(err, c->session);
	if (ar_str_empty(c->step) || !is_name(c->step) || c->pos > INT64_MAX)
		return ar_fail(err, AR_E_INVALID, "a chunk needs a step and a position");
	return check_size(c->bytes, "a chunk", err);
}

enum ar_status ar_store_check_audit(const struct ar_store_audit *e, struct ar_error *err)
{
	if (!is_audit(e))
		return ar_fail(err, AR_E_INVALID, "an audit entry needs a tenant, a time and a record");
	return check_size(e->record, "an audit entry", err);
}

enum ar_status ar_store_check_token(const struct ar_store_token_put *p, struct ar_error *err)
{
	if (ar_str_empty(p->token) || !is_name(p->token) || (ar_str_absent(p->record) && !p->expected))
		return ar_fail(err, AR_E_INVALID, "a token needs an id of at most %d bytes and a record",
			       AR_STORE_NAME_MAX);
	if (p->audit && ar_store_check_audit(p->audit, err))
		return AR_E_INVALID;
	return check_size(p->record, "a token", err);
}

enum ar_status ar_store_fail_missing(struct ar_error *err, uint64_t next)
{
	return ar_fail(err, AR_E_CORRUPT, "fact %llu is missing", (unsigned long long)next);
}

enum ar_status ar_store_fail_no_log(struct ar_error *err)
{
	return ar_fail(err, AR_E_CORRUPT, "the session is known, but its log is missing");
}

enum ar_status ar_store_fail_facts(struct ar_error *err, uint64_t first_seq, uint64_t last_seq)
{
	char which[64];

	if (!err)
		return AR_E_CORRUPT;
	snprintf(which, sizeof which, "facts %llu to %llu", (unsigned long long)first_seq,
		 (unsigned long long)last_seq);
	return ar_fail_wrap(err, which);
}

enum ar_status ar_store_check_row(const struct ar_store_row_expected *w, uint64_t first_seq,
				  uint64_t last_seq, struct ar_error *err)
{
	bool has = first_seq <= w->next && w->next <= last_seq;
	bool fits = w->is_first || (w->backward ? last_seq : first_seq) == w->next;

	return has && fits ? AR_OK : ar_store_fail_missing(err, w->next);
}

enum ar_status ar_store_check_load(const struct ar_store_load *op, uint64_t head, struct ar_error *err)
{
	uint64_t next = op->snapshot_seq + 1;

	for (size_t i = 0; i < op->row_count; i++) {
		if (op->rows[i].first_seq != next || op->rows[i].last_seq < next)
			return ar_store_fail_missing(err, next);
		next = op->rows[i].last_seq + 1;
	}
	return next == head + 1 ? AR_OK : ar_store_fail_missing(err, next <= head ? next : head + 1);
}

enum ar_status ar_store_check_content(const struct ar_hash *hash, struct ar_str *bytes, struct ar_error *err)
{
	struct ar_hash found = ar_hash_of(*bytes);

	if (memcmp(found.b, hash->b, sizeof found.b) == 0)
		return AR_OK;
	*bytes = AR_STR_NONE;
	return ar_fail(err, AR_E_CORRUPT, "a stored blob does not match its hash");
}

enum ar_status ar_store_fail_token(struct ar_error *err, struct ar_str token)
{
	return ar_fail(err, AR_E_EXISTS, "token '%.*s' was changed by another request; repeat",
		       AR_STR_ARG(ar_str_sub(token, 0, 100)));
}

enum ar_status ar_store_fail_fenced(struct ar_error *err, uint64_t own)
{
	return ar_fail(err, AR_E_FENCED, "epoch %llu has ended; another writer owns the store",
		       (unsigned long long)own);
}

enum ar_status ar_store_fail_gap(struct ar_error *err, uint64_t first_seq, uint64_t head)
{
	return ar_fail(err, AR_E_INVALID,
		       "fact %llu does not continue the stored sequence, which ends at %llu",
		       (unsigned long long)first_seq, (unsigned long long)head);
}

/* What a caller wrote goes into a sentence shortened: the sentence has a limit of its own. */
static struct ar_str shorten(struct ar_str s)
{
	return ar_str_absent(s) ? AR_STR("") : ar_str_sub(s, 0, 100);
}

enum ar_status ar_store_fail_key(struct ar_error *err, struct ar_str session)
{
	return ar_fail(err, AR_E_INVALID, "'%.*s' is not a session key", AR_STR_ARG(shorten(session)));
}

enum ar_status ar_store_fail_unknown(struct ar_error *err, struct ar_str session)
{
	return ar_fail(err, AR_E_NOT_FOUND, "session '%.*s' is not stored", AR_STR_ARG(shorten(session)));
}

enum ar_status ar_store_fail_no_task(struct ar_error *err, struct ar_str task)
{
	return ar_fail(err, AR_E_NOT_FOUND, "task '%.*s' is not stored", AR_STR_ARG(shorten(task)));
}

enum ar_status ar_store_fail_no_receipt(struct ar_error *err, struct ar_str key)
{
	return ar_fail(err, AR_E_NOT_FOUND, "no receipt for key '%.*s'", AR_STR_ARG(shorten(key)));
}

enum ar_status ar_store_fail_exists(struct ar_error *err, struct ar_str scope, struct ar_str key)
{
	return ar_fail(err, AR_E_EXISTS, "key '%.*s' was used in '%.*s' before", AR_STR_ARG(shorten(key)),
		       AR_STR_ARG(shorten(scope)));
}

void *ar_store_extend(struct ar_arena *a, void *old, size_t count, size_t size)
{
	void *grown;

	if (count & (count - 1)) /* neither 0 nor a power of two: there is room */
		return old;
	grown = ar_arena_alloc(a, (count ? 2 * count : 1) * size);
	if (count)
		memcpy(grown, old, count * size);
	return grown;
}

uint64_t ar_store_random(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}
