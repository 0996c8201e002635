/* Agents that the settings publish by A2A, as the front and the card read them. Plain data; the host fills
 * it at start, and nothing of it changes later. */
#ifndef AR_A2A_PUBLISHED_H
#define AR_A2A_PUBLISHED_H

#include "arena.h"

/* What an agent can do, as its card says it. */
struct ar_a2a_skill {
	struct ar_str id, name, description;
	struct ar_texts tags; /* at least one */
	struct ar_texts tenants; /* who may know of it; only `*`: everybody */
	bool is_public; /* on the card that everybody gets; otherwise on the extended one */
};

struct ar_a2a_agent {
	struct ar_str name; /* in addresses: A-Z a-z 0-9 . _ - */
	struct ar_str title, description, version; /* on the card */
	struct ar_str workspace; /* of new sessions, ws_...; absent: none */
	struct ar_str model, mode; /* of turns, words of submit_turn's options; absent: the default */
	struct ar_texts tenants; /* whose callers may use it; `*` is all */
	bool speaks_v03;
	const struct ar_a2a_skill *skills;
	size_t skill_count;
};

/* How callers show who they are, for the card. */
struct ar_a2a_security {
	bool is_open; /* nobody has to */
	bool has_certificates; /* besides tokens */
	struct ar_str oidc; /* address of the issuer's document; absent: no such tokens */
};

/* An extension that the card declares. */
struct ar_a2a_extension {
	struct ar_str uri, description;
};

/* Which card is asked for. */
struct ar_a2a_card_ask {
	const struct ar_a2a_agent *agent;
	bool is_pure; /* A2A-Version is 1.0: without the members of 0.3 */
	struct ar_str
		tenant; /* of a caller who has shown who it is: the extended card; absent: the public one */
};

struct ar_a2a_card {
	struct ar_str body; /* JSON */
	struct ar_str etag; /* with its quotes */
	struct ar_str modified; /* as Last-Modified says it */
};

struct ar_a2a_published {
	struct ar_str url; /* public base address, without a slash at its end */
	const struct ar_a2a_agent *agents;
	size_t count; /* at least one */
	const struct ar_a2a_agent *standard; /* whose card is the one of this server; NULL: none */
	struct ar_a2a_security security;
	bool streams, pushes; /* what the front can do */
	const struct ar_a2a_extension *extensions;
	size_t extension_count;
	/* Texts in the arena. */
	void (*card)(void *arg, const struct ar_a2a_card_ask *ask, struct ar_arena *a,
		     struct ar_a2a_card *ret);
	/* Why notifications may not be sent to a url that a caller names; NULL: they may. */
	const char *(*push_fault)(void *arg, struct ar_str url);
	void *arg;
};

/* NULL: there is none of that name. */
const struct ar_a2a_agent *ar_a2a_agent_find(const struct ar_a2a_published *p, struct ar_str name);

/* Whether callers of that tenant may use it. */
bool ar_a2a_agent_is_for(const struct ar_a2a_agent *g, struct ar_str tenant);

#endif
