/* See term.h: the sessions of the folder as a list above the input. Arrows choose, what is typed filters,
 * Enter opens, Esc leaves the list. Titles and previews are text of others. */
#include "term/term.h"
#include "clock.h"

#include <stdio.h>
#include <strings.h>

#define ROWS 8 /* of the list that are shown */
#define PREVIEW_LINES 3
#define NO_WORKSPACE "default" /* of sessions without one */

/* ---- reading ---- */

static struct ar_str list_body(struct ar_chat *chat)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "workspace", ar_str_absent(chat->workspace) ? AR_STR(NO_WORKSPACE) : chat->workspace);
	ar_jw_mint(&w, "limit", AR_TERM_PICK);
	ar_jw_close(&w);
	return ar_ctl_take_buf(chat->ctl, &text);
}

static void add_session(struct ar_term *t, struct ar_json s)
{
	struct ar_arena *a = &t->chat->ctl->arena;
	struct ar_str id = ar_api_str(s, "sessionId");

	if (t->pick.count == AR_TERM_PICK || ar_str_eq(id, t->chat->session))
		return;
	t->pick.sessions[t->pick.count++] =
		(struct ar_term_session){ .id = ar_arena_str(a, id),
					  .title = ar_arena_str(a, ar_api_str(s, "title")),
					  .status = ar_arena_str(a, ar_api_str(s, "status")),
					  .updated = ar_api_time(s, "updatedAt"),
					  .turns = ar_api_int(s, "turns") };
}

void ar_term_pick(struct ar_term *t)
{
	struct ar_api_reply reply;

	t->pick.count = t->pick.chosen = 0;
	t->pick.previewed = AR_STR_NONE;
	if (ar_api_call(t->chat->ctl, "list_sessions", list_body(t->chat), &reply) == AR_EXIT_OK) {
		for (struct ar_json_iter it = ar_json_iter(ar_json_get(reply.doc, "sessions"));
		     ar_json_next(&it);)
			add_session(t, it.value);
	}
	ar_api_fini(&reply);
	t->pick.is_open = t->pick.count > 0;
	if (!t->pick.is_open)
		ar_term_printf(t, AR_STYLE_DIM, "no other session works in this folder yet");
}

/* ---- what matches ---- */

/* All words that are typed are in the title, in any order and case. */
static bool is_match(const struct ar_term *t, const struct ar_term_session *s)
{
	struct ar_str rest = ar_buf_str(&t->edit.text), word;

	while (rest.len) {
		bool is_there = false;

		rest = ar_str_split(rest, ' ', &word);
		for (size_t i = 0; i + word.len <= s->title.len && !is_there; i++)
			is_there = strncasecmp(s->title.p + i, word.p, word.len) == 0;
		if (!is_there)
			return false;
	}
	return true;
}

static size_t count_matches(const struct ar_term *t)
{
	size_t count = 0;

	for (size_t i = 0; i < t->pick.count; i++)
		count += is_match(t, &t->pick.sessions[i]);
	return count;
}

static const struct ar_term_session *chosen_session(const struct ar_term *t)
{
	size_t at = 0;

	for (size_t i = 0; i < t->pick.count; i++) {
		if (is_match(t, &t->pick.sessions[i]) && at++ == t->pick.chosen)
			return &t->pick.sessions[i];
	}
	return NULL;
}

/* ---- the preview ---- */

static void add_preview_line(struct ar_buf *to, const char *before, struct ar_str line)
{
	ar_text_style(to, AR_STYLE_DIM);
	ar_buf_addz(to, before);
	ar_text_add(to, line);
	ar_text_style(to, AR_STYLE_PLAIN);
	ar_buf_addc(to, '\n');
}

/* The last text and the last lines of its answer. */
static void add_turn(struct ar_buf *to, struct ar_json turn)
{
	struct ar_json steps = ar_json_get(turn, "steps");
	struct ar_str line, text = AR_STR("");

	ar_str_split(ar_api_str(turn, "inputPreview"), '\n', &line);
	add_preview_line(to, "    › ", line);
	for (size_t i = ar_json_len(steps); i-- > 0 && ar_str_empty(text);)
		text = ar_api_str(ar_json_at(steps, i), "preview");
	for (int i = 0; i < PREVIEW_LINES - 1 && text.len; i++) {
		text = ar_str_split(text, '\n', &line);
		add_preview_line(to, "      ", line);
	}
}

