/* What a model is asked, checked where the call begins: the intent is durable, and the conversation it
 * gets is the newest part of what the log says was said. */
#include "context/context.h"
#include "sim.h"

#define MESSAGES_MAX 1024
#define CALLS_MAX 16

struct said {
	enum ar_role role;
	struct ar_str text, tool_call_id;
	struct ar_str call; /* of an answer: toolCallId */
	bool is_answered;
	size_t bytes, calls;
	uint64_t start; /* sequence at which its turn started */
};

struct talk {
	struct sim *sim;
	const struct sim_log *log;
	struct said said[MESSAGES_MAX];
	size_t count;
	struct said open[CALLS_MAX]; /* answers to the calls of the newest message; they join it together */
	size_t open_count;
	struct said waiting[MESSAGES_MAX]; /* said while the turn runs, for its next request */
	size_t waiting_count;
	struct ar_str steered; /* that turn */
	uint64_t start; /* of the turn that runs */
	unsigned stops; /* times that a hook kept it from ending */
};

static void add(struct talk *t, struct said said)
{
	if (t->count == MESSAGES_MAX)
		sim_fail(t->sim, "too many messages for this test");
	said.start = t->start;
	t->said[t->count++] = said;
}

/* An input of one part is said as plain text. */
static struct ar_str plain(struct sim *s, struct ar_str parts)
{
	struct ar_json v;

	if (ar_json_parse(s->member_json, parts, &v, NULL) != AR_OK || ar_json_len(v) != 1)
		return parts;
	return sim_keep(s, sim_text(ar_json_at(v, 0), "text"));
}

static void add_user(struct talk *t, const struct ar_event *e)
{
	struct ar_str session_key = { t->log->session_key, AR_SESSION_KEY_LEN };
	const struct sim_fact *f =
		sim_log_find(t->sim, session_key, AR_EV_TURN_SUBMITTED, AR_SCOPE_TURN, e->ids[AR_SCOPE_TURN]);
	const struct ar_ev_turn_submitted *p = f->e.payload;
	struct ar_str parts = sim_content(t->sim, p->input_ref);

	add(t, (struct said){ .role = AR_ROLE_USER, .text = plain(t->sim, parts), .bytes = parts.len });
}

static void add_assistant(struct talk *t, const struct ar_event *e)
{
	const struct ar_ev_model_completed *p = e->payload;
	struct said said = { .role = AR_ROLE_ASSISTANT, .text = sim_content(t->sim, p->output_ref) };

	said.bytes = said.text.len;
	said.calls = p->tool_calls.count;
	for (size_t i = 0; i < p->tool_calls.count; i++) {
		const struct ar_shape_requested_call *call = &p->tool_calls.at[i];

		said.bytes += (size_t)ar_context_call_bytes(call->name,
							    (int64_t)sim_content(t->sim, call->ref).len);
		if (t->open_count == CALLS_MAX)
			sim_fail(t->sim, "too many calls for this test");
		t->open[t->open_count++] = (struct said){ .role = AR_ROLE_TOOL,
							  .tool_call_id = sim_keep(t->sim, call->id),
							  .call = sim_keep(t->sim, call->tool_call_id) };
	}
	add(t, said);
}

static struct said *open_call(struct talk *t, struct ar_str call)
{
	for (size_t i = 0; i < t->open_count; i++) {
		if (ar_str_eq(t->open[i].call, call))
			return &t->open[i];
	}
	sim_fail(t->sim, "%.*s was not asked for, or is answered twice", AR_STR_ARG(call));
}

static void begin_tool(struct talk *t, const struct ar_event *e)
{
	const struct ar_ev_tool_started *p = e->payload;

	if (!ar_str_absent(p->retry_of))
		open_call(t, p->retry_of)->call = e->ids[AR_SCOPE_TOOL_CALL];
}

static void add_tool(struct talk *t, const struct ar_event *e)
{
	const struct ar_ev_tool_failed *bad = e->payload;
	const struct ar_ev_tool_result *good = e->payload;
	bool is_good = e->type == AR_EV_TOOL_RESULT;
	struct said *answer = open_call(t, e->ids[AR_SCOPE_TOOL_CALL]);

	if (!is_good && ar_str_is(bad->error_category, AR_CATEGORY_NOT_BEGUN))
		return; /* it is tried again */
	answer->is_answered = true;
	answer->text = sim_content(t->sim, !is_good			     ? bad->error_ref
					   : ar_str_absent(good->answer_ref) ? good->output_ref
									     : good->answer_ref);
	answer->bytes = answer->text.len;
	for (size_t i = 0; i < t->open_count; i++) {
		if (!t->open[i].is_answered)
			return;
	}
	for (size_t i = 0; i < t->open_count; i++)
		add(t, t->open[i]);
	t->open_count = 0;
}

