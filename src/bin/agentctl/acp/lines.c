/* See acp.h: bytes of the editor to lines, and our lines to the editor. A line has a limit; one that is
 * longer is dropped to its end and refused once. */
#include "acp/acp.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#define FLUSH_AT ((size_t)256 << 10)

static void add_piece(struct ar_acp *a, struct ar_str piece)
{
	if (a->in.len + piece.len > AR_ACP_LINE_MAX)
		a->is_too_long = true;
	if (a->is_too_long)
		ar_buf_clear(&a->in);
	else
		ar_buf_adds(&a->in, piece);
}

static void finish_line(struct ar_acp *a)
{
	if (a->is_too_long)
		ar_acp_error(a, AR_STR("null"), AR_ACP_INVALID_REQUEST, "the line is over %zu bytes",
			     AR_ACP_LINE_MAX);
	else if (ar_str_trim(ar_buf_str(&a->in), " \t\r").len)
		ar_acp_line(a, ar_buf_str(&a->in));
	a->is_too_long = false;
	ar_buf_clear(&a->in);
	ar_arena_reset(&a->ctl->arena);
}

void ar_acp_feed(struct ar_acp *a, struct ar_str bytes)
{
	while (bytes.len && !a->is_over) {
		const char *end = memchr(bytes.p, '\n', bytes.len);
		struct ar_str piece = ar_str_sub(bytes, 0, end ? (size_t)(end - bytes.p) : bytes.len);

		add_piece(a, piece);
		if (!end)
			return;
		finish_line(a);
		bytes = ar_str_sub(bytes, piece.len + 1, bytes.len);
	}
}

void ar_acp_read(struct ar_acp *a)
{
	char bytes[65536];
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n > 0)
		ar_acp_feed(a, (struct ar_str){ bytes, (size_t)n });
	else
		a->is_over = true;
}

/* An editor that does not read is waited for: the daemon keeps what happens meanwhile. */
void ar_acp_flush(struct ar_acp *a)
{
	size_t done = 0;

	while (done < a->out.len && !a->is_over) {
		ssize_t n = write(STDOUT_FILENO, a->out.p + done, a->out.len - done);

		if (n > 0)
			done += (size_t)n;
		else if (errno == EAGAIN)
			poll(&(struct pollfd){ .fd = STDOUT_FILENO, .events = POLLOUT }, 1, -1);
		else if (errno != EINTR)
			a->is_over = true;
	}
	ar_buf_clear(&a->out);
	if (a->out.room > FLUSH_AT)
		ar_buf_fini(&a->out);
}
