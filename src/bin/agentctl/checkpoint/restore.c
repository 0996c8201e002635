/* See checkpoint.h. The files are the daemon's to change; here the command is sent and its end waited
 * for. */
#include "checkpoint/checkpoint.h"
#include "follow.h"
#include "id.h"
#include "resolve.h"

/* ---- found ---- */

enum ar_exit ar_checkpoint_session(struct ar_ctl *c, struct ar_str turn, const char *named,
				   struct ar_api_reply *ret)
{
	struct ar_str session_key = ar_id_session_key(turn);

	if (!named && !ar_str_absent(session_key))
		named = ar_arena_fmt(&c->arena, "sess_%.*s", AR_STR_ARG(session_key)).p;
	return ar_resolve_read(c, named ? named : "last", ret);
}

static struct ar_str start_of(struct ar_json answer)
{
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(answer, "checkpoints")); ar_json_next(&it);) {
		if (ar_str_is(ar_api_str(it.value, "phase"), "start") &&
		    ar_str_is(ar_api_str(it.value, "status"), "available"))
			return ar_api_str(it.value, "checkpointId");
	}
	return AR_STR_NONE;
}

struct ar_str ar_checkpoint_of_turn(struct ar_ctl *c, struct ar_str session, struct ar_str turn)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_api_reply reply;
	struct ar_str found = AR_STR_NONE;
	struct ar_error err;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", session);
	ar_jw_mstr(&w, "turnId", turn);
	ar_jw_close(&w);
	if (ar_api_try(c, "list_checkpoints", ar_ctl_take_buf(c, &body), &reply, &err) == AR_OK &&
	    reply.http.status == 200)
		found = ar_arena_str(&c->arena, start_of(reply.doc));
	ar_api_fini(&reply);
	return found;
}

/* ---- restored ---- */

/* owner: one invocation */
struct restore {
	struct ar_ctl *ctl;
	struct ar_str id; /* of the checkpoint of the state before */
	enum ar_exit exit;
};

static void print_restored(struct restore *r, struct ar_json payload)
{
	long long files = (long long)ar_api_int(payload, "files");

	ar_out_printf(&r->ctl->out, "%lld %s restored\n", files, files == 1 ? "file" : "files");
	ar_ctl_note(r->ctl, "the state before is checkpoint %.*s", AR_STR_ARG(r->id));
}

static bool on_event(void *arg, const struct ar_ctl_event *e)
{
	struct restore *r = arg;
	struct ar_json payload = ar_json_get(e->doc, "payload");
	bool is_good = ar_str_is(e->type, "checkpoint.restored");

	if (e->is_frame || (!is_good && !ar_str_is(e->type, "checkpoint.failed")) ||
	    !ar_str_eq(ar_api_str(payload, "checkpointId"), r->id))
		return true;
	if (r->ctl->is_json) {
		ar_out_json(&r->ctl->out, e->json);
		ar_out_printf(&r->ctl->out, "\n");
	} else if (is_good) {
		print_restored(r, payload);
	}
	r->exit = is_good ? AR_EXIT_OK
			  : ar_ctl_complain(
				    r->ctl, AR_EXIT_FAILED,
				    AR_STR("check the files, and restore again when the cause is removed"),
				    "the files were not all restored: %.*s",
				    AR_STR_ARG(ar_api_str(payload, "message")));
	return false;
}

static bool on_interrupt(void *arg AR_UNUSED)
{
	return false;
}

static enum ar_exit wait_for_end(struct restore *r, struct ar_str session, int64_t sequence)
{
	struct ar_ctl_follow f = { .ctl = r->ctl,
				   .session = session,
				   .is_extended = true,
				   .event = on_event,
				   .interrupted = on_interrupt,
				   .arg = r };
	enum ar_exit exit;

	ar_buf_addf(&f.cursor, "%lld", (long long)sequence);
	exit = ar_ctl_follow_run(&f);
	ar_ctl_follow_fini(&f);
	return exit == AR_EXIT_OK ? r->exit : exit;
}

enum ar_exit ar_checkpoint_restore(struct ar_ctl *c, struct ar_str session, struct ar_str checkpoint,
				   const char *reason)
{
	struct restore r = { .ctl = c };
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_api_reply reply;
	enum ar_exit exit;
	int64_t sequence;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", session);
	ar_jw_mstr(&w, "checkpointId", checkpoint);
	ar_jw_mstr(&w, "reason", ar_str_from(reason));
	ar_jw_close(&w);
	exit = ar_api_call(c, "restore_checkpoint", ar_ctl_take_buf(c, &body), &reply);
	r.id = ar_arena_str(&c->arena, ar_api_str(reply.doc, "checkpointId"));
	sequence = ar_api_int(reply.doc, "sequence");
	ar_api_fini(&reply);
	return exit == AR_EXIT_OK ? wait_for_end(&r, session, sequence) : exit;
}
