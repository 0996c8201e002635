/* `agentctl diff`: what changed in the files of a session's workspace, by its checkpoints. */
#include "checkpoint/checkpoint.h"

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

void ar_checkpoint_print_diff(struct ar_ctl *c, const struct ar_api_reply *r, bool only_names)
{
	bool is_cut = false;

	if (c->is_json)
		ar_api_print(c, r);
	else if (only_names)
		print_names(c, r->doc);
	else
		ar_out_text(&c->out, ar_api_str(r->doc, "diff"));
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

static enum ar_exit diff(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct range r = read_range(a->words[0]);
	struct ar_api_reply session, reply;
	enum ar_exit exit = ar_checkpoint_session(c, r.from, a->values[OPT_SESSION], &session);
	struct ar_str body = write_body(c, ar_api_str(session.doc, "sessionId"), &r);

	ar_api_fini(&session);
	if (exit != AR_EXIT_OK)
		return exit;
	exit = ar_api_call(c, "diff_checkpoints", body, &reply);
	if (exit == AR_EXIT_OK)
		ar_checkpoint_print_diff(c, &reply, a->values[OPT_NAMES]);
	ar_api_fini(&reply);
	return exit;
}

const struct ar_ctl_command ar_cmd_diff = {
	.name = "diff",
	.synopsis = "TURN[..[TURN]]",
	.summary = "show what turns changed in the files",
	.text = "Compares checkpoints of the session's workspace: the files before a turn with those after "
		"it, or "
		"after another\n"
		"turn. TURN.. compares with the files as they are now. Checkpoint ids may be used in place "
		"of turns.",
	.examples = "agentctl diff turn_01hx3tvq5sz8kq4x1d0f2m9abc_17\n"
		    "agentctl diff --names turn_01hx3tvq5sz8kq4x1d0f2m9abc_17..\n"
		    "agentctl diff first-turn..last-turn --session last",
	.min = 1,
	.max = 1,
	.options = { [OPT_SESSION] = { "session", "ID",
				       "session of the turns, if their ids do not contain it" },
		     [OPT_NAMES] = { "names", NULL, "only the names of the files" } },
	.run = diff,
};
