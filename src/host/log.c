/* See log.h. */
#include "log.h"
#include "clock.h"

#include <unistd.h>

struct ar_jw *ar_log_begin(struct ar_log_entry *e, const char *level, const char *message)
{
	*e = (struct ar_log_entry){ 0 };
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
	rc = write(STDERR_FILENO, e->line.p, e->line.len);
	(void)rc;
	ar_buf_fini(&e->line);
}

void ar_log_line(const char *level, const char *message, const char *detail)
{
	struct ar_log_entry e;

	ar_jw_mstr(ar_log_begin(&e, level, message), "detail", ar_str_from(detail));
	ar_log_end(&e);
}