static void add_steer(struct talk *t, const struct ar_event *e)
{
	const struct ar_ev_run_status *p = e->payload;
	struct ar_str parts;

	if (!ar_str_is(p->phase, "steered"))
		return;
	if (!p->metadata || t->waiting_count == MESSAGES_MAX)
		sim_fail(t->sim, "the steering fact %llu does not say what was said",
			 (unsigned long long)e->sequence);
	parts = sim_content(t->sim, sim_keep(t->sim, p->metadata->input_ref));
	t->steered = e->ids[AR_SCOPE_TURN];
	t->waiting[t->waiting_count++] =
		(struct said){ .role = AR_ROLE_USER, .text = plain(t->sim, parts), .bytes = parts.len };
}

static void take_waiting(struct talk *t, const struct ar_event *e)
{
	if (!ar_str_eq(t->steered, e->ids[AR_SCOPE_TURN]))
		return;
	for (size_t i = 0; i < t->waiting_count; i++)
		add(t, t->waiting[i]);
	t->waiting_count = 0;
}

/* ---- what hooks make of it ---- */

static size_t newest(const struct talk *t, enum ar_role role)
{
	size_t i = t->count;

	while (i > 0 && t->said[i - 1].role != role)
		i--;
	if (i == 0)
		sim_fail(t->sim, "a hook changed what nobody said");
	return i - 1;
}

static struct said person(struct talk *t, struct ar_str ref)
{
	struct ar_str parts = sim_content(t->sim, ref);

	return (struct said){
		.role = AR_ROLE_USER, .text = plain(t->sim, parts), .bytes = parts.len, .start = t->start
	};
}

/* It may be changed before the other calls of its message have ended. */
static struct said *answer_of(struct talk *t, const struct ar_event *e)
{
	struct ar_str call = e->ids[AR_SCOPE_TOOL_CALL];
	size_t i = t->count;

	for (size_t k = 0; k < t->open_count; k++) {
		if (ar_str_eq(t->open[k].call, call))
			return &t->open[k];
	}
	while (i > 0 && !ar_str_eq(t->said[i - 1].call, call))
		i--;
	if (i == 0)
		sim_fail(t->sim, "a hook changed an answer that nobody gave");
	return &t->said[i - 1];
}

static void add_contexts(struct talk *t, const struct ar_ev_hook_completed *p, size_t at)
{
	struct ar_texts refs = p->additional_context_refs;

	for (size_t i = 0; i < refs.count; i++) {
		add(t, (struct said){ 0 });
		for (size_t k = t->count - 1; k > at + i; k--)
			t->said[k] = t->said[k - 1];
		t->said[at + i] = person(t, sim_keep(t->sim, refs.at[i]));
	}
}

static void hear_hook(struct talk *t, const struct ar_event *e)
{
	const struct ar_ev_hook_completed *p = e->payload;
	const struct ar_ev_hook_started *begun = NULL;
	bool is_block = p->decision == AR_HOOK_COMPLETED_DECISION_BLOCK ||
			p->decision == AR_HOOK_COMPLETED_DECISION_DENY;

	for (uint64_t i = e->sequence - 1; i > 0 && !begun; i--) {
		if (ar_str_eq(t->log->facts[i - 1].e.event_id, p->hook_run_ref))
			begun = t->log->facts[i - 1].e.payload;
	}
	if (!begun)
		sim_fail(t->sim, "fact %llu ends a run that is not there", (unsigned long long)e->sequence);
	if (begun->hook_point == AR_HOOK_STARTED_HOOK_POINT_STOP) {
		if (is_block && ++t->stops <= 3)
			add_contexts(t, p, t->count);
	} else if (begun->hook_point <= AR_HOOK_STARTED_HOOK_POINT_USER_PROMPT_SUBMIT) {
		size_t at = newest(t, AR_ROLE_USER);

		if (!ar_str_absent(p->updated_input_ref))
			t->said[at] = person(t, p->updated_input_ref);
		add_contexts(t, p, at);
	} else if (!ar_str_absent(p->updated_tool_output_ref)) {
		struct said *answer = answer_of(t, e);

		answer->text = sim_content(t->sim, p->updated_tool_output_ref);
		answer->bytes = answer->text.len;
	}
}

