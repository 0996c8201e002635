/* See chat.h: questions to the person at the terminal, answered one after the other in the order they came.
 * The daemon decides whether an answer counts; somebody else may have been faster. */
#include "chat/chat.h"
#include "clock.h"
#include "respond.h"

#include <string.h>

/* What a letter means; the first word that the question offers is said. */
static const char *const always_words[] = { "allow_session", NULL };
static const struct {
	const char *key, *doc;
	const char *const *words;
} letters[] = {
	{ "y", "yes", ar_respond_yes },
	{ "n", "no", ar_respond_no },
	{ "a", "always in this session", always_words },
};

/* Errors after which nothing is left to answer. */
static const char *const over_codes[] = { "already_resolved", "expired", "action_not_found" };

static bool is_form(const struct ar_chat_question *q)
{
	return ar_str_is(q->type, "structured_input");
}

/* ---- the list ---- */

static void drop(struct ar_chat *t, size_t at)
{
	if (at == 0)
		ar_chat_form_drop(t);
	t->question_count--;
	memmove(&t->questions[at], &t->questions[at + 1], (t->question_count - at) * sizeof(t->questions[0]));
	t->is_prompted = false;
}

static struct ar_str copy_json(struct ar_chat *t, struct ar_json v)
{
	struct ar_buf text = { 0 };

	if (ar_json_type(v) == AR_JSON_NONE)
		return AR_STR_NONE;
	ar_json_print(v, &text);
	return ar_ctl_take_buf(t->ctl, &text);
}

/* The question stays open: it can be answered later, by anybody who may. */
static void leave_question(struct ar_chat *t, const struct ar_chat_question *q)
{
	ar_chat_leave(
		t,
		ar_ctl_complain(t->ctl, AR_EXIT_QUESTION,
				ar_arena_fmt(&t->ctl->arena,
					     "agentctl approve %.*s (or: deny, answer), then: agentctl chat "
					     "--session %.*s; `chat --on-question=wait` waits for the answer",
					     AR_STR_ARG(q->id), AR_STR_ARG(t->session)),
				"the turn waits for a decision on %.*s: %.*s", AR_STR_ARG(q->id),
				AR_STR_ARG(q->prompt)));
}

void ar_chat_add_question(struct ar_chat *t, struct ar_str id, struct ar_json what)
{
	struct ar_arena *a = &t->ctl->arena;
	struct ar_str prompt = ar_api_str(what, "prompt");
	struct ar_chat_question q = {
		.id = ar_arena_str(a, id),
		.type = ar_arena_str(a, ar_api_str(what, "actionType")),
		.decisions = copy_json(t, ar_json_get(what, "decisions")),
		.schema = copy_json(t, ar_json_get(what, "schema")),
		.impact = ar_arena_str(a, ar_api_str(what, "impactScope")),
		.ref = ar_arena_str(a, ar_api_str(what, "promptRef")),
		.tool = ar_arena_str(a, ar_api_str(what, "toolName")),
		.input = ar_arena_str(a, ar_api_str(ar_json_get(what, "scope"), "inputRef")),
		.reason = ar_arena_str(a, ar_api_str(ar_json_get(what, "policy"), "reason")),
		.profile = ar_arena_str(a, ar_api_str(ar_json_get(what, "policy"), "sandboxProfile")),
		.expires = ar_api_time(what, "expiresAt")
	};

	q.prompt = ar_arena_str(a, ar_str_absent(prompt) ? ar_api_str(what, "title") : prompt);
	ar_json_bool(ar_json_get(what, "destructive"), &q.is_destructive);
	if (!t->is_interactive && t->fails_on_question) {
		leave_question(t, &q);
		return;
	}
	if (!t->is_interactive || t->question_count == AR_CHAT_QUESTIONS) {
		ar_ctl_note(t->ctl, "an answer is needed: %.*s (agentctl approve %.*s)", AR_STR_ARG(q.prompt),
			    AR_STR_ARG(q.id));
		return;
	}
	t->questions[t->question_count++] = q;
	t->is_prompted = false;
}

void ar_chat_settled(struct ar_chat *t, const struct ar_ctl_event *e)
{
	struct ar_json payload = ar_json_get(e->doc, "payload");
	struct ar_str name = ar_api_str(ar_json_get(payload, "actor"), "name");
	size_t i = 0;

	while (i < t->question_count && !ar_str_eq(t->questions[i].id, ar_api_str(e->doc, "actionId")))
		i++;
	if (i == t->question_count)
		return;
	if (ar_chat_begin(t, AR_STYLE_DIM)) {
		ar_out_printf(t->side, "· settled elsewhere: ");
		ar_out_line(t->side, ar_api_str(payload, "decision"));
		ar_out_printf(t->side, " (");
		ar_out_line(t->side, ar_api_str(payload, "decisionSource"));
		ar_out_printf(t->side, ar_str_absent(name) ? ")" : ", by ");
		ar_out_line(t->side, name);
		ar_out_printf(t->side, ar_str_absent(name) ? "" : ")");
		ar_chat_end(t);
	}
	drop(t, i);
}

