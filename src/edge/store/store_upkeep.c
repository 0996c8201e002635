/* See the header. */
#include "store_upkeep.h"

#include <string.h>

struct ar_store_key ar_store_key_at(ar_usec wall)
{
	uint64_t ms = wall > 0 ? (uint64_t)wall / 1000 : 0;
	struct ar_store_key key = { 0 };

	for (size_t i = 6; i-- > 0; ms >>= 8)
		key.b[i] = (uint8_t)ms;
	return key;
}

static int compare(const struct ar_store_key *a, const struct ar_store_key *b)
{
	return memcmp(a->b, b->b, sizeof a->b);
}

/* The next key, by one up or down; false when there is none. */
static bool next_key(struct ar_store_key *key, int step)
{
	uint8_t over = step > 0 ? 0 : 0xff;

	for (size_t i = sizeof key->b; i-- > 0;) {
		key->b[i] = (uint8_t)(key->b[i] + step);
		if (key->b[i] != over)
			return true;
	}
	return false;
}

/* Two ranges: made before `before`, then made in no time at all. What lies between is too
 * young, or will be met later. */
static void find_range(struct ar_store_upkeep *op, ar_usec now, struct ar_store_walk *w)
{
	struct ar_store_key old = ar_store_key_at(op->before), ahead = ar_store_key_at(now + AR_STORE_AHEAD);
	struct ar_store_key before_ahead;

	if (compare(&ahead, &old) < 0) /* a caller that looks far ahead must not go in circles */
		ahead = old;
	before_ahead = ahead;
	if (compare(&w->from, &old) < 0) {
		w->to = old;
		next_key(&w->to, -1);
		next_key(&before_ahead, -1);
		w->skip_to = ar_store_key_text(&op->op.arena, &before_ahead);
		return;
	}
	w->is_last = true;
	if (compare(&w->from, &ahead) < 0)
		w->from = ahead;
	memset(w->to.b, 0xff, sizeof w->to.b);
}

enum ar_status ar_store_walk_start(struct ar_store_upkeep *op, ar_usec now, struct ar_store_walk *ret)
{
	*ret = (struct ar_store_walk){ 0 };
	op->ids = NULL;
	op->removed = op->receipts = op->contents = op->sealed = 0;
	op->next = AR_STR_NONE;
	op->more = false;
	if (!ar_str_absent(op->after) && !ar_store_key_parse(op->after, &ret->from))
		return ar_store_fail_key(&op->op.err, op->after);
	ret->is_empty =
		op->before <= 0 || op->limit == 0 || (!ar_str_absent(op->after) && !next_key(&ret->from, 1));
	ret->is_last = ret->is_empty;
	if (!ret->is_empty)
		find_range(op, now, ret);
	return AR_OK;
}

static bool is_owned(const struct ar_store_upkeep *op, const struct ar_store_key *key)
{
	char session_key[AR_SESSION_KEY_LEN];
	unsigned p;

	if (!op->partitions)
		return true;
	ar_id_encode(key->b, session_key);
	p = ar_id_partition((struct ar_str){ session_key, sizeof session_key });
	return op->partitions[p / 64] >> p % 64 & 1;
}

/* A workspace stays, however long nothing of it changes: keys without a time, of version 9
 * (core/session/tenant.h). Version 10 is reserved for workers. */
static bool is_kept(const struct ar_store_key *key)
{
	static const uint8_t no_time[6];
	unsigned version = key->b[6] >> 4;

	return memcmp(key->b, no_time, sizeof no_time) == 0 && (version == 9 || version == 10);
}

bool ar_store_walk_includes(const struct ar_store_upkeep *op, const struct ar_store_key *key, bool is_active,
			    ar_usec updated)
{
	return !is_active && updated < op->before && !is_kept(key) && is_owned(op, key);
}

void ar_store_walk_end(struct ar_store_upkeep *op, const struct ar_store_walk *w,
		       const struct ar_store_key *last)
{
	op->next = last ? ar_store_key_text(&op->op.arena, last) : w->skip_to;
	op->more = !ar_str_absent(op->next);
}

void ar_store_upkeep_removed(struct ar_store_upkeep *op, const struct ar_store_key *key)
{
	op->ids = ar_store_extend(&op->op.arena, op->ids, op->removed, sizeof *op->ids);
	op->ids[op->removed++] = ar_store_key_text(&op->op.arena, key);
}
