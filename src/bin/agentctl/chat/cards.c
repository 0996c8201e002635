/* See chat.h: what an event looks like. The model's words go to standard output, the rest to the side: the
 * same terminal, or standard error when the words go elsewhere. */
#include "chat/chat.h"
#include "resolve.h"
#include "term/term.h"

#include <stdarg.h>
#include <string.h>

#define ARGS_MAX 200 /* bytes of a call's arguments on its card */
#define RESULT_MAX 100

/* ---- lines ---- */

bool ar_chat_begin(struct ar_chat *t, enum ar_style style)
{
	if (t->ctl->is_quiet || (t->ctl->is_json && t->side == &t->ctl->out))
		return false;
	ar_out_break(t->side);
	ar_out_style(t->side, style);
	return true;
}

void ar_chat_end(struct ar_chat *t)
{
	ar_out_style(t->side, AR_STYLE_PLAIN);
	ar_out_printf(t->side, "\n");
	t->is_prompted = false;
}

void ar_chat_printf(struct ar_chat *t, const char *fmt, ...)
{
	struct ar_arena a = { 0 };
	va_list ap;

	va_start(ap, fmt);
	if (ar_chat_begin(t, AR_STYLE_DIM)) {
		ar_out_line(t->side, ar_arena_vfmt(&a, fmt, ap));
		ar_chat_end(t);
	}
	va_end(ap);
	ar_arena_fini(&a);
}

/* ---- calls ---- */

/* The arguments are stored content, unless the fact carries them. */
static void print_arguments(struct ar_chat *t, struct ar_json payload)
{
	struct ar_json args = ar_json_get(payload, "safeArgs");
	struct ar_str ref = ar_api_str(payload, "inputRef");
	struct ar_buf text = { 0 }, words = { 0 };
	struct ar_api_reply reply = { 0 };

	if (ar_json_type(args) == AR_JSON_OBJECT)
		ar_json_print(args, &text);
	else if (!ar_str_absent(ref) &&
		 ar_api_try(t->ctl, "read_output", ar_resolve_body(t->ctl, "outputRef", ref), &reply, NULL) ==
			 AR_OK)
		ar_buf_adds(&text, ar_api_str(reply.doc, "content"));
	ar_words_args(&words, ar_buf_str(&text));
	ar_out_line(t->side, ar_arena_excerpt(&t->ctl->arena, ar_buf_str(&words), ARGS_MAX));
	ar_api_fini(&reply);
	ar_buf_fini(&text);
	ar_buf_fini(&words);
}

static void on_call(struct ar_chat *t, const struct ar_ctl_event *e)
{
	struct ar_json payload = ar_json_get(e->doc, "payload");
	struct ar_str name = ar_calls_begin(&t->calls, t->ctl, e->doc);

	t->turn.tools++;
	if (!ar_chat_begin(t, AR_STYLE_PLAIN))
		return;
	ar_out_printf(t->side, "▸ ");
	ar_out_line(t->side, name);
	ar_out_style(t->side, AR_STYLE_DIM);
	ar_out_printf(t->side, " ");
	print_arguments(t, payload);
	ar_chat_end(t);
}

/* Numbered lines begin with spaces. */
static struct ar_str first_line(struct ar_arena *a, struct ar_str text)
{
	struct ar_str line;

	while (text.len && (text.p[0] == ' ' || text.p[0] == '\n'))
		text = ar_str_sub(text, 1, text.len);
	ar_str_split(text, '\n', &line);
	return ar_arena_excerpt(a, line, RESULT_MAX);
}

static void on_result(struct ar_chat *t, const struct ar_ctl_event *e)
{
	struct ar_json payload = ar_json_get(e->doc, "payload");

	if (!ar_chat_begin(t, AR_STYLE_GREEN))
		return;
	ar_out_printf(t->side, "  ok ");
	ar_out_style(t->side, AR_STYLE_DIM);
	ar_out_line(t->side, ar_calls_name(&t->calls, e->doc));
	ar_out_printf(t->side, ": ");
	ar_out_line(t->side, first_line(&t->ctl->arena, ar_api_str(payload, "preview")));
	ar_out_printf(t->side, " (%lld ms)", (long long)ar_api_int(payload, "durationMs"));
	ar_chat_end(t);
}

