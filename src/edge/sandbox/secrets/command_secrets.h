/* The secrets of commands: which command gets which, and under what name it finds it. Neither the environment
 * nor the plan ever holds a value: a file's is handed out as a descriptor, a proxied one stays with the
 * proxy. Owner: loop thread. */
#ifndef AR_SANDBOX_COMMAND_SECRETS_H
#define AR_SANDBOX_COMMAND_SECRETS_H

#include "boundary.h"
#include "env_vector.h"

struct ar_command_secrets {
	const struct ar_command_secret *at;
	size_t count;
};

/* What one command gets as files. */
struct ar_given {
	struct ar_str at[AR_PLAN_GIVEN_MAX];
	size_t count;
};

AR_BEGIN_DECLS

/* Copies them into the arena. AR_E_INVALID: one that cannot be given, the sentence names it and never its
 * value; AR_E_LIMIT: too many. */
AR_MUST_USE enum ar_status ar_command_secrets_copy(struct ar_command_secrets *ret,
						   const struct ar_command_secret *secrets, size_t count,
						   struct ar_arena *a, struct ar_error *err);

/* The variables of those that this command gets, and the contents of its files. */
AR_MUST_USE enum ar_status ar_command_secrets_apply(const struct ar_command_secrets *s,
						    const struct ar_process_spec *spec, bool uses_proxy,
						    struct ar_env_vector *env, struct ar_given *ret,
						    struct ar_error *err);

/* What stands for a proxied secret inside: the same in every life of the runtime, so that a process that
 * outlives one is understood by the next, and cannot be guessed without the value. */
struct ar_str ar_command_secret_placeholder(struct ar_str name, struct ar_str value, struct ar_arena *a);

AR_END_DECLS

#endif
