/* Signals of SIGNAL messages; launch/signal_names.h has their names. */
#ifndef AR_INIT_SIGNALS_H
#define AR_INIT_SIGNALS_H

#include "signal_names.h"

/* The number in {"signal":"SIGTERM"} or {"signal":15}; 0: none. */
int ar_signal_find(const char *json);

/* Every disposition as a new program expects it, nothing blocked. */
void ar_signals_reset(void);

#endif
