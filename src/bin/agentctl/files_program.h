/* agent-files, run for one request. */
#ifndef AR_CTL_FILES_PROGRAM_H
#define AR_CTL_FILES_PROGRAM_H

#include "ctl.h"

/* The answer, kept for the invocation. Failure has been said on standard error. */
AR_MUST_USE enum ar_exit ar_files_program(struct ar_ctl *c, struct ar_str request, struct ar_str *ret);

#endif
