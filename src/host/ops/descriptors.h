/* How the file descriptors of this process are shared: clients, model calls, and the rest (store,
 * tools, hooks, other nodes). What clients may have is the transport's to keep. */
#ifndef AR_HOST_OPS_DESCRIPTORS_H
#define AR_HOST_OPS_DESCRIPTORS_H

#include "config.h"
#include "status.h"

/* Raises the soft limit to the hard one, and refuses when that is too little to serve anybody. */
AR_MUST_USE enum ar_status ar_descriptors_begin(struct ar_error *err);

/* How many model calls may be under way at once: model.max_calls, or a share of the limit. */
size_t ar_descriptors_for_calls(const struct ar_config *c);

/* Whether few are left, said in the log; `host` is the struct ar_host. */
void ar_descriptors_strained(void *host, bool is_strained);

#endif
