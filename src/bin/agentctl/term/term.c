/* See term.h: the wait for keys, signals and time in one descriptor, frames, and the outputs of agentctl
 * as lines of history. */
#include "term/term.h"
#include "clock.h"
#include "mem.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define IDLE_USEC 40000 /* without a byte: an ESC alone is a key, a paste has ended */
#define RESIZE_USEC 60000 /* a person drags the edge: many sizes in a row */
#define ANSWER_USEC 500000 /* for a terminal that does not tell where its cursor is */
#define TICK_USEC 1000000 /* the working line counts seconds */

ar_usec ar_term_now(void)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->mono(clock);
}

bool ar_term_is_possible(const struct ar_ctl *c)
{
	const char *term = getenv("TERM");

	return c->out.is_tty && isatty(STDIN_FILENO) && !c->is_json && !c->is_quiet && term && *term &&
	       strcmp(term, "dumb") != 0;
}

/* ---- bytes ---- */

/* The terminal may be slow; what it has not taken holds the next frame up, so that frames never pile up. */
void ar_term_write(struct ar_buf *bytes)
{
	size_t at = 0;

	while (at < bytes->len) {
		ssize_t n = write(STDOUT_FILENO, bytes->p + at, bytes->len - at);

		if (n > 0)
			at += (size_t)n;
		else if (n < 0 && errno == EAGAIN)
			poll(&(struct pollfd){ .fd = STDOUT_FILENO, .events = POLLOUT }, 1, 1000);
		else if (n < 0 && errno != EINTR)
			break;
	}
	ar_buf_fini(bytes);
}

static void draw(struct ar_term *t)
{
	struct ar_buf bytes = { 0 };

	ar_tty_frame(&t->screen, ar_term_now(), &bytes);
	ar_term_write(&bytes);
}

/* ---- lines ---- */

static void print_md(void *arg, struct ar_str line, bool is_whole)
{
	struct ar_term *t = arg;

	if (is_whole)
		ar_tty_print_whole(&t->screen, line);
	else
		ar_tty_print(&t->screen, line, 0);
}

static struct ar_md_out md_out(struct ar_term *t)
{
	return (struct ar_md_out){ print_md, t, t->screen.cols - 1 };
}

static void end_thought(struct ar_term *t)
{
	struct ar_str rest = ar_buf_str(&t->thought), line;
	struct ar_buf styled = { 0 };

	while (rest.len) {
		rest = ar_str_split(rest, '\n', &line);
		ar_buf_clear(&styled);
		ar_text_add_styled(&styled, AR_STYLE_DIM, line);
		ar_tty_print(&t->screen, ar_buf_str(&styled), 0);
		t->is_apart = true;
	}
	ar_buf_clear(&t->thought);
	ar_buf_fini(&styled);
}

void ar_term_settle(struct ar_term *t)
{
	struct ar_md_out out = md_out(t);

	ar_md_end(&t->md, &out);
	end_thought(t);
	ar_term_flush_reads(t);
}

void ar_term_text(struct ar_term *t, struct ar_str text)
{
	struct ar_md_out out = md_out(t);

	end_thought(t);
	ar_term_flush_reads(t);
	if (t->is_apart && text.len)
		ar_tty_print(&t->screen, AR_STR(""), 0);
	t->is_apart = t->is_apart && !text.len;
	ar_md_feed(&t->md, text, &out);
}

void ar_term_print(struct ar_term *t, struct ar_str line, int indent)
{
	ar_term_settle(t);
	ar_tty_print(&t->screen, line, indent);
	t->is_apart = true;
}

void ar_term_print_whole(struct ar_term *t, struct ar_str line)
{
	ar_term_settle(t);
	ar_tty_print_whole(&t->screen, line);
	t->is_apart = true;
}

void ar_term_printf(struct ar_term *t, enum ar_style style, const char *fmt, ...)
{
	struct ar_arena a = { 0 };
	struct ar_buf line = { 0 };
	va_list ap;

	va_start(ap, fmt);
	ar_text_add_styled(&line, style, ar_arena_vfmt(&a, fmt, ap));
	va_end(ap);
	ar_term_print(t, ar_buf_str(&line), 2);
	ar_buf_fini(&line);
	ar_arena_fini(&a);
}

/* Everything that agentctl prints elsewhere, harmless already. A tab would move the cursor we do not
 * know how far. */
static void on_output(void *arg, struct ar_str text)
{
	struct ar_term *t = arg;

	for (size_t i = 0; i < text.len; i++) {
		if (text.p[i] != '\n') {
			ar_buf_addc(&t->line, text.p[i] == '\t' ? ' ' : text.p[i]);
			continue;
		}
		ar_term_print(t, ar_buf_str(&t->line), 2);
		ar_buf_clear(&t->line);
	}
}

/* ---- size ---- */

