/* What a server asks in the middle of a call, in the three ways that the protocol has for it (see call.h).
 * Loop thread only. */
#include "call.h"
#include "question.h"

#define ROUNDS_MAX 16 /* times that one call is sent again with answers */

bool ar_mcp_call_has_open_questions(const struct ar_mcp_call *c)
{
	for (size_t i = 0; i < c->question_count; i++) {
		if (ar_str_absent(c->questions[i].answer))
			return true;
	}
	return false;
}

/* False when it is no question for a person, or one too many. */
static bool add_question(struct ar_mcp_call *c, enum ar_mcp_question_kind kind, struct ar_str key,
			 struct ar_json params)
{
	struct ar_mcp_question *q = &c->questions[c->question_count];

	if (c->question_count == AR_MCP_QUESTIONS_MAX || !ar_mcp_question_read(&c->arena, params, &q->shown))
		return false;
	q->kind = kind;
	q->key = ar_arena_str(&c->arena, key);
	q->answer = AR_STR_NONE;
	q->shown.id = ar_arena_fmt(&c->arena, "q%zu", ++c->question_count);
	return true;
}

/* ---- asked while the call is open ---- */

void ar_mcp_call_on_request(struct ar_mcp_call *c, const struct ar_mcp_message *m)
{
	struct ar_buf id = { 0 };
	bool good;

	ar_json_print(m->id, &id);
	good = add_question(c, AR_MCP_ASKED, ar_buf_str(&id), m->params);
	if (!good)
		ar_mcp_peer_answer(c->link->peer, ar_buf_str(&id), AR_STR("{\"action\":\"decline\"}"));
	ar_buf_fini(&id);
	if (!good)
		return;
	ar_mcp_call_set_deadline(c);
	c->port->v->on_question(c->port, &c->questions[c->question_count - 1].shown);
}

void ar_mcp_call_withdraw(struct ar_mcp_call *c)
{
	for (size_t i = 0; i < c->question_count; i++) {
		struct ar_mcp_question *q = &c->questions[i];

		if (!ar_str_absent(q->answer))
			continue;
		q->answer = AR_STR("{\"action\":\"cancel\"}");
		if (q->kind == AR_MCP_ASKED && c->link->peer->state == AR_MCP_READY)
			ar_mcp_peer_answer(c->link->peer, q->key, q->answer);
	}
}

/* ---- asked instead of an answer ---- */

static bool is_declined(const struct ar_mcp_call *c)
{
	for (size_t i = c->round_at; i < c->question_count; i++) {
		if (c->questions[i].kind == AR_MCP_PAGE &&
		    !ar_str_starts(c->questions[i].answer, AR_STR("{\"action\":\"accept\"")))
			return true;
	}
	return false;
}

/* All answers are there: once more, with them. */
static void resend(struct ar_mcp_call *c)
{
	if (is_declined(c)) {
		ar_mcp_call_end(c, AR_TOOL_NOT_RUN, "auth", "the page that it requires was not opened");
		return;
	}
	if (++c->rounds > ROUNDS_MAX) {
		ar_mcp_call_end(c, AR_TOOL_ERROR, "protocol", "it asked for input too often");
		return;
	}
	c->resumes = true;
	if (c->link->peer->state == AR_MCP_READY) {
		ar_mcp_call_go(c);
		return;
	}
	c->waits = true;
	if (!ar_mcp_peer_open(c->link->peer))
		ar_mcp_call_end(c, AR_TOOL_NOT_RUN, "network", c->link->peer->why);
}

static void send_questions(struct ar_mcp_call *c)
{
	c->asking = true;
	for (size_t i = c->round_at; i < c->question_count && !c->has_ended; i++)
		c->port->v->on_question(c->port, &c->questions[i].shown);
	c->asking = false;
	if (!c->has_ended && !ar_mcp_call_has_open_questions(c))
		resend(c);
}

static struct ar_str method_of(struct ar_json request)
{
	struct ar_str method = AR_STR("");

	ar_json_str(ar_json_get(request, "method"), &method);
	return method;
}

void ar_mcp_call_on_input_required(struct ar_mcp_call *c, struct ar_json result)
{
	struct ar_str state = AR_STR_NONE;

	ar_json_str(ar_json_get(result, "requestState"), &state);
	c->state = ar_arena_str(&c->arena, state);
	c->round_at = c->question_count;
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(result, "inputRequests"));
	     ar_json_next(&it);) {
		if (ar_str_is(method_of(it.value), "elicitation/create") &&
		    add_question(c, AR_MCP_INPUT, it.name, ar_json_get(it.value, "params")))
			continue;
		c->question_count = c->round_at;
		ar_mcp_call_end(c, AR_TOOL_ERROR, "unsupported",
				"it requires a feature that this client does not support");
		return;
	}
	send_questions(c);
}

void ar_mcp_call_on_url_required(struct ar_mcp_call *c, const struct ar_mcp_message *m)
{
	c->state = AR_STR_NONE;
	c->round_at = c->question_count;
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(m->error_data, "elicitations"));
	     ar_json_next(&it);) {
		if (!add_question(c, AR_MCP_PAGE, AR_STR(""), it.value))
			break;
	}
	if (c->question_count == c->round_at)
		ar_mcp_call_end(c, AR_TOOL_NOT_RUN, "auth",
				"it requires a page to be opened, but sent no address");
	else
		send_questions(c);
}

void ar_mcp_call_write_answers(const struct ar_mcp_call *c, struct ar_jw *w)
{
	bool any = false;

	for (size_t i = c->round_at; i < c->question_count; i++) {
		if (c->questions[i].kind != AR_MCP_INPUT)
			continue;
		if (!any) {
			ar_jw_key(w, "inputResponses");
			ar_jw_open(w);
		}
		any = true;
		/* The name is the server's: written as a string. */
		ar_jw_str(w, c->questions[i].key);
		ar_buf_addc(w->out, ':');
		ar_buf_adds(w->out, c->questions[i].answer);
		w->comma = true;
	}
	if (any)
		ar_jw_close(w);
	ar_jw_mstr(w, "requestState", c->state);
}

/* ---- the answer ---- */

static struct ar_mcp_question *find_open(struct ar_mcp_call *c, struct ar_str id)
{
	for (size_t i = 0; i < c->question_count; i++) {
		if (ar_str_absent(c->questions[i].answer) && ar_str_eq(c->questions[i].shown.id, id))
			return &c->questions[i];
	}
	return NULL;
}

void ar_mcp_call_answer(struct ar_mcp_call *c, const struct ar_tool_answer *a)
{
	struct ar_mcp_question *q = find_open(c, a->question);
	struct ar_buf text = { 0 };

	if (c->has_ended || !q)
		return;
	ar_mcp_question_answer(c->link->source->setup.requests, &q->shown, a, &text);
	q->answer = ar_arena_str(&c->arena, ar_buf_str(&text));
	ar_buf_fini(&text);
	if (q->kind == AR_MCP_ASKED) {
		ar_mcp_peer_answer(c->link->peer, q->key, q->answer);
		ar_mcp_call_set_deadline(c);
	} else if (!c->asking && !ar_mcp_call_has_open_questions(c)) {
		resend(c);
	}
}
