/* The protected paths that were missing (launch/observed.h), in the journal: looked at when everything is
 * over. */
#ifndef AR_SHIM_MISSING_H
#define AR_SHIM_MISSING_H

#include "init_wire.h"
#include "json.h"
#include "observed.h"

struct ar_shim;

struct ar_missing_paths {
	struct ar_observation seen;
	char paths[AR_INIT_MESSAGE_MAX]; /* JSON array, as in READY */
	size_t len;
	size_t at; /* behind the last one that is on record */
};

/* `ready`: the JSON of READY, before GO. */
void ar_missing_paths_begin(struct ar_missing_paths *o, struct ar_piece ready);

/* One record for each that is there now. False: the disk is full, call it again. */
bool ar_missing_paths_finish(struct ar_shim *s);

#endif
