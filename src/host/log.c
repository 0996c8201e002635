/* See log.h. */
#include "log.h"
#include "clock.h"

#include <string.h>
#include <unistd.h>

static const char *const levels[] = { [AR_CONFIG_LOG_LEVEL_ERROR] = "error",
				      [AR_CONFIG_LOG_LEVEL_WARNING] = "warning",
				      [AR_CONFIG_LOG_LEVEL_INFO] = "info",
				      [AR_CONFIG_LOG_LEVEL_DEBUG] = "debug" };

/* Of the process, like the standard error that the lines go to. */
static size_t least_grave = AR_CONFIG_LOG_LEVEL_INFO;

void ar_log_from(enum ar_config_log_level level)
{
	least_grave = (size_t)level;
}

static bool is_left_out(const char *level)
{
	for (size_t i = least_grave + 1; i < AR_ARRAY_LEN(levels); i++) {
		if (strcmp(level, levels[i]) == 0)
			return true;
	}
	return false;
}

struct ar_jw *ar_log_begin(struct ar_log_entry *e, const char *level, const char *message)
{
	*e = (struct ar_log_entry){ .is_left_out = is_left_out(level) };
	e->w = ar_jw(&e->line);
	ar_jw_open(&e->w);
	ar_jw_mtime(&e->w, "time", ar_clock_system()->wall(ar_clock_system()));
	ar_jw_mstr(&e->w, "level", ar_str_from(level));
	ar_jw_mstr(&e->w, "message", ar_str_from(message));
	return &e->w;
}

void ar_log_end(struct ar_log_entry *e)
{
	ssize_t rc;

	ar_jw_close(&e->w);
	ar_buf_addc(&e->line, '\n');
	rc = e->is_left_out ? 0 : write(STDERR_FILENO, e->line.p, e->line.len);
	(void)rc;
	ar_buf_fini(&e->line);
}

void ar_log_line(const char *level, const char *message, const char *detail)
{
	struct ar_log_entry e;

	ar_jw_mstr(ar_log_begin(&e, level, message), "detail", ar_str_from(detail));
	ar_log_end(&e);
}
