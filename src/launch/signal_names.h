/* Signals by the names that facts and people use, between the helpers. No state. */
#ifndef AR_LAUNCH_SIGNAL_NAMES_H
#define AR_LAUNCH_SIGNAL_NAMES_H

#include <stddef.h>

const char *ar_signal_name(int number); /* SIGTERM; of one without a name "SIGRT" */
int ar_signal_named(const char *name, size_t len); /* 0: no such */

#endif
