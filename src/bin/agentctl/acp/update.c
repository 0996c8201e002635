/* See acp.h: what an event is to the editor. A piece of text is sent once: those that stream are counted, and
 * the fact that ends a step brings what is missing, which is all of it in a replay. */
#include "acp/acp.h"

#include <string.h>

#define CHUNK ((size_t)32 << 10)
#define ANSWER_MAX ((size_t)16 << 20)

/* ---- stored content ---- */

bool ar_acp_content(struct ar_acp *a, struct ar_str ref, size_t max, struct ar_buf *to)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_api_reply reply;
	bool is_text;

	if (ar_str_absent(ref))
		return false;
	ar_jw_open(&w);
	ar_jw_mstr(&w, "outputRef", ref);
	ar_jw_mint(&w, "length", (int64_t)max);
	ar_jw_close(&w);
	is_text = ar_api_try(a->ctl, "read_output", ar_ctl_take_buf(a->ctl, &body), &reply, NULL) == AR_OK &&
		  ar_str_is(ar_api_str(reply.doc, "encoding"), "utf-8");
	if (is_text)
		ar_buf_adds(to, ar_api_str(reply.doc, "content"));
	ar_api_fini(&reply);
	return is_text;
}

/* ---- text ---- */

static void add_chunk(struct ar_acp_session *s, const char *kind, struct ar_str message, struct ar_str text)
{
	struct ar_jw w = ar_acp_update(s, kind);

	ar_jw_key(&w, "content");
	ar_jw_open(&w);
	ar_jw_mstr(&w, "type", AR_STR("text"));
	ar_jw_mstr(&w, "text", text);
	ar_jw_close(&w);
	ar_jw_mstr(&w, "messageId", message);
	ar_acp_end_update(s, &w);
}

void ar_acp_chunks(struct ar_acp_session *s, const char *kind, struct ar_str message, struct ar_str text)
{
	while (text.len && !s->is_silent) {
		struct ar_str part = ar_str_utf8_prefix(text, CHUNK);

		add_chunk(s, kind, message, part);
		text = ar_str_sub(text, part.len, text.len);
	}
}

static const char *kind_of(bool is_reasoning)
{
	return is_reasoning ? "agent_thought_chunk" : "agent_message_chunk";
}

/* ---- steps ---- */

static void begin_step(struct ar_acp_session *s, struct ar_json event)
{
	struct ar_str id = ar_api_str(event, "modelRequestId");

	if (ar_str_eq(ar_buf_str(&s->step), id))
		return;
	ar_buf_clear(&s->step);
	ar_buf_adds(&s->step, id);
	ar_buf_clear(&s->partial);
	s->text = s->reasoning = 0;
	s->is_aside = false;
}

/* The summary of a compaction is not said to anybody. */
static void on_request(struct ar_acp_session *s, struct ar_json event)
{
	begin_step(s, event);
	s->is_aside = ar_str_is(ar_api_str(ar_json_get(event, "payload"), "purpose"), "compaction");
}

/* A piece behind a gap waits for the end of its step. */
static void show_delta(struct ar_acp_session *s, struct ar_json event, bool is_reasoning)
{
	struct ar_json payload = ar_json_get(event, "payload");
	int64_t *shown = is_reasoning ? &s->reasoning : &s->text, offset;
	struct ar_str delta = ar_api_str(payload, "delta");

	begin_step(s, event);
	offset = *shown;
	ar_json_i64(ar_json_get(payload, "offset"), &offset);
	if (s->is_aside || offset > *shown || offset + (int64_t)delta.len <= *shown)
		return;
	delta = ar_str_sub(delta, (size_t)(*shown - offset), delta.len);
	*shown += (int64_t)delta.len;
	ar_acp_chunks(s, kind_of(is_reasoning), ar_buf_str(&s->step), delta);
}

static void on_text(struct ar_acp_session *s, struct ar_json event)
{
	show_delta(s, event, false);
}

