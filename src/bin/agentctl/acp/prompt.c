/* See acp.h: session/prompt is a turn, answered when a fact says how the turn ended. A turn may wait behind
 * that of another editor. */
#include "acp/acp.h"
#include "clock.h"
#include "daemon.h"
#include "submit.h"

#define REASON AR_STR("cancelled from the editor")
#define BUFFERS_USEC 5000000 /* an editor that does not answer for its text is not waited for any longer */

void ar_acp_prompt_free(struct ar_acp_prompt *p)
{
	ar_buf_fini(&p->id);
	ar_buf_fini(&p->input);
	ar_buf_fini(&p->turn);
	for (size_t i = 0; i < AR_ACP_BUFFERS; i++) {
		ar_buf_fini(&p->buffers[i].path);
		ar_buf_fini(&p->buffers[i].text);
	}
	*p = (struct ar_acp_prompt){ 0 };
}

static ar_usec now(void)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->mono(clock);
}

/* ---- the end ---- */

static void answer(struct ar_acp_session *s, struct ar_acp_prompt *p, const char *stop_reason)
{
	struct ar_jw w = ar_acp_result(s->acp, ar_buf_str(&p->id));

	ar_jw_open(&w);
	ar_jw_mstr(&w, "stopReason", ar_str_from(p->is_cancelled ? "cancelled" : stop_reason));
	ar_jw_close(&w);
	ar_acp_end(s->acp, &w);
	ar_acp_prompt_free(p);
}

static void answer_error(struct ar_acp_session *s, struct ar_acp_prompt *p, enum ar_acp_code code,
			 struct ar_str message, struct ar_str advice)
{
	if (p->is_cancelled) {
		answer(s, p, "cancelled");
		return;
	}
	ar_acp_error(s->acp, ar_buf_str(&p->id), code, "%.*s%s%.*s", AR_STR_ARG(message),
		     ar_str_empty(advice) ? "" : "; next: ", AR_STR_ARG(advice));
	ar_acp_prompt_free(p);
}

static void answer_completed(struct ar_acp_session *s, struct ar_acp_prompt *p, struct ar_json payload)
{
	struct ar_str reason = ar_api_str(payload, "stopReason");

	answer(s, p,
	       ar_str_is(reason, "length")	     ? "max_tokens"
	       : ar_str_is(reason, "content_filter") ? "refusal"
						     : "end_turn");
}

static void answer_failed(struct ar_acp_session *s, struct ar_acp_prompt *p, struct ar_json payload)
{
	struct ar_json error = ar_json_get(payload, "error");
	struct ar_str category = ar_api_str(error, "category");

	if (ar_str_is(ar_api_str(payload, "status"), "cancelled"))
		answer(s, p, "cancelled");
	else if (ar_str_is(category, "round_limit"))
		answer(s, p, "max_turn_requests");
	else if (ar_str_is(category, "content_filter"))
		answer(s, p, "refusal");
	else
		answer_error(s, p, ar_str_is(category, "auth") ? AR_ACP_AUTH : AR_ACP_INTERNAL,
			     ar_api_str(error, "message"), ar_api_str(error, "recoveryAdvice"));
}

/* Waiting for a person is no block; waiting for a key is one, and nobody here can give it. */
static void answer_blocked(struct ar_acp_session *s, struct ar_json payload)
{
	struct ar_str status = ar_api_str(payload, "status"), reason = ar_api_str(payload, "reason");
	bool has_key = !ar_str_is(reason, "no_candidate");

	if ((!ar_str_is(status, "blocked") && !ar_str_is(status, "stale")) ||
	    (ar_str_starts(ar_api_str(payload, "statusDetail"), AR_STR("waiting_")) && has_key))
		return;
	for (size_t i = 0; i < AR_ACP_PROMPTS; i++) {
		struct ar_acp_prompt *p = &s->prompts[i];

		if (p->id.len && p->turn.len)
			answer_error(s, p, has_key ? AR_ACP_INTERNAL : AR_ACP_AUTH,
				     ar_arena_fmt(&s->acp->ctl->arena, "the turn is %.*s: %.*s",
						  AR_STR_ARG(status), AR_STR_ARG(reason)),
				     ar_arena_fmt(&s->acp->ctl->arena, "agentctl resume %.*s",
						  AR_STR_ARG(ar_buf_str(&s->id))));
	}
}

