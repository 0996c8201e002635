/* One JSON line per happening on stderr. Never content, never secrets. */
#ifndef AR_HOST_LOG_H
#define AR_HOST_LOG_H

#include "json.h"

/* level: error, warning, info; detail may be NULL. */
void ar_log_line(const char *level, const char *message, const char *detail);

/* The same with members of the caller's own between the two. */
struct ar_log_entry {
	struct ar_buf line;
	struct ar_jw w;
};
struct ar_jw *ar_log_begin(struct ar_log_entry *e, const char *level, const char *message);
void ar_log_end(struct ar_log_entry *e);

#endif
