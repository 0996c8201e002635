/* Signals as they are asked for; launch/signal_names.h has the names that facts carry. */
#ifndef AR_SHIM_SIGNALS_H
#define AR_SHIM_SIGNALS_H

#include "json.h"
#include "signal_names.h"

int ar_signal_number(struct ar_piece name); /* SIGTERM or 15; 0: no such */

#endif