void ar_acp_prompt_end(struct ar_acp_session *s, struct ar_json event)
{
	struct ar_json payload = ar_json_get(event, "payload");
	struct ar_str type = ar_api_str(event, "type"), turn = ar_api_str(event, "turnId");

	if (ar_str_is(type, "thread.updated")) {
		answer_blocked(s, payload);
		return;
	}
	for (size_t i = 0; i < AR_ACP_PROMPTS; i++) {
		struct ar_acp_prompt *p = &s->prompts[i];

		if (!p->id.len || !p->turn.len || !ar_str_eq(ar_buf_str(&p->turn), turn))
			continue;
		if (ar_str_is(type, "turn.completed"))
			answer_completed(s, p, payload);
		else
			answer_failed(s, p, payload);
	}
}

void ar_acp_prompts_fail(struct ar_acp_session *s)
{
	for (size_t i = 0; i < AR_ACP_PROMPTS; i++) {
		if (s->prompts[i].id.len)
			answer_error(s, &s->prompts[i], AR_ACP_INTERNAL,
				     AR_STR("the connection to agentd was lost; the turn may go on there"),
				     AR_STR("load the session again"));
	}
}

/* ---- the beginning ---- */

static struct ar_str chosen(const struct ar_buf *b)
{
	return b->len ? ar_buf_str(b) : AR_STR_NONE;
}

static void add_text(struct ar_jw *w, struct ar_str text)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "type", AR_STR("text"));
	ar_jw_mstr(w, "text", text);
	ar_jw_close(w);
}

/* The array of parts with the editor's text behind it. */
static struct ar_str whole_input(struct ar_acp_session *s, struct ar_acp_prompt *p)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = { .out = &text, .comma = true };

	ar_buf_adds(&text, ar_str_sub(ar_buf_str(&p->input), 0, p->input.len - 1));
	for (size_t i = 0; i < AR_ACP_BUFFERS; i++) {
		const struct ar_acp_buffer *b = &p->buffers[i];
		struct ar_str parts[] = { AR_STR("The editor has this text in "), ar_buf_str(&b->path),
					  AR_STR(", which may be newer than the file:\n\n"),
					  ar_buf_str(&b->text) };

		if (b->is_there)
			add_text(&w, ar_arena_join(&s->acp->ctl->arena, parts, AR_ARRAY_LEN(parts)));
	}
	ar_jw_close_array(&w);
	return ar_ctl_take_buf(s->acp->ctl, &text);
}

/* A server may describe a tool as the daemon does not accept it: then the turn goes without them. */
static enum ar_exit submit_with(struct ar_acp_session *s, struct ar_submit *what, struct ar_api_reply *ret)
{
	enum ar_exit exit = ar_submit_turn(s->acp->ctl, what, ret);
	struct ar_str message = ar_api_str(ar_json_get(ret->doc, "error"), "message");

	if (exit == AR_EXIT_OK || ar_str_absent(what->tools) ||
	    !ar_str_starts(message, AR_STR("options.tools")))
		return exit;
	ar_api_fini(ret);
	what->tools = AR_STR_NONE;
	ar_ctl_note(s->acp->ctl, "the turn goes without the tools of the editor's MCP servers");
	return ar_submit_turn(s->acp->ctl, what, ret);
}

/* A refusal has been said on standard error too, which editors keep as a log. */
void ar_acp_prompt_submit(struct ar_acp_session *s, struct ar_acp_prompt *p)
{
	struct ar_submit what = { .session = ar_buf_str(&s->id),
				  .thread = ar_buf_str(&s->thread),
				  .input = whole_input(s, p),
				  .model = chosen(&s->model),
				  .mode = chosen(&s->mode),
				  .effort = chosen(&s->effort),
				  .tools = ar_acp_tools(s),
				  .source = AR_STR("acp") };
	struct ar_api_reply reply;
	struct ar_json error;

	if (submit_with(s, &what, &reply) == AR_EXIT_OK) {
		ar_buf_adds(&p->turn, ar_api_str(reply.doc, "turnId"));
		ar_buf_adds(&s->own, ar_buf_str(&p->turn));
		ar_buf_addc(&s->own, '\n');
	} else {
		error = ar_json_get(reply.doc, "error");
		answer_error(s, p, AR_ACP_INTERNAL,
			     ar_json_type(error) == AR_JSON_OBJECT ? ar_api_str(error, "message")
								   : AR_STR("agentd does not answer"),
			     ar_api_str(error, "next"));
	}
	ar_api_fini(&reply);
}

void ar_acp_prompts_due(struct ar_acp *a)
{
	for (size_t i = 0; i < AR_ACP_SESSIONS * AR_ACP_PROMPTS; i++) {
		struct ar_acp_session *s = a->sessions[i / AR_ACP_PROMPTS];
		struct ar_acp_prompt *p = s ? &s->prompts[i % AR_ACP_PROMPTS] : NULL;

		if (!p || !p->id.len || p->turn.len || (ar_acp_buffers_wait(p) && p->until > now()) ||
		    ar_acp_servers_wait(s))
			continue;
		ar_acp_buffers_drop(a, p);
		ar_acp_prompt_submit(s, p);
	}
}

