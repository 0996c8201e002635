/* See log.h. */
#include "log.h"
#include "clock.h"
#include "json.h"

#include <unistd.h>

void ar_log_line(const char *level, const char *message, const char *detail)
{
	struct ar_buf line = { 0 };
	struct ar_jw w = ar_jw(&line);
	ssize_t rc;

	ar_jw_open(&w);
	ar_jw_mtime(&w, "time", ar_clock_system()->wall(ar_clock_system()));
	ar_jw_mstr(&w, "level", ar_str_from(level));
	ar_jw_mstr(&w, "message", ar_str_from(message));
	ar_jw_mstr(&w, "detail", ar_str_from(detail));
	ar_jw_close(&w);
	ar_buf_addc(&line, '\n');
	rc = write(STDERR_FILENO, line.p, line.len);
	(void)rc;
	ar_buf_fini(&line);
}
