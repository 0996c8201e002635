/* One JSON line per event of the runtime. Never content, never secrets. The owner of the runtime decides
 * where the lines go. */
#ifndef AR_HOST_LOG_H
#define AR_HOST_LOG_H

#include "config.h"
#include "json.h"

struct ar_log {
	void (*write)(void *arg, const char *level, struct ar_str line); /* NULL: the lines are dropped */
	void *arg;
	enum ar_config_log_level from; /* lines that are less grave are left out */
};

/* level: error, warning, info, debug; detail may be NULL. */
void ar_log_line(const struct ar_log *log, const char *level, const char *message, const char *detail);

/* The same with members of the caller's own between the two. */
struct ar_log_entry {
	const struct ar_log *log;
	const char *level;
	struct ar_buf line;
	struct ar_jw w;
};
struct ar_jw *ar_log_begin(const struct ar_log *log, struct ar_log_entry *e, const char *level,
			   const char *message);
void ar_log_end(struct ar_log_entry *e);

#endif
