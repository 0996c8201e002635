/* `agentctl rename` and `agentctl archive`: how a session is listed. */
#include "resolve.h"

static void print_result(struct ar_ctl *c, const struct ar_api_reply *r)
{
	ar_out_line(&c->out, ar_api_str(r->doc, "sessionId"));
	ar_out_printf(&c->out, "  %s\n",
		      ar_str_is(ar_api_str(r->doc, "result"), "updated") ? "updated" : "not changed");
}

/* update_session of the session that the first word means; `add` writes the member that changes. */
static enum ar_exit update_session(struct ar_ctl *c, const struct ar_ctl_args *a,
				   void (*add)(struct ar_jw *w, const struct ar_ctl_args *a))
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_str session;
	enum ar_exit exit = ar_resolve_session(c, a->words[0], &session);

	if (exit != AR_EXIT_OK)
		return exit;
	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", session);
	add(&w, a);
	ar_jw_close(&w);
	return ar_api_show(c, "update_session", &body, print_result);
}

static void add_title(struct ar_jw *w, const struct ar_ctl_args *a)
{
	ar_jw_mstr(w, "title", ar_str_from(a->words[1]));
}

static enum ar_exit rename_session(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return update_session(c, a, add_title);
}

enum { ARCHIVE_UNDO };

static void add_archived(struct ar_jw *w, const struct ar_ctl_args *a)
{
	ar_jw_mbool(w, "archived", !a->values[ARCHIVE_UNDO]);
}

static enum ar_exit archive(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return update_session(c, a, add_archived);
}

const struct ar_ctl_command ar_cmd_rename = {
	.name = "rename",
	.synopsis = "SESSION TITLE",
	.summary = "give a session another title",
	.text = "TITLE is shown by agentctl sessions and show, at most 256 bytes. SESSION is an id, the "
		"beginning\n"
		"or end of one, or last.",
	.examples = "agentctl rename last 'release notes'",
	.min = 2,
	.max = 2,
	.run = rename_session,
};

const struct ar_ctl_command ar_cmd_archive = {
	.name = "archive",
	.synopsis = "SESSION",
	.summary = "leave a session out of lists, or show it again",
	.text = "agentctl sessions and last leave an archived session out while nothing runs in it; it can "
		"be\n"
		"shown, followed and continued as before. agentctl sessions --archived lists archived "
		"sessions.",
	.examples = "agentctl archive last\n"
		    "agentctl archive --undo 01k9x",
	.min = 1,
	.max = 1,
	.options = { [ARCHIVE_UNDO] = { "undo", NULL, "show it in lists again" } },
	.run = archive,
};
