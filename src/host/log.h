/* One JSON line per happening on stderr. Never content, never secrets. */
#ifndef AR_HOST_LOG_H
#define AR_HOST_LOG_H

#include "config.h"
#include "json.h"

/* Lines that are less grave are left out from now on; without a call those of "debug" are. For the start of the process, before there are threads. */
void ar_log_from(enum ar_config_log_level level);

/* level: error, warning, info, debug; detail may be NULL. */
void ar_log_line(const char *level, const char *message, const char *detail);

/* The same with members of the caller's own between the two. */
struct ar_log_entry {
	struct ar_buf line;
	struct ar_jw w;
	bool is_left_out;
};
struct ar_jw *ar_log_begin(struct ar_log_entry *e, const char *level, const char *message);
void ar_log_end(struct ar_log_entry *e);

#endif
