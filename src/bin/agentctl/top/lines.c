/* See top.h: looks that follow each other, where nobody presses keys: a pipe, a dumb terminal, JSON, once. */
#include "term/term.h"
#include "top/top.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#define FIRST_RATE_USEC 300000 /* rates need two looks: the second comes so soon after the first */
#define WIDTH_DEFAULT 80
#define WIDTH_MAX 512

static int number_of(const char *text)
{
	uint64_t n = 0;

	return text && ar_str_to_u64(ar_str_from(text), &n) && n <= WIDTH_MAX ? (int)n : 0;
}

static struct ar_top_view view_of(const struct ar_ctl *c)
{
	struct winsize size = { 0 };
	struct ar_top_view v = { .width = number_of(getenv("COLUMNS")) };

	if (c->out.is_tty && ioctl(fileno(c->out.file), TIOCGWINSZ, &size) == 0 && size.ws_col)
		v.width = size.ws_col;
	v.width = v.width > 0 ? v.width : WIDTH_DEFAULT;
	return v;
}

static void show(struct ar_ctl *c, struct ar_top *t, enum ar_top_sort by)
{
	struct ar_top_view v = view_of(c);

	ar_top_sort(t, by);
	if (c->is_json)
		ar_top_report(c, t);
	else
		ar_top_draw(&c->out, t, &v);
	fflush(c->out.file);
}

/* True: Ctrl-C. */
static bool wait_for(const struct ar_ctl *c, ar_usec usec)
{
	return poll(&(struct pollfd){ .fd = c->signal_fd, .events = POLLIN }, 1, (int)(usec / 1000)) > 0;
}

static enum ar_exit look_on(struct ar_ctl *c, const struct ar_top_options *o, struct ar_top *t)
{
	enum ar_exit exit = ar_top_look(c, t);

	while (exit == AR_EXIT_OK) {
		show(c, t, o->by);
		if (o->is_once || wait_for(c, o->interval))
			break;
		exit = ar_top_look(c, t);
		if (exit == AR_EXIT_OK && !c->is_json)
			ar_out_printf(&c->out, "\n");
	}
	return exit;
}

enum ar_exit ar_top_run(struct ar_ctl *c, const struct ar_top_options *o)
{
	struct ar_top t = { 0 };
	enum ar_exit exit = ar_top_count(c, &t.now);

	if (exit != AR_EXIT_OK)
		return exit;
	if (!o->is_once)
		ar_ctl_hold_interrupts(c);
	wait_for(c, FIRST_RATE_USEC);
	exit = !o->is_once && ar_term_is_possible(c) ? ar_top_live(c, o, &t) : look_on(c, o, &t);
	ar_top_fini(&t);
	return exit;
}