static void listen(struct talk *t, struct ar_str thread, uint64_t until);

/* A branch has heard what its parent had until the end of a turn. */
static void listen_to_parent(struct talk *t, const struct ar_event *e)
{
	const struct ar_ev_thread_started *p = e->payload;
	struct ar_str session_key = { t->log->session_key, AR_SESSION_KEY_LEN };
	const struct sim_fact *last;

	if (ar_str_absent(p->parent_turn_id))
		return;
	last = sim_log_find(t->sim, session_key, AR_EV_TURN_STARTED, AR_SCOPE_TURN, p->parent_turn_id);
	listen(t, p->parent_thread_id, e->sequence - 1);
	t->open_count = 0; /* calls of a turn that runs there are not heard here */
	while (t->count > 0 && t->said[t->count - 1].start > last->e.sequence)
		t->count--;
	t->waiting_count = 0;
}

/* Whoever was rolled back was never heard. */
static void forget(struct talk *t, const struct ar_event *e)
{
	const struct ar_ev_history_rollback_completed *p = e->payload;
	struct ar_str session_key = { t->log->session_key, AR_SESSION_KEY_LEN };
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < p->removed_turn_ids.count; i++) {
		const struct sim_fact *f = sim_log_find(t->sim, session_key, AR_EV_TURN_STARTED,
							AR_SCOPE_TURN, p->removed_turn_ids.at[i]);

		if (f->e.sequence < first)
			first = f->e.sequence;
	}
	while (t->count > 0 && t->said[t->count - 1].start >= first)
		t->count--;
}

static void listen(struct talk *t, struct ar_str thread, uint64_t until)
{
	for (uint64_t i = 0; i < until; i++) {
		const struct ar_event *e = &t->log->facts[i].e;

		if (!ar_str_eq(e->ids[AR_SCOPE_THREAD], thread))
			continue;
		if (e->type == AR_EV_TURN_STARTED)
			t->start = e->sequence;
		if (e->type == AR_EV_TURN_STARTED)
			t->stops = 0;
		if (e->type == AR_EV_THREAD_STARTED)
			listen_to_parent(t, e);
		else if (e->type == AR_EV_HISTORY_ROLLBACK_COMPLETED)
			forget(t, e);
		else if (e->type == AR_EV_TURN_STARTED)
			add_user(t, e);
		else if (e->type == AR_EV_MODEL_COMPLETED)
			add_assistant(t, e);
		else if (e->type == AR_EV_TOOL_STARTED)
			begin_tool(t, e);
		else if (e->type == AR_EV_TOOL_FAILED || e->type == AR_EV_TOOL_RESULT)
			add_tool(t, e);
		else if (e->type == AR_EV_HOOK_COMPLETED)
			hear_hook(t, e);
		else if (e->type == AR_EV_RUN_STATUS)
			add_steer(t, e);
		else if (e->type == AR_EV_MODEL_REQUESTED || e->type == AR_EV_TURN_FAILED)
			take_waiting(t, e);
		else if (e->type == AR_EV_TURN_COMPLETED && t->waiting_count > 0)
			sim_fail(t->sim, "fact %llu ends a turn before the model saw what was said to it",
				 (unsigned long long)e->sequence);
	}
}

/* How many of the newest fit the policy. */
static size_t fitting(const struct talk *t)
{
	const struct ar_policy *policy = &t->sim->policy;
	size_t n = 0, bytes = 0;

	while (n < t->count) {
		bytes += t->said[t->count - 1 - n].bytes;
		if (n > 0 && ((int64_t)n + 1 > policy->context_max || (int64_t)bytes > policy->context_bytes))
			break;
		n++;
	}
	return n;
}

