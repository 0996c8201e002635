/* See chat.h: begins the conversation, waits for lines and events at once, submits and interrupts. Without a
 * session there is no stream yet; then only standard input and signals are waited for. */
#include "chat/chat.h"
#include "clock.h"
#include "daemon.h"
#include "image/image.h"
#include "resolve.h"
#include "submit.h"
#include "term/term.h"

#include <poll.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define TWICE_USEC 1000000 /* two Ctrl-C within this leave */

void ar_chat_leave(struct ar_chat *t, enum ar_exit exit)
{
	t->is_over = true;
	t->exit = exit;
}

/* ---- turns ---- */

static void note_receipt(struct ar_chat *t, struct ar_json receipt, struct ar_str text)
{
	struct ar_str turn = ar_api_str(receipt, "turnId");
	int64_t place = ar_api_int(receipt, "position");

	if (ar_str_absent(t->session))
		t->session = ar_arena_str(&t->ctl->arena, ar_api_str(receipt, "sessionId"));
	if (ar_str_absent(t->thread))
		t->thread = ar_arena_str(&t->ctl->arena, ar_api_str(receipt, "threadId"));
	ar_buf_adds(&t->own, turn);
	ar_buf_addc(&t->own, '\n');
	if (ar_str_is(ar_api_str(receipt, "status"), "queued")) {
		t->waiting = place;
		if (t->term)
			ar_term_queue(t->term, turn, text);
		else
			ar_chat_printf(t, "queued (%lld waiting)", (long long)place);
		if (t->is_interactive)
			return;
	}
	ar_buf_clear(&t->running);
	ar_buf_adds(&t->running, turn);
	t->is_interrupted = false;
}

/* Names of files in lines of a pipe are text: nobody has typed them. */
static enum ar_exit send_turn(struct ar_chat *t, struct ar_submit *what, struct ar_api_reply *ret)
{
	struct ar_images images = { 0 };
	enum ar_exit exit = AR_EXIT_OK;

	*ret = (struct ar_api_reply){ 0 };
	if (!ar_str_is_utf8(what->text))
		return ar_ctl_complain(t->ctl, AR_EXIT_FAILED, AR_STR("convert it, for example with iconv"),
				       "the line is not UTF-8");
	if (t->is_interactive)
		exit = ar_images_read(t->ctl, what->text, &images);
	what->input = images.input;
	if (exit == AR_EXIT_OK)
		exit = ar_submit_turn(t->ctl, what, ret);
	if (exit == AR_EXIT_OK && !ar_str_absent(images.names))
		ar_chat_printf(t, "  with %.*s", AR_STR_ARG(images.names));
	return exit;
}

void ar_chat_submit(struct ar_chat *t, struct ar_str text)
{
	struct ar_submit what = { .session = t->session,
				  .thread = t->thread,
				  .workspace = t->workspace,
				  .isolation = t->isolation,
				  .text = text,
				  .model = t->model,
				  .mode = t->mode };
	struct ar_arena own = { 0 }; /* images are large, and conversations are long */
	struct ar_api_reply reply;
	enum ar_exit exit;

	ar_ctl_swap_arena(t->ctl, &own);
	exit = send_turn(t, &what, &reply);
	ar_ctl_swap_arena(t->ctl, &own);
	ar_arena_fini(&own);
	if (exit == AR_EXIT_OK)
		note_receipt(t, reply.doc, text);
	ar_api_fini(&reply);
	if (exit == AR_EXIT_INTERRUPTED)
		ar_chat_printf(t, "the line was not sent");
	if (exit != AR_EXIT_OK && !t->is_interactive)
		t->exit = exit;
	if (exit == AR_EXIT_UNREACHABLE && !t->is_interactive)
		ar_chat_leave(t, exit);
}

/* ---- Ctrl-C ---- */

static struct ar_str interrupt_body(struct ar_chat *t)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", t->session);
	ar_jw_mstr(&w, "turnId", ar_buf_str(&t->running));
	ar_jw_mstr(&w, "reason", AR_STR("interrupted from the terminal"));
	ar_jw_close(&w);
	return ar_ctl_take_buf(t->ctl, &text);
}

void ar_chat_interrupt(struct ar_chat *t)
{
	struct ar_api_reply reply;

	if (!t->running.len) {
		ar_chat_printf(t, "nothing is running");
		return;
	}
	t->is_interrupted = true;
	ar_chat_printf(t, "interrupting");
	if (ar_api_call(t->ctl, "interrupt_turn", interrupt_body(t), &reply) == AR_EXIT_OK &&
	    ar_str_is(ar_api_str(reply.doc, "result"), "no_op"))
		ar_chat_printf(t, "the turn had already ended");
	ar_api_fini(&reply);
}

