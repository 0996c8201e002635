/* See acp.h: questions of the daemon to the user of the editor. They stay in the inbox as well, and the
 * daemon decides which answer is the first: when another client answered, ours is withdrawn. */
#include "acp/acp.h"
#include "respond.h"

#define TITLE_MAX 120

/* Words of the daemon that have a kind and a name of their own; all others are what they are. */
static const struct {
	const char *word, *name, *kind;
} offers[] = {
	{ "allow", "Allow", "allow_once" },	{ "allow_session", "Always in this session", "allow_always" },
	{ "approve", "Approve", "allow_once" }, { "deny", "Deny", "reject_once" },
	{ "reject", "Reject", "reject_once" },
};

static void free_question(struct ar_acp_question *q)
{
	ar_buf_fini(&q->action);
	ar_buf_fini(&q->event);
	ar_buf_fini(&q->decisions);
	ar_buf_fini(&q->digest);
	*q = (struct ar_acp_question){ 0 };
}

void ar_acp_questions_free(struct ar_acp_session *s)
{
	for (size_t i = 0; i < AR_ACP_QUESTIONS; i++) {
		if (s->questions[i].request)
			ar_acp_withdraw(s->acp, s->questions[i].request);
		free_question(&s->questions[i]);
	}
}

/* ---- asking ---- */

static void add_option(struct ar_jw *w, struct ar_str word)
{
	size_t i = 0;

	while (i < AR_ARRAY_LEN(offers) && !ar_str_is(word, offers[i].word))
		i++;
	ar_jw_open(w);
	ar_jw_mstr(w, "optionId", word);
	ar_jw_mstr(w, "name", i < AR_ARRAY_LEN(offers) ? ar_str_from(offers[i].name) : word);
	ar_jw_mstr(w, "kind",
		   i < AR_ARRAY_LEN(offers) ? ar_str_from(offers[i].kind)
		   : ar_respond_is_no(word) ? AR_STR("reject_once")
					    : AR_STR("allow_once"));
	ar_jw_close(w);
}

/* A form cannot be filled in here, and a question that cannot be shown whole is not to be approved: those
 * can only be refused. The words that are offered are kept, as no others are accepted. */
static void add_options(struct ar_acp_question *q, struct ar_jw *w, struct ar_json decisions, bool is_open)
{
	struct ar_jw kept = ar_jw(&q->decisions);
	struct ar_str word;

	ar_jw_key(w, "options");
	ar_jw_open_array(w);
	ar_jw_open_array(&kept);
	for (struct ar_json_iter it = ar_json_iter(decisions); ar_json_next(&it);) {
		if (!ar_json_str(it.value, &word) || (!is_open && !ar_respond_is_no(word)))
			continue;
		add_option(w, word);
		ar_jw_str(&kept, word);
	}
	ar_jw_close_array(w);
	ar_jw_close_array(&kept);
}

/* The question as text, whole; false: a part of it could not be read. */
static bool read_prompt(struct ar_acp *a, struct ar_acp_question *q, struct ar_json payload,
			struct ar_buf *to)
{
	struct ar_str ref = ar_api_str(payload, "promptRef");
	struct ar_respond_whole whole = { 0 };

	if (!ar_str_absent(ref) &&
	    ar_respond_read(a->ctl, ar_buf_str(&q->action), ref, &whole) == AR_EXIT_OK) {
		ar_buf_adds(to, whole.text);
		ar_buf_adds(&q->digest, whole.digest);
		return true;
	}
	ar_buf_adds(to, ar_api_str(payload, "prompt"));
	return ar_str_absent(ref);
}

static void add_call(struct ar_acp_session *s, struct ar_jw *w, struct ar_json event, struct ar_str prompt)
{
	struct ar_json payload = ar_json_get(event, "payload"), scope = ar_json_get(payload, "scope");
	struct ar_str call = ar_api_str(scope, "toolCallId"), tool = ar_api_str(payload, "toolName"), line;
	struct ar_buf args = { 0 };

	ar_jw_key(w, "toolCall");
	ar_jw_open(w);
	ar_jw_mstr(w, "toolCallId", ar_str_absent(call) ? ar_api_str(event, "actionId") : call);
	ar_jw_mstr(w, "status", AR_STR("pending"));
	if (ar_acp_content(s->acp, ar_api_str(scope, "inputRef"), AR_ACP_TEXT_MAX, &args)) {
		ar_acp_call_members(s, w, tool, ar_buf_str(&args));
	} else {
		ar_str_split(prompt, '\n', &line);
		ar_jw_mstr(w, "title", ar_str_utf8_prefix(line, TITLE_MAX));
	}
	ar_jw_key(w, "content");
	ar_jw_open_array(w);
	ar_acp_text_content(w, prompt);
	ar_jw_close_array(w);
	ar_jw_close(w);
	ar_buf_fini(&args);
}

