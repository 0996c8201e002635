/* Names of environment variables: which are valid, and which would steer loaders, shells, git or the proxy,
 * so that nobody but the operator sets them. Pure; any thread. */
#ifndef AR_BASE_TEXT_ENV_NAME_H
#define AR_BASE_TEXT_ENV_NAME_H

#include "str.h"

AR_BEGIN_DECLS

bool ar_env_is_name(struct ar_str name); /* letters, digits and _, no digit first */

/* Whether a request, or the owner of a workspace, may set a variable of this name. */
bool ar_env_may_be_requested(struct ar_str name);

/* Whether one of the patterns is about the name; a star at an end of one stands for any text. */
bool ar_env_is_one_of(struct ar_str name, const char *const *patterns, size_t count);

AR_END_DECLS

#endif
