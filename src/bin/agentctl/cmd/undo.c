/* `agentctl undo`: the files that a turn changed, put back as they were. A turn with a checkpoint is the
 * daemon's to take back, whatever changed the files. Of others what file tools changed is on record
 * (changesRef of tool.result); the putting back is agent-files', on this machine and with the rights of the
 * caller. */
#include "base64.h"
#include "checkpoint/checkpoint.h"
#include "files_program.h"
#include "follow.h"
#include "resolve.h"

#define CALLS_MAX 10000
#define PART ((size_t)4 << 20)
#define CHANGES_MAX ((size_t)48 << 20)

enum { OPT_SESSION, OPT_WORKSPACE, OPT_TOOLS };

/* owner: one invocation */
struct undo {
	struct ar_ctl *ctl;
	struct ar_str turn, workspace;
	int64_t until; /* the newest fact there is */
	struct ar_str *refs; /* of changes, oldest first */
	size_t count;
	bool has_turn;
	bool has_conflict;
};

/* ---- what is on record ---- */

static bool on_event(void *arg, const struct ar_ctl_event *e)
{
	struct undo *u = arg;
	struct ar_json payload = ar_json_get(e->doc, "payload");

	if (!e->is_frame && ar_str_eq(ar_api_str(e->doc, "turnId"), u->turn)) {
		struct ar_str ref = ar_api_str(payload, "changesRef"), cwd = ar_api_str(payload, "cwd");

		u->has_turn = true;
		if (ar_str_is(e->type, "tool.result") && !ar_str_absent(ref) && u->count < CALLS_MAX)
			u->refs[u->count++] = ar_arena_str(&u->ctl->arena, ref);
		if (ar_str_is(e->type, "sandbox.applied") && ar_str_absent(u->workspace))
			u->workspace = ar_arena_str(&u->ctl->arena, cwd);
	}
	return e->is_frame || e->sequence < u->until;
}

static bool on_interrupt(void *arg AR_UNUSED)
{
	return false;
}

static enum ar_exit read_facts(struct undo *u, struct ar_str session)
{
	struct ar_ctl_follow f = {
		.ctl = u->ctl, .session = session, .event = on_event, .interrupted = on_interrupt, .arg = u
	};
	enum ar_exit exit;

	ar_buf_addz(&f.cursor, "0");
	exit = ar_ctl_follow_run(&f);
	ar_ctl_follow_fini(&f);
	return exit;
}

/* The next part of a content; *ret_is_last when nothing is behind it. */
static enum ar_exit read_part(struct undo *u, struct ar_str ref, struct ar_buf *to, bool *ret_is_last)
{
	struct ar_api_reply reply;
	enum ar_exit exit = ar_api_call(u->ctl, "read_output",
					ar_resolve_output_body(u->ctl, ref, to->len, PART), &reply);
	struct ar_str bytes = ar_api_str(reply.doc, "content");

	if (exit == AR_EXIT_OK && ar_str_is(ar_api_str(reply.doc, "encoding"), "base64") &&
	    !ar_base64_decode(&u->ctl->arena, bytes, &bytes))
		bytes = AR_STR_NONE;
	ar_buf_add(to, bytes.p ? bytes.p : "", bytes.len);
	*ret_is_last = ar_str_empty(bytes) || (int64_t)to->len >= ar_api_int(reply.doc, "sizeBytes");
	ar_api_fini(&reply);
	return exit;
}

/* ---- putting back ---- */

static void print_answer(struct undo *u, struct ar_str text)
{
	struct ar_json_parser *p = ar_json_parser_new();
	struct ar_json v;

	if (ar_json_parse(p, text, &v, NULL) == AR_OK) {
		bool is_done = ar_api_int(v, "outcome") == 1;

		u->has_conflict = u->has_conflict || !is_done;
		ar_out_text(&u->ctl->out, ar_api_str(v, is_done ? "text" : "message"));
	}
	ar_json_parser_free(p);
}

static enum ar_exit undo_call(struct undo *u, struct ar_str changes)
{
	struct ar_buf request = { 0 };
	struct ar_jw w = ar_jw(&request);
	struct ar_str answer;
	enum ar_exit exit;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "tool", AR_STR("undo"));
	ar_jw_mstr(&w, "workspace", u->workspace);
	ar_jw_key(&w, "args");
	ar_jw_open(&w);
	ar_jw_mraw(&w, "changes", changes);
	ar_jw_close(&w);
	ar_jw_close(&w);
	exit = ar_files_program(u->ctl, ar_buf_str(&request), &answer);
	ar_buf_fini(&request);
	if (exit == AR_EXIT_OK && u->ctl->is_json) {
		ar_out_json(&u->ctl->out, answer);
		ar_out_printf(&u->ctl->out, "\n");
	} else if (exit == AR_EXIT_OK)
		print_answer(u, answer);
	return exit;
}

