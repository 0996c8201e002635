/* Made-up but valid content for any struct of the catalogue, so that one loop can test every event and
 * command. */
#ifndef AR_TEST_SAMPLE_H
#define AR_TEST_SAMPLE_H

#include "codec.h"

/* Fills a zeroed struct: every member when `full`, else the required ones and the first of every oneof
 * rule. */
void ar_sample_struct(const struct ar_struct_desc *d, bool full, struct ar_arena *a, void *ret);

/* A valid event of that type; payload in the arena. */
struct ar_event ar_sample_event(enum ar_event_type type, bool full, struct ar_arena *a);

#endif
