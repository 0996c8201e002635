/* A tool asks in the middle of its work: a person answers, or nobody does in time, and the tool
 * goes on with that. Its question ends with the call at the latest. Pure. */
#include "action/action.h"
#include "peer/remote.h"
#include "text/json_depth.h"
#include "tool/calls.h"

#define QUESTIONS_MAX 8 /* open ones of a call */
#define PROMPT_MAX 65536

static size_t count_open(const struct ar_session *s, struct ar_str call)
{
	size_t n = 0;

	for (size_t i = 0; i < s->actions.count; i++) {
		const struct ar_action *a = s->actions.at[i];

		n += a->status == AR_ACTION_PENDING && ar_str_eq(a->call, call);
	}
	return n;
}

static bool is_schema(const struct ar_decision *d, struct ar_str text)
{
	struct ar_json v;

	return !ar_str_absent(text) && text.len <= AR_TOOL_SCHEMA_MAX &&
	       ar_json_parse(d->json, text, &v, NULL) == AR_OK && ar_json_type(v) == AR_JSON_OBJECT &&
	       !ar_json_is_deeper(v, AR_JSON_LEVELS);
}

/* A page is part of what the person reads. */
static struct ar_str prompt_of(struct ar_decision *d, const struct ar_tool_question *asked)
{
	struct ar_str words =
		ar_str_empty(asked->prompt) ? AR_STR("The tool asks for an answer.") : asked->prompt;

	words = ar_arena_excerpt(d->arena, words, PROMPT_MAX);
	if (ar_str_empty(asked->url))
		return words;
	return ar_arena_fmt(d->arena, "%.*s (answer at %.*s)", AR_STR_ARG(words),
			    AR_STR_ARG(ar_arena_excerpt(d->arena, asked->url, PROMPT_MAX)));
}

static void answer_nothing(struct ar_decision *d)
{
	ar_decide_effect(d, AR_EFFECT_TOOL_ANSWER)->tool_answer =
		(struct ar_effect_tool_answer){ .call = d->input->tool_asked.call,
						.question = d->input->tool_asked.question->id,
						.decision = AR_STR("cancel") };
}

/* Who asks too much, or for what cannot be shown, is told at once that nobody answers. */
enum ar_status ar_decide_tool_asked(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_tool_question *asked = d->input->tool_asked.question;
	bool is_form = !ar_str_absent(asked->schema);
	struct ar_invocation *call;
	struct ar_thread *t;
	struct ar_turn *turn = ar_session_call(d->session, d->input->tool_asked.call, &call, &t);
	struct ar_str action;
	bool is_peers;

	(void)err;
	if (!turn || call->stage != AR_CALL_RUNNING)
		return AR_OK; /* it has ended meanwhile */
	if (turn->is_interrupted || count_open(d->session, call->id) >= QUESTIONS_MAX ||
	    (is_form && !is_schema(d, asked->schema)) || turn != ar_thread_active(t)) {
		answer_nothing(d);
		return AR_OK;
	}
	is_peers = ar_peer_asks_authorization(d->session, turn, call);
	action = ar_decide_ask(d, turn,
			       &(struct ar_ask){ .type = is_peers ? AR_ACTION_PEER_AUTHORIZATION
								  : AR_ACTION_STRUCTURED_INPUT,
						 .call = call->id,
						 .step = call->step,
						 .tool = call->name,
						 .prompt = prompt_of(d, asked),
						 .schema = is_peers ? AR_STR_NONE : asked->schema,
						 .question = asked->id });
	if (is_peers)
		ar_peer_forward(d, turn, call, action);
	return AR_OK;
}