void ar_term_pick_preview(struct ar_term *t)
{
	const struct ar_term_session *s = t->pick.is_open ? chosen_session(t) : NULL;
	struct ar_api_reply reply;
	struct ar_json turns;
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	if (!s || ar_str_eq(t->pick.previewed, s->id))
		return;
	t->pick.previewed = s->id;
	ar_buf_clear(&t->pick.preview);
	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", s->id);
	ar_jw_close(&w);
	if (ar_api_try(t->chat->ctl, "get_session", ar_ctl_take_buf(t->chat->ctl, &body), &reply, NULL) ==
	    AR_OK) {
		turns = ar_json_get(ar_json_at(ar_json_get(reply.doc, "threads"), 0), "turns");
		if (ar_json_len(turns))
			add_turn(&t->pick.preview, ar_json_at(turns, ar_json_len(turns) - 1));
	}
	ar_api_fini(&reply);
}

/* ---- rows ---- */

static void add_row(const struct ar_term *t, const struct ar_term_session *s, bool is_chosen,
		    struct ar_buf *rows)
{
	struct ar_clock *clock = ar_clock_system();
	struct ar_buf title = { 0 };
	char age[AR_OUT_AGE];

	ar_out_age_text(s->updated, clock->wall(clock), age);
	if (is_chosen)
		ar_text_style(rows, AR_STYLE_CYAN);
	ar_buf_addf(rows, "  %s %-10s ", is_chosen ? "›" : " ", age);
	ar_text_add(&title, ar_str_empty(s->title) ? s->id : s->title);
	ar_text_cut(rows, ar_buf_str(&title), t->screen.cols - 30 > 20 ? t->screen.cols - 30 : 20);
	ar_text_style(rows, AR_STYLE_DIM);
	ar_buf_addf(rows, "  %lld turn%s", (long long)s->turns, s->turns == 1 ? "" : "s");
	if (!ar_str_is(s->status, "idle")) {
		ar_buf_addz(rows, ", ");
		ar_text_add(rows, s->status);
	}
	ar_text_style(rows, AR_STYLE_PLAIN);
	ar_buf_addc(rows, '\n');
	ar_buf_fini(&title);
}

void ar_term_pick_rows(struct ar_term *t, struct ar_buf *rows)
{
	size_t count = count_matches(t), most = t->screen.rows < 20 ? 3 : ROWS, at = 0;
	size_t first = t->pick.chosen >= most ? t->pick.chosen - most + 1 : 0;

	ar_text_style(rows, AR_STYLE_DIM);
	ar_buf_addf(rows, "  %zu of %zu sessions · type to filter · Enter opens · Esc leaves the list\n",
		    count, t->pick.count);
	for (size_t i = 0; i < t->pick.count; i++) {
		if (!is_match(t, &t->pick.sessions[i]))
			continue;
		if (at >= first && at < first + most)
			add_row(t, &t->pick.sessions[i], at == t->pick.chosen, rows);
		at++;
	}
	if (count)
		ar_buf_adds(rows, ar_buf_str(&t->pick.preview));
}

/* ---- keys ---- */

static void close_list(struct ar_term *t)
{
	t->pick.is_open = false;
	ar_edit_set(&t->edit, AR_STR(""));
}

bool ar_term_pick_key(struct ar_term *t, const struct ar_key *key)
{
	const struct ar_term_session *s;
	size_t count;

	if (!t->pick.is_open)
		return false;
	count = count_matches(t);
	switch (key->kind) {
	case AR_KEY_UP:
	case AR_KEY_DOWN:
		t->pick.chosen += key->kind == AR_KEY_UP ? count - (count > 0) : 1;
		t->pick.chosen %= count ? count : 1;
		return true;
	case AR_KEY_ENTER:
		s = chosen_session(t);
		if (s)
			ar_chat_switch(t->chat, s->id);
		if (s)
			close_list(t);
		return true;
	case AR_KEY_ESC:
		close_list(t);
		return true;
	case AR_KEY_CTRL: /* leaves, suspends */
		return false;
	default: /* the filter's, and nobody else's: a question may wait meanwhile */
		t->pick.chosen = 0;
		(void)ar_edit_key(&t->edit, key);
		return true;
	}
}
