/* What the daemon of a data folder was last started with: start.json in that folder. A client that starts the
 * daemon again reads it, so that the settings file, and the rules in it, stay in force; and one that finds a
 * daemon sees what it works with. No state. */
#ifndef AR_BASE_IO_START_FILE_H
#define AR_BASE_IO_START_FILE_H

#include "arena.h"
#include "status.h"

AR_BEGIN_DECLS

struct ar_start_file {
	struct ar_str config; /* absolute path of the settings file; absent = started without one */
	struct ar_str listen; /* the address of the command line; absent = none was given */
	struct ar_str socket, workspace, model, provider; /* the settings in force; "" = none is set */
	struct ar_str stop_ms; /* digits: how long it may let work go on once it was asked to stop */
};

/* Durable and whole or not at all: a new file, readable by its owner only, takes the place of the old one. */
AR_MUST_USE enum ar_status ar_start_file_write(const char *data_dir, const struct ar_start_file *what,
					       struct ar_error *err);

/* AR_OK with everything absent when the folder remembers nothing. What another user may have written is
 * refused. Text lives in the arena. */
AR_MUST_USE enum ar_status ar_start_file_read(const char *data_dir, struct ar_arena *a,
					      struct ar_start_file *ret, struct ar_error *err);

AR_END_DECLS

#endif
