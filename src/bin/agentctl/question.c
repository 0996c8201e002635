/* See question.h. One thread. */
#include "question.h"
#include "id.h"
#include "resolve.h"
#include "respond.h"

#include <sys/ioctl.h>
#include <unistd.h>

#define PAGE 200
#define PAGES 50
#define ROWS_LEFT 3 /* of a screen, for the line that waits */

/* ---- finding ---- */

static struct ar_str page_body(struct ar_ctl *c, struct ar_str action, struct ar_str cursor)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", ar_id_root(&c->arena, "sess", ar_id_session_key(action)));
	ar_jw_mint(&w, "limit", PAGE);
	ar_jw_mstr(&w, "cursor", cursor);
	ar_jw_close(&w);
	return ar_ctl_take_buf(c, &text);
}

struct ar_str ar_question_approvals(struct ar_ctl *c, struct ar_json action)
{
	struct ar_json approvals = ar_json_get(action, "approvals");
	struct ar_buf text = { 0 };
	bool has_names = false;

	if (ar_json_type(approvals) != AR_JSON_OBJECT)
		return AR_STR_NONE;
	ar_buf_addf(&text, "%lld of %lld approvals", (long long)ar_api_int(approvals, "given"),
		    (long long)ar_api_int(approvals, "needed"));
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(approvals, "by")); ar_json_next(&it);) {
		ar_buf_addz(&text, has_names ? ", " : " (");
		ar_buf_adds(&text, ar_api_str(it.value, "person"));
		has_names = true;
	}
	if (has_names)
		ar_buf_addc(&text, ')');
	return ar_ctl_take_buf(c, &text);
}

void ar_question_of(struct ar_ctl *c, struct ar_json action, struct ar_question *ret)
{
	struct ar_buf decisions = { 0 };

	ret->id = ar_arena_str(&c->arena, ar_api_str(action, "actionId"));
	ar_json_print(ar_json_get(action, "decisions"), &decisions);
	ret->decisions = ar_ctl_take_buf(c, &decisions);
	ret->title = ar_arena_str(&c->arena, ar_api_str(action, "title"));
	ret->ref = ar_arena_str(&c->arena, ar_api_str(action, "promptRef"));
	ret->approvals = ar_question_approvals(c, action);
}

enum ar_exit ar_question_find(struct ar_ctl *c, const char *word, struct ar_question *ret)
{
	struct ar_str cursor = AR_STR_NONE;
	enum ar_exit exit;

	*ret = (struct ar_question){ 0 };
	exit = ar_resolve_action(c, word, &ret->id);
	for (int i = 0; !exit && (i == 0 || (i < PAGES && cursor.len && ar_str_absent(ret->decisions)));
	     i++) {
		struct ar_api_reply page;

		exit = ar_api_call(c, "list_actions", page_body(c, ret->id, cursor), &page);
		for (struct ar_json_iter it = ar_json_iter(ar_json_get(page.doc, "actions"));
		     ar_json_next(&it);) {
			if (ar_str_eq(ar_api_str(it.value, "actionId"), ret->id))
				ar_question_of(c, it.value, ret);
		}
		cursor = ar_arena_str(&c->arena, ar_api_str(page.doc, "nextCursor"));
		ar_api_fini(&page);
	}
	return exit;
}

/* ---- the whole of it ---- */

enum ar_exit ar_question_read(struct ar_ctl *c, const struct ar_question *q, struct ar_str *ret_text,
			      struct ar_str *ret_digest)
{
	struct ar_respond_whole whole = { .text = q->title };
	enum ar_exit exit = AR_EXIT_OK;

	if (!ar_str_absent(q->ref))
		exit = ar_respond_read(c, q->id, q->ref, &whole);
	*ret_text = whole.text;
	*ret_digest = whole.digest;
	return exit;
}

static bool has_pages(const struct ar_ctl *c)
{
	return c->err.is_tty && isatty(STDIN_FILENO);
}

static void show_pages(struct ar_ctl *c, struct ar_str text)
{
	struct winsize size = { 0 };
	size_t page;

	if (ioctl(fileno(c->err.file), TIOCGWINSZ, &size) != 0 || size.ws_row <= ROWS_LEFT || !size.ws_col)
		size = (struct winsize){ .ws_row = 24, .ws_col = 80 };
	page = (size_t)(size.ws_row - ROWS_LEFT) * size.ws_col;
	while (text.len > page) {
		struct ar_str part = ar_str_utf8_prefix(text, page);

		ar_out_line(&c->err, part);
		text = ar_str_sub(text, part.len, text.len);
		ar_out_printf(&c->err, "\n-- %zu bytes more; Enter shows them -- ", text.len);
		fflush(c->err.file);
		ar_ctl_read_letter();
	}
	ar_out_line(&c->err, text);
	ar_out_printf(&c->err, "\n");
}

void ar_question_print(struct ar_ctl *c, struct ar_str text)
{
	if (has_pages(c)) {
		show_pages(c, text);
		return;
	}
	ar_out_line(&c->err, text);
	ar_out_printf(&c->err, "\n");
}

enum ar_exit ar_question_confirm(struct ar_ctl *c, const struct ar_question *q, struct ar_str *ret_digest)
{
	struct ar_str text;
	enum ar_exit exit = ar_question_read(c, q, &text, ret_digest);

	if (exit != AR_EXIT_OK)
		return exit;
	ar_question_print(c, text);
	if (!has_pages(c))
		return AR_EXIT_OK;
	ar_out_printf(&c->err, "That is all of it. Approve it? y/N ");
	fflush(c->err.file);
	if (ar_ctl_read_letter() == 'y')
		return AR_EXIT_OK;
	return ar_ctl_complain(c, AR_EXIT_FAILED,
			       ar_arena_fmt(&c->arena, "agentctl deny %.*s", AR_STR_ARG(q->id)),
			       "nothing was answered; the question still waits");
}

enum ar_exit ar_question_policy(struct ar_ctl *c, const char *word, bool *ret_fails)
{
	*ret_fails = word ? ar_str_is(ar_str_from(word), "fail") : !c->err.is_tty;
	if (!word || *ret_fails || ar_str_is(ar_str_from(word), "wait"))
		return AR_EXIT_OK;
	return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("use --on-question=fail or --on-question=wait"),
			       "--on-question must be fail or wait, not '%s'", word);
}
