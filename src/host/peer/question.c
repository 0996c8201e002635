/* Questions of a peer: a person answers in the inbox, and the answer is a message to the same task of the
 * peer. An answer is for one question; what the peer has asked since is another. See delegate_priv.h. */
#include "peer/delegate_priv.h"

#define MS ((ar_usec)1000)
#define CANCEL_MS 5000
#define STALE_MAX 5 /* an answered question that is still there: then it is a new one */
#define ANSWER_MAX 65536

/* One that was answered may be shown a little longer; what is asked of a person is asked once. */
bool ar_work_is_answered(struct ar_work *w)
{
	return ar_str_eq(w->last_update, w->asked) && w->stale++ < STALE_MAX;
}

void ar_work_want_answer(struct ar_work *w)
{
	if (w->is_aside || (w->is_asked && ar_str_eq(w->last_update, w->asked)))
		return;
	w->wants_answer = true;
	if (ar_list_empty(&w->notes))
		ar_work_reported(w);
	else
		ar_work_report(w);
}

static struct ar_str question_id(const struct ar_work *w, struct ar_arena *a)
{
	return ar_arena_fmt(a, "%u", w->questions);
}

/* The session knows the state by now, so that the question is of the right kind. */
static void ask_person(struct ar_work *w)
{
	bool is_form = w->state == AR_PEER_STATE_INPUT_REQUIRED;
	struct ar_arena a = { 0 };

	w->wants_answer = false;
	w->is_asked = true;
	w->stale = 0;
	w->questions++;
	w->asked = ar_arena_str(&w->arena, w->last_update);
	w->call->v->on_question(
		w->call,
		&(struct ar_tool_question){
			.id = question_id(w, &a),
			.prompt = ar_arena_fmt(&a, "The peer %.*s %s: %.*s", AR_STR_ARG(w->name),
					       is_form ? "asks" : "asks for authorization",
					       AR_STR_ARG(ar_str_empty(w->prompt) ? AR_STR("(without words)")
										  : w->prompt)),
			.schema = is_form ? AR_STR("{\"type\":\"object\",\"properties\":{\"answer\":{"
						   "\"type\":\"string\",\"maxLength\":65536}},"
						   "\"required\":[\"answer\"],\"additionalProperties\":"
						   "false}")
					  : AR_STR_NONE });
	ar_arena_fini(&a);
}

void ar_work_reported(struct ar_work *w)
{
	if (w->is_ending)
		ar_work_finish(w);
	else if (w->wants_answer && ar_work_waits(w))
		ask_person(w);
}

static void on_aside_done(struct ar_peer_run *run, const struct ar_peer_result *r)
{
	struct ar_work *w = AR_CONTAINER_OF(run, struct ar_work, aside);

	w->is_aside = false;
	if (!w->call) {
		ar_work_let_go(w);
		return;
	}
	if (w->is_ending) {
		ar_work_finish(w);
		return;
	}
	if (r->error == AR_PEER_OK && r->task_count > 0 && !ar_work_update(w, &r->tasks[0]))
		return;
	if (r->error != AR_PEER_OK)
		w->asked = AR_STR_NONE; /* the answer may not have arrived: the state says whether */
	ar_work_report(w);
	if (w->is_ending)
		return;
	if (w->is_cancelled)
		ar_work_stop(w);
	else if (!w->is_running && r->error == AR_PEER_OK)
		ar_work_go_on(w);
	else if (!w->is_running)
		ar_work_wait(w, w->setting->poll_ms, ar_work_follow);
	else if (r->error != AR_PEER_OK && ar_work_waits(w))
		ar_work_want_answer(w);
}

void ar_work_ask_beside(struct ar_work *w, enum ar_peer_op op, struct ar_str text)
{
	int64_t ms = op == AR_PEER_CANCEL ? CANCEL_MS : 2 * w->setting->timeout_ms;

	w->aside = (struct ar_peer_run){ .op = op,
					 .task_id = w->remote_task,
					 .context_id = op == AR_PEER_SEND ? w->remote_context : AR_STR_NONE,
					 .message_id = ar_arena_fmt(&w->arena, "m-%.*s-%u",
								    AR_STR_ARG(w->call_id), w->questions),
					 .text = text,
					 .trace_parent = w->call->trace_parent,
					 .deadline = ar_work_now() + MS * ms,
					 .on_done = on_aside_done };
	w->is_aside = true;
	w->peer->v->start(w->peer, &w->aside);
}

static struct ar_str answer_text(struct ar_work *w, struct ar_str content)
{
	struct ar_str text = AR_STR("");
	struct ar_json doc;

	if (!ar_str_absent(content) && ar_json_parse(w->all->json, content, &doc, NULL) == AR_OK)
		(void)ar_json_str(ar_json_get(doc, "answer"), &text);
	return ar_arena_str(&w->arena, ar_str_utf8_prefix(text, ANSWER_MAX));
}

void ar_work_answer(struct ar_work *w, const struct ar_tool_answer *a)
{
	bool is_form = w->state == AR_PEER_STATE_INPUT_REQUIRED;
	struct ar_arena arena = { 0 };
	bool is_mine = w->is_asked && ar_str_eq(a->question, question_id(w, &arena));

	ar_arena_fini(&arena);
	if (!is_mine || w->is_ending || w->is_cancelled)
		return;
	w->is_asked = false;
	if (!ar_work_waits(w) || !ar_str_eq(w->last_update, w->asked))
		return; /* it has gone on, or asks something else, which this answer is not for */
	if (a->kind == AR_TOOL_ANSWER_ACCEPT)
		ar_work_ask_beside(w, AR_PEER_SEND, is_form ? answer_text(w, a->content) : AR_STR("allow"));
	else if (a->kind == AR_TOOL_ANSWER_DECLINE && !is_form)
		ar_work_ask_beside(w, AR_PEER_SEND, AR_STR("deny"));
	else
		ar_work_cancel(w); /* without an answer the peer cannot go on */
}