static void on_reasoning(struct ar_acp_session *s, struct ar_json event)
{
	show_delta(s, event, true);
}

static void show_rest(struct ar_acp_session *s, struct ar_str ref, bool is_reasoning)
{
	int64_t *shown = is_reasoning ? &s->reasoning : &s->text;
	struct ar_buf whole = { 0 };

	if (ar_acp_content(s->acp, ref, ANSWER_MAX, &whole) && (int64_t)whole.len > *shown) {
		ar_acp_chunks(s, kind_of(is_reasoning), ar_buf_str(&s->step),
			      ar_str_sub(ar_buf_str(&whole), (size_t)*shown, whole.len));
		*shown = (int64_t)whole.len;
	}
	ar_buf_fini(&whole);
}

/* Bytes of an answer that are of this kind. */
static int64_t length_of(struct ar_json payload, const char *kind)
{
	int64_t sum = 0, length;
	struct ar_str name;

	for (struct ar_json_iter it = ar_json_iter(ar_json_get(payload, "segments")); ar_json_next(&it);) {
		if (ar_json_str(ar_json_at(it.value, 0), &name) && ar_str_is(name, kind) &&
		    ar_json_i64(ar_json_at(it.value, 2), &length))
			sum += length;
	}
	return sum;
}

static void on_answer(struct ar_acp_session *s, struct ar_json event)
{
	struct ar_json payload = ar_json_get(event, "payload");

	begin_step(s, event);
	if (s->is_aside || s->is_silent)
		return;
	if (length_of(payload, "reasoning") > s->reasoning)
		show_rest(s, ar_api_str(payload, "reasoningRef"), true);
	if (ar_api_int(payload, "outputBytes") > s->text)
		show_rest(s, ar_api_str(payload, "outputRef"), false);
}

/* The next attempt says it all again; only if there is none, this is the answer. */
static void on_failed_answer(struct ar_acp_session *s, struct ar_json event)
{
	begin_step(s, event);
	ar_buf_adds(&s->partial, ar_api_str(ar_json_get(event, "payload"), "outputRef"));
}

static void on_failed_turn(struct ar_acp_session *s, struct ar_json event)
{
	struct ar_str ref = ar_api_str(ar_json_get(event, "payload"), "outputRef");

	if (ar_str_eq(ref, ar_buf_str(&s->partial)) && !s->is_aside && !s->is_silent)
		show_rest(s, ref, false);
	ar_acp_prompt_end(s, event);
}

/* ---- turns ---- */

/* Whether the turn came from this editor, which has shown its text itself; each id is asked for once. */
static bool forget_own(struct ar_acp_session *s, struct ar_str id)
{
	struct ar_str line = ar_arena_fmt(&s->acp->ctl->arena, "%.*s\n", AR_STR_ARG(id));
	char *at = s->own.len ? memmem(s->own.p, s->own.len, line.p, line.len) : NULL;

	if (!at)
		return false;
	memmove(at, at + line.len, s->own.len - (size_t)(at - s->own.p) - line.len);
	s->own.len -= line.len;
	return true;
}

static void show_image(struct ar_acp_session *s, struct ar_str turn, struct ar_json part)
{
	struct ar_jw w;

	if (ar_str_absent(ar_api_str(part, "data")) || s->is_silent)
		return;
	w = ar_acp_update(s, "user_message_chunk");
	ar_jw_key(&w, "content");
	ar_jw_open(&w);
	ar_jw_mstr(&w, "type", AR_STR("image"));
	ar_jw_mstr(&w, "data", ar_api_str(part, "data"));
	ar_jw_mstr(&w, "mimeType", ar_api_str(part, "mimeType"));
	ar_jw_close(&w);
	ar_jw_mstr(&w, "messageId", turn);
	ar_acp_end_update(s, &w);
}