static struct ar_acp_prompt *new_prompt(struct ar_acp_session *s)
{
	for (size_t i = 0; i < AR_ACP_PROMPTS; i++) {
		if (!s->prompts[i].id.len)
			return &s->prompts[i];
	}
	return NULL;
}

/* A text that is one of our commands. */
static bool run_command(struct ar_acp_session *s, struct ar_acp_prompt *p, struct ar_json blocks)
{
	struct ar_str text = ar_api_str(ar_json_at(blocks, 0), "text");

	return ar_json_len(blocks) == 1 && ar_str_starts(text, AR_STR("/")) && ar_acp_command(s, p, text);
}

void ar_acp_prompt(struct ar_acp *a, const struct ar_acp_request *r)
{
	struct ar_acp_session *s = ar_acp_session_of(a, r);
	struct ar_acp_prompt *p = s ? new_prompt(s) : NULL;
	struct ar_json blocks = ar_json_get(r->params, "prompt");
	const char *reason = "";

	if (s && !p)
		ar_acp_error(a, r->id, AR_ACP_INTERNAL, "%d prompts of this session wait", AR_ACP_PROMPTS);
	if (!p)
		return;
	if (!ar_acp_input(s, p, blocks, &reason)) {
		ar_acp_error(a, r->id, AR_ACP_INVALID_PARAMS, "%s", reason);
		ar_acp_prompt_free(p);
		return;
	}
	ar_buf_adds(&p->id, r->id);
	if (!s->stream.transfer && ar_daemon_ensure(a->ctl) != AR_EXIT_OK) { /* its stream was given up */
		ar_acp_prompts_fail(s);
		return;
	}
	ar_acp_stream_open(s);
	if (run_command(s, p, blocks))
		return;
	p->until = now() + BUFFERS_USEC;
	ar_acp_buffers_ask(s, p);
	ar_acp_prompts_due(a);
}

/* ---- session/cancel ---- */

static struct ar_str turn_body(struct ar_acp_session *s, struct ar_str turn, struct ar_str reason)
{
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", ar_buf_str(&s->id));
	ar_jw_mstr(&w, "threadId", ar_buf_str(&s->thread));
	ar_jw_mstr(&w, "turnId", turn);
	ar_jw_mstr(&w, "reason", reason);
	ar_jw_close(&w);
	return ar_ctl_take_buf(s->acp->ctl, &text);
}

static bool try_call(struct ar_acp_session *s, const char *command, struct ar_str body)
{
	struct ar_api_reply reply;
	bool is_done =
		ar_api_try(s->acp->ctl, command, body, &reply, NULL) == AR_OK && reply.http.status < 400;

	if (is_done && ar_json_type(ar_json_get(reply.doc, "removed")) == AR_JSON_BOOL)
		ar_json_bool(ar_json_get(reply.doc, "removed"), &is_done);
	ar_api_fini(&reply);
	return is_done;
}

/* Those that wait go first, so that none of them starts when the one that runs is stopped. */
static void remove_waiting(struct ar_acp_session *s)
{
	for (size_t i = 0; i < AR_ACP_PROMPTS; i++) {
		struct ar_acp_prompt *p = &s->prompts[i];

		p->is_cancelled = p->id.len;
		p->is_removed = p->turn.len &&
				try_call(s, "remove_queued_turn", turn_body(s, ar_buf_str(&p->turn), REASON));
	}
}

/* Those that were submitted are answered by the fact that ends their turn. */
void ar_acp_interrupt(struct ar_acp_session *s)
{
	bool has_own = false;

	remove_waiting(s);
	for (size_t i = 0; i < AR_ACP_PROMPTS; i++) {
		struct ar_acp_prompt *p = &s->prompts[i];

		has_own = has_own || p->id.len;
		if (p->turn.len && !p->is_removed)
			(void)try_call(s, "interrupt_turn", turn_body(s, ar_buf_str(&p->turn), REASON));
		if (p->id.len && !p->turn.len) {
			ar_acp_buffers_drop(s->acp, p);
			answer(s, p, "cancelled");
		}
	}
	if (!has_own)
		(void)try_call(s, "interrupt_turn", turn_body(s, AR_STR_NONE, REASON));
}

void ar_acp_cancel(struct ar_acp *a, const struct ar_acp_request *r)
{
	struct ar_acp_session *s = ar_acp_session_of(a, r);

	if (s)
		ar_acp_interrupt(s);
}
