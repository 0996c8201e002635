/* See term.h. What reaches a person who looks elsewhere: the title of the window, and a bell or a message of
 * the terminal. Both have our own words and the name of the folder, which has no controls any more. */
#include "term/term.h"

#include <stdlib.h>

/* A message needs a terminal that is known to show it, and nothing in between that drops it. */
static bool shows_messages(void)
{
	static const char *const between[] = { "TMUX", "STY", "ZELLIJ" };
	static const char *const known[] = { "ITERM_SESSION_ID", "WEZTERM_PANE", "GHOSTTY_RESOURCES_DIR",
					     "KITTY_WINDOW_ID" };

	for (size_t i = 0; i < AR_ARRAY_LEN(between); i++) {
		if (getenv(between[i]))
			return false;
	}
	for (size_t i = 0; i < AR_ARRAY_LEN(known); i++) {
		if (getenv(known[i]))
			return true;
	}
	return false;
}

static void add(struct ar_buf *bytes, const struct ar_term *t, const char *what)
{
	ar_buf_addz(bytes, what);
	ar_buf_addz(bytes, ": ");
	ar_buf_adds(bytes, ar_buf_str(&t->folder));
	ar_buf_addc(bytes, '\a');
}

void ar_term_notify(const struct ar_term *t, const char *what)
{
	struct ar_str way = ar_str_from(getenv("AGENTCTL_NOTIFY"));
	struct ar_buf bytes = { 0 };

	if (!t->is_away || ar_str_is(way, "off"))
		return;
	if (ar_str_is(way, "message") || (ar_str_empty(way) && shows_messages())) {
		ar_buf_addz(&bytes, "\033]9;agentctl ");
		add(&bytes, t, what);
	} else {
		ar_buf_addc(&bytes, '\a');
	}
	ar_term_write(&bytes);
}

void ar_term_title(struct ar_term *t)
{
	const char *state = t->chat->question_count ? "needs you" : t->turn_at ? "working" : "agentctl";
	struct ar_buf bytes = { 0 };

	if (t->title == state)
		return;
	t->title = state;
	ar_buf_addz(&bytes, "\033]0;");
	add(&bytes, t, state);
	ar_term_write(&bytes);
}
