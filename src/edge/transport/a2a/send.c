/* What a message becomes. A message without a task is a turn (submit_turn) in the session of its context,
 * whose task is the task of A2A; one for a task that asks is the answer to that question
 * (respond_action); one for a task that works is more input (steer_turn), which is progress of that task.
 * All of them come through the channel of the caller, so each is a fact with an id. Owner: the loop
 * thread. */
#include "a2a/exchange.h"
#include "hash.h"
#include "published.h"
#include "server.h"

#include <strings.h>

#define CONTEXT_DIGITS 40

static struct ar_str text_of(struct ar_a2a_exchange *x, struct ar_json object, const char *name)
{
	struct ar_str text = AR_STR_NONE;

	ar_json_str(ar_json_get(object, name), &text);
	return ar_arena_str(&x->arena, text);
}

/* Of a command that was refused. */
static struct ar_str code_of(struct ar_json json)
{
	struct ar_str code = AR_STR("");

	ar_json_str(ar_json_get(ar_json_get(json, "error"), "code"), &code);
	return code;
}

static void ask_command(struct ar_a2a_exchange *x, const char *method, struct ar_buf *params,
			ar_a2a_next_fn *next)
{
	ar_a2a_ask(x, method, ar_buf_str(params), next);
	ar_buf_fini(params);
}

static void on_push_set(struct ar_a2a_exchange *x, bool is_good, struct ar_json json)
{
	if (is_good)
		ar_a2a_follow(x);
	else
		ar_a2a_refuse_inner(x, json);
}

/* The push configuration of a message gets everything of a new task, of another what comes from now on. */
static void loaded_to_follow(struct ar_a2a_exchange *x, bool is_good AR_UNUSED, struct ar_json json AR_UNUSED)
{
	if (ar_str_empty(x->send.push.url)) {
		ar_a2a_follow(x);
		return;
	}
	x->send.push.task = x->task.id;
	ar_a2a_push_set(x, &x->send.push, ar_str_absent(x->send.task) ? 0 : x->task.sequence, on_push_set);
}

/* ---- a new task ---- */

static void on_submitted(struct ar_a2a_exchange *x, bool is_good, struct ar_json json)
{
	if (!is_good) {
		ar_a2a_refuse_inner(x, json);
		return;
	}
	x->task.id = text_of(x, json, "taskId");
	ar_a2a_load(x, loaded_to_follow);
}

static void write_options(struct ar_jw *w, const struct ar_a2a_agent *g)
{
	if (ar_str_empty(g->model) && ar_str_empty(g->mode))
		return;
	ar_jw_key(w, "options");
	ar_jw_open(w);
	if (!ar_str_empty(g->model))
		ar_jw_mstr(w, "model", g->model);
	if (!ar_str_empty(g->mode))
		ar_jw_mstr(w, "mode", g->mode);
	ar_jw_close(w);
}

/* What the history of the task needs, and the ids of the other side. */
static void write_metadata(struct ar_jw *w, const struct ar_a2a_exchange *x)
{
	ar_jw_key(w, "metadata");
	ar_jw_open(w);
	ar_jw_key(w, "a2a");
	ar_jw_open(w);
	ar_jw_mstr(w, "agent", x->agent->name);
	ar_jw_mstr(w, "messageId", x->send.message_id);
	ar_jw_mstr(w, "contextId", x->send.context);
	if (!x->send.wants_data)
		ar_jw_mbool(w, "textOnly", true);
	if (ar_str_absent(x->send.kept))
		ar_jw_mstr(w, "text", ar_str_utf8_prefix(x->send.text, AR_A2A_KEPT_BYTES));
	ar_jw_mraw(w, "parts", x->send.kept);
	ar_jw_close(w);
	ar_jw_close(w);
}

static void submit(struct ar_a2a_exchange *x, ar_a2a_next_fn *next)
{
	struct ar_buf params = { 0 };
	struct ar_jw w = ar_jw(&params);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", x->session);
	ar_jw_mstr(&w, "channelId", x->channel);
	ar_jw_mraw(&w, "input", x->send.input);
	ar_jw_mstr(&w, "source", AR_STR("a2a"));
	ar_jw_mstr(&w, "busyPolicy", AR_STR("queue"));
	write_options(&w, x->agent);
	write_metadata(&w, x);
	ar_jw_mstr(&w, "idempotencyKey", x->key);
	ar_jw_close(&w);
	ask_command(x, "submit_turn", &params, next);
}

