/* See pane.h. A page is one write: home, the rows, erase below; none when nothing changed. */
#include "pane/pane.h"
#include "term/term.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <termios.h>
#include <unistd.h>

#define IDLE_USEC 40000 /* without a byte: an ESC alone is a key, a paste has ended */
#define NOTE_MAX 4096

static void read_size(struct ar_pane *p)
{
	struct winsize size = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_col || !size.ws_row)
		size = (struct winsize){ .ws_col = 80, .ws_row = 24 };
	p->cols = size.ws_col < 20 ? 19 : size.ws_col - 1; /* a full row would wrap */
	p->rows = size.ws_row < 4 ? 4 : size.ws_row;
}

/* ---- notes ---- */

/* What agentctl prints, harmless already: complaints have several lines. */
static void on_output(void *arg, struct ar_str text)
{
	struct ar_pane *p = arg;

	for (size_t i = 0; i < text.len && p->note.len < NOTE_MAX; i++)
		ar_buf_addc(&p->note, text.p[i] == '\n' || text.p[i] == '\t' ? ' ' : text.p[i]);
}

void ar_pane_say(struct ar_pane *p, enum ar_style style, const char *fmt, ...)
{
	struct ar_arena a = { 0 };
	va_list ap;

	va_start(ap, fmt);
	ar_buf_clear(&p->note);
	ar_text_add_styled(&p->note, style, ar_arena_vfmt(&a, fmt, ap));
	va_end(ap);
	ar_arena_fini(&a);
}

static void take_output(struct ar_pane *p)
{
	struct ar_out *const outs[] = { &p->ctl->out, &p->ctl->err };

	for (size_t i = 0; i < AR_ARRAY_LEN(outs); i++) {
		outs[i]->sink = on_output;
		outs[i]->arg = p;
	}
}

/* ---- beginning and end ---- */

static void give_back(struct ar_pane *p)
{
	ar_keys_fini(&p->keys);
	p->keys = (struct ar_keys){ 0 };
	ar_raw_leave();
	p->ctl->out = p->out;
	p->ctl->err = p->err;
}

void ar_pane_release(struct ar_pane *p)
{
	tcflush(STDIN_FILENO, TCIFLUSH);
	give_back(p);
}

void ar_pane_seize(struct ar_pane *p)
{
	tcflush(STDIN_FILENO, TCIFLUSH);
	fflush(p->out.file);
	fflush(p->err.file);
	take_output(p);
	ar_raw_enter_full();
	ar_buf_clear(&p->drawn);
	read_size(p);
}

void ar_pane_begin(struct ar_pane *p, struct ar_ctl *c)
{
	sigset_t set;

	*p = (struct ar_pane){ .ctl = c, .out = c->out, .err = c->err };
	ar_ctl_hold_interrupts(c);
	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGCONT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	p->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	AR_ASSERT(p->signal_fd >= 0);
	ar_pane_seize(p);
}

/* What is typed ahead is the shell's. */
void ar_pane_end(struct ar_pane *p)
{
	give_back(p);
	close(p->signal_fd);
	ar_buf_fini(&p->note);
	ar_buf_fini(&p->drawn);
}

void ar_pane_wait_enter(struct ar_pane *p)
{
	ar_out_printf(&p->ctl->out, "\nEnter comes back ");
	fflush(p->ctl->out.file);
	ar_ctl_read_letter();
}

void ar_pane_chat(struct ar_pane *p, struct ar_str session)
{
	struct ar_chat_options o = { .session = ar_ctl_strdup(p->ctl, session) };
	enum ar_exit exit;

	ar_pane_release(p);
	exit = ar_chat_run(p->ctl, &o);
	if (exit != AR_EXIT_OK && exit != AR_EXIT_INTERRUPTED)
		ar_pane_wait_enter(p);
	ar_pane_seize(p);
}

/* ---- drawing ---- */

