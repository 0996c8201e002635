/* The environment of a workspace: variables that its commands and MCP servers get, and the sandbox profiles
 * that its calls may have. Sessions keep those that the workspace had when they were created. Pure. */
#ifndef AR_SESSION_WORKSPACE_ENVIRONMENT_H
#define AR_SESSION_WORKSPACE_ENVIRONMENT_H

#include "process.h"
#include "session.h"

#define AR_VARIABLES_MAX 64
#define AR_VARIABLES_BYTES 8192 /* of all names, values and names of secrets together */

/* Refuses variables that programs of the workspace cannot have: a name of another form, or one that steers
 * what is loaded or run; a name twice; a text that no variable can hold, or that was masked; a secret that is
 * not for the workspace. `r` is the workspace, which may not have a fact yet. */
AR_MUST_USE enum ar_status ar_environment_check(const struct ar_decision *d,
						const struct ar_shape_workspace_record *r,
						const struct ar_shape_workspace_variable_list *list,
						struct ar_error *err);

/* Refuses what is no list of profiles, each once. */
AR_MUST_USE enum ar_status ar_allowed_profiles_check(const struct ar_texts *list, struct ar_error *err);

/* The list without members that nobody knows; an empty one becomes absent. */
struct ar_shape_workspace_variable_list ar_environment_copy(
	struct ar_arena *a, const struct ar_shape_workspace_variable_list *list);

/* The variables that have a value, as NAME=value; with `has_secrets` those that have a secret, too, each as
 * its name alone. */
struct ar_texts ar_environment_texts(const struct ar_shape_workspace_variable_list *list, bool has_secrets,
				     struct ar_arena *a);

/* Of a session; empty, if it has no workspace of its own. */
const struct ar_shape_workspace_variable_list *ar_session_environment(const struct ar_session *s);

/* The variables of the session that have a secret. */
const struct ar_process_secret *ar_session_secret_variables(const struct ar_session *s, struct ar_arena *a,
							    size_t *ret_count);

#endif