static void on_connected(struct ar_a2a_exchange *x, bool is_good, struct ar_json json)
{
	if (is_good)
		submit(x, on_submitted);
	else
		ar_a2a_refuse_inner(x, json);
}

/* Who it is comes from the connection; there is nothing else to show. */
static void enrol(struct ar_a2a_exchange *x)
{
	struct ar_buf params = { 0 };
	struct ar_jw w = ar_jw(&params);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", x->session);
	ar_jw_mstr(&w, "channelId", x->channel);
	ar_jw_mstr(&w, "transport", x->is_rpc ? AR_STR("json_rpc") : AR_STR("http_json"));
	ar_jw_mstr(&w, "peerRole", AR_STR("peer_agent"));
	ar_jw_mstr(&w, "credential", AR_STR("connection"));
	ar_jw_mraw(&w, "capabilities",
		   AR_STR("[\"streaming\",\"resume\",\"permissions\",\"artifacts\",\"task_delegation\"]"));
	ar_jw_mstr(&w, "nativeProtocol", AR_STR("a2a"));
	ar_jw_close(&w);
	ask_command(x, "connect_channel", &params, on_connected);
}

/* The session may be there since an earlier message, or since this one came before: then its caller is a
 * channel of it already. */
static void on_tried(struct ar_a2a_exchange *x, bool is_good, struct ar_json json)
{
	if (is_good || !ar_str_is(code_of(json), "channel_not_found"))
		on_submitted(x, is_good, json);
	else
		enrol(x);
}

static void on_created(struct ar_a2a_exchange *x, bool is_good, struct ar_json json)
{
	if (!is_good) {
		ar_a2a_refuse_inner(x, json);
		return;
	}
	x->session = text_of(x, json, "sessionId");
	if (ar_str_absent(x->send.context))
		x->send.context = x->session;
	submit(x, on_tried);
}

/* The same context of a client finds the same session by this, whatever the message says. A session has one
 * workspace, so with another of the agent a name begins anew. */
static struct ar_str context_key(struct ar_a2a_exchange *x)
{
	struct ar_str parts[] = { x->channel, AR_STR("\n"), x->send.context, AR_STR("\n"),
				  x->agent->workspace };
	struct ar_str text = ar_arena_join(&x->arena, parts, AR_ARRAY_LEN(parts));

	return ar_arena_fmt(&x->arena, "a2a-context:%.*s",
			    AR_STR_ARG(ar_hash_digits(&x->arena, text, CONTEXT_DIGITS)));
}

/* The same message again finds the same session by its key. */
static void create(struct ar_a2a_exchange *x)
{
	bool is_named = !ar_str_absent(x->send.context);
	struct ar_buf params = { 0 };
	struct ar_jw w = ar_jw(&params);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "title", is_named ? x->send.context : ar_str_utf8_prefix(x->send.text, 80));
	if (!ar_str_empty(x->agent->workspace))
		ar_jw_mstr(&w, "workspaceId", x->agent->workspace);
	ar_jw_mstr(&w, "source", AR_STR("a2a"));
	ar_jw_mstr(&w, "idempotencyKey", is_named ? context_key(x) : x->key);
	ar_jw_close(&w);
	ask_command(x, "create_session", &params, on_created);
}

/* ---- a message for a task ---- */

static void reload(struct ar_a2a_exchange *x, bool is_good, struct ar_json json)
{
	if (is_good)
		ar_a2a_load(x, loaded_to_follow);
	else
		ar_a2a_refuse_inner(x, json);
}

/* What is no turn is a message of the channel, so that the log has what came and when. */
static void tell_channel(struct ar_a2a_exchange *x, bool is_good, struct ar_json json)
{
	struct ar_buf params = { 0 };
	struct ar_jw w = ar_jw(&params);

	if (!is_good) {
		ar_a2a_refuse_inner(x, json);
		return;
	}
	ar_jw_open(&w);
	ar_jw_mstr(&w, "channelId", x->channel);
	ar_jw_mstr(&w, "sessionId", x->task.session);
	ar_jw_mstr(&w, "messageKind", AR_STR("other"));
	ar_jw_mstr(&w, "text",
		   ar_str_empty(x->send.text) ? AR_STR("-")
					      : ar_str_utf8_prefix(x->send.text, AR_A2A_COMMENT_BYTES));
	ar_jw_mstr(&w, "idempotencyKey", x->key);
	ar_jw_close(&w);
	ask_command(x, "post_channel_message", &params, reload);
}

