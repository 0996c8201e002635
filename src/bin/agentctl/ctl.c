/* See ctl.h: complaints, notes and the text of a turn. One thread. */
#include "ctl.h"

#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define TEXT_MAX ((size_t)1024 * 1024)

/* Both streams may be the same terminal: what the model wrote so far gets its line end first. */
static void begin_aside(struct ar_ctl *c)
{
	if (c->out.is_tty)
		ar_out_break(&c->out);
	fflush(c->out.file);
}

static void print_err_line(struct ar_ctl *c, const char *label, struct ar_str text)
{
	ar_out_printf(&c->err, "%s: ", label);
	ar_out_line(&c->err, text);
	ar_out_printf(&c->err, "\n");
	fflush(c->err.file);
}

enum ar_exit ar_ctl_complain(struct ar_ctl *c, enum ar_exit exit, struct ar_str next, const char *fmt, ...)
{
	struct ar_arena a = { 0 };
	va_list ap;

	va_start(ap, fmt);
	begin_aside(c);
	print_err_line(c, "agentctl", ar_arena_vfmt(&a, fmt, ap));
	va_end(ap);
	if (!ar_str_empty(next))
		print_err_line(c, "next", next);
	ar_arena_fini(&a);
	return exit;
}

void ar_ctl_note(struct ar_ctl *c, const char *fmt, ...)
{
	struct ar_arena a = { 0 };
	va_list ap;

	if (c->is_quiet)
		return;
	va_start(ap, fmt);
	begin_aside(c);
	ar_out_style(&c->err, AR_STYLE_DIM);
	print_err_line(c, "agentctl", ar_arena_vfmt(&a, fmt, ap));
	ar_out_style(&c->err, AR_STYLE_PLAIN);
	va_end(ap);
	ar_arena_fini(&a);
}

void ar_ctl_hold_interrupts(struct ar_ctl *c)
{
	sigset_t set;

	if (c->signal_fd >= 0)
		return;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	c->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

const char *ar_ctl_strdup(struct ar_ctl *c, struct ar_str s)
{
	return ar_arena_str(&c->arena, s).p;
}

void ar_ctl_swap_arena(struct ar_ctl *c, struct ar_arena *other)
{
	struct ar_arena kept = c->arena;

	c->arena = *other;
	*other = kept;
}

struct ar_str ar_ctl_take_buf(struct ar_ctl *c, struct ar_buf *text)
{
	struct ar_str kept = ar_arena_str(&c->arena, ar_buf_str(text));

	ar_buf_fini(text);
	return kept;
}

bool ar_ctl_parse_span(struct ar_str text, ar_usec *ret)
{
	static const struct {
		char letter;
		int64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	uint64_t count;

	if (text.len < 2 || !ar_str_to_u64(ar_str_sub(text, 0, text.len - 1), &count) || count > 1000000)
		return false;
	for (size_t i = 0; i < AR_ARRAY_LEN(units); i++) {
		if (units[i].letter == text.p[text.len - 1]) {
			*ret = (ar_usec)count * units[i].seconds * 1000000;
			return true;
		}
	}
	return false;
}

static enum ar_exit read_input(struct ar_ctl *c, struct ar_buf *ret)
{
	char piece[65536];
	ssize_t n;

	while ((n = read(STDIN_FILENO, piece, sizeof(piece))) > 0)
		ar_buf_add(ret, piece, (size_t)n);
	if (n < 0)
		return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR_NONE, "standard input cannot be read");
	while (ret->len && ret->p[ret->len - 1] == '\n')
		ret->len--;
	return AR_EXIT_OK;
}

char ar_ctl_read_letter(void)
{
	char first = 0, c = 0;

	while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n')
		first = first ? first : c;
	return first;
}

enum ar_exit ar_ctl_read_text(struct ar_ctl *c, char **words, int count, struct ar_buf *ret)
{
	enum ar_exit exit = AR_EXIT_OK;

	*ret = (struct ar_buf){ .cap = TEXT_MAX };
	if (count == 1 && strcmp(words[0], "-") == 0)
		exit = read_input(c, ret);
	else
		for (int i = 0; i < count; i++)
			ar_buf_addf(ret, "%s%s", i ? " " : "", words[i]);
	if (exit != AR_EXIT_OK)
		return exit;
	if (ret->failed)
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("shorten it, or split it over several turns"),
				       "the text is over %zu bytes", TEXT_MAX);
	if (!ar_str_is_utf8(ar_buf_str(ret)))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("convert it, for example with iconv"),
				       "the text is not UTF-8");
	if (!ret->len)
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR_NONE, "the text is empty");
	return AR_EXIT_OK;
}
