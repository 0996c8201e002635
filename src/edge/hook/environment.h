/* What a command finds in its environment: a few variables of ours by name, never the rest, where keys may
 * be, and the ids of what it is asked about. Pure but for reading our own environment. */
#ifndef AR_HOOK_ENVIRONMENT_H
#define AR_HOOK_ENVIRONMENT_H

#include "arena.h"
#include "hook.h"

struct ar_json_parser;

AR_BEGIN_DECLS

/* A NULL-terminated list of NAME=value in the arena. Ids are the members of the run's input that have a
 * variable. */
char **ar_hook_environment(const struct ar_hook_run *r, struct ar_json_parser *parser, struct ar_arena *a);

AR_END_DECLS

#endif