static void steer(struct ar_a2a_exchange *x)
{
	struct ar_buf params = { 0 };
	struct ar_jw w = ar_jw(&params);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", x->task.session);
	ar_jw_mstr(&w, "threadId", x->task.thread);
	ar_jw_mstr(&w, "turnId", x->task.turn);
	ar_jw_mstr(&w, "channelId", x->channel);
	ar_jw_mraw(&w, "input", x->send.input);
	ar_jw_mstr(&w, "idempotencyKey", x->key);
	ar_jw_close(&w);
	ask_command(x, "steer_turn", &params, tell_channel);
}

/* ---- answers to questions ---- */

struct answer {
	struct ar_str action, decision;
	struct ar_str payload; /* JSON; absent: none */
};

static bool is_same_word(struct ar_str a, struct ar_str b)
{
	return a.len == b.len && strncasecmp(a.p, b.p, a.len) == 0;
}

/* One of those that are offered; absent: the text is none of them. */
static struct ar_str offered(struct ar_a2a_exchange *x, struct ar_json decisions, struct ar_str text)
{
	struct ar_str word;

	for (struct ar_json_iter it = ar_json_iter(decisions); ar_json_next(&it);) {
		if (ar_json_str(it.value, &word) && is_same_word(word, text))
			return ar_arena_str(&x->arena, word);
	}
	return AR_STR_NONE;
}

/* The only member that the schema requires, or else the only one that it names; absent: there is no such. */
static struct ar_str only_member(struct ar_a2a_exchange *x, struct ar_str schema)
{
	struct ar_json doc, properties;
	struct ar_str name = AR_STR_NONE;
	struct ar_json_iter it;

	if (ar_json_parse(x->server->parser, schema, &doc, NULL) != AR_OK)
		return AR_STR_NONE;
	if (ar_json_len(ar_json_get(doc, "required")) == 1) {
		ar_json_str(ar_json_at(ar_json_get(doc, "required"), 0), &name);
		return ar_arena_str(&x->arena, name);
	}
	properties = ar_json_get(doc, "properties");
	it = ar_json_iter(properties);
	return ar_json_len(properties) == 1 && ar_json_next(&it) ? ar_arena_str(&x->arena, it.name) : name;
}

/* Data is the answer itself, and so is a text where one member is asked for. */
static struct ar_str payload_of(struct ar_a2a_exchange *x, const struct ar_a2a_question *q)
{
	struct ar_str member, json;
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	if (!ar_str_absent(x->send.data))
		return x->send.data;
	member = only_member(x, q->schema);
	if (ar_str_absent(member))
		return AR_STR_NONE;
	ar_jw_open(&w);
	ar_jw_name(&w, member);
	ar_jw_str(&w, x->send.text);
	ar_jw_close(&w);
	json = ar_arena_str(&x->arena, ar_buf_str(&text));
	ar_buf_fini(&text);
	return json;
}

/* {"actionId","decision","payload"} in a data part. */
static void read_data(struct ar_a2a_exchange *x, struct answer *ret)
{
	struct ar_buf text = { 0 };
	struct ar_json doc;

	if (ar_str_absent(x->send.data) ||
	    ar_json_parse(x->server->parser, x->send.data, &doc, NULL) != AR_OK)
		return;
	ret->decision = text_of(x, doc, "decision");
	if (ar_str_absent(ret->decision))
		return;
	ret->action = text_of(x, doc, "actionId");
	if (ar_json_type(ar_json_get(doc, "payload")) != AR_JSON_OBJECT)
		return;
	ar_json_print(ar_json_get(doc, "payload"), &text);
	ret->payload = ar_arena_str(&x->arena, ar_buf_str(&text));
	ar_buf_fini(&text);
}

/* An answer is for one question: the only one that is open, or the one that it names. */
static const struct ar_a2a_question *find_question(const struct ar_a2a_exchange *x, struct ar_str action)
{
	const struct ar_a2a_task *t = &x->task;

	if (ar_str_absent(action))
		return t->question_count == 1 ? &t->questions[0] : NULL;
	for (size_t i = 0; i < t->question_count; i++) {
		if (ar_str_eq(t->questions[i].action, action))
			return &t->questions[i];
	}
	return NULL;
}

