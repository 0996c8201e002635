/* The instruction file of the workspace (AGENTS.md): read at start and again when it changes, so that a
 * decision finds its text, or the reason why there is none, in the policy. Only a regular file is read
 * that has one name and lies in the workspace without a link on its path. Which sessions get the text
 * is the core's (ar_workspace_instructions). Loop thread. */
#ifndef AR_HOST_INSTRUCTIONS_H
#define AR_HOST_INSTRUCTIONS_H

#include "config.h"
#include "redact.h"
#include "session.h"

#include <uv.h>

struct ar_instruction_file;

/* Fills the policy's instruction members and keeps them so; both and the redactor are borrowed. *ret
 * stays as it is when no file is wanted. AR_E_INVALID: the setting names no file inside the workspace. */
AR_MUST_USE enum ar_status ar_instruction_file_open(uv_loop_t *loop, const struct ar_config *c,
						    const struct ar_redactor *redactor,
						    struct ar_policy *policy,
						    struct ar_instruction_file **ret, struct ar_error *err);

/* Looks no more; free when the loop has run to its end. */
void ar_instruction_file_close(struct ar_instruction_file *f);
void ar_instruction_file_free(struct ar_instruction_file *f);

#endif
