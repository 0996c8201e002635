/* Handlers that are commands: one process group each, from its start to its end. Belongs to the loop
 * thread. */
#ifndef AR_HOOK_COMMAND_H
#define AR_HOOK_COMMAND_H

#include "hook.h"
#include "list.h"

#include <uv.h>

struct ar_json_parser;

/* Those that run; embedded by the runner. */
struct ar_hook_commands {
	uv_loop_t *loop;
	struct ar_json_parser *parser;
	struct ar_list open;
};

AR_BEGIN_DECLS

void ar_hook_commands_init(struct ar_hook_commands *all, uv_loop_t *loop);
void ar_hook_command_start(struct ar_hook_commands *all, struct ar_hook_run *r);
void ar_hook_command_cancel(struct ar_hook_run *r); /* on_done follows when its group is gone */

/* Kills what runs, calls on_done for each. */
void ar_hook_commands_fini(struct ar_hook_commands *all);

AR_END_DECLS

#endif