static bool make_answer(struct ar_a2a_exchange *x, struct answer *ret, struct ar_a2a_failure *f)
{
	const struct ar_a2a_question *q;
	struct ar_json decisions;

	*ret = (struct answer){ AR_STR_NONE, AR_STR_NONE, AR_STR_NONE };
	read_data(x, ret);
	q = find_question(x, ret->action);
	if (!q)
		return ar_a2a_fail(
			f, AR_A2A_INVALID_PARAMS, "message.parts",
			"name the question that this answers: actionId and decision in a data part");
	ret->action = q->action;
	if (!ar_str_absent(ret->decision)) {
		if (q->is_credential) /* what else it says may be the secret */
			x->send.text = ret->decision;
		return true;
	}
	if (ar_json_parse(x->server->parser, q->decisions, &decisions, NULL) != AR_OK)
		return ar_a2a_fail(f, AR_A2A_INTERNAL, NULL, "the question has no answers");
	ret->decision = offered(x, decisions, ar_str_trim(x->send.text, " \t\r\n"));
	if (!ar_str_absent(ret->decision))
		return true;
	if (!ar_str_absent(q->schema)) {
		struct ar_str first = AR_STR_NONE;

		ar_json_str(ar_json_at(decisions, 0), &first);
		ret->decision = ar_arena_str(&x->arena, first);
		ret->payload = payload_of(x, q);
		if (!ar_str_absent(ret->payload) && !ar_str_absent(ret->decision))
			return true;
	}
	return ar_a2a_fail(f, AR_A2A_INVALID_PARAMS, "message.parts", "the question takes one of %.*s",
			   AR_STR_ARG(ar_str_utf8_prefix(q->decisions, 200)));
}

static void respond(struct ar_a2a_exchange *x)
{
	struct ar_a2a_failure f = { 0 };
	struct ar_buf params = { 0 };
	struct ar_jw w = ar_jw(&params);
	struct answer a;

	if (!make_answer(x, &a, &f)) {
		ar_a2a_refuse(x, &f);
		return;
	}
	ar_jw_open(&w);
	ar_jw_mstr(&w, "actionId", a.action);
	ar_jw_mstr(&w, "decision", a.decision);
	ar_jw_mraw(&w, "payload", a.payload);
	if (!ar_str_empty(x->send.text) && !ar_str_eq(x->send.text, a.decision))
		ar_jw_mstr(&w, "comment", ar_str_utf8_prefix(x->send.text, AR_A2A_COMMENT_BYTES));
	ar_jw_mstr(&w, "channelId", x->channel);
	ar_jw_mstr(&w, "idempotencyKey", x->key);
	ar_jw_close(&w);
	ask_command(x, "respond_action", &params, tell_channel);
}

/* ---- a message that comes again ---- */

/* What it was is not known from the task as it is now: the question that it answered may be closed, or
 * another one open. Its key was used by one of two commands, so each is asked about what is not there: a key
 * that was used before is a conflict then. */
static void write_probe(struct ar_a2a_exchange *x, struct ar_jw *w, const char *member, const char *prefix)
{
	struct ar_str key = ar_str_sub(x->task.session, sizeof "sess_" - 1, x->task.session.len);

	ar_jw_open(w);
	ar_jw_mstr(w, member, ar_arena_fmt(&x->arena, "%s_%.*s_0", prefix, AR_STR_ARG(key)));
	ar_jw_mstr(w, "idempotencyKey", x->key);
}

/* The command was refused before its key was looked up. */
static bool is_unknown(struct ar_json json)
{
	bool is_for_later = false;

	ar_json_bool(ar_json_get(ar_json_get(json, "error"), "retryable"), &is_for_later);
	return is_for_later;
}

static void on_steered_before(struct ar_a2a_exchange *x, bool is_good AR_UNUSED, struct ar_json json)
{
	if (ar_str_is(code_of(json), "id_conflict"))
		steer(x); /* which answers as it did */
	else if (is_unknown(json))
		ar_a2a_refuse_inner(x, json);
	else if (ar_a2a_is_terminal(x->task.state))
		ar_a2a_refuse_with(x, AR_A2A_UNSUPPORTED_OPERATION,
				   "the task has ended and takes no more messages");
	else
		respond(x);
}