static void show_input(struct ar_acp_session *s, struct ar_json event)
{
	struct ar_str turn = ar_api_str(event, "turnId");
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json parts = { 0 };
	struct ar_buf text = { 0 };

	if (!ar_acp_content(s->acp, ar_api_str(ar_json_get(event, "payload"), "inputRef"), ANSWER_MAX,
			    &text) ||
	    ar_json_parse(parser, ar_buf_str(&text), &parts, NULL) != AR_OK)
		parts = (struct ar_json){ 0 };
	for (struct ar_json_iter it = ar_json_iter(parts); ar_json_next(&it);) {
		ar_acp_chunks(s, "user_message_chunk", turn, ar_api_str(it.value, "text"));
		show_image(s, turn, it.value);
	}
	ar_buf_fini(&text);
	ar_json_parser_free(parser);
}

static void keep_choice(struct ar_buf *b, struct ar_json options, const char *name)
{
	ar_buf_clear(b);
	ar_buf_adds(b, ar_api_str(options, name));
}

static void on_submitted(struct ar_acp_session *s, struct ar_json event)
{
	struct ar_json options = ar_api_path(event, "payload.options");
	bool is_own = forget_own(s, ar_api_str(event, "turnId"));

	if (!ar_str_absent(ar_api_str(options, "purpose")))
		return;
	if (s->is_replay) {
		keep_choice(&s->mode, options, "mode");
		keep_choice(&s->model, options, "model");
		keep_choice(&s->effort, options, "reasoningEffort");
	}
	if ((s->is_replay || !is_own) && !s->is_silent)
		show_input(s, event);
}

/* A session with a copy of its own works there. */
static void on_started(struct ar_acp_session *s, struct ar_json event)
{
	struct ar_str cwd;

	if (!ar_json_str(ar_api_path(event, "payload.executionEnvironment.cwd"), &cwd) || !cwd.len)
		return;
	ar_buf_clear(&s->cwd);
	ar_buf_adds(&s->cwd, cwd);
}

static void on_renamed(struct ar_acp_session *s, struct ar_json event)
{
	struct ar_json payload = ar_json_get(event, "payload");
	struct ar_str title = ar_api_str(ar_json_get(payload, "changed"), "title");
	struct ar_jw w;

	if (ar_str_absent(title) || s->is_silent)
		return;
	w = ar_acp_update(s, "session_info_update");
	ar_jw_mstr(&w, "title", title);
	ar_jw_mstr(&w, "updatedAt", ar_api_str(payload, "updatedAt"));
	ar_acp_end_update(s, &w);
}

/* ---- which event is what ---- */

static const struct {
	const char *type;
	void (*tell)(struct ar_acp_session *s, struct ar_json event);
	bool is_any_thread; /* also of child agents */
} events[] = {
	{ "model.requested", on_request, false },
	{ "model.delta", on_text, false },
	{ "reasoning.delta", on_reasoning, false },
	{ "model.completed", on_answer, false },
	{ "model.failed", on_failed_answer, false },
	{ "tool.started", ar_acp_call_started, false },
	{ "artifact.changed", ar_acp_call_changed, false },
	{ "tool.result", ar_acp_call_ended, false },
	{ "tool.failed", ar_acp_call_ended, false },
	{ "action.required", ar_acp_question, true },
	{ "action.resolved", ar_acp_settled, true },
	{ "turn.submitted", on_submitted, false },
	{ "turn.started", on_started, false },
	{ "turn.completed", ar_acp_prompt_end, false },
	{ "turn.failed", on_failed_turn, false },
	{ "thread.updated", ar_acp_prompt_end, false },
	{ "session.updated", on_renamed, true },
};

void ar_acp_event(struct ar_acp_session *s, struct ar_json event)
{
	struct ar_str type = ar_api_str(event, "type"), thread = ar_api_str(event, "threadId");
	bool is_own = ar_str_absent(thread) || ar_str_eq(thread, ar_buf_str(&s->thread));

	for (size_t i = 0; i < AR_ARRAY_LEN(events); i++) {
		if (ar_str_is(type, events[i].type) && (is_own || events[i].is_any_thread))
			events[i].tell(s, event);
	}
}
