/* Which model answers: the configured ones against what a turn needs. Says of each whether it
 * may be used and if not, why; chooses one, and who follows when it fails. Pure: the facts about
 * it are decide_route.c's. */
#ifndef AR_SESSION_LIMITS_ROUTE_H
#define AR_SESSION_LIMITS_ROUTE_H

#include "limits/price.h"

struct ar_vec;

enum ar_capability {
	AR_CAN_VISION = 1,
	AR_CAN_TOOLS = 2,
	AR_CAN_JSON = 4,
	AR_CAN_REASONING = 8,
};

#define AR_CAN_ALL 15u
#define AR_CAPABILITIES 4

/* The word of bit `i`: vision, tools, json, reasoning. */
extern const char *const ar_capability_word[AR_CAPABILITIES];

/* The bit of a word; 0: there is no such capability. */
unsigned ar_routing_capability(struct ar_str word);

/* One model that turns may be routed to. */
struct ar_model_entry {
	struct ar_str name; /* what turns and facts call it */
	struct ar_str provider; /* its wire format */
	struct ar_str model; /* what its server calls it */
	struct ar_str currency; /* of its price */
	struct ar_price price;
	int64_t context_tokens; /* 0 = unknown */
	unsigned capabilities; /* enum ar_capability; what it is tried for */
	/* nobody said what it can do: `capabilities` is an assumption, and is told to nobody */
	bool is_undeclared;
	bool has_credentials;
	bool is_local;
	bool takes_any; /* it is asked for whatever model a turn names */
};

/* What a turn wants. */
struct ar_need {
	struct ar_str model; /* name of an entry or of a server's model; absent: any */
	unsigned capabilities;
	bool is_local_only;
	bool is_frugal; /* of those that can answer the cheapest, where prices are known */
	bool may_fall_back; /* another than the one it names may answer */
};

enum ar_exclusion {
	AR_EXCLUSION_NONE,
	AR_EXCLUSION_CREDENTIAL,
	AR_EXCLUSION_CAPABILITY,
	AR_EXCLUSION_NOT_LOCAL,
	AR_EXCLUSION_RATE_LIMITED,
	AR_EXCLUSIONS,
};

/* The word of each, as facts say it. */
extern const char *const ar_exclusion_word[AR_EXCLUSIONS];

struct ar_candidate {
	const struct ar_model_entry *entry;
	enum ar_exclusion why_not;
	unsigned missing; /* capabilities */
	ar_usec until; /* of a rate limit */
};

/* A model by the name that facts give it. */
struct ar_choice {
	const struct ar_model_entry *entry; /* NULL: none */
	struct ar_str name;
	struct ar_str model; /* for its server */
};

struct ar_routing {
	struct ar_candidate *all; /* one per entry, in their order */
	size_t count;
	size_t usable;
	const struct ar_candidate *requested; /* NULL: the turn names none, or one that nobody knows */
	struct ar_choice choice;
};

/* The models as configured, and which of them are passed over for now (struct ar_throttle). */
struct ar_model_set {
	const struct ar_model_entry *entries;
	size_t count;
	const struct ar_vec *throttles;
	ar_usec now;
};

/* The entry of that name, or whose server calls it so; an entry that takes any model takes this one too. */
struct ar_choice ar_routing_find(const struct ar_model_entry *entries, size_t count, struct ar_str name);

/* A rate limit excludes only where another candidate is left. The one that was asked for is
 * chosen, or the first usable entry, or the cheapest. */
struct ar_routing ar_route_resolve(const struct ar_model_set *set, const struct ar_need *need,
				   struct ar_arena *a);

/* Whether this candidate may follow the chosen one. */
bool ar_route_may_follow(const struct ar_routing *r, const struct ar_candidate *c);

/* When the entry may be asked again; 0 = now. */
ar_usec ar_route_throttled(const struct ar_vec *throttles, struct ar_str name, ar_usec now);

#endif
