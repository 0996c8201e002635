/* The wire formats of this folder, for the table in wire.c. Const. */
#ifndef AR_PROVIDER_WIRE_FORMATS_H
#define AR_PROVIDER_WIRE_FORMATS_H

#include "wire.h"

extern const struct ar_wire ar_wire_openai_chat;
extern const struct ar_wire ar_wire_openai_responses;
extern const struct ar_wire ar_wire_anthropic;
extern const struct ar_wire ar_wire_gemini;

#endif
