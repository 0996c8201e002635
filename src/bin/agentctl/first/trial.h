/* The model server that the environment names, tried once before people rely on it. One thread. */
#ifndef AR_CTL_TRIAL_H
#define AR_CTL_TRIAL_H

#include "ctl.h"

/* Asks for the list of models, which shows that the key is valid; where a model of an OpenAI format is named,
 * also for one answer with a tool to call. Prints the result. Failure has been said on standard error. */
AR_MUST_USE enum ar_exit ar_trial_run(struct ar_ctl *c);

#endif
