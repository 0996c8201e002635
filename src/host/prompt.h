/* The system prompt as model.system_prompt names it: the standard one, a text, or a file that is read once,
 * at the start. Loop thread. */
#ifndef AR_HOST_PROMPT_H
#define AR_HOST_PROMPT_H

#include "config.h"
#include "redact.h"
#include "session.h"

/* Fills the policy's members; the text is in the arena, without secrets. AR_E_INVALID: the file cannot be
 * used. */
AR_MUST_USE enum ar_status ar_prompt_read(const struct ar_config *c, const struct ar_redactor *redactor,
					  struct ar_arena *a, struct ar_policy *policy, struct ar_error *err);

#endif
