/* Which models the settings mean, and the providers that speak to their servers. Loop thread. */
#ifndef AR_HOST_MODEL_H
#define AR_HOST_MODEL_H

#include "config.h"
#include "engine.h"
#include "http_provider.h"
#include "limits/route.h"

/* Entries and slots have the same order; entries that speak to the same server with the
 * same key share a provider. */
struct ar_models {
	struct ar_model_entry *entries;
	struct ar_provider_slot *slots;
	size_t count; /* 0: nothing is configured */
	struct ar_provider **open;
	size_t open_count;
};

/* The list `models`, or, when it has none, the one model that the model section and the vendors' own
 * settings mean. A vendor's own settings come before model.base_url and model.api_key, and a key is
 * never sent to another vendor's server: an entry with an address of its own gets no key but its
 * own. Memory is the arena's. */
AR_MUST_USE enum ar_status ar_models_open(uv_loop_t *loop, const struct ar_config *c, struct ar_arena *a,
					  struct ar_models *ret, struct ar_error *err);
void ar_models_close(struct ar_models *m);

#endif