/* The terminal has thrown away what was half typed and shows ^C there. One that stops a turn is not the
 * first of the two that leave. */
void ar_chat_on_interrupt(struct ar_chat *t)
{
	struct ar_clock *clock = ar_clock_system();
	ar_usec at = clock->mono(clock), before = t->interrupt_at;

	t->is_prompted = false;
	t->interrupt_at = 0;
	if (t->running.len && !t->is_interrupted) {
		ar_chat_interrupt(t);
		return;
	}
	if (!t->is_interactive || (before && at - before < TWICE_USEC)) {
		ar_chat_leave(t, AR_EXIT_INTERRUPTED);
		return;
	}
	t->interrupt_at = at;
	ar_chat_printf(t, "press Ctrl-C once more to leave");
}

static bool on_interrupt(void *arg)
{
	struct ar_chat *t = arg;

	ar_chat_on_interrupt(t);
	return !t->is_over;
}

/* ---- waiting ---- */

static bool on_event(void *arg, const struct ar_ctl_event *e)
{
	struct ar_chat *t = arg;

	ar_chat_show(t, e);
	return !t->is_over;
}

static bool on_rest(void *arg, int *ret_fd)
{
	struct ar_chat *t = arg;
	bool is_waiting = !t->is_interactive && t->running.len;

	if (t->term)
		return ar_term_rest(t->term, ret_fd);
	ar_chat_read_lines(t);
	if (!t->is_over)
		ar_chat_prompt(t);
	fflush(t->ctl->out.file);
	fflush(t->side->file);
	*ret_fd = t->is_at_end || is_waiting ? -1 : STDIN_FILENO;
	return !t->is_over && !t->is_elsewhere;
}

static bool on_readable(void *arg)
{
	struct ar_chat *t = arg;

	if (t->term)
		ar_term_readable(t->term);
	else
		ar_chat_read(t);
	return true;
}

static void catch_signals(struct ar_chat *t)
{
	struct signalfd_siginfo got;

	while (!t->is_over && read(t->ctl->signal_fd, &got, sizeof(got)) == (ssize_t)sizeof(got))
		ar_chat_on_interrupt(t);
}

/* Until the first turn has made a session. */
static void wait_for_lines(struct ar_chat *t)
{
	struct pollfd fds[2] = { { .fd = t->ctl->signal_fd, .events = POLLIN }, { .events = POLLIN } };

	while (on_rest(t, &fds[1].fd) && ar_str_absent(t->session)) {
		if (poll(fds, AR_ARRAY_LEN(fds), -1) < 0)
			continue;
		if (fds[0].revents)
			catch_signals(t);
		if (fds[1].fd >= 0 && fds[1].revents)
			on_readable(t);
	}
}

static void follow(struct ar_chat *t)
{
	enum ar_exit exit;

	t->follow.session = t->session;
	if (!t->follow.cursor.len)
		ar_buf_addc(&t->follow.cursor, '0');
	exit = ar_ctl_follow_run(&t->follow);
	if (!t->is_over && !t->is_elsewhere)
		ar_chat_leave(t, exit);
}

/* ---- beginning and end ---- */

static struct ar_ctl_follow new_follow(struct ar_chat *t)
{
	return (struct ar_ctl_follow){ .ctl = t->ctl,
				       .event = on_event,
				       .interrupted = on_interrupt,
				       .rest = on_rest,
				       .readable = on_readable,
				       .arg = t };
}

/* A new conversation: what was of the old one is forgotten, except for the sums. */
static void begin_anew(struct ar_chat *t)
{
	if (t->term)
		ar_term_forget(t->term);
	ar_ctl_follow_fini(&t->follow);
	t->follow = new_follow(t);
	t->session = t->thread = AR_STR_NONE;
	ar_buf_clear(&t->running);
	ar_buf_clear(&t->last);
	ar_buf_clear(&t->own);
	ar_chat_form_drop(t);
	t->question_count = 0;
	t->waiting = 0;
	t->is_elsewhere = false;
}

static void join_thread(struct ar_chat *t, struct ar_json thread)
{
	t->thread = ar_arena_str(&t->ctl->arena, ar_api_str(thread, "threadId"));
	t->waiting = (int64_t)ar_json_len(ar_json_get(thread, "queuedTurns"));
	if (!t->is_interactive)
		return;
	ar_buf_adds(&t->running, ar_api_str(thread, "activeTurnId"));
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(thread, "pendingRequests"));
	     ar_json_next(&it);)
		ar_chat_add_question(t, ar_api_str(it.value, "actionId"), it.value);
}