static void ask_user(struct ar_acp_session *s, struct ar_acp_question *q, struct ar_json event)
{
	struct ar_json payload = ar_json_get(event, "payload");
	bool is_form = ar_json_type(ar_json_get(payload, "schema")) == AR_JSON_OBJECT, is_whole;
	struct ar_buf prompt = { 0 };
	struct ar_jw w;

	is_whole = read_prompt(s->acp, q, payload, &prompt);
	if (is_form)
		ar_buf_addf(&prompt, "\n\nThe answer is a form: agentctl answer %.*s",
			    AR_STR_ARG(ar_buf_str(&q->action)));
	w = ar_acp_ask(s->acp, "session/request_permission", &q->request);
	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", ar_buf_str(&s->id));
	add_call(s, &w, event, ar_buf_str(&prompt));
	add_options(q, &w, ar_json_get(payload, "decisions"), is_whole && !is_form);
	ar_jw_close(&w);
	ar_acp_end(s->acp, &w);
	ar_buf_fini(&prompt);
}

/* In a replay the answer may follow. More than fit wait in the inbox alone. */
void ar_acp_question(struct ar_acp_session *s, struct ar_json event)
{
	struct ar_acp_question *q = s->questions, *end = s->questions + AR_ACP_QUESTIONS;

	while (q < end && q->action.len)
		q++;
	if (q == end)
		return;
	ar_buf_adds(&q->action, ar_api_str(event, "actionId"));
	if (s->is_replay)
		ar_json_print(event, &q->event);
	else
		ask_user(s, q, event);
}

void ar_acp_questions_ask(struct ar_acp_session *s)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json event;

	for (size_t i = 0; i < AR_ACP_QUESTIONS; i++) {
		struct ar_acp_question *q = &s->questions[i];

		if (q->event.len && ar_json_parse(parser, ar_buf_str(&q->event), &event, NULL) == AR_OK)
			ask_user(s, q, event);
		ar_buf_fini(&q->event);
	}
	ar_json_parser_free(parser);
}

/* ---- the answer ---- */

void ar_acp_settled(struct ar_acp_session *s, struct ar_json event)
{
	struct ar_str action = ar_api_str(event, "actionId");

	for (size_t i = 0; i < AR_ACP_QUESTIONS; i++) {
		struct ar_acp_question *q = &s->questions[i];

		if (!q->action.len || !ar_str_eq(ar_buf_str(&q->action), action))
			continue;
		if (q->request)
			ar_acp_withdraw(s->acp, q->request);
		free_question(q);
	}
}

static bool is_offered(const struct ar_acp_question *q, const char *word)
{
	const char *const words[] = { word, NULL };

	return word && !ar_str_absent(ar_respond_pick(ar_buf_str(&q->decisions), words));
}

/* The daemon may know an answer already; that one stands, and its fact clears the question here. */
static void respond(struct ar_acp *a, struct ar_acp_question *q, struct ar_str word)
{
	struct ar_buf body = { 0 };
	struct ar_api_reply reply;

	ar_respond_body(&(struct ar_respond){ .action = ar_buf_str(&q->action),
					      .decision = word,
					      .digest =
						      q->digest.len ? ar_buf_str(&q->digest) : AR_STR_NONE },
			&body);
	if (ar_api_call(a->ctl, "respond_action", ar_ctl_take_buf(a->ctl, &body), &reply) != AR_EXIT_OK)
		ar_ctl_note(a->ctl, "the question %.*s is as it was", AR_STR_ARG(ar_buf_str(&q->action)));
	ar_api_fini(&reply);
}

static struct ar_acp_question *find_question(struct ar_acp_session *s, int64_t id)
{
	for (size_t i = 0; s && i < AR_ACP_QUESTIONS; i++) {
		if (s->questions[i].request == id)
			return &s->questions[i];
	}
	return NULL;
}

/* Without a choice the question stays open in the inbox, for anybody who may answer it. */
bool ar_acp_question_answer(struct ar_acp *a, int64_t id, struct ar_json result)
{
	struct ar_json outcome = ar_json_get(result, "outcome");
	struct ar_str word = ar_api_str(outcome, "optionId");
	struct ar_acp_question *q = NULL;

	for (size_t i = 0; i < AR_ACP_SESSIONS && !q; i++)
		q = find_question(a->sessions[i], id);
	if (!q)
		return false;
	q->request = 0;
	if (ar_str_is(ar_api_str(outcome, "outcome"), "selected") &&
	    is_offered(q, ar_ctl_strdup(a->ctl, word)))
		respond(a, q, word);
	return true;
}
