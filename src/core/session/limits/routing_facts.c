/* The lists and objects inside routing facts. Small on purpose: what is all right is left out. Pure. */
#include "limits/limits.h"

#define CHAIN_MAX 8

struct ar_str ar_routing_price(const struct ar_model_entry *entry)
{
	return entry->price.input != AR_MONEY_UNKNOWN ? AR_STR("priced") : AR_STR("unknown");
}

struct ar_texts ar_routing_capabilities(struct ar_decision *d, unsigned capabilities)
{
	struct ar_str *words = ar_arena_alloc(d->arena, AR_CAPABILITIES * sizeof(*words));
	size_t count = 0;

	for (unsigned i = 0; i < AR_CAPABILITIES; i++) {
		if (capabilities & 1u << i)
			words[count++] = ar_str_from(ar_capability_word[i]);
	}
	return (struct ar_texts){ words, count };
}

struct ar_str ar_routing_words(struct ar_decision *d, unsigned capabilities)
{
	struct ar_texts words = ar_routing_capabilities(d, capabilities);
	struct ar_str all = words.count ? words.at[0] : AR_STR("none");

	for (size_t i = 1; i < words.count; i++)
		all = ar_arena_fmt(d->arena, "%.*s, %.*s", AR_STR_ARG(all), AR_STR_ARG(words.at[i]));
	return all;
}

struct ar_shape_route_candidate_list ar_routing_candidates(struct ar_decision *d, const struct ar_routing *r)
{
	struct ar_shape_route_candidate *all = ar_arena_alloc(d->arena, (r->count + 1) * sizeof(*all));
	size_t count = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct ar_model_entry *entry = r->all[i].entry;
		struct ar_shape_route_candidate *c = &all[count];

		if (r->all[i].why_not != AR_EXCLUSION_NONE)
			continue;
		*c = (struct ar_shape_route_candidate){
			.provider = entry->provider,
			.model = entry == r->choice.entry ? r->choice.name : entry->name,
			.cost_class = ar_routing_price(entry),
			.limit_state = r->all[i].until ? AR_STR("rate_limited") : AR_STR("ok"),
		};
		if (!entry->is_undeclared)
			c->capabilities = ar_routing_capabilities(d, entry->capabilities);
		count++;
	}
	return (struct ar_shape_route_candidate_list){ all, count };
}

struct ar_shape_route_exclusion_list ar_routing_excluded(struct ar_decision *d, const struct ar_routing *r)
{
	struct ar_shape_route_exclusion *all = ar_arena_alloc(d->arena, (r->count + 1) * sizeof(*all));
	size_t count = 0;

	for (size_t i = 0; i < r->count; i++) {
		const struct ar_candidate *c = &r->all[i];
		struct ar_shape_route_exclusion *e = &all[count];

		if (c->why_not == AR_EXCLUSION_NONE)
			continue;
		*e = (struct ar_shape_route_exclusion){
			.candidate = c->entry->name,
			.reason = ar_str_from(ar_exclusion_word[c->why_not]),
			.until = c->why_not == AR_EXCLUSION_RATE_LIMITED ? c->until : 0,
		};
		if (c->why_not == AR_EXCLUSION_CAPABILITY)
			e->missing = ar_routing_capabilities(d, c->missing);
		count++;
	}
	return (struct ar_shape_route_exclusion_list){ all, count };
}

struct ar_texts ar_routing_constraints(struct ar_decision *d, const struct ar_need *need)
{
	struct ar_texts words = ar_routing_capabilities(d, need->capabilities);

	return need->is_local_only ? ar_arena_texts_add(d->arena, words, AR_STR("local_only")) : words;
}

struct ar_shape_route_gaps ar_routing_gaps(const struct ar_routing *r)
{
	struct ar_shape_route_gaps gaps = { 0 };
	struct ar_opt_int *const counts[AR_EXCLUSIONS] = {
		[AR_EXCLUSION_CREDENTIAL] = &gaps.credentials,
		[AR_EXCLUSION_CAPABILITY] = &gaps.capability,
		[AR_EXCLUSION_NOT_LOCAL] = &gaps.network,
		[AR_EXCLUSION_RATE_LIMITED] = &gaps.quota,
	};

	for (size_t i = 0; i < r->count; i++) {
		if (r->all[i].why_not != AR_EXCLUSION_NONE)
			*counts[r->all[i].why_not] = AR_OPT_INT(counts[r->all[i].why_not]->v + 1);
	}
	return gaps;
}

struct ar_texts ar_routing_chain(struct ar_decision *d, const struct ar_routing *r)
{
	struct ar_str *names = ar_arena_alloc(d->arena, CHAIN_MAX * sizeof(*names));
	size_t count = 0;

	for (size_t i = 0; i < r->count && count < CHAIN_MAX; i++) {
		if (ar_route_may_follow(r, &r->all[i]))
			names[count++] = r->all[i].entry->name;
	}
	return (struct ar_texts){ names, count };
}

struct ar_shape_route_limit ar_routing_limits(const struct ar_decision *d, const struct ar_choice *choice)
{
	ar_usec until = ar_route_throttled(&d->session->throttles, choice->name, d->input->now);

	return (struct ar_shape_route_limit){ .state = until ? AR_STR("rate_limited") : AR_STR("ok"),
					      .until = until };
}