static void read_size(int *ret_cols, int *ret_rows)
{
	struct winsize size = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || !size.ws_col || !size.ws_row)
		size = (struct winsize){ .ws_col = 80, .ws_row = 24 };
	*ret_cols = size.ws_col < 20 ? 20 : size.ws_col;
	*ret_rows = size.ws_row < 4 ? 4 : size.ws_row;
}

/* Multiplexers and terminals that are known to break long rows anew when they become narrower. */
static enum ar_reflow known_reflow(void)
{
	static const char *const yes[] = { "TMUX",	   "VTE_VERSION",	    "KITTY_WINDOW_ID",
					   "WEZTERM_PANE", "ALACRITTY_WINDOW_ID",   "KONSOLE_VERSION",
					   "WT_SESSION",   "GHOSTTY_RESOURCES_DIR", "ITERM_SESSION_ID" };

	if (getenv("STY")) /* GNU screen cuts them */
		return AR_REFLOW_NO;
	for (size_t i = 0; i < AR_ARRAY_LEN(yes); i++) {
		if (getenv(yes[i]))
			return AR_REFLOW_YES;
	}
	return AR_REFLOW_UNKNOWN;
}

static void resize(struct ar_term *t)
{
	struct ar_buf bytes = { 0 };
	int cols, rows;

	t->resize_at = 0;
	read_size(&cols, &rows);
	ar_tty_resize(&t->screen, cols, rows, &bytes);
	t->asked_at = ar_term_now();
	ar_term_write(&bytes);
}

/* The terminal may have changed before its signal is read: a frame for the old size would begin in the
 * wrong row. */
static bool is_resized(struct ar_term *t)
{
	int cols, rows;

	read_size(&cols, &rows);
	if (!t->resize_at && (cols != t->screen.cols || rows != t->screen.rows))
		t->resize_at = ar_term_now();
	return t->resize_at;
}

/* ---- waiting ---- */

static void watch(struct ar_term *t, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	epoll_ctl(t->wait_fd, EPOLL_CTL_ADD, fd, &event);
}

static void begin_wait(struct ar_term *t)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigaddset(&set, SIGCONT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	t->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	t->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	t->wait_fd = epoll_create1(EPOLL_CLOEXEC);
	AR_ASSERT(t->signal_fd >= 0 && t->timer_fd >= 0 && t->wait_fd >= 0);
	watch(t, STDIN_FILENO);
	watch(t, t->signal_fd);
	watch(t, t->timer_fd);
}

static void sooner(ar_usec *at, ar_usec other)
{
	if (!*at || other < *at)
		*at = other;
}

/* When something is due without anybody doing anything. 0 = never. */
static ar_usec next_time(const struct ar_term *t)
{
	ar_usec at = 0;

	if ((t->is_touched || ar_tty_is_due(&t->screen)) && !t->asked_at && !t->resize_at)
		sooner(&at, ar_tty_frame_time(&t->screen));
	if (ar_keys_wait(&t->keys))
		sooner(&at, t->key_at + IDLE_USEC);
	if (t->resize_at)
		sooner(&at, t->resize_at + RESIZE_USEC);
	if (t->asked_at)
		sooner(&at, t->asked_at + ANSWER_USEC);
	if (t->chat->running.len)
		sooner(&at, ar_term_now() + TICK_USEC);
	return at;
}

static void set_timer(struct ar_term *t)
{
	ar_usec left = next_time(t), now = ar_term_now();
	struct itimerspec spec = { 0 };

	if (left) {
		left = left > now ? left - now : 1;
		spec.it_value.tv_sec = left / 1000000;
		spec.it_value.tv_nsec = left % 1000000 * 1000;
	}
	timerfd_settime(t->timer_fd, 0, &spec, NULL);
}

static void read_keys(struct ar_term *t)
{
	char bytes[65536];
	ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));

	if (n > 0) {
		t->key_at = ar_term_now();
		ar_keys_feed(&t->keys, (struct ar_str){ bytes, (size_t)n });
		ar_term_keys(t, false);
	} else if (n == 0 || errno != EINTR) { /* the terminal is gone */
		ar_chat_leave(t->chat, AR_EXIT_OK);
	}
}

static void read_signals(struct ar_term *t)
{
	struct signalfd_siginfo got;

	while (read(t->signal_fd, &got, sizeof(got)) == (ssize_t)sizeof(got)) {
		if (got.ssi_signo == SIGCONT)
			ar_term_seize(t);
		t->resize_at = ar_term_now();
	}
}

void ar_term_readable(struct ar_term *t)
{
	struct epoll_event events[3];
	int count = epoll_wait(t->wait_fd, events, AR_ARRAY_LEN(events), 0);
	uint64_t ticks;
	ssize_t n;

	for (int i = 0; i < count; i++) {
		if (events[i].data.fd == STDIN_FILENO) {
			read_keys(t);
		} else if (events[i].data.fd == t->signal_fd) {
			read_signals(t);
		} else {
			n = read(t->timer_fd, &ticks, sizeof(ticks));
			(void)n;
		}
	}
}

