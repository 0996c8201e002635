/* The model server that the environment names, asked directly: is it there? The daemon is not involved. */
#ifndef AR_CTL_MODEL_H
#define AR_CTL_MODEL_H

#include "ctl.h"
#include "http.h"

struct ar_model_vendor; /* names of variables, headers and paths */

struct ar_model_endpoint {
	const struct ar_model_vendor *vendor;
	const char *base_url; /* without a slash at the end */
	const char *key; /* NULL = none */
	const char *name; /* of the model; NULL = none */
	const char *url_variable, *key_variable; /* where the address and the key come from */
};

/* From the variables of the vendor that AGENTD_PROVIDER names, else of the first that has any:
 * OPENAI_BASE_URL and OPENAI_API_KEY, ANTHROPIC_..., GEMINI_...; and AGENTD_MODEL. False when neither address
 * nor key is set. */
bool ar_model_endpoint(struct ar_ctl *c, struct ar_model_endpoint *ret);

/* Asks for the list of models. `ret` wants ar_buf_fini of its body. */
AR_MUST_USE enum ar_status ar_model_list(struct ar_ctl *c, const struct ar_model_endpoint *m,
					 struct ar_http_reply *ret, struct ar_error *err);

/* Whether the list has a model of that name. */
bool ar_model_is_listed(struct ar_str body, const char *name);

/* Waits up to a minute until the server lists its models, as one that is still loading does not. */
AR_MUST_USE enum ar_exit ar_model_wait(struct ar_ctl *c);

#endif