static void on_failed_call(struct ar_chat *t, const struct ar_ctl_event *e)
{
	struct ar_json payload = ar_json_get(e->doc, "payload");
	struct ar_str sentence = ar_calls_error(t->ctl, payload);

	if (!ar_chat_begin(t, AR_STYLE_RED))
		return;
	ar_out_printf(t->side, "  ");
	ar_out_line(t->side, ar_api_str(payload, "status"));
	ar_out_printf(t->side, " ");
	ar_out_line(t->side, ar_calls_name(&t->calls, e->doc));
	ar_out_printf(t->side, ": ");
	ar_out_line(t->side, ar_api_str(payload, "errorCategory"));
	ar_out_printf(t->side, ". ");
	ar_out_line(t->side, ar_api_str(payload, "recoveryAdvice"));
	if (!ar_str_absent(sentence)) {
		ar_out_printf(t->side, "\n    the model reads: ");
		ar_out_line(t->side, sentence);
	}
	ar_chat_end(t);
}

/* ---- turns ---- */

static void set(struct ar_buf *b, struct ar_str value)
{
	ar_buf_clear(b);
	ar_buf_adds(b, value);
}

/* Whether the turn came from here; each id is asked for once. */
static bool forget_own(struct ar_chat *t, struct ar_str id)
{
	struct ar_str line = ar_arena_fmt(&t->ctl->arena, "%.*s\n", AR_STR_ARG(id));
	char *at = t->own.len ? memmem(t->own.p, t->own.len, line.p, line.len) : NULL;

	if (!at)
		return false;
	memmove(at, at + line.len, t->own.len - (size_t)(at - t->own.p) - line.len);
	t->own.len -= line.len;
	return true;
}

static void on_submitted(struct ar_chat *t, const struct ar_ctl_event *e)
{
	struct ar_json payload = ar_json_get(e->doc, "payload");

	if (forget_own(t, ar_api_str(e->doc, "turnId")) || !ar_chat_begin(t, AR_STYLE_DIM))
		return;
	ar_out_printf(t->side, "from ");
	ar_out_line(t->side, ar_api_str(payload, "source"));
	ar_out_printf(t->side, ": ");
	ar_out_line(t->side, ar_api_str(payload, "inputPreview"));
	ar_chat_end(t);
}

static void on_started(struct ar_chat *t, const struct ar_ctl_event *e)
{
	set(&t->running, ar_api_str(e->doc, "turnId"));
	set(&t->last, ar_api_str(e->doc, "turnId"));
	t->is_interrupted = false;
	t->turn = (struct ar_chat_tally){ .ms = -ar_api_time(e->doc, "timestamp") / 1000 };
}

/* Of a turn that was joined on its way only its end knows all. */
static void complete_tally(struct ar_chat_tally *y, const struct ar_ctl_event *e)
{
	struct ar_json payload = ar_json_get(e->doc, "payload"), usage = ar_json_get(payload, "usage");

	if (y->ms < 0) {
		y->ms += ar_api_time(e->doc, "timestamp") / 1000;
		return;
	}
	y->ms = ar_api_int(payload, "durationMs");
	y->input = ar_api_int(usage, "inputTokens");
	y->output = ar_api_int(usage, "outputTokens");
	y->cached = ar_api_int(usage, "cachedTokens");
	y->is_unknown = true;
}

/* The end of a turn: its sums, and what waits may go on. */
static void end_turn(struct ar_chat *t, const struct ar_ctl_event *e)
{
	if (ar_str_eq(ar_api_str(e->doc, "turnId"), ar_buf_str(&t->running)))
		ar_buf_clear(&t->running);
	complete_tally(&t->turn, e);
	ar_chat_tally_add(&t->all, &t->turn);
	if (ar_chat_begin(t, AR_STYLE_DIM)) {
		ar_chat_tally_print(t->side, &t->turn);
		ar_chat_end(t);
	}
	t->turn = (struct ar_chat_tally){ 0 };
}

static void on_completed(struct ar_chat *t, const struct ar_ctl_event *e)
{
	if (!t->ctl->is_json)
		ar_out_break(&t->ctl->out);
	end_turn(t, e);
}

static void on_failed(struct ar_chat *t, const struct ar_ctl_event *e)
{
	struct ar_json payload = ar_json_get(e->doc, "payload"), error = ar_json_get(payload, "error");
	bool is_cancelled = ar_str_is(ar_api_str(payload, "status"), "cancelled");

	struct ar_str advice = is_cancelled ? AR_STR_NONE : ar_api_str(error, "recoveryAdvice");

	if (!t->ctl->is_json)
		ar_out_break(&t->ctl->out);
	if (t->term)
		ar_term_turn_failed(t->term, ar_api_str(error, "message"), advice, is_cancelled);
	else
		ar_ctl_complain(t->ctl, AR_EXIT_FAILED, advice, "%s: %.*s",
				is_cancelled ? "the turn was cancelled" : "the turn failed",
				AR_STR_ARG(ar_api_str(error, "message")));
	end_turn(t, e);
	if (t->is_interactive)
		return;
	t->exit = is_cancelled ? AR_EXIT_INTERRUPTED : AR_EXIT_FAILED;
	if (is_cancelled)
		ar_chat_leave(t, t->exit);
}

