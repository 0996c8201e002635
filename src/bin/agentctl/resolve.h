/* From what a person types to an id: `last`, a whole id, or the beginning or end of one. */
#ifndef AR_CTL_RESOLVE_H
#define AR_CTL_RESOLVE_H

#include "api.h"

/* The session that `word` means, kept for the invocation. Failure has been said on standard error. */
AR_MUST_USE enum ar_exit ar_resolve_session(struct ar_ctl *c, const char *word, struct ar_str *ret);

/* The newest session of a workspace; `none` is what is said when it has none. */
AR_MUST_USE enum ar_exit ar_resolve_newest(struct ar_ctl *c, struct ar_str workspace, const char *none,
					   struct ar_str *ret);

/* The action that `word` means: a whole id as it is, part of one among those that wait for an answer. */
AR_MUST_USE enum ar_exit ar_resolve_action(struct ar_ctl *c, const char *word, struct ar_str *ret);

/* get_session of the session that `word` means. `ret` always wants fini. */
AR_MUST_USE enum ar_exit ar_resolve_read(struct ar_ctl *c, const char *word, struct ar_api_reply *ret);

/* The same with the threads of child agents that have ended, for what a person names by its id. */
AR_MUST_USE enum ar_exit ar_resolve_read_all(struct ar_ctl *c, const char *word, struct ar_api_reply *ret);
struct ar_str ar_resolve_body_all(struct ar_ctl *c, struct ar_str session);

/* The request of read_output: `length` bytes of a content from `offset` on; kept likewise. */
struct ar_str ar_resolve_output_body(struct ar_ctl *c, struct ar_str ref, size_t offset, size_t length);

/* A JSON text of one member: {"name":"value"}, kept for the invocation. */
struct ar_str ar_resolve_body(struct ar_ctl *c, const char *name, struct ar_str value);

#endif
