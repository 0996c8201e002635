/* Reads the streams of the process into the journal. One piece at a time goes through one buffer; while it
 * cannot be written nothing is read, so that the process feels the full disk and no byte is lost. */
#include "streams.h"
#include "clock.h"
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define PIECES_AT_ONCE 8 /* of one stream before the others get their turn */
#define HANGUP_PAUSE (100 * AR_SHIM_MS)
#define FULL_PAUSE (250 * AR_SHIM_MS)

static const char *const names[] = { "", "stdout", "stderr", "tty" };

void ar_streams_init(struct ar_streams *st, uint64_t room)
{
	for (int i = 0; i <= AR_STREAM_TTY; i++)
		st->at[i].fd = -1;
	st->room = room;
}

void ar_streams_add_fd(struct ar_streams *st, enum ar_record_stream stream, int fd)
{
	st->at[stream].fd = fd;
}

/* What goes into the journal is written first; what is beyond it always finds its place. */
static bool write_waiting(struct ar_shim *s)
{
	struct ar_streams *st = &s->streams;
	struct ar_stream *at = &st->at[st->waiting];
	size_t len = st->waiting_to - st->waiting_from, head = len < st->room ? len : (size_t)st->room;

	if (head > 0) {
		if (!ar_journal_file_add(&s->journal, AR_RECORD_OUTPUT, st->waiting,
					 st->bytes + st->waiting_from, head))
			return false;
		st->room -= head;
		at->kept += head;
		at->total += head;
		st->waiting_from += head;
		len -= head;
	}
	if (len > 0) {
		st->is_over = true;
		at->total += len;
		ar_tail_push(&st->tail, st->waiting, st->bytes + st->waiting_from, len);
	}
	st->waiting_from = st->waiting_to = 0;
	return true;
}

static void end_stream(struct ar_stream *at)
{
	close(at->fd);
	at->fd = -1;
}

/* One piece. False: nothing more now. */
static bool read_piece(struct ar_shim *s, enum ar_record_stream stream)
{
	struct ar_streams *st = &s->streams;
	struct ar_stream *at = &st->at[stream];
	ssize_t n;

	if (at->fd < 0 || st->waiting_to > 0 || (st->room > 0 && !ar_journal_file_has_room(&s->journal)))
		return false;
	n = read(at->fd, st->bytes, sizeof(st->bytes));
	if (n < 0 && errno == EIO && stream == AR_STREAM_TTY && !s->termination.is_gone) {
		at->quiet_until = ar_shim_mono() + HANGUP_PAUSE;
		return false;
	}
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		end_stream(at);
	if (n <= 0)
		return false;
	st->waiting = stream;
	st->waiting_from = 0;
	st->waiting_to = (size_t)n;
	return write_waiting(s);
}

static void on_readable(struct ar_shim *s, int stream)
{
	for (int i = 0; i < PIECES_AT_ONCE && read_piece(s, (enum ar_record_stream)stream); i++)
		;
}

/* Full: asks again after a pause instead of looking at what it could not take. */
static bool is_stuck(struct ar_shim *s)
{
	struct ar_streams *st = &s->streams;

	if (st->waiting_to > 0)
		return !write_waiting(s);
	return st->room > 0 && !ar_journal_file_has_room(&s->journal);
}

void ar_streams_watch(struct ar_shim *s, struct ar_loop *l)
{
	uint64_t now = ar_shim_mono();

	/* Output may be there before agent-init's word that it runs: STARTED stands before the first of
	 * it. */
	if (!s->init.has_started && s->init.socket >= 0)
		return;
	if (is_stuck(s)) {
		ar_loop_until(l, now + FULL_PAUSE);
		return;
	}
	for (int i = AR_STREAM_STDOUT; i <= AR_STREAM_TTY; i++) {
		struct ar_stream *at = &s->streams.at[i];

		if (at->fd >= 0 && at->quiet_until > now)
			ar_loop_until(l, at->quiet_until);
		if (at->fd >= 0 && at->quiet_until <= now)
			ar_loop_watch(l, at->fd, POLLIN, on_readable, i);
	}
}

bool ar_streams_drain(struct ar_shim *s)
{
	bool is_done = true;

	if (is_stuck(s))
		return false;
	for (int i = AR_STREAM_STDOUT; i <= AR_STREAM_TTY; i++) {
		s->streams.at[i].quiet_until = 0;
		on_readable(s, i);
		is_done = is_done && s->streams.at[i].fd < 0;
	}
	return is_done && s->streams.waiting_to == 0;
}

void ar_streams_close(struct ar_streams *st)
{
	for (int i = AR_STREAM_STDOUT; i <= AR_STREAM_TTY; i++) {
		if (st->at[i].fd >= 0)
			end_stream(&st->at[i]);
	}
}

void ar_streams_stop_keeping(struct ar_shim *s)
{
	s->streams.room = 0;
	if (s->streams.waiting_to > 0)
		write_waiting(s);
}

static bool write_truncated(struct ar_shim *s)
{
	for (int i = AR_STREAM_STDOUT; i <= AR_STREAM_TTY; i++) {
		struct ar_stream *at = &s->streams.at[i];
		uint64_t to = at->total - s->streams.tail.held[i];

		if (to <= at->kept)
			continue;
		if (!ar_journal_file_addf(&s->journal, AR_RECORD_TRUNCATED,
					  "{\"stream\":\"%s\",\"from\":%llu,\"to\":%llu}", names[i],
					  (unsigned long long)at->kept, (unsigned long long)to))
			return false;
		at->kept = to;
	}
	return true;
}

static bool write_front(struct ar_shim *s)
{
	struct ar_streams *st = &s->streams;
	enum ar_record_stream stream = AR_STREAM_NONE;
	const char *bytes = NULL;
	size_t len = ar_tail_front(&st->tail, AR_JOURNAL_PAYLOAD_MAX, &stream, &bytes);

	if (!ar_journal_file_has_room(&s->journal) ||
	    !ar_journal_file_add(&s->journal, AR_RECORD_OUTPUT, stream, bytes, len))
		return false;
	st->at[stream].kept += len;
	ar_tail_drop(&st->tail, len);
	return true;
}

bool ar_streams_write_tail(struct ar_shim *s, bool gives_up)
{
	if (!write_truncated(s))
		return false;
	while (s->streams.tail.used > 0) {
		if (write_front(s))
			continue;
		if (!gives_up)
			return false;
		ar_tail_drop(&s->streams.tail, s->streams.tail.used);
	}
	return write_truncated(s);
}
