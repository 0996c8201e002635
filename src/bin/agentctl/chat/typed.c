/* See chat.h: standard input as lines. The terminal's own line editing is all there is; a line counts
 * when it is whole. */
#include "chat/chat.h"

#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES ((size_t)1024 * 1024)

void ar_chat_read(struct ar_chat *t)
{
	char piece[65536];
	ssize_t n = read(STDIN_FILENO, piece, sizeof(piece));

	t->typed.cap = 2 * LINE_MAX_BYTES;
	if (n <= 0) {
		t->is_at_end = true;
		return;
	}
	ar_buf_add(&t->typed, piece, (size_t)n);
	if (piece[n - 1] == '\n')
		t->side->is_midline = false; /* the terminal has echoed it */
	if (!t->typed.failed)
		return;
	ar_chat_leave(t, ar_ctl_complain(t->ctl, AR_EXIT_USAGE, AR_STR("split it over several turns"),
					 "a line is over %zu bytes", LINE_MAX_BYTES));
}

/* The first whole line, without its end; at the end of input also the rest. */
static bool next_line(struct ar_chat *t, struct ar_buf *ret)
{
	const char *end = t->typed.len ? memchr(t->typed.p, '\n', t->typed.len) : NULL;
	size_t len = end ? (size_t)(end - t->typed.p) : t->typed.len;

	if (!end && (!t->is_at_end || !t->typed.len))
		return false;
	ar_buf_clear(ret);
	ar_buf_add(ret, t->typed.p, len);
	ar_buf_eat(&t->typed, end ? len + 1 : len);
	while (ret->len && (ret->p[ret->len - 1] == '\r' || ret->p[ret->len - 1] == ' '))
		ret->len--;
	return true;
}

void ar_chat_line(struct ar_chat *t, struct ar_str line)
{
	if (!t->is_interactive) {
		if (!ar_str_empty(line))
			ar_chat_submit(t, line);
		return;
	}
	t->is_prompted = false;
	if (ar_str_starts(line, AR_STR("/")) && !ar_str_starts(line, AR_STR("//")) &&
	    ar_chat_command(t, line))
		return;
	if (t->question_count)
		ar_chat_question_answer(t, line);
	else if (ar_str_starts(line, AR_STR("//")))
		ar_chat_submit(t, ar_str_sub(line, 1, line.len));
	else if (ar_str_starts(line, AR_STR("/")))
		ar_chat_printf(
			t, "there is no such command; /help lists them, and // begins a text with one slash");
	else if (!ar_str_empty(line))
		ar_chat_submit(t, line);
}

void ar_chat_read_lines(struct ar_chat *t)
{
	struct ar_buf line = { 0 };

	while (!t->is_over && !t->is_elsewhere && (t->is_interactive || !t->running.len) &&
	       next_line(t, &line))
		ar_chat_line(t, ar_buf_str(&line));
	ar_buf_fini(&line);
	if (t->is_at_end && !t->typed.len && !t->is_over && (t->is_interactive || !t->running.len))
		ar_chat_leave(t, t->exit);
}

void ar_chat_prompt(struct ar_chat *t)
{
	bool is_busy = t->running.len || t->waiting;

	if (t->is_prompted && t->side->is_midline) /* nothing has been said below it */
		return;
	if (!t->is_interactive || (is_busy && !t->question_count))
		return;
	t->is_prompted = true;
	if (t->question_count) {
		ar_chat_question_prompt(t);
		return;
	}
	ar_out_break(t->side);
	ar_out_style(t->side, AR_STYLE_BOLD);
	ar_out_printf(t->side, "> ");
	ar_out_style(t->side, AR_STYLE_PLAIN);
}
