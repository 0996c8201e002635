/* `agentctl workspace diff|apply|discard`, `agentctl agent diff|merge|discard`: what a session or a child
 * agent changed in the folder that it has for itself. The end of a merge or of a discard is a fact, which is
 * waited for. */
#include "checkpoint/checkpoint.h"
#include "follow.h"
#include "resolve.h"
#include "workspace/workspace.h"

/* owner: one invocation */
struct waiting {
	struct ar_ctl *ctl;
	const char *member; /* of the payload, that names what is waited for */
	struct ar_str id;
	enum ar_exit exit;
};

static const char *const ends[] = { "workspace.applied", "workspace.conflicted", "workspace.failed",
				    "checkpoint.restored", "checkpoint.failed" };

static bool is_end(struct ar_str type)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(ends); i++) {
		if (ar_str_is(type, ends[i]))
			return true;
	}
	return false;
}

static void print_good(struct waiting *w, struct ar_str type, struct ar_json payload)
{
	bool is_applied = ar_str_is(type, "workspace.applied");
	long long files = (long long)ar_api_int(payload, "files"), left = 0;

	ar_out_printf(&w->ctl->out, "%lld %s %s\n", files, files == 1 ? "file" : "files",
		      is_applied ? "applied" : "restored");
	left = is_applied ? (long long)ar_api_int(payload, "leftOut") : 0;
	if (left > 0)
		ar_ctl_note(w->ctl, "%lld left out: paths that commands may not write in a workspace", left);
	if (!is_applied)
		ar_ctl_note(w->ctl, "the state before is checkpoint %.*s", AR_STR_ARG(w->id));
}

static enum ar_exit exit_of(struct waiting *w, struct ar_str type, struct ar_json payload)
{
	struct ar_ctl *c = w->ctl;
	struct ar_str action = ar_api_str(payload, "actionId");

	if (ar_str_is(type, "workspace.applied") || ar_str_is(type, "checkpoint.restored")) {
		if (!c->is_json)
			print_good(w, type, payload);
		return AR_EXIT_OK;
	}
	if (ar_str_is(type, "workspace.conflicted"))
		return ar_ctl_complain(
			c, AR_EXIT_QUESTION,
			ar_arena_fmt(&c->arena,
				     "agentctl answer %.*s --decision keep_session, keep_workspace, "
				     "leave_out or cancel",
				     AR_STR_ARG(action)),
			"%lld files changed on both sides, and nothing is written; agentctl inbox has the "
			"question",
			(long long)ar_api_int(payload, "files"));
	return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR_NONE, "%.*s",
			       AR_STR_ARG(ar_api_str(payload, "message")));
}

static bool on_event(void *arg, const struct ar_ctl_event *e)
{
	struct waiting *w = arg;
	struct ar_json payload = ar_json_get(e->doc, "payload");

	if (e->is_frame || !is_end(e->type) || !ar_str_eq(ar_api_str(payload, w->member), w->id))
		return true;
	if (w->ctl->is_json) {
		ar_out_json(&w->ctl->out, e->json);
		ar_out_printf(&w->ctl->out, "\n");
	}
	w->exit = exit_of(w, e->type, payload);
	return false;
}

static bool on_interrupt(void *arg AR_UNUSED)
{
	return false;
}

static enum ar_exit wait_for_end(struct waiting *w, struct ar_str session, int64_t sequence)
{
	struct ar_ctl_follow f = { .ctl = w->ctl,
				   .session = session,
				   .is_extended = true,
				   .event = on_event,
				   .interrupted = on_interrupt,
				   .arg = w };
	enum ar_exit exit;

	ar_buf_addf(&f.cursor, "%lld", (long long)sequence);
	exit = ar_ctl_follow_run(&f);
	ar_ctl_follow_fini(&f);
	return exit == AR_EXIT_OK ? w->exit : exit;
}

/* The command with the session and a reason; then its end. */
static enum ar_exit change(struct ar_ctl *c, const char *command, const char *member,
			   const struct ar_workspace_change *what)
{
	struct waiting w = { .ctl = c, .member = member };
	struct ar_buf body = { 0 };
	struct ar_jw j = ar_jw(&body);
	struct ar_api_reply reply;
	struct ar_str session;
	enum ar_exit exit = ar_resolve_session(c, what->session, &session);
	int64_t sequence;

	if (exit != AR_EXIT_OK)
		return exit;
	ar_jw_open(&j);
	ar_jw_mstr(&j, "sessionId", session);
	ar_jw_mstr(&j, "subagentId", ar_str_from(what->agent));
	if (what->path_count > 0) {
		ar_jw_key(&j, "paths");
		ar_jw_open_array(&j);
		for (int i = 0; i < what->path_count; i++)
			ar_jw_str(&j, ar_str_from(what->paths[i]));
		ar_jw_close_array(&j);
	}
	ar_jw_mstr(&j, "reason", ar_str_from(what->reason));
	ar_jw_close(&j);
	exit = ar_api_call(c, command, ar_ctl_take_buf(c, &body), &reply);
	w.id = ar_arena_str(&c->arena, ar_api_str(reply.doc, member));
	sequence = ar_api_int(reply.doc, "sequence");
	ar_api_fini(&reply);
	return exit == AR_EXIT_OK ? wait_for_end(&w, session, sequence) : exit;
}

enum ar_exit ar_workspace_apply(struct ar_ctl *c, const struct ar_workspace_change *what)
{
	return change(c, "apply_workspace", "applyId", what);
}

enum ar_exit ar_workspace_discard(struct ar_ctl *c, const struct ar_workspace_change *what)
{
	return change(c, "discard_workspace", "checkpointId", what);
}

enum ar_exit ar_workspace_diff(struct ar_ctl *c, const char *word, const char *agent)
{
	struct ar_buf body = { 0 };
	struct ar_jw j = ar_jw(&body);
	struct ar_api_reply reply;
	struct ar_str session;
	enum ar_exit exit = ar_resolve_session(c, word, &session);

	if (exit != AR_EXIT_OK)
		return exit;
	ar_jw_open(&j);
	ar_jw_mstr(&j, "sessionId", session);
	ar_jw_mstr(&j, "subagentId", ar_str_from(agent));
	ar_jw_close(&j);
	exit = ar_api_call(c, "diff_workspace", ar_ctl_take_buf(c, &body), &reply);
	if (exit == AR_EXIT_OK)
		ar_checkpoint_print_diff(c, &reply, false);
	ar_api_fini(&reply);
	return exit;
}
