/* The answer of the command explain for people: the newest reason, then each with the fact behind it. */
#ifndef AR_CTL_REASONS_H
#define AR_CTL_REASONS_H

#include "api.h"

void ar_reasons_print(struct ar_out *o, struct ar_json answer);

#endif
