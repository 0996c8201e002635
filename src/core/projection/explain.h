/* Why something happened: the facts that belong to one thing, as sentences. Fed with the facts of a
 * session in order, twice: the first time finds out to which turn the thing belongs, the second time
 * collects. Nothing but what facts say goes in. Pure; owner: the loop thread. */
#ifndef AR_PROJECTION_EXPLAIN_H
#define AR_PROJECTION_EXPLAIN_H

#include "arena.h"
#include "json.h"

#define AR_EXPLAIN_MAX 200 /* reasons that are listed; the newest of them */

struct ar_reason {
	uint64_t sequence;
	struct ar_str time, type, text; /* in the explanation's arena */
};

struct ar_explanation {
	struct ar_str id; /* borrowed */
	const char *kind; /* set by begin() */
	struct ar_str turn; /* that it belongs to; absent: not found */
	struct ar_str call, action; /* that go with it */
	/* event that let it run: that of a call which is tried again names the first one */
	struct ar_str permission;
	struct ar_str instructions; /* JSON: refs of what the newest request of the turn has; absent: none */
	uint64_t first; /* where its turn begins */
	struct ar_reason reasons[AR_EXPLAIN_MAX];
	size_t count; /* of all that were found; those listed are the newest */
	struct ar_arena arena;

	struct ar_open_turn *open; /* turns on the way that have not ended */
	size_t open_count;
};

/* What the id names, by its form; what has none of ours is a turn, which may have any name. */
const char *ar_explain_kind(struct ar_str id);

/* Zero the explanation, set id and kind. First pass; returns false when enough was seen. */
bool ar_explain_find(struct ar_explanation *x, struct ar_json fact);

/* Second pass, from `first` on; false when the turn is over. */
bool ar_explain_collect(struct ar_explanation *x, struct ar_json fact);

/* The newest reason, and all that are listed, oldest first. */
struct ar_str ar_explain_summary(const struct ar_explanation *x);
void ar_explain_write(const struct ar_explanation *x, struct ar_jw *w);
void ar_explain_fini(struct ar_explanation *x);

#endif
