/* `agentctl diff`: what changed in the files of a session's workspace, by its checkpoints. */
#include "checkpoint/checkpoint.h"
#include "resolve.h"

#include <string.h>

enum { OPT_SESSION, OPT_NAMES };

static const char letters[][2] = { "A", "M", "D" };
static const char *const changes[] = { "added", "changed", "deleted" };

static void print_names(struct ar_ctl *c, struct ar_json answer)
{
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(answer, "changes")); ar_json_next(&it);) {
		size_t i = 0;

		while (i < 2 && !ar_str_is(ar_api_str(it.value, "change"), changes[i]))
			i++;
		ar_out_printf(&c->out, "%s  ", letters[i]);
		ar_out_line(&c->out, ar_api_str(it.value, "path"));
		ar_out_printf(&c->out, "\n");
	}
}

/* The text as it is; on a terminal what was added and removed has its colour. */
static void print_text(struct ar_ctl *c, struct ar_str text)
{
	struct ar_str line;

	while (text.len) {
		bool is_whole = ar_str_ends(text, AR_STR("\n"));

		text = ar_str_split(text, '\n', &line);
		if (ar_str_starts(line, AR_STR("+")))
			ar_out_style(&c->out, AR_STYLE_GREEN);
		else if (ar_str_starts(line, AR_STR("-")))
			ar_out_style(&c->out, AR_STYLE_RED);
		ar_out_text(&c->out, line);
		ar_out_style(&c->out, AR_STYLE_PLAIN);
		if (text.len || is_whole)
			ar_out_text(&c->out, AR_STR("\n"));
	}
}

void ar_checkpoint_print_diff(struct ar_ctl *c, const struct ar_api_reply *r, bool only_names)
{
	bool is_cut = false;

	if (c->is_json)
		ar_api_print(c, r);
	else if (only_names)
		print_names(c, r->doc);
	else
		print_text(c, ar_api_str(r->doc, "diff"));
	ar_out_break(&c->out);
	ar_json_bool(ar_json_get(r->doc, "cut"), &is_cut);
	if (is_cut)
		ar_ctl_note(c, "there is more: the difference is not complete");
}

struct range {
	struct ar_str from, to; /* to: absent, the files as they are */
};

/* A; A..B; A.. */
static struct range read_range(const char *word)
{
	const char *dots = strstr(word, "..");
	struct ar_str from = dots ? (struct ar_str){ word, (size_t)(dots - word) } : ar_str_from(word);
	struct ar_str to = dots ? ar_str_from(dots + 2) : from;

	return (struct range){ from, to.len > 0 ? to : AR_STR_NONE };
}

static struct ar_str write_body(struct ar_ctl *c, struct ar_str session, const struct range *r)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", session);
	ar_jw_mstr(&w, "from", r->from);
	ar_jw_mstr(&w, "to", r->to);
	ar_jw_close(&w);
	return ar_ctl_take_buf(c, &body);
}

/* The last turn with a checkpoint; while it has none of its end, the files are those of now. */
static enum ar_exit find_last(struct ar_ctl *c, struct ar_str session, struct range *ret)
{
	struct ar_api_reply reply;
	enum ar_exit exit =
		ar_api_call(c, "list_checkpoints", ar_resolve_body(c, "sessionId", session), &reply);
	struct ar_str turn = AR_STR_NONE;
	bool has_ended = false;

	for (struct ar_json_iter it = ar_json_iter(ar_json_get(reply.doc, "checkpoints"));
	     exit == AR_EXIT_OK && ar_str_absent(turn) && ar_json_next(&it);) {
		turn = ar_arena_str(&c->arena, ar_api_str(it.value, "turnId"));
		has_ended = ar_str_is(ar_api_str(it.value, "phase"), "end");
	}
	ar_api_fini(&reply);
	if (exit == AR_EXIT_OK && ar_str_absent(turn))
		return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR("agentctl show lists its turns"),
				       "no turn of the session %.*s changed files of its workspace",
				       AR_STR_ARG(session));
	*ret = (struct range){ turn, has_ended ? turn : AR_STR_NONE };
	return exit;
}

static enum ar_exit find_range(struct ar_ctl *c, const struct ar_ctl_args *a, struct range *ret,
			       struct ar_str *ret_session)
{
	struct ar_api_reply session;
	enum ar_exit exit;

	if (a->count)
		*ret = read_range(a->words[0]);
	exit = ar_checkpoint_session(c, ret->from, a->values[OPT_SESSION], &session);
	*ret_session = ar_arena_str(&c->arena, ar_api_str(session.doc, "sessionId"));
	ar_api_fini(&session);
	return exit == AR_EXIT_OK && !a->count ? find_last(c, *ret_session, ret) : exit;
}

static enum ar_exit diff(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct range r = { AR_STR_NONE, AR_STR_NONE };
	struct ar_api_reply reply;
	struct ar_str session, body;
	enum ar_exit exit = find_range(c, a, &r, &session);

	if (exit != AR_EXIT_OK)
		return exit;
	body = write_body(c, session, &r);
	exit = ar_api_call(c, "diff_checkpoints", body, &reply);
	if (exit == AR_EXIT_OK)
		ar_checkpoint_print_diff(c, &reply, a->values[OPT_NAMES]);
	ar_api_fini(&reply);
	return exit;
}

const struct ar_ctl_command ar_cmd_diff = {
	.name = "diff",
	.synopsis = "[TURN[..[TURN]]]",
	.summary = "show what turns changed in the files",
	.text = "Compares checkpoints of the session's workspace: the files before a turn with those after "
		"it, or "
		"after another\n"
		"turn. TURN.. compares with the files as they are now. Checkpoint ids may be used in place "
		"of turns.\n"
		"Without TURN the last one of the session that changed files: of the newest session, or of "
		"--session.",
	.examples = "agentctl diff\n"
		    "agentctl diff turn_01hx3tvq5sz8kq4x1d0f2m9abc_17\n"
		    "agentctl diff --names turn_01hx3tvq5sz8kq4x1d0f2m9abc_17..\n"
		    "agentctl diff first-turn..last-turn --session last",
	.min = 0,
	.max = 1,
	.options = { [OPT_SESSION] = { "session", "ID",
				       "session of the turns, if their ids do not contain it" },
		     [OPT_NAMES] = { "names", NULL, "only the names of the files" } },
	.run = diff,
};
