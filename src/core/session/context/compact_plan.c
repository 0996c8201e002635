/* What a compaction would replace, what would stay, and whether that is worth it. Pure;
 * decide_compact.c acts on it. */
#include "context/compact.h"

#define SUMMARY_MIN_TOKENS 32 /* no useful summary is shorter */
#define REST_DOUBLINGS 6

double ar_compact_measure(const struct ar_conversation *c, int64_t before)
{
	int64_t own = ar_conversation_own_estimate(c);

	return own > before && own > 0 ? (double)before / (double)own : 1;
}

/* The newest messages that fit a quarter stay. A call and its answers are never parted; a turn
 * that runs keeps what it is about to answer. */
static size_t first_staying(const struct ar_conversation *c, size_t visible, double room, bool is_running)
{
	size_t total = ar_conversation_count(c), at = total;

	while (at > visible) {
		room -= (double)ar_context_tokens(ar_conversation_message(c, at - 1));
		if (room < 0 && !(is_running && at == total))
			break;
		at--;
	}
	while (at > visible && at < total && ar_conversation_message(c, at)->role == AR_CONTEXT_TOOL)
		at--;
	return at;
}

int64_t ar_compact_gone(const struct ar_conversation *c, size_t first, size_t end)
{
	int64_t tokens = c->boundary ? ar_context_estimate(c->boundary->bytes) : 0;

	for (size_t i = first; i < end; i++)
		tokens += ar_context_tokens(ar_conversation_message(c, i));
	return tokens;
}

int64_t ar_compact_after(const struct ar_conversation *c, int64_t before, int64_t gone, int64_t summary)
{
	return before - (int64_t)((double)(gone - summary) * ar_compact_measure(c, before));
}

bool ar_compact_is_smaller(int64_t after, int64_t before)
{
	return after < before - before * (100 - AR_SHRINK_PERCENT) / 100;
}

int64_t ar_compact_rest(int64_t failures)
{
	return failures < 1 ? 0 : (int64_t)1 << ar_compact_smaller(failures - 1, REST_DOUBLINGS);
}

bool ar_compact_plan(struct ar_conversation *c, bool is_running, struct ar_compact_plan *ret)
{
	struct ar_compact_plan p = { .first = ar_conversation_visible(c),
				     .before = ar_conversation_select(c).tokens };
	int64_t window = ar_context_window(c);

	p.stays = first_staying(c, p.first,
				(double)(ar_compact_smaller(window, p.before) / AR_KEPT_SHARE) /
					ar_compact_measure(c, p.before),
				is_running);
	p.gone = ar_compact_gone(c, p.first, p.stays);
	*ret = p;
	return p.stays > p.first &&
	       ar_compact_is_smaller(ar_compact_after(c, p.before, p.gone, SUMMARY_MIN_TOKENS), p.before);
}

struct ar_texts ar_compact_turns(struct ar_conversation *c, size_t first, size_t end)
{
	const struct ar_thread *t = c->thread;
	struct ar_str *ids = ar_arena_alloc(c->d->arena, (t->turns.count + 1) * sizeof(*ids));
	size_t n = 0;

	for (size_t i = 0; i < t->turns.count; i++) {
		const struct ar_turn *turn = t->turns.at[i];
		bool is_affected = false;

		for (size_t k = first; k < end && !is_affected && turn->start.set; k++)
			is_affected = ar_conversation_message(c, k)->turn.v == turn->start.v;
		if (is_affected)
			ids[n++] = turn->id;
	}
	return (struct ar_texts){ ids, n };
}

int64_t ar_compact_count(const struct ar_conversation *c, size_t index)
{
	return c->thread->omitted + (int64_t)index;
}

size_t ar_compact_stays(const struct ar_conversation *c, const struct ar_turn *turn)
{
	int64_t at = turn->compaction.covered.v - c->thread->omitted;
	size_t total = ar_conversation_count(c);

	if (at <= 0)
		return 0;
	return (size_t)at < total ? (size_t)at : total;
}
