/* See route.h. */
#include "limits/route.h"
#include "state.h"

const char *const ar_capability_word[AR_CAPABILITIES] = { "vision", "tools", "json", "reasoning" };

unsigned ar_routing_capability(struct ar_str word)
{
	for (unsigned i = 0; i < AR_CAPABILITIES; i++) {
		if (ar_str_is(word, ar_capability_word[i]))
			return 1u << i;
	}
	return 0;
}

const char *const ar_exclusion_word[AR_EXCLUSIONS] = {
	[AR_EXCLUSION_CREDENTIAL] = "no_credential",
	[AR_EXCLUSION_CAPABILITY] = "missing_capability",
	[AR_EXCLUSION_NOT_LOCAL] = "not_local",
	[AR_EXCLUSION_RATE_LIMITED] = "rate_limited",
};

ar_usec ar_route_throttled(const struct ar_vec *throttles, struct ar_str name, ar_usec now)
{
	const struct ar_throttle *t = ar_vec_last_with(throttles, offsetof(struct ar_throttle, model), name);

	return t && t->until > now ? t->until : 0;
}

struct ar_choice ar_routing_find(const struct ar_model_entry *entries, size_t count, struct ar_str name)
{
	for (size_t i = 0; i < count; i++) {
		if (ar_str_eq(entries[i].name, name))
			return (struct ar_choice){ &entries[i], entries[i].name, entries[i].model };
	}
	for (size_t i = 0; i < count; i++) {
		if (ar_str_eq(entries[i].model, name))
			return (struct ar_choice){ &entries[i], entries[i].name, entries[i].model };
	}
	for (size_t i = 0; i < count; i++) {
		if (entries[i].takes_any)
			return (struct ar_choice){ &entries[i], name, name };
	}
	return (struct ar_choice){ 0 };
}

static struct ar_candidate judge(const struct ar_model_set *set, const struct ar_model_entry *entry,
				 const struct ar_need *need)
{
	struct ar_candidate c = { .entry = entry,
				  .missing = need->capabilities & ~entry->capabilities,
				  .until = ar_route_throttled(set->throttles, entry->name, set->now) };

	if (!entry->has_credentials)
		c.why_not = AR_EXCLUSION_CREDENTIAL;
	else if (c.missing)
		c.why_not = AR_EXCLUSION_CAPABILITY;
	else if (need->is_local_only && !entry->is_local)
		c.why_not = AR_EXCLUSION_NOT_LOCAL;
	else if (c.until)
		c.why_not = AR_EXCLUSION_RATE_LIMITED;
	return c;
}

/* When all that could answer are slowed down, waiting for the first of them is better than not answering. */
static void forgive_limits(struct ar_routing *r)
{
	for (size_t i = 0; i < r->count; i++) {
		if (r->all[i].why_not != AR_EXCLUSION_RATE_LIMITED)
			continue;
		r->all[i].why_not = AR_EXCLUSION_NONE;
		r->usable++;
	}
}

static bool is_cheaper(const struct ar_price *a, const struct ar_price *b)
{
	if (a->input == AR_MONEY_UNKNOWN || a->output == AR_MONEY_UNKNOWN)
		return false;
	if (b->input == AR_MONEY_UNKNOWN || b->output == AR_MONEY_UNKNOWN)
		return true;
	return a->input + a->output < b->input + b->output;
}

static struct ar_choice best_usable(const struct ar_routing *r, const struct ar_need *need)
{
	const struct ar_model_entry *best = NULL;

	for (size_t i = 0; i < r->count; i++) {
		const struct ar_model_entry *entry = r->all[i].entry;

		if (r->all[i].why_not != AR_EXCLUSION_NONE)
			continue;
		if (!best || (need->is_frugal && is_cheaper(&entry->price, &best->price)))
			best = entry;
	}
	return best ? (struct ar_choice){ best, best->name, best->model } : (struct ar_choice){ 0 };
}

static void choose(const struct ar_model_set *set, const struct ar_need *need, struct ar_routing *r)
{
	struct ar_choice wanted;

	if (ar_str_absent(need->model)) {
		r->choice = best_usable(r, need);
		return;
	}
	wanted = ar_routing_find(set->entries, set->count, need->model);
	if (wanted.entry)
		r->requested = &r->all[wanted.entry - set->entries];
	if (r->requested && r->requested->why_not == AR_EXCLUSION_NONE)
		r->choice = wanted;
	else if (need->may_fall_back)
		r->choice = best_usable(r, need);
}

struct ar_routing ar_route_resolve(const struct ar_model_set *set, const struct ar_need *need,
				   struct ar_arena *a)
{
	struct ar_routing r = { .all = ar_arena_alloc(a, (set->count + 1) * sizeof(*r.all)),
				.count = set->count };

	for (size_t i = 0; i < set->count; i++) {
		r.all[i] = judge(set, &set->entries[i], need);
		r.usable += r.all[i].why_not == AR_EXCLUSION_NONE;
	}
	if (r.usable == 0)
		forgive_limits(&r);
	choose(set, need, &r);
	return r;
}

bool ar_route_may_follow(const struct ar_routing *r, const struct ar_candidate *c)
{
	bool can = c->why_not == AR_EXCLUSION_NONE || c->why_not == AR_EXCLUSION_RATE_LIMITED;

	return can && c->entry != r->choice.entry;
}
