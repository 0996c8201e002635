/* The environment of one process: made anew from a list of ours, never inherited. Pure but for three
 * variables of our own that it may take over: LANG, LC_*, TZ. Loop thread only. */
#ifndef AR_SANDBOX_ENV_VECTOR_H
#define AR_SANDBOX_ENV_VECTOR_H

#include "arena.h"
#include "plan.h"
#include "status.h"

struct ar_env_vector {
	const char **at; /* K=V, room for AR_PLAN_ENV_MAX and the end */
	size_t count;
	struct ar_arena *arena;
};

struct ar_env_options {
	struct ar_str path, home, user, cwd, session_id, call_id;
	const struct ar_str *toolchain; /* K=V */
	size_t toolchain_count;
	/* K=V, commas or line ends between them: set by the operator, any name */
	struct ar_str setting;
	const struct ar_str *asked; /* K=V of the request */
	size_t asked_count;
	bool tty;
	bool uses_proxy;
};

AR_BEGIN_DECLS

/* AR_E_INVALID: a variable that was asked for has no proper name, or one that would steer loaders, shells or
 * the proxy; the sentence names it. */
AR_MUST_USE enum ar_status ar_env_fill(const struct ar_env_options *o, struct ar_env_vector *v,
				       struct ar_error *err);

/* Sets or replaces NAME=value; false: there is no room. */
AR_MUST_USE bool ar_env_put(struct ar_env_vector *v, struct ar_str entry);

struct ar_str ar_env_json(const struct ar_env_vector *v); /* as an object, in the vector's arena */

AR_END_DECLS

#endif
