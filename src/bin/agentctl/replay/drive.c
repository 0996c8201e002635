/* The two ends of a daemon that runs a case: the model, which gives the recorded answers, and the person,
 * who gives the recorded inputs and decisions. The model is another process. */
#include "mem.h"
#include "replay/replay.h"
#include "respond.h"

#include <string.h>

#define AFTER_LAST 400 /* HTTP status when a turn asks more often than it did: not tried again */

struct ar_str ar_case_turn_id(struct ar_arena *a, size_t number)
{
	return ar_arena_fmt(a, "replay_%zu", number + 1);
}

/* ---- the model ---- */

static struct ar_json find_turn(struct ar_case *k, struct ar_str turn)
{
	struct ar_arena a = { 0 };
	size_t number = k->answered;

	while (number < ar_json_len(k->turns) && !ar_str_eq(turn, ar_case_turn_id(&a, number)))
		number++;
	ar_arena_fini(&a);
	if (number != k->answered)
		k->next_answer = 0;
	k->answered = number;
	return ar_json_at(k->turns, number);
}

static size_t take_calls(struct ar_case *k, struct ar_json calls)
{
	size_t count = 0;

	if (ar_json_len(calls) > k->room) {
		k->room = ar_json_len(calls);
		k->calls = ar_grow(k->calls, k->room, sizeof(*k->calls));
	}
	for (struct ar_json_iter it = ar_json_iter(calls); ar_json_next(&it);)
		k->calls[count++] = (struct ar_recorded_call){ ar_api_str(it.value, "name"),
							       ar_api_str(it.value, "arguments") };
	return count;
}

struct ar_recorded_answer ar_case_answer(void *arg, struct ar_str turn, struct ar_json request AR_UNUSED)
{
	struct ar_case *k = arg;
	struct ar_json answers = ar_json_get(find_turn(k, turn), "answers");
	struct ar_json answer = ar_json_at(answers, k->next_answer);
	struct ar_str text = ar_api_str(answer, "text");
	size_t count;

	if (k->next_answer >= ar_json_len(answers))
		return (struct ar_recorded_answer){ .status = AFTER_LAST };
	k->next_answer++;
	if (!ar_str_absent(ar_api_str(answer, "failed"))) {
		int64_t status = ar_api_int(answer, "status");

		return (struct ar_recorded_answer){ .status = status >= 400 && status < 600 ? status : 500 };
	}
	count = take_calls(k, ar_json_get(answer, "calls"));
	return (struct ar_recorded_answer){ .text = ar_str_absent(text) ? AR_STR("") : text,
					    .calls = k->calls,
					    .count = count };
}

/* ---- the person ---- */

struct drive {
	struct ar_ctl *ctl;
	const struct ar_case *k;
	struct ar_str session;
	size_t turn; /* that runs */
	size_t decision; /* how many of its questions were answered */
	enum ar_exit exit;
};

/* The options of the turn but for the model, which is another one here. */
static void add_options(struct ar_jw *w, struct ar_json options)
{
	struct ar_buf value = { 0 };

	ar_jw_key(w, "options");
	ar_jw_open(w);
	for (struct ar_json_iter it = ar_json_iter(options); ar_json_next(&it);) {
		if (ar_str_is(it.name, "model") || ar_str_is(it.name, "fallback"))
			continue;
		ar_buf_clear(&value);
		ar_json_print(it.value, &value);
		ar_jw_name(w, it.name);
		ar_jw_raw(w, ar_buf_str(&value));
	}
	ar_jw_close(w);
	ar_buf_fini(&value);
}

static enum ar_exit submit_next(struct drive *d)
{
	struct ar_json turn = ar_json_at(d->k->turns, d->turn);
	struct ar_api_reply reply;
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	enum ar_exit exit;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", d->session);
	ar_jw_mstr(&w, "turnId", ar_case_turn_id(&d->ctl->arena, d->turn));
	ar_jw_mstr(&w, "text", ar_api_str(turn, "input"));
	add_options(&w, ar_json_get(turn, "options"));
	ar_jw_close(&w);
	exit = ar_api_call(d->ctl, "submit_turn", ar_ctl_take_buf(d->ctl, &body), &reply);
	ar_api_fini(&reply);
	d->decision = 0;
	return exit;
}

/* The recorded decision about the next question of this tool; one that was not asked then is denied. */
static struct ar_str decision_about(struct drive *d, struct ar_str tool)
{
	struct ar_json facts = ar_json_get(ar_json_at(d->k->turns, d->turn), "facts");
	size_t seen = 0;

	for (struct ar_json_iter it = ar_json_iter(facts); ar_json_next(&it);) {
		struct ar_str decision = ar_api_str(it.value, "decision");

		if (ar_str_absent(decision) || seen++ < d->decision)
			continue;
		if (!ar_str_eq(ar_api_str(it.value, "call"), tool))
			continue;
		d->decision = seen;
		return decision;
	}
	return AR_STR("deny");
}

static enum ar_exit answer_question(struct drive *d, struct ar_json event)
{
	struct ar_respond r = { .action = ar_api_str(event, "actionId") };
	struct ar_api_reply reply;
	struct ar_buf body = { 0 };
	enum ar_exit exit;

	r.decision = decision_about(d, ar_api_str(ar_json_get(event, "payload"), "toolName"));
	ar_respond_body(&r, &body);
	exit = ar_api_call(d->ctl, "respond_action", ar_ctl_take_buf(d->ctl, &body), &reply);
	ar_api_fini(&reply);
	return exit;
}

static bool on_event(void *arg, const struct ar_ctl_event *e)
{
	struct drive *d = arg;
	bool is_end = ar_str_is(e->type, "turn.completed") || ar_str_is(e->type, "turn.failed");

	if (ar_str_is(e->type, "action.required"))
		d->exit = answer_question(d, e->doc);
	if (is_end && ++d->turn < ar_json_len(d->k->turns))
		d->exit = submit_next(d);
	return d->exit == AR_EXIT_OK && d->turn < ar_json_len(d->k->turns);
}

static bool on_interrupt(void *arg AR_UNUSED)
{
	return false;
}

enum ar_exit ar_case_run(struct ar_ctl *c, const struct ar_case *k, struct ar_str session)
{
	struct drive d = { .ctl = c, .k = k, .session = session };
	struct ar_ctl_follow f = {
		.ctl = c,
		.session = session,
		.event = on_event,
		.interrupted = on_interrupt,
		.arg = &d,
	};
	enum ar_exit exit;

	d.exit = submit_next(&d);
	if (d.exit != AR_EXIT_OK)
		return d.exit;
	exit = ar_ctl_follow_run(&f);
	ar_ctl_follow_fini(&f);
	return exit == AR_EXIT_OK ? d.exit : exit;
}
