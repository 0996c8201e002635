/* Where the daemon's log goes: stderr, one line in one write. */
#include "buf.h"
#include "command.h"

#include <unistd.h>

static void write_line(void *arg AR_UNUSED, const char *level AR_UNUSED, struct ar_str line)
{
	struct ar_buf text = { 0 };
	ssize_t rc;

	ar_buf_adds(&text, line);
	ar_buf_addc(&text, '\n');
	rc = write(STDERR_FILENO, text.p, text.len);
	(void)rc;
	ar_buf_fini(&text);
}

struct ar_log ar_agentd_log = { .write = write_line, .from = AR_CONFIG_LOG_LEVEL_INFO };