/* Sessions that /new begins work where this one does. */
static void join_workspace(struct ar_chat *t, struct ar_str id)
{
	struct ar_str kept = ar_arena_str(&t->ctl->arena, id);

	t->workspace = kept.p && ar_workspace_is_id(kept.p) ? kept : AR_STR_NONE;
}

/* From the head of the session on: what was said before is for `agentctl show`. */
static enum ar_exit join(struct ar_chat *t, const char *word)
{
	struct ar_api_reply reply;
	enum ar_exit exit = ar_resolve_read(t->ctl, word, &reply);

	if (exit == AR_EXIT_OK) {
		t->session = ar_arena_str(&t->ctl->arena, ar_api_str(reply.doc, "sessionId"));
		ar_buf_addf(&t->follow.cursor, "%lld", (long long)ar_api_int(reply.doc, "asOfSequence"));
		join_workspace(t, ar_api_str(reply.doc, "workspaceId"));
		if (ar_chat_begin(t, AR_STYLE_DIM)) {
			ar_out_printf(t->side, "%s: ", t->session.p);
			ar_out_line(t->side, ar_str_utf8_prefix(ar_api_str(reply.doc, "title"), 100));
			ar_chat_end(t);
		}
		ar_chat_recap(t, ar_json_at(ar_json_get(reply.doc, "threads"), 0));
		join_thread(t, ar_json_at(ar_json_get(reply.doc, "threads"), 0));
	}
	ar_api_fini(&reply);
	return exit;
}

void ar_chat_switch(struct ar_chat *t, struct ar_str session)
{
	t->next = ar_arena_str(&t->ctl->arena, session);
	t->is_elsewhere = true;
}

/* The session that is joined, if one is there already; new ones are made in the workspace. */
static enum ar_exit find_session(struct ar_chat *t, const struct ar_chat_options *o)
{
	struct ar_str newest = AR_STR_NONE;
	struct ar_workspace w;
	enum ar_exit exit;

	if (o->session)
		return join(t, o->session);
	exit = ar_workspace_choose(t->ctl, &o->workspace, &w);
	t->workspace = w.id;
	t->isolation = ar_str_from(o->workspace.isolation);
	if (exit == AR_EXIT_OK && o->workspace.is_continued && !o->picks)
		exit = ar_workspace_newest(t->ctl, &o->workspace, &w, &newest);
	return exit == AR_EXIT_OK && newest.p ? join(t, newest.p) : exit;
}

static void live(struct ar_chat *t)
{
	while (!t->is_over) {
		if (ar_str_absent(t->session))
			wait_for_lines(t);
		else
			follow(t);
		if (t->is_elsewhere)
			begin_anew(t);
		if (!ar_str_absent(t->next) && join(t, t->next.p) != AR_EXIT_OK)
			t->session = AR_STR_NONE;
		t->next = AR_STR_NONE;
	}
	if (!t->is_interactive)
		return;
	ar_out_break(t->side);
	if (!ar_str_absent(t->session))
		ar_chat_printf(t, "continue with: agentctl chat --session %s", t->session.p);
}

static void free_all(struct ar_chat *t)
{
	struct ar_buf *const bufs[] = { &t->typed, &t->running, &t->last, &t->own, &t->shown_model };

	for (size_t i = 0; i < AR_ARRAY_LEN(bufs); i++)
		ar_buf_fini(bufs[i]);
	ar_chat_form_drop(t);
	ar_buf_fini(&t->form.answer);
	ar_shown_fini(&t->shown);
	ar_ctl_follow_fini(&t->follow);
}

enum ar_exit ar_chat_run(struct ar_ctl *c, const struct ar_chat_options *o)
{
	struct ar_chat t = { .ctl = c,
			     .side = c->out.is_tty ? &c->out : &c->err,
			     .is_interactive = isatty(STDIN_FILENO) && !c->is_json,
			     .fails_on_question = o->fails_on_question,
			     .model = ar_str_from(o->model),
			     .mode = ar_str_from(o->mode) };
	enum ar_exit exit = ar_daemon_ensure(c);

	t.follow = new_follow(&t);
	if (exit == AR_EXIT_OK)
		ar_daemon_compare(c);
	if (exit == AR_EXIT_OK)
		exit = find_session(&t, o);
	if (exit == AR_EXIT_OK) {
		ar_ctl_hold_interrupts(c);
		if (t.is_interactive && !o->is_plain && ar_term_is_possible(c))
			t.term = ar_term_begin(&t);
		if (t.is_interactive)
			ar_chat_printf(&t,
				       "type a line to submit it; /help lists the commands, Ctrl-D leaves");
		if (t.term && o->picks)
			ar_term_pick(t.term);
		live(&t);
		if (t.term)
			ar_term_end(t.term);
		exit = t.exit;
	}
	free_all(&t);
	return exit;
}