/* ---- asking ---- */

/* Without that the daemon takes no yes. */
void ar_chat_read_whole(struct ar_chat *t, struct ar_chat_question *q)
{
	struct ar_respond_whole whole;

	if (ar_str_absent(q->ref) || ar_respond_read(t->ctl, q->id, q->ref, &whole) != AR_EXIT_OK)
		return;
	q->prompt = whole.text;
	q->digest = whole.digest;
}

static void show_question(struct ar_chat *t, struct ar_chat_question *q)
{
	struct ar_clock *clock = ar_clock_system();
	char left[AR_OUT_LEFT];

	q->is_told = true;
	ar_chat_read_whole(t, q);
	ar_out_left(q->expires, clock->wall(clock), left);
	ar_out_break(t->side);
	ar_out_style(t->side, q->is_destructive ? AR_STYLE_RED : AR_STYLE_YELLOW);
	ar_out_printf(t->side, "? ");
	ar_out_line(t->side, q->prompt);
	if (q->is_destructive && !ar_str_empty(q->impact)) {
		ar_out_printf(t->side, "\n  It reaches: ");
		ar_out_line(t->side, q->impact);
	}
	ar_out_style(t->side, AR_STYLE_DIM);
	ar_out_printf(t->side, "\n  ");
	ar_out_line(t->side, q->id);
	ar_out_printf(t->side, ", %s\n", left);
	ar_out_style(t->side, AR_STYLE_PLAIN);
}

/* The letters that this question knows, and the words when there is neither a yes nor a no. */
static void print_choices(struct ar_chat *t, const struct ar_chat_question *q)
{
	bool has_any = false;

	for (size_t i = 0; i < AR_ARRAY_LEN(letters); i++) {
		if (ar_str_absent(ar_respond_pick(q->decisions, letters[i].words)))
			continue;
		ar_out_printf(t->side, "%s %s, ", letters[i].key, letters[i].doc);
		has_any = true;
	}
	if (!has_any) {
		ar_out_line(t->side, q->decisions);
		ar_out_printf(t->side, ", ");
	}
	ar_out_printf(t->side, "e why it is asked? ");
}

void ar_chat_question_prompt(struct ar_chat *t)
{
	struct ar_chat_question *q = &t->questions[0];

	if (!q->is_told)
		show_question(t, q);
	ar_out_break(t->side);
	ar_out_style(t->side, AR_STYLE_BOLD);
	if (is_form(q))
		ar_chat_form_prompt(t, q);
	else
		print_choices(t, q);
	ar_out_style(t->side, AR_STYLE_PLAIN);
}

/* ---- answering ---- */

static bool is_over(struct ar_json error)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(over_codes); i++) {
		if (ar_str_is(ar_api_str(error, "code"), over_codes[i]))
			return true;
	}
	return false;
}

bool ar_chat_respond(struct ar_chat *t, struct ar_str decision, struct ar_str payload)
{
	struct ar_buf body = { 0 };
	struct ar_api_reply reply;
	bool is_settled;

	ar_respond_body(&(struct ar_respond){ .action = t->questions[0].id,
					      .decision = decision,
					      .payload = payload,
					      .digest = t->questions[0].digest },
			&body);
	is_settled =
		ar_api_call(t->ctl, "respond_action", ar_ctl_take_buf(t->ctl, &body), &reply) == AR_EXIT_OK ||
		is_over(ar_json_get(reply.doc, "error"));
	if (ar_str_is(ar_api_str(reply.doc, "decision"), "pending"))
		ar_chat_printf(t, "counted; more people have to approve");
	ar_api_fini(&reply);
	if (is_settled)
		drop(t, 0);
	return is_settled;
}

/* The word that a line means, absent when it is none of those offered. */
static struct ar_str match_answer(const struct ar_chat_question *q, struct ar_str line, struct ar_arena *a)
{
	const char *said[] = { ar_arena_str(a, line).p, NULL };

	for (size_t i = 0; i < AR_ARRAY_LEN(letters); i++) {
		if (ar_str_is(line, letters[i].key))
			return ar_respond_pick(q->decisions, letters[i].words);
	}
	return ar_respond_pick(q->decisions, said);
}

void ar_chat_question_answer(struct ar_chat *t, struct ar_str line)
{
	const struct ar_chat_question *q = &t->questions[0];
	bool is_slashed = ar_str_starts(line, AR_STR("/"));
	struct ar_str word = is_slashed ? ar_str_sub(line, 1, line.len) : line, decision = AR_STR_NONE;

	if (!is_form(q) || is_slashed)
		decision = match_answer(q, word, &t->ctl->arena);
	if (!ar_str_absent(decision))
		(void)ar_chat_respond(t, decision, AR_STR_NONE);
	else if (is_form(q))
		ar_chat_form_input(t, ar_str_starts(line, AR_STR("//")) ? word : line);
	else if (ar_str_is(line, "e"))
		ar_chat_explain(t, q->id);
	else if (!ar_str_empty(line))
		ar_chat_printf(t, "that is not an answer to the question; /interrupt stops the turn");
}
