/* See resolve.h. Lists only when it has to; a whole id costs no request. One thread. */
#include "resolve.h"
#include "id.h"

#include <string.h>

#define PAGE 200
#define PAGES 50 /* what is beyond that is found by its whole id only */

/* What is looked for: the command that lists it, and its words. */
struct kind {
	const char *command, *array, *member;
	const char *noun, *next; /* for people */
};

static const struct kind sessions = { "list_sessions", "sessions", "sessionId", "session",
				      "agentctl sessions lists them" };
static const struct kind actions = { "list_actions", "actions", "actionId", "action",
				     "agentctl inbox lists those that wait" };

struct search {
	struct ar_ctl *ctl;
	const struct kind *kind;
	struct ar_str word;
	struct ar_str found;
	struct ar_str rival; /* a second match */
	struct ar_str cursor;
	struct ar_str workspace; /* absent: of all */
	bool is_exact;
};

static bool is_match(struct ar_str id, struct ar_str word)
{
	struct ar_str session_key = ar_id_session_key(id);

	return ar_str_starts(id, word) || ar_str_ends(id, word) || ar_str_starts(session_key, word);
}

static void look_at(struct search *s, struct ar_str id)
{
	if (s->is_exact || !is_match(id, s->word))
		return;
	s->is_exact = ar_str_eq(id, s->word);
	if (s->is_exact || ar_str_absent(s->found))
		s->found = ar_arena_str(&s->ctl->arena, id);
	else
		s->rival = ar_arena_str(&s->ctl->arena, id);
}

static struct ar_str list_body(struct search *s, int limit)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mint(&w, "limit", limit);
	ar_jw_mstr(&w, "cursor", s->cursor);
	ar_jw_mstr(&w, "workspace", s->workspace);
	if (s->kind == &sessions && !ar_str_empty(s->word)) /* a part of an id; not the newest */
		ar_jw_mstr(&w, "archived", AR_STR("include"));
	ar_jw_close(&w);
	return ar_ctl_take_buf(s->ctl, &text);
}

static enum ar_exit look_at_page(struct search *s, int limit)
{
	struct ar_api_reply page;
	enum ar_exit exit = ar_api_call(s->ctl, s->kind->command, list_body(s, limit), &page);

	for (struct ar_json_iter it = ar_json_iter(ar_json_get(page.doc, s->kind->array));
	     exit == AR_EXIT_OK && ar_json_next(&it);)
		look_at(s, ar_api_str(it.value, s->kind->member));
	s->cursor = ar_arena_str(&s->ctl->arena, ar_api_str(page.doc, "nextCursor"));
	ar_api_fini(&page);
	return exit;
}

static enum ar_exit newest(struct search *s, const char *none, struct ar_str *ret)
{
	enum ar_exit exit;

	s->word = AR_STR("");
	exit = look_at_page(s, 1);
	if (exit != AR_EXIT_OK)
		return exit;
	if (ar_str_absent(s->found))
		return ar_ctl_complain(s->ctl, AR_EXIT_FAILED,
				       AR_STR("run agentctl run \"...\" to create one"), "%s", none);
	*ret = s->found;
	return AR_EXIT_OK;
}

static enum ar_exit find_id(struct search *s, struct ar_str *ret)
{
	struct ar_ctl *c = s->ctl;
	enum ar_exit exit = AR_EXIT_OK;

	if (!ar_id_acceptable(s->word))
		return ar_ctl_complain(c, AR_EXIT_USAGE, ar_str_from(s->kind->next),
				       "'%s' is not a valid %s id", s->word.p, s->kind->noun);
	for (int page = 0; page == 0 || (page < PAGES && s->cursor.len && !s->is_exact); page++) {
		exit = look_at_page(s, PAGE);
		if (exit != AR_EXIT_OK)
			return exit;
	}
	if (ar_str_absent(s->found))
		return ar_ctl_complain(c, AR_EXIT_FAILED, ar_str_from(s->kind->next), "no %s matches '%s'",
				       s->kind->noun, s->word.p);
	if (!s->is_exact && !ar_str_absent(s->rival))
		return ar_ctl_complain(c, AR_EXIT_USAGE,
				       AR_STR("give more of the id; ids differ most at their end"),
				       "'%s' could be %s or %s", s->word.p, s->found.p, s->rival.p);
	*ret = s->found;
	return AR_EXIT_OK;
}

enum ar_exit ar_resolve_session(struct ar_ctl *c, const char *word, struct ar_str *ret)
{
	struct search s = { .ctl = c, .kind = &sessions, .word = ar_str_from(word) };
	uint64_t n;

	if (strcmp(word, "last") == 0)
		return newest(&s, "there is no session yet", ret);
	if (ar_str_absent(ar_id_session_key(s.word)) || ar_id_counter(s.word, &n))
		return find_id(&s, ret);
	*ret = s.word;
	return AR_EXIT_OK;
}

enum ar_exit ar_resolve_newest(struct ar_ctl *c, struct ar_str workspace, const char *none,
			       struct ar_str *ret)
{
	struct search s = { .ctl = c, .kind = &sessions, .workspace = workspace };

	return newest(&s, none, ret);
}

enum ar_exit ar_resolve_action(struct ar_ctl *c, const char *word, struct ar_str *ret)
{
	struct search s = { .ctl = c, .kind = &actions, .word = ar_str_from(word) };
	uint64_t n;

	if (!ar_str_starts(s.word, AR_STR("action_")) || ar_str_absent(ar_id_session_key(s.word)) ||
	    !ar_id_counter(s.word, &n))
		return find_id(&s, ret);
	*ret = s.word;
	return AR_EXIT_OK;
}

struct ar_str ar_resolve_body(struct ar_ctl *c, const char *name, struct ar_str value)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mstr(&w, name, value);
	ar_jw_close(&w);
	return ar_ctl_take_buf(c, &text);
}

struct ar_str ar_resolve_body_all(struct ar_ctl *c, struct ar_str session)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", session);
	ar_jw_mraw(&w, "include", AR_STR("[\"ended_threads\"]"));
	ar_jw_close(&w);
	return ar_ctl_take_buf(c, &text);
}

static enum ar_exit read_session(struct ar_ctl *c, const char *word, bool is_all, struct ar_api_reply *ret)
{
	struct ar_str id;
	enum ar_exit exit;

	*ret = (struct ar_api_reply){ 0 };
	exit = ar_resolve_session(c, word, &id);
	if (exit != AR_EXIT_OK)
		return exit;
	return ar_api_call(c, "get_session",
			   is_all ? ar_resolve_body_all(c, id) : ar_resolve_body(c, "sessionId", id), ret);
}

enum ar_exit ar_resolve_read(struct ar_ctl *c, const char *word, struct ar_api_reply *ret)
{
	return read_session(c, word, false, ret);
}

enum ar_exit ar_resolve_read_all(struct ar_ctl *c, const char *word, struct ar_api_reply *ret)
{
	return read_session(c, word, true, ret);
}

struct ar_str ar_resolve_output_body(struct ar_ctl *c, struct ar_str ref, size_t offset, size_t length)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "outputRef", ref);
	if (offset)
		ar_jw_mint(&w, "offset", (int64_t)offset);
	ar_jw_mint(&w, "length", (int64_t)length);
	ar_jw_close(&w);
	return ar_ctl_take_buf(c, &body);
}
