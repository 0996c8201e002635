/* See chat.h: the commands about the thread that the conversation is in: its queue, shortening it, branching
 * off, taking back. */
#include "chat/chat.h"
#include "image/image.h"
#include "resolve.h"
#include "submit.h"

/* get_session; the thread of the conversation in it. `ret` always wants fini. */
static bool read_thread(struct ar_chat *t, struct ar_api_reply *ret, struct ar_json *ret_thread)
{
	enum ar_exit exit = ar_resolve_read(t->ctl, t->session.p, ret);

	for (struct ar_json_iter it = ar_json_iter(ar_json_get(ret->doc, "threads"));
	     exit == AR_EXIT_OK && ar_json_next(&it);) {
		*ret_thread = it.value;
		if (ar_str_eq(ar_api_str(it.value, "threadId"), t->thread))
			return true;
	}
	return false;
}

void ar_chat_queue(struct ar_chat *t, struct ar_str word AR_UNUSED)
{
	struct ar_api_reply reply;
	struct ar_json thread, queue = { 0 };

	if (read_thread(t, &reply, &thread))
		queue = ar_json_get(thread, "queuedTurns");
	if (ar_json_len(queue) == 0)
		ar_chat_printf(t, "nothing waits");
	for (struct ar_json_iter it = ar_json_iter(queue); ar_json_next(&it);) {
		ar_out_break(t->side);
		ar_out_printf(t->side, "%3lld  ", (long long)ar_api_int(it.value, "position"));
		ar_out_line(t->side, ar_api_str(it.value, "inputPreview"));
		ar_out_printf(t->side, "\n");
	}
	ar_api_fini(&reply);
}

/* Calls a command on the thread. `target` is JSON for the member of that name, or absent. */
static bool call(struct ar_chat *t, const char *command, struct ar_str target, struct ar_api_reply *ret)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", t->session);
	ar_jw_mstr(&w, "threadId", t->thread);
	ar_jw_mraw(&w, "target", target);
	ar_jw_close(&w);
	return ar_api_call(t->ctl, command, ar_ctl_take_buf(t->ctl, &body), ret) == AR_EXIT_OK;
}

void ar_chat_compact(struct ar_chat *t, struct ar_str word AR_UNUSED)
{
	struct ar_api_reply reply;

	(void)call(t, "compact_thread", AR_STR_NONE, &reply); /* its events tell the rest */
	ar_api_fini(&reply);
}

void ar_chat_fork(struct ar_chat *t, struct ar_str word AR_UNUSED)
{
	struct ar_api_reply reply;

	if (call(t, "fork_thread", AR_STR_NONE, &reply)) {
		t->thread = ar_arena_str(&t->ctl->arena, ar_api_str(reply.doc, "threadId"));
		ar_chat_printf(t, "now in the branch %s", t->thread.p);
	}
	ar_api_fini(&reply);
}

/* The point before the last turn: the turn before it, or the beginning. */
static struct ar_str target_of(struct ar_chat *t, struct ar_json turns)
{
	size_t count = ar_json_len(turns);

	if (count < 2)
		return AR_STR("{\"sequence\":0}");
	return ar_resolve_body(t->ctl, "turnId", ar_api_str(ar_json_at(turns, count - 2), "turnId"));
}

void ar_chat_rollback(struct ar_chat *t, struct ar_str word AR_UNUSED)
{
	struct ar_api_reply session, reply;
	struct ar_json thread, turns;

	if (read_thread(t, &session, &thread)) {
		turns = ar_json_get(thread, "turns");
		if (call(t, "rollback_thread", target_of(t, turns), &reply) &&
		    ar_chat_begin(t, AR_STYLE_DIM)) {
			ar_out_printf(t->side, "taken back: ");
			ar_out_line(t->side,
				    ar_api_str(ar_json_at(turns, ar_json_len(turns) - 1), "inputPreview"));
			ar_chat_end(t);
		}
		ar_api_fini(&reply);
	}
	ar_api_fini(&session);
}

/* ---- the running turn and those that wait ---- */

bool ar_chat_steer_text(struct ar_chat *t, struct ar_str text)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_api_reply reply;
	struct ar_images images;
	bool is_taken;

	if (ar_images_read(t->ctl, text, &images) != AR_EXIT_OK)
		return false;
	if (!ar_str_absent(images.input)) {
		ar_chat_printf(t, "an image begins a turn of its own: Enter sends it");
		return false;
	}
	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", t->session);
	ar_jw_mstr(&w, "threadId", t->thread);
	ar_jw_mstr(&w, "turnId", ar_buf_str(&t->running));
	ar_submit_add_input(&w, text);
	ar_jw_close(&w);
	is_taken = ar_api_call(t->ctl, "steer_turn", ar_ctl_take_buf(t->ctl, &body), &reply) == AR_EXIT_OK;
	ar_api_fini(&reply);
	return is_taken;
}

void ar_chat_steer(struct ar_chat *t, struct ar_str text)
{
	if (!t->running.len)
		ar_chat_printf(t, "nothing is running");
	else if (ar_str_empty(text))
		ar_chat_printf(t, "say what to tell the running turn: /steer TEXT");
	else if (ar_chat_steer_text(t, text))
		ar_chat_printf(t, "given to the running turn");
}

bool ar_chat_unqueue(struct ar_chat *t, struct ar_str turn)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_api_reply reply;
	bool is_removed;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", t->session);
	ar_jw_mstr(&w, "turnId", turn);
	ar_jw_close(&w);
	is_removed = ar_api_call(t->ctl, "remove_queued_turn", ar_ctl_take_buf(t->ctl, &body), &reply) ==
		     AR_EXIT_OK;
	ar_api_fini(&reply);
	return is_removed;
}

/* Of the last turn, as the command of that name does it. */
static bool run_on_last(struct ar_chat *t, const struct ar_ctl_command *command)
{
	char *words[] = { NULL };
	struct ar_ctl_args args = { .words = words, .count = 1 };

	if (!t->last.len) {
		ar_chat_printf(t, "there was no turn yet");
		return false;
	}
	words[0] = (char *)ar_ctl_strdup(t->ctl, ar_buf_str(&t->last));
	return command->run(t->ctl, &args) == AR_EXIT_OK;
}

void ar_chat_undo(struct ar_chat *t, struct ar_str word AR_UNUSED)
{
	if (run_on_last(t, &ar_cmd_undo))
		ar_chat_printf(t, "the files are as before the last turn");
}

void ar_chat_diff(struct ar_chat *t, struct ar_str word AR_UNUSED)
{
	(void)run_on_last(t, &ar_cmd_diff);
}
