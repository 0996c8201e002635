/* The model server that the environment names, asked directly: is it there? The daemon is not involved. */
#ifndef AR_CTL_MODEL_H
#define AR_CTL_MODEL_H

#include "ctl.h"
#include "http.h"

struct ar_model_place {
	const char *base_url; /* up to and with /v1, without a slash at the end */
	const char *key; /* NULL = none */
	const char *name; /* of the model; NULL = none */
};

/* From OPENAI_BASE_URL, OPENAI_API_KEY and AGENTD_MODEL; false when neither address nor key is set. */
bool ar_model_place(struct ar_ctl *c, struct ar_model_place *ret);

/* GET <base_url>/models. `ret` wants ar_buf_fini of its body. */
AR_MUST_USE enum ar_status ar_model_ask(struct ar_ctl *c, const struct ar_model_place *m,
					struct ar_http_reply *ret, struct ar_error *err);

/* Waits up to a minute until the server lists its models, as one that is still loading does not. */
AR_MUST_USE enum ar_exit ar_model_wait(struct ar_ctl *c);

#endif
