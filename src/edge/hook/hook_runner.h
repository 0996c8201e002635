/* Hooks behind port/hook.h: a handler is a shell command or an HTTP endpoint. What its answer means is left
 * to the core, when to run it to the engine. Belongs to the loop thread. */
#ifndef AR_HOOK_RUNNER_H
#define AR_HOOK_RUNNER_H

#include "hook.h"

#include <uv.h>

AR_BEGIN_DECLS

/* Never NULL. close() of the vtable ends what is open, with on_done for each before it returns; the memory
 * goes when the loop has run once more. */
struct ar_hook_runner *ar_hook_runner_open(uv_loop_t *loop);

AR_END_DECLS

#endif
