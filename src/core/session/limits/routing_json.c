/* The arrays and objects inside routing facts. Small on purpose: what is all right is left out. Pure. */
#include "limits/limits.h"

#define CHAIN_MAX 8

static const struct {
	const char *reason, *gap;
} exclusions[AR_EXCLUSIONS] = {
	[AR_EXCLUSION_CREDENTIAL] = { "no_credential", "credentials" },
	[AR_EXCLUSION_CAPABILITY] = { "missing_capability", "capability" },
	[AR_EXCLUSION_NOT_LOCAL] = { "not_local", "network" },
	[AR_EXCLUSION_RATE_LIMITED] = { "rate_limited", "quota" },
};

const char *ar_routing_why_not(enum ar_exclusion why)
{
	return exclusions[why].reason;
}

static void write_capabilities(struct ar_jw *j, unsigned capabilities)
{
	ar_jw_open_array(j);
	for (unsigned i = 0; i < AR_CAPABILITIES; i++) {
		if (capabilities & 1u << i)
			ar_jw_str(j, ar_str_from(ar_capability_word[i]));
	}
	ar_jw_close_array(j);
}

struct ar_str ar_routing_capabilities(struct ar_decision *d, unsigned capabilities)
{
	struct ar_jw j = ar_decide_json(d);

	write_capabilities(&j, capabilities);
	return ar_decide_json_end(d);
}

struct ar_str ar_routing_words(struct ar_decision *d, unsigned capabilities)
{
	struct ar_str all = AR_STR("none");

	for (unsigned i = 0; i < AR_CAPABILITIES; i++) {
		if (!(capabilities & 1u << i))
			continue;
		all = ar_str_is(all, "none")
			      ? ar_str_from(ar_capability_word[i])
			      : ar_arena_fmt(d->arena, "%.*s, %s", AR_STR_ARG(all), ar_capability_word[i]);
	}
	return all;
}

struct ar_str ar_routing_candidates(struct ar_decision *d, const struct ar_routing *r)
{
	struct ar_jw j = ar_decide_json(d);

	ar_jw_open_array(&j);
	for (size_t i = 0; i < r->count; i++) {
		const struct ar_model_entry *entry = r->all[i].entry;

		if (r->all[i].why_not != AR_EXCLUSION_NONE)
			continue;
		ar_jw_open(&j);
		ar_jw_mstr(&j, "provider", entry->provider);
		ar_jw_mstr(&j, "model", entry == r->choice.entry ? r->choice.name : entry->name);
		if (!entry->is_undeclared) {
			ar_jw_key(&j, "capabilities");
			write_capabilities(&j, entry->capabilities);
		}
		ar_jw_mstr(&j, "costClass",
			   entry->price.input == AR_MONEY_UNKNOWN ? AR_STR("unknown") : AR_STR("priced"));
		ar_jw_mstr(&j, "limitState", r->all[i].until ? AR_STR("rate_limited") : AR_STR("ok"));
		ar_jw_close(&j);
	}
	ar_jw_close_array(&j);
	return ar_decide_json_end(d);
}

struct ar_str ar_routing_excluded(struct ar_decision *d, const struct ar_routing *r)
{
	struct ar_jw j = ar_decide_json(d);

	ar_jw_open_array(&j);
	for (size_t i = 0; i < r->count; i++) {
		const struct ar_candidate *c = &r->all[i];

		if (c->why_not == AR_EXCLUSION_NONE)
			continue;
		ar_jw_open(&j);
		ar_jw_mstr(&j, "candidate", c->entry->name);
		ar_jw_mstr(&j, "reason", ar_str_from(exclusions[c->why_not].reason));
		if (c->why_not == AR_EXCLUSION_CAPABILITY) {
			ar_jw_key(&j, "missing");
			write_capabilities(&j, c->missing);
		}
		if (c->why_not == AR_EXCLUSION_RATE_LIMITED)
			ar_jw_mtime(&j, "until", c->until);
		ar_jw_close(&j);
	}
	ar_jw_close_array(&j);
	return ar_decide_json_end(d);
}

struct ar_str ar_routing_constraints(struct ar_decision *d, const struct ar_need *need)
{
	struct ar_jw j = ar_decide_json(d);

	ar_jw_open_array(&j);
	for (unsigned i = 0; i < AR_CAPABILITIES; i++) {
		if (need->capabilities & 1u << i)
			ar_jw_str(&j, ar_str_from(ar_capability_word[i]));
	}
	if (need->is_local_only)
		ar_jw_str(&j, AR_STR("local_only"));
	ar_jw_close_array(&j);
	return ar_decide_json_end(d);
}

struct ar_str ar_routing_preferences(struct ar_decision *d, const struct ar_need *need)
{
	struct ar_jw j = ar_decide_json(d);

	ar_jw_open_array(&j);
	if (!ar_str_absent(need->model)) {
		ar_jw_open(&j);
		ar_jw_mstr(&j, "model", need->model);
		ar_jw_close(&j);
	}
	ar_jw_close_array(&j);
	return ar_decide_json_end(d);
}

struct ar_str ar_routing_gaps(struct ar_decision *d, const struct ar_routing *r)
{
	struct ar_jw j = ar_decide_json(d);

	ar_jw_open(&j);
	for (int why = AR_EXCLUSION_CREDENTIAL; why < AR_EXCLUSIONS; why++) {
		int64_t count = 0;

		for (size_t i = 0; i < r->count; i++)
			count += (int)r->all[i].why_not == why;
		if (count > 0)
			ar_jw_mint(&j, exclusions[why].gap, count);
	}
	ar_jw_close(&j);
	return ar_decide_json_end(d);
}

struct ar_str ar_routing_chain(struct ar_decision *d, const struct ar_routing *r)
{
	struct ar_jw j = ar_decide_json(d);
	size_t count = 0;

	ar_jw_open_array(&j);
	for (size_t i = 0; i < r->count && count < CHAIN_MAX; i++) {
		if (!ar_route_may_follow(r, &r->all[i]))
			continue;
		ar_jw_str(&j, r->all[i].entry->name);
		count++;
	}
	ar_jw_close_array(&j);
	return ar_decide_json_end(d);
}

struct ar_str ar_routing_model(struct ar_decision *d, struct ar_str provider, struct ar_str model)
{
	struct ar_jw j = ar_decide_json(d);

	ar_jw_open(&j);
	ar_jw_mstr(&j, "provider", provider);
	ar_jw_mstr(&j, "model", model);
	ar_jw_close(&j);
	return ar_decide_json_end(d);
}

struct ar_str ar_routing_limits(struct ar_decision *d, const struct ar_choice *choice)
{
	ar_usec until = ar_route_throttled(&d->session->throttles, choice->name, d->input->now);
	struct ar_jw j;

	if (!until)
		return AR_STR("{\"state\":\"ok\"}");
	j = ar_decide_json(d);
	ar_jw_open(&j);
	ar_jw_mstr(&j, "state", AR_STR("rate_limited"));
	ar_jw_mtime(&j, "until", until);
	ar_jw_close(&j);
	return ar_decide_json_end(d);
}
