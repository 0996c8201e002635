/* Takes inputs by number and writes them without ever waiting for the reader. The end of file is the closed
 * pipe, or on a terminal its own end-of-file character: a terminal can be typed at again afterwards. */
#include "stdin.h"
#include "shim.h"

#include <errno.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#define EOF_MAX 2

static bool has_room(const struct ar_stdin *in, size_t len)
{
	return in->used + len <= sizeof(in->bytes) && in->item_count < AR_STDIN_ITEMS_MAX;
}

static void enqueue_bytes(struct ar_stdin *in, const char *bytes, size_t len, bool is_eof)
{
	struct ar_stdin_item *item = &in->items[(in->first_item + in->item_count) % AR_STDIN_ITEMS_MAX];

	if (in->start + in->used + len > sizeof(in->bytes)) {
		memmove(in->bytes, in->bytes + in->start, in->used);
		in->start = 0;
	}
	if (len > 0)
		memcpy(in->bytes + in->start + in->used, bytes, len);
	in->used += len;
	*item = (struct ar_stdin_item){ .left = (uint32_t)len, .is_eof = is_eof };
	in->item_count++;
	in->accepted++;
	in->will_close = in->will_close || (is_eof && !in->is_tty);
}

enum ar_shim_input_status ar_stdin_accept(struct ar_shim *s, const struct ar_shim_input *head,
					  const char *bytes, size_t len)
{
	struct ar_stdin *in = &s->input;

	if (head->number <= in->accepted)
		return AR_SHIM_INPUT_REPEATED;
	if (in->fd < 0 || in->will_close)
		return AR_SHIM_INPUT_CLOSED;
	/* A gap: the one before it has to come first. */
	if (head->number != in->accepted + 1 || !has_room(in, len))
		return AR_SHIM_INPUT_BUSY;
	if (!ar_journal_file_addf(&s->journal, AR_RECORD_INPUT_ACCEPTED,
				  "{\"number\":%llu,\"bytes\":%zu,\"eof\":%s}",
				  (unsigned long long)head->number, len, head->is_eof ? "true" : "false"))
		return AR_SHIM_INPUT_BUSY;
	enqueue_bytes(in, bytes, len, head->is_eof != 0);
	return AR_SHIM_INPUT_OK;
}

void ar_stdin_close(struct ar_stdin *in)
{
	/* The terminal's master belongs to the streams. */
	if (in->fd >= 0 && !in->is_tty)
		close(in->fd);
	in->fd = -1;
	in->used = in->item_count = 0;
}

/* A line that is not finished takes the character twice: the first hands over the line, the second is the
 * end. */
static bool write_tty_eof(struct ar_stdin *in)
{
	struct termios t;
	char eof[EOF_MAX] = { 4, 4 };
	size_t count = in->last == '\n' || in->last == '\0' ? 1 : 2;
	ssize_t n;

	if (tcgetattr(in->fd, &t) == 0)
		eof[0] = eof[1] = (char)t.c_cc[VEOF];
	n = write(in->fd, eof, count);
	if (n > 0)
		in->last = '\0';
	return n == (ssize_t)count;
}

/* The oldest item has no byte left: its end of file, its record. False: the terminal is full, try again. */
static bool finish_item(struct ar_shim *s)
{
	struct ar_stdin *in = &s->input;
	bool is_eof = in->items[in->first_item].is_eof;

	if (is_eof && in->is_tty && !write_tty_eof(in))
		return false;
	in->first_item = (in->first_item + 1) % AR_STDIN_ITEMS_MAX;
	in->item_count--;
	in->written++;
	ar_journal_file_addf(&s->journal, AR_RECORD_INPUT_WRITTEN, "{\"number\":%llu}",
			     (unsigned long long)in->written);
	if (is_eof && !in->is_tty)
		ar_stdin_close(in);
	return true;
}

/* False: no more now. */
static bool write_some(struct ar_shim *s)
{
	struct ar_stdin *in = &s->input;
	struct ar_stdin_item *item = &in->items[in->first_item];
	ssize_t n;

	if (in->fd < 0 || in->item_count == 0)
		return false;
	if (item->left == 0)
		return finish_item(s);
	n = write(in->fd, in->bytes + in->start, item->left);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		ar_stdin_close(in);
	if (n <= 0)
		return false;
	in->last = in->bytes[in->start + (size_t)n - 1];
	in->start += (size_t)n;
	in->used -= (size_t)n;
	item->left -= (uint32_t)n;
	return true;
}

static void on_writable(struct ar_shim *s, int arg)
{
	(void)arg;
	while (write_some(s))
		;
}

/* poll() reports a pipe whose reader is gone, even when nothing waits to be written. */
static void on_hangup(struct ar_shim *s, int arg)
{
	(void)arg;
	ar_stdin_close(&s->input);
}

void ar_stdin_watch(struct ar_shim *s, struct ar_loop *l)
{
	struct ar_stdin *in = &s->input;

	if (in->fd < 0 || !s->init.is_released)
		return;
	if (in->item_count > 0)
		ar_loop_watch(l, in->fd, POLLOUT, on_writable, 0);
	else if (!in->is_tty)
		ar_loop_watch(l, in->fd, 0, on_hangup, 0);
}