static enum ar_exit undo_ref(struct undo *u, struct ar_str ref)
{
	AR_AUTO(ar_buf_fini) struct ar_buf changes = { .cap = CHANGES_MAX };
	enum ar_exit exit = AR_EXIT_OK;
	bool is_last = false;

	while (exit == AR_EXIT_OK && !is_last && !changes.failed)
		exit = read_part(u, ref, &changes, &is_last);
	return exit == AR_EXIT_OK ? undo_call(u, ar_buf_str(&changes)) : exit;
}

static enum ar_exit undo_all(struct undo *u)
{
	enum ar_exit exit = AR_EXIT_OK;

	if (!u->has_turn)
		return ar_ctl_complain(u->ctl, AR_EXIT_FAILED,
				       AR_STR("agentctl show SESSION lists its turns"),
				       "the session has no turn '%s'", u->turn.p);
	if (u->count == 0)
		ar_ctl_note(u->ctl, "the turn changed no file with a file tool");
	for (size_t i = u->count; i > 0 && exit == AR_EXIT_OK; i--)
		exit = undo_ref(u, u->refs[i - 1]);
	if (exit == AR_EXIT_OK && u->has_conflict)
		return ar_ctl_complain(u->ctl, AR_EXIT_FAILED, AR_STR("check the files that were kept"),
				       "not all files could be restored");
	return exit;
}

/* What a person names a folder or file tools for is not for the daemon. */
static struct ar_str find_checkpoint(struct ar_ctl *c, const struct ar_ctl_args *a, struct ar_str session)
{
	if (a->values[OPT_WORKSPACE] || a->values[OPT_TOOLS])
		return AR_STR_NONE;
	return ar_checkpoint_of_turn(c, session, ar_str_from(a->words[0]));
}

static enum ar_exit undo(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct undo u = { .ctl = c,
			  .turn = ar_str_from(a->words[0]),
			  .workspace = ar_str_from(a->values[OPT_WORKSPACE]),
			  .refs = ar_arena_alloc(&c->arena, CALLS_MAX * sizeof(*u.refs)) };
	struct ar_api_reply reply;
	enum ar_exit exit = ar_checkpoint_session(c, u.turn, a->values[OPT_SESSION], &reply);
	struct ar_str checkpoint, session = ar_arena_str(&c->arena, ar_api_str(reply.doc, "sessionId"));

	u.until = ar_api_int(reply.doc, "asOfSequence");
	ar_api_fini(&reply);
	if (exit != AR_EXIT_OK)
		return exit;
	checkpoint = find_checkpoint(c, a, session);
	if (!ar_str_absent(checkpoint))
		return ar_checkpoint_restore(c, session, checkpoint, "agentctl undo");
	exit = read_facts(&u, session);
	return exit == AR_EXIT_OK ? undo_all(&u) : exit;
}

const struct ar_ctl_command ar_cmd_undo = {
	.name = "undo",
	.synopsis = "TURN",
	.summary = "restore the files that a turn changed",
	.text = "If the turn has a checkpoint, the files of the workspace become as they were before it, "
		"whatever changed "
		"them\n"
		"since: this turn, its commands, later turns. The state before is kept as a checkpoint. "
		"Nothing may be "
		"running.\n\n"
		"Otherwise, and with --tools, reverts what write_file, edit_file and apply_patch did in the "
		"turn, newest "
		"change\n"
		"first. Prints a line per file: restored, removed, or kept with the reason. A file that was "
		"changed since is "
		"kept;\n"
		"changes made by commands stay. Runs on the machine with the files; exits with 1 if a file "
		"was kept.",
	.examples = "agentctl undo turn_01hx3tvq5sz8kq4x1d0f2m9abc_17\n"
		    "agentctl undo my-turn --session last --workspace ~/project",
	.min = 1,
	.max = 1,
	.options = { [OPT_SESSION] = { "session", "ID",
				       "session of the turn, if the id does not contain it" },
		     [OPT_WORKSPACE] = { "workspace", "DIR",
					 "directory of the files (the turn's workspace); implies --tools" },
		     [OPT_TOOLS] = { "tools", NULL, "only what file tools changed" } },
	.run = undo,
};