static void ask_steered_before(struct ar_a2a_exchange *x)
{
	struct ar_buf params = { 0 };
	struct ar_jw w = ar_jw(&params);

	write_probe(x, &w, "turnId", "turn");
	ar_jw_mstr(&w, "sessionId", x->task.session);
	ar_jw_mstr(&w, "threadId", x->task.thread);
	ar_jw_mraw(&w, "input", AR_STR("[{\"type\":\"text\",\"text\":\"-\"}]"));
	ar_jw_close(&w);
	ask_command(x, "steer_turn", &params, on_steered_before);
}

/* What works is steered whether it was before or not: steer_turn itself answers a repeat as it did. */
static void on_answered_before(struct ar_a2a_exchange *x, bool is_good, struct ar_json json)
{
	if (ar_str_is(code_of(json), "id_conflict"))
		loaded_to_follow(x, is_good, json);
	else if (is_unknown(json))
		ar_a2a_refuse_inner(x, json);
	else if (ar_a2a_is_terminal(x->task.state) || ar_a2a_is_interrupted(x->task.state))
		ask_steered_before(x);
	else
		steer(x);
}

static void loaded_to_continue(struct ar_a2a_exchange *x, bool is_good AR_UNUSED,
			       struct ar_json json AR_UNUSED)
{
	struct ar_buf params = { 0 };
	struct ar_jw w = ar_jw(&params);
	struct ar_a2a_failure f = { 0 };

	if (!ar_a2a_is_own(x)) {
		ar_a2a_refuse_with(x, AR_A2A_TASK_NOT_FOUND, "there is no such task");
	} else if (!ar_str_absent(x->send.context) && !ar_str_eq(x->send.context, x->task.context)) {
		ar_a2a_fail(&f, AR_A2A_INVALID_PARAMS, "message.contextId",
			    "the task belongs to another context");
		ar_a2a_refuse(x, &f);
	} else {
		write_probe(x, &w, "actionId", "action");
		ar_jw_mstr(&w, "decision", AR_STR("-"));
		ar_jw_close(&w);
		ask_command(x, "respond_action", &params, on_answered_before);
	}
}

void ar_a2a_send(struct ar_a2a_exchange *x)
{
	if (!ar_str_empty(x->send.push.url) && !ar_a2a_push_check(x, &x->send.push))
		return;
	x->session = x->send.context;
	if (!ar_str_absent(x->send.task))
		ar_a2a_load(x, loaded_to_continue);
	else if (!ar_str_starts(x->send.context, AR_STR("sess_")))
		create(x);
	else
		submit(x, on_submitted);
}

/* ---- cancel ---- */

static void write_turn(struct ar_a2a_exchange *x, struct ar_buf *out)
{
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "sessionId", x->task.session);
	ar_jw_mstr(&w, "threadId", x->task.thread);
	ar_jw_mstr(&w, "turnId", x->task.turn);
	ar_jw_mstr(&w, "reason", AR_STR("CancelTask of an A2A client"));
	ar_jw_close(&w);
}

static void interrupt(struct ar_a2a_exchange *x)
{
	struct ar_buf params = { 0 };

	write_turn(x, &params);
	ask_command(x, "interrupt_turn", &params, reload);
}

/* It may have begun meanwhile. */
static void on_removed(struct ar_a2a_exchange *x, bool is_good, struct ar_json json)
{
	bool is_removed = false;

	ar_json_bool(ar_json_get(json, "removed"), &is_removed);
	if (is_good && is_removed)
		ar_a2a_load(x, loaded_to_follow);
	else
		interrupt(x);
}

static void loaded_to_cancel(struct ar_a2a_exchange *x, bool is_good AR_UNUSED, struct ar_json json AR_UNUSED)
{
	struct ar_buf params = { 0 };

	if (!ar_a2a_is_own(x)) {
		ar_a2a_refuse_with(x, AR_A2A_TASK_NOT_FOUND, "there is no such task");
	} else if (x->task.state == AR_A2A_CANCELED) {
		ar_a2a_answer_task(x);
	} else if (ar_a2a_is_terminal(x->task.state)) {
		ar_a2a_refuse_with(x, AR_A2A_TASK_NOT_CANCELABLE, "the task has ended");
	} else if (x->task.state == AR_A2A_SUBMITTED) {
		write_turn(x, &params);
		ask_command(x, "remove_queued_turn", &params, on_removed);
	} else {
		interrupt(x);
	}
}

void ar_a2a_cancel(struct ar_a2a_exchange *x)
{
	ar_a2a_load(x, loaded_to_cancel);
}
