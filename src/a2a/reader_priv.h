/* Shared by reader.c and reader_card.c. Pure functions. */
#ifndef AR_A2A_READER_PRIV_H
#define AR_A2A_READER_PRIV_H

#include "reader.h"

enum ar_peer_error ar_a2a_broken(struct ar_a2a_reading *r, const char *why);

/* A member that is a line of text, copied. False: it is none. */
bool ar_a2a_line(struct ar_a2a_reading *r, struct ar_json v, const char *name, size_t max,
		 struct ar_str *ret);

/* The same of one that may be missing, null or empty: then it is absent. */
bool ar_a2a_optional_line(struct ar_a2a_reading *r, struct ar_json v, const char *name, size_t max,
			  struct ar_str *ret);

#endif
