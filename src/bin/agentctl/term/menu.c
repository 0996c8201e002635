/* See term.h: a menu below the input: commands for a line that begins with a slash, files for a word
 * that begins with an at sign. It opens by itself, Tab or Enter takes the entry that is chosen, Esc
 * closes it for this word. */
#include "term/term.h"

#include <string.h>

static void add_item(struct ar_term_menu *m, struct ar_str name, struct ar_str doc)
{
	ar_buf_adds(&m->items, name);
	ar_buf_addc(&m->items, '\t');
	ar_buf_adds(&m->items, doc);
	ar_buf_addc(&m->items, '\n');
	m->count++;
}

static void add_commands(struct ar_term *t, struct ar_str word)
{
	struct ar_chat_command_words c;

	for (size_t i = 0; ar_chat_command_at(i, &c) && t->menu.count < AR_TERM_MENU; i++) {
		struct ar_str name = ar_arena_fmt(&t->chat->ctl->arena, "/%s", c.name);

		if (ar_str_starts(name, word))
			add_item(&t->menu, name, ar_str_from(c.doc));
	}
}

static void add_files(struct ar_term *t, struct ar_str word)
{
	struct ar_buf names = { 0 }, name = { 0 };
	struct ar_str rest, line;

	ar_files_match(ar_str_sub(word, 1, word.len), AR_TERM_MENU, &names);
	for (rest = ar_buf_str(&names); rest.len;) {
		rest = ar_str_split(rest, '\n', &line);
		ar_buf_clear(&name);
		ar_buf_addc(&name, '@');
		ar_buf_adds(&name, line);
		add_item(&t->menu, ar_buf_str(&name), AR_STR(""));
	}
	ar_buf_fini(&names);
	ar_buf_fini(&name);
}

void ar_term_menu_update(struct ar_term *t)
{
	struct ar_term_menu *m = &t->menu;
	struct ar_str word = ar_edit_word(&t->edit);
	bool is_command = ar_str_starts(word, AR_STR("/")) && t->edit.caret == word.len;

	ar_buf_clear(&m->items);
	m->count = 0;
	if (t->pick.is_open || t->edit.is_searching || ar_str_eq(word, ar_buf_str(&m->closed_for)))
		m->count = 0;
	else if (is_command)
		add_commands(t, word);
	else if (ar_str_starts(word, AR_STR("@")))
		add_files(t, word);
	m->is_open = m->count > 0;
	m->chosen = m->chosen < m->count ? m->chosen : 0;
	if (!ar_str_eq(word, ar_buf_str(&m->closed_for)))
		ar_buf_clear(&m->closed_for);
}

void ar_term_menu_rows(struct ar_term *t, struct ar_buf *rows)
{
	struct ar_str rest = ar_buf_str(&t->menu.items), line, name;

	for (int i = 0; t->menu.is_open && rest.len; i++) {
		struct ar_str doc;

		rest = ar_str_split(rest, '\n', &line);
		doc = ar_str_split(line, '\t', &name);
		if (i == t->menu.chosen)
			ar_text_style(rows, AR_STYLE_CYAN);
		ar_buf_addz(rows, i == t->menu.chosen ? "  › " : "    ");
		ar_text_cut_path(rows, name, t->screen.cols - 8);
		ar_text_style(rows, AR_STYLE_DIM);
		ar_buf_addz(rows, "  ");
		ar_buf_adds(rows, doc);
		ar_text_style(rows, AR_STYLE_PLAIN);
		ar_buf_addc(rows, '\n');
	}
}

static struct ar_str chosen_name(const struct ar_term_menu *m)
{
	struct ar_str rest = ar_buf_str(&m->items), line, name = AR_STR("");

	for (int i = 0; i <= m->chosen && rest.len; i++) {
		rest = ar_str_split(rest, '\n', &line);
		ar_str_split(line, '\t', &name);
	}
	return name;
}

static void take_chosen(struct ar_term *t)
{
	struct ar_buf text = { 0 };

	ar_buf_adds(&text, chosen_name(&t->menu));
	ar_buf_addc(&text, ' ');
	ar_edit_replace_word(&t->edit, ar_buf_str(&text));
	t->menu.chosen = 0;
	ar_buf_fini(&text);
}

bool ar_term_menu_key(struct ar_term *t, const struct ar_key *key)
{
	struct ar_term_menu *m = &t->menu;

	if (!m->is_open)
		return false;
	switch (key->kind) {
	case AR_KEY_UP:
	case AR_KEY_DOWN:
		m->chosen = (m->chosen + (key->kind == AR_KEY_UP ? m->count - 1 : 1)) % m->count;
		return true;
	case AR_KEY_TAB:
		take_chosen(t);
		return true;
	case AR_KEY_ENTER: /* a whole command is entered, not completed */
		if (ar_str_eq(ar_edit_word(&t->edit), chosen_name(m)))
			return false;
		take_chosen(t);
		return true;
	case AR_KEY_ESC:
		ar_buf_clear(&m->closed_for);
		ar_buf_adds(&m->closed_for, ar_edit_word(&t->edit));
		return true;
	default:
		return false;
	}
}
