/* Runs many texts in one shell, each command of which writes its words down instead of doing anything. */
#ifndef AR_TEST_SHELLS_H
#define AR_TEST_SHELLS_H

#include "command.h"

/* Names that the shell knows; it runs nothing else, there is no PATH. */
extern const char *const ar_shells_names[];
extern const size_t ar_shells_name_count;

struct ar_shells_text {
	struct ar_str text;
	struct ar_command_line parsed;
};

/* How many of `texts` came to other words in `shell` (a path) than were parsed; the first is told on
 * stderr. */
size_t ar_shells_compare(const char *shell, const struct ar_shells_text *texts, size_t count,
			 struct ar_arena *a);

#endif
