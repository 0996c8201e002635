/* Checkpoints for an address: signed requests, one at a time. What was not accepted is sent again at a later
 * tick, under the same id. A receiver that stays away costs a bounded number of bytes; then newer checkpoints
 * are dropped, which the log of the daemon says. Owner: the loop thread. */
#ifndef AR_HOST_CHECKPOINT_POST_H
#define AR_HOST_CHECKPOINT_POST_H

#include "buf.h"
#include "config.h"
#include "log.h"

#include <uv.h>

struct ar_checkpoint_post;

/* Whether the settings can be used. */
AR_MUST_USE enum ar_status ar_checkpoint_post_check(const struct ar_config *c, struct ar_error *err);

/* The log and the settings, in which the secret is renewed, are borrowed for its life. */
struct ar_checkpoint_post *ar_checkpoint_post_open(uv_loop_t *loop, const struct ar_log *log,
						   const struct ar_config *c);

void ar_checkpoint_post_add(struct ar_checkpoint_post *p, struct ar_str note, struct ar_str leaves);
void ar_checkpoint_post_send(struct ar_checkpoint_post *p); /* what waits, unless something is under way */

/* NULL is allowed. Free it when the loop has run to its end. */
void ar_checkpoint_post_close(struct ar_checkpoint_post *p);
void ar_checkpoint_post_free(struct ar_checkpoint_post *p);

/* One checkpoint as a JSON object: a line of the file, too. */
void ar_checkpoint_write(struct ar_buf *out, struct ar_str note, struct ar_str leaves);

#endif
