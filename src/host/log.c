/* See log.h. Any thread: nothing is shared but what the owner's function shares. */
#include "log.h"
#include "clock.h"

#include <string.h>

static const char *const levels[] = { [AR_CONFIG_LOG_LEVEL_ERROR] = "error",
				      [AR_CONFIG_LOG_LEVEL_WARNING] = "warning",
				      [AR_CONFIG_LOG_LEVEL_INFO] = "info",
				      [AR_CONFIG_LOG_LEVEL_DEBUG] = "debug" };

static bool is_left_out(const struct ar_log *log, const char *level)
{
	if (!log->write)
		return true;
	for (size_t i = (size_t)log->from + 1; i < AR_ARRAY_LEN(levels); i++) {
		if (strcmp(level, levels[i]) == 0)
			return true;
	}
	return false;
}

struct ar_jw *ar_log_begin(const struct ar_log *log, struct ar_log_entry *e, const char *level,
			   const char *message)
{
	*e = (struct ar_log_entry){ .log = log, .level = level };
	e->w = ar_jw(&e->line);
	ar_jw_open(&e->w);
	ar_jw_mtime(&e->w, "time", ar_clock_system()->wall(ar_clock_system()));
	ar_jw_mstr(&e->w, "level", ar_str_from(level));
	ar_jw_mstr(&e->w, "message", ar_str_from(message));
	return &e->w;
}

void ar_log_end(struct ar_log_entry *e)
{
	ar_jw_close(&e->w);
	if (!is_left_out(e->log, e->level))
		e->log->write(e->log->arg, e->level, ar_buf_str(&e->line));
	ar_buf_fini(&e->line);
}

void ar_log_line(const struct ar_log *log, const char *level, const char *message, const char *detail)
{
	struct ar_log_entry e;

	ar_jw_mstr(ar_log_begin(log, &e, level, message), "detail", ar_str_from(detail));
	ar_log_end(&e);
}