/* The stored manifest names the one before it and adds what is new. */
static void check_manifest(const struct talk *t, const struct sim_fact *f, size_t count)
{
	const struct ar_ev_model_requested *p = f->e.payload;
	struct ar_str before = AR_STR_NONE;
	struct sim *s = t->sim;
	struct talk *earlier = ar_new0(sizeof(*earlier));
	struct ar_json v, append;
	uint64_t i = f->e.sequence - 1;
	size_t fresh;

	while (i > 0 && ar_str_absent(before)) {
		const struct ar_event *e = &t->log->facts[--i].e;
		const struct ar_ev_model_requested *earlier_request = e->payload;
		const struct ar_ev_history_rollback_completed *rollback = e->payload;

		if (!ar_str_eq(e->ids[AR_SCOPE_THREAD], f->e.ids[AR_SCOPE_THREAD]))
			continue;
		if (e->type == AR_EV_MODEL_REQUESTED)
			before = earlier_request->request_ref;
		else if (e->type == AR_EV_HISTORY_ROLLBACK_COMPLETED)
			before = rollback->surviving_baseline_ref;
	}
	*earlier = (struct talk){ .sim = s, .log = t->log };
	if (!ar_str_absent(before))
		listen(earlier, f->e.ids[AR_SCOPE_THREAD], i + 1);
	fresh = t->count - earlier->count < count ? t->count - earlier->count : count;
	ar_free(earlier);
	if (ar_json_parse(s->json, sim_content(s, p->request_ref), &v, NULL) != AR_OK)
		sim_fail(s, "the manifest of fact %llu is not JSON", (unsigned long long)f->e.sequence);
	append = ar_json_get(v, "append");
	if (!ar_str_eq(sim_text(v, "base"), before) || ar_json_len(append) != fresh)
		sim_fail(s, "the manifest of fact %llu does not continue the one before: %.*s",
			 (unsigned long long)f->e.sequence, AR_STR_ARG(sim_content(s, p->request_ref)));
}

static void compare(const struct talk *t, const struct ar_message *m, size_t count, struct ar_str step)
{
	struct sim *s = t->sim;

	if (count == 0 || count > t->count)
		sim_fail(s, "%.*s carries %zu messages of %zu", AR_STR_ARG(step), count, t->count);
	if (m[0].role == AR_ROLE_TOOL)
		sim_fail(s, "%.*s begins with the answer to a call that is left out", AR_STR_ARG(step));
	if (fitting(t) == t->count && count != t->count)
		sim_fail(s, "%.*s carries %zu messages although all %zu fit", AR_STR_ARG(step), count,
			 t->count);
	for (size_t i = 0; i < count; i++) {
		const struct said *said = &t->said[t->count - count + i];

		if (m[i].role != said->role || !ar_str_eq(m[i].text, said->text) ||
		    m[i].use_count != said->calls || !ar_str_eq(m[i].tool_call_id, said->tool_call_id))
			sim_fail(s, "%.*s: message %zu is '%.*s' and should be '%.*s'", AR_STR_ARG(step), i,
				 AR_STR_ARG(ar_str_utf8_prefix(m[i].text, 80)),
				 AR_STR_ARG(ar_str_utf8_prefix(said->text, 80)));
	}
}

void sim_check_request(struct sim *s, const struct ar_model_request *r)
{
	struct ar_str session_key = ar_id_session_key(r->session_id);
	const struct sim_fact *f = sim_log_find(s, session_key, AR_EV_MODEL_REQUESTED, AR_SCOPE_MODEL_REQUEST,
						r->model_request_id);
	struct talk *t = ar_new0(sizeof(*t));
	size_t system = 0;

	if (ar_partition_has(&s->away, ar_id_partition(session_key)))
		sim_fail(s, "%.*s is asked for a session that has moved", AR_STR_ARG(r->model_request_id));
	if (!f || !ar_str_eq(f->e.ids[AR_SCOPE_STEP], r->step_id))
		sim_fail(s, "%.*s is asked and the intent is not stored", AR_STR_ARG(r->model_request_id));
	t->sim = s;
	t->log = sim_log_of(s, session_key);
	listen(t, f->e.ids[AR_SCOPE_THREAD], f->e.sequence);
	if (!ar_str_absent(s->policy.system_prompt)) {
		system = 1;
		if (r->count == 0 || r->messages[0].role != AR_ROLE_SYSTEM ||
		    !ar_str_eq(r->messages[0].text, s->policy.system_prompt))
			sim_fail(s, "%.*s lacks the system prompt", AR_STR_ARG(r->step_id));
	}
	compare(t, r->messages + system, r->count - system, r->step_id);
	check_manifest(t, f, r->count - system);
	ar_free(t);
}
