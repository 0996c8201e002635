/* See top.h. On a terminal the page is drawn over itself on the other screen, so that what stood there comes
 * back at the end; elsewhere looks follow each other. Whatever ends it, the terminal is put back. */
#include "top/top.h"
#include "clock.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define FIRST_RATE_USEC 300000 /* rates need two looks: the second comes so soon after the first */
#define WIDTH_DEFAULT 80
#define WIDTH_MAX 512

struct screen {
	struct ar_ctl *ctl;
	struct termios before;
	bool is_raw; /* keys come one by one */
	bool is_full; /* the page is drawn over itself */
	enum ar_top_sort by;
};

static void enter_screen(struct screen *s)
{
	const char *term = getenv("TERM");
	struct termios raw;

	s->is_full = s->ctl->out.is_tty && !s->ctl->is_json && term && strcmp(term, "dumb") != 0;
	if (!s->is_full)
		return;
	if (isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &s->before) == 0) {
		raw = s->before;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		s->is_raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
	}
	ar_out_printf(&s->ctl->out, "\033[?1049h\033[?25l");
}

static void leave_screen(struct screen *s)
{
	if (s->is_full)
		ar_out_printf(&s->ctl->out, "\033[?25h\033[?1049l");
	if (s->is_raw)
		tcsetattr(STDIN_FILENO, TCSANOW, &s->before);
	fflush(s->ctl->out.file);
}

static int number_of(const char *text)
{
	uint64_t n = 0;

	return text && ar_str_to_u64(ar_str_from(text), &n) && n <= WIDTH_MAX ? (int)n : 0;
}

static struct ar_top_view view_of(const struct screen *s)
{
	struct winsize size = { 0 };
	struct ar_top_view v = { .by = s->by, .width = number_of(getenv("COLUMNS")), .end = "\n" };

	if (s->ctl->out.is_tty && ioctl(fileno(s->ctl->out.file), TIOCGWINSZ, &size) == 0 && size.ws_col)
		v.width = size.ws_col;
	v.width = v.width > 0 ? v.width : WIDTH_DEFAULT;
	v.height = s->is_full ? size.ws_row : 0;
	v.end = s->is_full ? "\033[K\n" : "\n";
	return v;
}

static void draw_keys(struct screen *s, int width)
{
	char text[WIDTH_MAX];

	snprintf(text, sizeof(text), "sorted by %s    s changes the order  q exits",
		 ar_top_sort_names[s->by]);
	ar_out_style(&s->ctl->out, AR_STYLE_DIM);
	ar_out_printf(&s->ctl->out, "%.*s", width - 1, text);
	ar_out_style(&s->ctl->out, AR_STYLE_PLAIN);
}

static void show(struct screen *s, struct ar_top *t)
{
	struct ar_top_view v = view_of(s);

	ar_top_sort(t, s->by);
	if (s->ctl->is_json) {
		ar_top_report(s->ctl, t);
		return;
	}
	if (s->is_full)
		ar_out_printf(&s->ctl->out, "\033[H");
	ar_top_draw(&s->ctl->out, t, &v);
	if (s->is_full) {
		draw_keys(s, v.width);
		ar_out_printf(&s->ctl->out, "\033[J");
	}
	fflush(s->ctl->out.file);
}

enum waited { WAITED_LONG, WAITED_KEY, WAITED_END };

static enum waited read_key(struct screen *s)
{
	char key;

	if (read(STDIN_FILENO, &key, 1) != 1 || key == 'q')
		return WAITED_END;
	if (key == 's')
		s->by = (s->by + 1) % AR_TOP_SORTS;
	return WAITED_KEY;
}

/* Until the time is over, a key is pressed or Ctrl-C. */
static enum waited wait_for(struct screen *s, ar_usec usec)
{
	struct pollfd fds[2] = { { .fd = s->ctl->signal_fd, .events = POLLIN },
				 { .fd = s->is_raw ? STDIN_FILENO : -1, .events = POLLIN } };

	if (poll(fds, 2, (int)(usec / 1000)) <= 0)
		return WAITED_LONG;
	return fds[0].revents ? WAITED_END : read_key(s);
}

static enum ar_exit look_on(struct screen *s, const struct ar_top_options *o, struct ar_top *t)
{
	enum ar_exit exit = ar_top_look(s->ctl, t);
	enum waited waited = WAITED_LONG;

	while (exit == AR_EXIT_OK && !o->is_once && waited != WAITED_END) {
		show(s, t);
		waited = wait_for(s, o->interval);
		if (waited == WAITED_LONG)
			exit = ar_top_look(s->ctl, t);
		if (waited == WAITED_LONG && !s->is_full && !s->ctl->is_json)
			ar_out_printf(&s->ctl->out, "\n");
	}
	if (exit == AR_EXIT_OK && o->is_once)
		show(s, t);
	return exit;
}

enum ar_exit ar_top_run(struct ar_ctl *c, const struct ar_top_options *o)
{
	struct screen s = { .ctl = c, .by = o->by };
	struct ar_top t = { 0 };
	enum ar_exit exit = ar_top_count(c, &t.now);

	if (exit != AR_EXIT_OK)
		return exit;
	if (!o->is_once) {
		ar_ctl_hold_interrupts(c);
		enter_screen(&s);
	}
	wait_for(&s, FIRST_RATE_USEC);
	exit = look_on(&s, o, &t);
	leave_screen(&s);
	ar_top_fini(&t);
	return exit;
}
