/* Which model server the settings mean, and the provider that speaks to it. Loop thread. */
#ifndef AR_HOST_MODEL_H
#define AR_HOST_MODEL_H

#include "config.h"
#include "http_provider.h"

/* Strings are the settings' own. */
struct ar_model_choice {
	const struct ar_wire *wire; /* NULL: nothing is configured */
	const char *base_url; /* NULL: the vendor's */
	const char *api_key;
	const char *name; /* of the model when a turn names none */
};

/* A vendor's own settings come before model.base_url and model.api_key, and a key is never sent to another vendor's
 * server. */
struct ar_model_choice ar_model_choose(const struct ar_config *c);

/* NULL when nothing is configured. */
struct ar_provider *ar_model_open(uv_loop_t *loop, const struct ar_config *c);

#endif
