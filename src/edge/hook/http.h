/* Handlers that are HTTP endpoints: one POST each. Belongs to the loop thread. */
#ifndef AR_HOOK_HTTP_H
#define AR_HOOK_HTTP_H

#include "hook.h"
#include "transfer.h"

AR_BEGIN_DECLS

void ar_hook_http_start(struct ar_transfer_pool *pool, struct ar_hook_run *r);
void ar_hook_http_cancel(struct ar_hook_run *r); /* on_done follows from the loop */

AR_END_DECLS

#endif