/* Waiting for a person is no block: the question says what to do. Waiting for a key is one. */
static void on_thread(struct ar_chat *t, const struct ar_ctl_event *e)
{
	struct ar_json payload = ar_json_get(e->doc, "payload");
	struct ar_str status = ar_api_str(payload, "status"), detail = ar_api_str(payload, "statusDetail");
	bool is_waiting = ar_str_starts(detail, AR_STR("waiting_")) &&
			  !ar_str_is(ar_api_str(payload, "reason"), "no_candidate");

	if ((!ar_str_is(status, "blocked") && !ar_str_is(status, "stale")) || is_waiting)
		return;
	ar_ctl_complain(t->ctl, AR_EXIT_FAILED,
			ar_arena_fmt(&t->ctl->arena, "agentctl resume %.*s", AR_STR_ARG(t->session)),
			"the turn is %.*s: %.*s", AR_STR_ARG(status),
			AR_STR_ARG(ar_api_str(payload, "reason")));
	if (!t->is_interactive)
		ar_chat_leave(t, AR_EXIT_FAILED);
}

static void on_text(struct ar_chat *t, const struct ar_ctl_event *e)
{
	if (t->is_prompted)
		ar_out_break(&t->ctl->out);
	t->is_prompted = false;
	ar_shown_text(&t->shown, &t->ctl->out, e->doc);
}

static void on_reasoning(struct ar_chat *t, const struct ar_ctl_event *e)
{
	if (t->ctl->out.is_tty)
		ar_shown_reasoning(&t->shown, &t->ctl->out, e->doc);
}

static void on_request(struct ar_chat *t, const struct ar_ctl_event *e)
{
	ar_shown_request(&t->shown, e->doc);
}

static void on_cost(struct ar_chat *t, const struct ar_ctl_event *e)
{
	ar_chat_tally_cost(&t->turn, ar_json_get(e->doc, "payload"));
}

/* A queue that does not move on by itself keeps nobody from the prompt. */
static void on_queue(struct ar_chat *t, const struct ar_ctl_event *e)
{
	struct ar_json payload = ar_json_get(e->doc, "payload");

	t->waiting = ar_str_is(ar_api_str(payload, "resumeState"), "automatic")
			     ? (int64_t)ar_json_len(ar_json_get(payload, "order"))
			     : 0;
}

static void on_question(struct ar_chat *t, const struct ar_ctl_event *e)
{
	ar_chat_add_question(t, ar_api_str(e->doc, "actionId"), ar_json_get(e->doc, "payload"));
}

/* ---- which event is what ---- */

static const struct {
	const char *type;
	void (*take)(struct ar_chat *t, const struct ar_ctl_event *e);
} takers[] = {
	{ "model.requested", on_request },	{ "model.delta", on_text },
	{ "reasoning.delta", on_reasoning },	{ "tool.started", on_call },
	{ "tool.result", on_result },		{ "tool.failed", on_failed_call },
	{ "turn.submitted", on_submitted },	{ "turn.started", on_started },
	{ "turn.completed", on_completed },	{ "turn.failed", on_failed },
	{ "thread.updated", on_thread },	{ "cost.recorded", on_cost },
	{ "queue.changed", on_queue },		{ "action.required", on_question },
	{ "action.resolved", ar_chat_settled },
};

static bool concerns(const struct ar_chat *t, const struct ar_ctl_event *e)
{
	struct ar_str thread = ar_api_str(e->doc, "threadId");

	if (!t->is_interactive)
		return ar_str_eq(ar_api_str(e->doc, "turnId"), ar_buf_str(&t->running));
	return ar_str_absent(thread) || ar_str_eq(thread, t->thread);
}

void ar_chat_show(struct ar_chat *t, const struct ar_ctl_event *e)
{
	if (!concerns(t, e))
		return;
	if (t->ctl->is_json) {
		ar_out_json(&t->ctl->out, e->json);
		ar_out_printf(&t->ctl->out, "\n");
		if (e->is_frame)
			return;
	}
	if (t->term && ar_term_event(t->term, e))
		return;
	for (size_t i = 0; i < AR_ARRAY_LEN(takers); i++) {
		if (ar_str_is(e->type, takers[i].type)) {
			takers[i].take(t, e);
			return;
		}
	}
	ar_chat_notice(t, e);
}
