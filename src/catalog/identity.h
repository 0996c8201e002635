/* Ids that follow from other ids, and refs that name content. Pure. */
#ifndef AR_CATALOG_IDENTITY_H
#define AR_CATALOG_IDENTITY_H

#include "arena.h"
#include "hash.h"

#define AR_TOOL_CALLS_MAX 256 /* per step */

/* tool_<session key>_<n> with n = step's number * AR_TOOL_CALLS_MAX + index, so that argument
 * frames can carry the id before the fact that names the call is decided. Absent when step is no
 * id of ours. */
struct ar_str ar_tool_call_id(struct ar_arena *a, struct ar_str step_id, uint32_t index);

/* Refs: `blob_<session key>_<hash>` names content; the key says in which session, the hash says
 * which bytes. */
struct ar_str ar_ref_make(struct ar_arena *a, struct ar_str session_key, const struct ar_hash *h);
bool ar_ref_parse(struct ar_str ref, struct ar_str *ret_session_key, struct ar_hash *ret_hash);

/* `<processId>.<stream>` names what a process writes to one of its streams (enum
 * ar_process_output_stream) while it runs and has no content yet; the fact of its end says where
 * it is stored. */
struct ar_str ar_process_ref_make(struct ar_arena *a, struct ar_str process, int stream);
bool ar_process_ref_parse(struct ar_str ref, struct ar_str *ret_process, int *ret_stream);

#endif