static void write_all(struct ar_str bytes)
{
	while (bytes.len) {
		ssize_t n = write(STDOUT_FILENO, bytes.p, bytes.len);

		if (n > 0)
			bytes = ar_str_sub(bytes, (size_t)n, bytes.len);
		else if (n < 0 && errno == EAGAIN)
			poll(&(struct pollfd){ .fd = STDOUT_FILENO, .events = POLLOUT }, 1, 1000);
		else if (n < 0 && errno != EINTR)
			break;
	}
}

void ar_pane_draw(struct ar_pane *p, struct ar_str rows, struct ar_pane_caret caret)
{
	struct ar_buf page = { 0 }, cut = { 0 };
	struct ar_str row;

	ar_buf_addz(&page, "\033[?2026h\033[?25l\033[H");
	for (int i = 0; i < p->rows && rows.len; i++) {
		rows = ar_str_split(rows, '\n', &row);
		ar_buf_clear(&cut);
		ar_text_cut(&cut, row, p->cols);
		ar_buf_addz(&page, i ? "\r\n" : "");
		ar_text_paint(&page, ar_buf_str(&cut), p->out.has_colour);
		ar_buf_addz(&page, "\033[K");
	}
	ar_buf_addz(&page, "\033[J");
	if (caret.row >= 0)
		ar_buf_addf(&page, "\033[%d;%dH\033[?25h", caret.row + 1, caret.col + 1);
	ar_buf_addz(&page, "\033[?2026l");
	if (!ar_str_eq(ar_buf_str(&page), ar_buf_str(&p->drawn)))
		write_all(ar_buf_str(&page));
	ar_buf_fini(&p->drawn);
	p->drawn = page;
	ar_buf_fini(&cut);
}

/* ---- waiting ---- */

/* Stopped inside kill(); what follows is after SIGCONT. */
static void suspend(struct ar_pane *p)
{
	ar_pane_release(p);
	kill(0, SIGTSTP);
	ar_pane_seize(p);
}

static enum ar_pane_event give_key(struct ar_pane *p, const struct ar_key *key)
{
	if (key->kind != AR_KEY_CTRL)
		return AR_PANE_KEY;
	if (key->letter == 'c' || key->letter == 'd')
		return AR_PANE_END;
	if (key->letter != 'z')
		return AR_PANE_KEY;
	suspend(p);
	return AR_PANE_SIZE;
}

/* False: the terminal is gone. */
static bool read_keys(struct ar_pane *p)
{
	char bytes[4096];
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

	if (n > 0) {
		p->key_at = ar_term_now();
		ar_keys_feed(&p->keys, (struct ar_str){ bytes, (size_t)n });
	}
	return n > 0 || (n < 0 && errno == EINTR);
}

static void read_signals(struct ar_pane *p)
{
	struct signalfd_siginfo got;

	while (read(p->signal_fd, &got, sizeof(got)) == (ssize_t)sizeof(got)) {
		if (got.ssi_signo == SIGCONT)
			ar_pane_seize(p);
	}
	read_size(p);
	ar_buf_clear(&p->drawn);
}

static int left_ms(ar_usec until)
{
	ar_usec now = ar_term_now();

	return until > now ? (int)((until - now) / 1000) + 1 : 0;
}

enum ar_pane_event ar_pane_wait(struct ar_pane *p, ar_usec until, struct ar_key *ret)
{
	for (;;) {
		struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
					{ .fd = p->signal_fd, .events = POLLIN },
					{ .fd = p->ctl->signal_fd, .events = POLLIN } };
		bool is_open = ar_keys_wait(&p->keys);
		ar_usec idle = p->key_at + IDLE_USEC;
		int n;

		if (ar_keys_next(&p->keys, is_open && ar_term_now() >= idle, ret))
			return give_key(p, ret);
		n = poll(fds, AR_ARRAY_LEN(fds), left_ms(is_open && idle < until ? idle : until));
		if (n > 0 && fds[2].revents)
			return AR_PANE_END;
		if (n > 0 && fds[1].revents) {
			read_signals(p);
			return AR_PANE_SIZE;
		}
		if (n > 0 && fds[0].revents && !read_keys(p))
			return AR_PANE_END;
		if (n == 0 && ar_term_now() >= until)
			return AR_PANE_TIME;
	}
}