static void do_due(struct ar_term *t, ar_usec now)
{
	if (ar_keys_wait(&t->keys) && now >= t->key_at + IDLE_USEC)
		ar_term_keys(t, true);
	if (t->resize_at && now >= t->resize_at + RESIZE_USEC)
		resize(t);
	if (t->asked_at && now >= t->asked_at + ANSWER_USEC) {
		t->asked_at = 0;
		ar_tty_resized(&t->screen, -1);
	}
}

bool ar_term_rest(struct ar_term *t, int *ret_fd)
{
	ar_usec now = ar_term_now();

	do_due(t, now);
	ar_term_ask(t);
	t->is_touched = now < ar_tty_frame_time(&t->screen); /* then the rest is the timer's */
	if (!t->is_touched) {
		ar_term_pick_preview(t);
		ar_term_title(t);
		ar_term_compose(t);
		if (ar_tty_is_due(&t->screen) && !is_resized(t))
			draw(t);
	}
	set_timer(t);
	*ret_fd = t->wait_fd;
	return !t->chat->is_over && !t->chat->is_elsewhere;
}

/* ---- beginning and end ---- */

void ar_term_release(struct ar_term *t)
{
	struct ar_buf bytes = { 0 };

	ar_tty_leave(&t->screen, &bytes);
	ar_term_write(&bytes);
	ar_raw_leave();
}

void ar_term_seize(struct ar_term *t)
{
	ar_raw_enter();
	t->title = NULL;
	ar_tty_live(&t->screen, AR_STR(""), 0, 0);
	t->screen.is_stale = true;
}

void ar_term_forget(struct ar_term *t)
{
	ar_term_settle(t);
	for (size_t i = 0; i < AR_TERM_CALLS; i++)
		t->calls[i].is_running = false;
	for (size_t i = 0; i < AR_TERM_BESIDE; i++)
		t->beside[i].kind = NULL;
	t->queued_count = 0;
	t->tokens = t->window = 0;
	t->is_compacting = false;
	ar_buf_clear(&t->plan);
	ar_buf_clear(&t->ask.id);
}

struct ar_term *ar_term_begin(struct ar_chat *chat)
{
	struct ar_term *t = ar_new0(sizeof(*t));
	struct ar_ctl *c = chat->ctl;

	t->chat = chat;
	t->out = c->out;
	t->err = c->err;
	t->screen.has_colour = c->out.has_colour;
	t->screen.reflow = known_reflow();
	read_size(&t->screen.cols, &t->screen.rows);
	ar_place_read(&t->folder, &t->branch);
	fflush(c->out.file);
	fflush(c->err.file);
	t->status = ar_str_from(getenv("AGENTCTL_STATUS"));
	t->edit.is_vi = ar_str_eq(ar_str_from(getenv("AGENTCTL_KEYS")), AR_STR("vi"));
	ar_history_load(c, &t->edit);
	ar_raw_enter();
	begin_wait(t);
	c->out.sink = on_output;
	c->out.arg = t;
	if (c->err.is_tty) {
		c->err.sink = on_output;
		c->err.arg = t;
	}
	return t;
}

static void fini_parts(struct ar_term *t)
{
	struct ar_buf *const bufs[] = { &t->thought,	 &t->line,	  &t->output,	  &t->folder,
					&t->branch,	 &t->reads.names, &t->menu.items, &t->menu.closed_for,
					&t->ask.id,	 &t->ask.field,	  &t->mode,	  &t->plan,
					&t->pick.preview };

	for (size_t i = 0; i < AR_ARRAY_LEN(bufs); i++)
		ar_buf_fini(bufs[i]);
	for (size_t i = 0; i < AR_TERM_CALLS; i++) {
		ar_buf_fini(&t->calls[i].id);
		ar_buf_fini(&t->calls[i].name);
		ar_buf_fini(&t->calls[i].args);
		ar_buf_fini(&t->calls[i].profile);
	}
	for (size_t i = 0; i < AR_TERM_QUEUED; i++) {
		ar_buf_fini(&t->queued[i].turn);
		ar_buf_fini(&t->queued[i].text);
	}
	ar_term_beside_fini(t);
	ar_keys_fini(&t->keys);
	ar_edit_fini(&t->edit);
	ar_md_fini(&t->md);
	ar_tty_fini(&t->screen);
}

void ar_term_end(struct ar_term *t)
{
	struct ar_ctl *c = t->chat->ctl;

	ar_term_settle(t);
	ar_term_release(t);
	c->out = t->out;
	c->err = t->err;
	close(t->wait_fd);
	close(t->timer_fd);
	close(t->signal_fd);
	fini_parts(t);
	ar_free(t);
}
