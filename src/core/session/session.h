/* The pure core: decide() says what would become true and what should then be done, apply() makes facts true. No I/O, no
 * clock, no randomness, no threads: time, ids and policy come in with the input. apply() is the only mutator, live and on
 * replay. */
#ifndef AR_SESSION_SESSION_H
#define AR_SESSION_SESSION_H

#include "buf.h"
#include "codec.h"
#include "hash.h"
#include "json.h"
#include "permission/permission.h"
#include "state.h"
#include "tool.h"

struct ar_model_entry;

/* What happens to a turn when a handler of a hook fails. */
enum ar_hook_on_failure {
	AR_HOOK_FAIL_AUTO, /* it goes on, except where the handler could have forbidden something */
	AR_HOOK_FAIL_OPEN,
	AR_HOOK_FAIL_CLOSED,
};

struct ar_hook_rule {
	struct ar_str name; /* unique; facts call it handlerRef */
	struct ar_str tool; /* pattern of the names of tools, with * and ?; empty: all */
	int point; /* enum ar_hook_started_hook_point */
	int64_t timeout_ms;
	enum ar_hook_on_failure on_failure;
};

/* Budgets of each turn and each session; 0 sets no limit. Money in billionths. */
struct ar_budget_policy {
	int64_t turn[AR_QUOTA_COUNT], session[AR_QUOTA_COUNT];
	int64_t turn_ms;
	int64_t warn_percent; /* of a budget at which a warning is recorded */
	int64_t repeats; /* of the same call with the same answer in a row that end a turn; 0: none do */
	bool is_asking; /* a used-up budget is put to a person; otherwise it ends the turn */
};

/* What the operator decided; constant while a decision is made. */
struct ar_policy {
	struct ar_str runtime_id;
	struct ar_str node; /* this node among those of a cluster; absent: there is no other */
	uint64_t epoch; /* of that node */
	const struct ar_model_entry *models; /* limits/route.h, in order of preference */
	size_t model_count; /* 0: none is configured, turns fail with advice */
	bool may_fall_back; /* another model may answer when the chosen one cannot and the turn does not say */
	int64_t max_attempts; /* model calls per step */
	int64_t backoff_ms; /* doubled per attempt, capped at a minute */
	int64_t max_rounds; /* model answers per turn */
	int64_t max_restarts; /* crash recoveries per turn */
	int64_t queue_max; /* queued turns per thread */
	int64_t context_max; /* messages that a request carries */
	int64_t context_bytes; /* and their bytes */
	int64_t context_tokens; /* size of the model's context window; 0: unknown */
	int64_t compact_at; /* percent of it at which a thread is compacted; 0: never */
	struct ar_str system_prompt;
	const struct ar_inventory *inventory; /* NULL: no tool is configured */
	int64_t tool_ms; /* longest time of one tool call */
	int64_t tool_parallel; /* calls of one turn that may run together */
	int64_t tool_result_bytes; /* of one result, for the model */
	struct ar_str workspace; /* folder of the local tools; absent: none */
	struct ar_str instructions; /* text of the workspace's instruction file; absent: none */
	struct ar_str instructions_file; /* its name; absent: none is wanted */
	struct ar_str instructions_trouble; /* why the model is not given it; absent: it is */
	const struct ar_hook_rule *hooks; /* in the order they are asked */
	size_t hook_count;
	struct ar_budget_policy budget;
	bool queue_by_default; /* busyPolicy when the caller names none */
	bool auto_resume; /* start again by ourselves after a crash */
	enum ar_permission_mode permission_mode; /* 0: default */
	bool may_loosen; /* sessions and turns may allow more than the host does by itself */
	const struct ar_permission_rule *rules;
	size_t rule_count;
	int64_t action_timeout_ms; /* that a question waits for its answer; 0: for ever */
};

enum ar_input_kind {
	AR_IN_COMMAND = 1,
	AR_IN_MODEL_DONE, /* a model call ended, one way or another */
	AR_IN_RETRY_DUE, /* the wait before the next attempt is over */
	AR_IN_RECOVER, /* this session was loaded with open work that no process carries */
	AR_IN_TOOL_DONE, /* a tool call ended, one way or another */
	AR_IN_CALL_DUE, /* a result that a client was to bring did not come in time */
	AR_IN_HOOK_DONE, /* a handler of a hook ended, one way or another */
	AR_IN_TOOL_ASKED, /* a tool call has a question for a person */
	AR_IN_ACTION_DUE, /* the time for an answer is over */
	AR_IN_BUDGET_DUE, /* the time of a turn is over */
	AR_IN_REPAIR, /* what is stored beside the log is written again, from the log */
};

/* Output bytes of a step, in order: which kind, which of several, how many. */
struct ar_segment {
	uint8_t kind; /* enum ar_output_kind */
	uint32_t index;
	uint64_t len;
};

struct ar_tool_request {
	struct ar_str id, name, args;
};

/* What was masked in a text from outside before it came here: how often, and by which rules (JSON array of names). */
struct ar_masked {
	int64_t count;
	struct ar_str rules;
};

/* What a step produced, whether it ended well or not. */
struct ar_step_output {
	struct ar_str step;
	struct ar_masked masked; /* in all of it, and in how it ended */
	struct ar_str text, reasoning;
	const struct ar_segment *segments;
	size_t segment_count;
	const struct ar_tool_request *tools;
	size_t tool_count;
};

/* How the call ended; the same words as port/provider.h, by value. */
struct ar_step_end {
	int outcome; /* enum ar_model_outcome; 0 for a call lost with its process */
	struct ar_str category, message, stop_reason, model, request_id;
	struct ar_str echo; /* what the provider wants back, unread; absent: nothing */
	struct ar_str payload; /* a failure in the provider's own words; absent: none */
	bool retryable, has_usage;
	int http;
	int64_t retry_after_ms, input_tokens, output_tokens, cached_tokens, cache_write_tokens, ttft_ms,
		latency_ms;
};

/* How a tool call ended; the same words as port/tool.h. */
struct ar_tool_end {
	struct ar_str call;
	struct ar_masked masked; /* in all of it */
	int outcome; /* enum ar_tool_outcome */
	struct ar_str text, structured, images; /* images: JSON array of {"mimeType","data"}; absent: none */
	struct ar_str category, message, advice;
	bool retryable;
	int64_t duration_ms;
};

/* What a tool asks while it runs; the same words as port/tool.h. */
struct ar_tool_asked {
	struct ar_str call, question, prompt, schema, url;
};

/* A stored content as whoever had to read it brings it along. */
struct ar_text {
	struct ar_str ref, bytes;
};

/* How a handler ended; the same words as port/hook.h. */
struct ar_hook_end {
	struct ar_str run; /* eventId of its hook.started */
	struct ar_masked masked; /* in all of it */
	int outcome; /* enum ar_hook_outcome */
	struct ar_str output, message;
	int64_t duration_ms;
	const struct ar_text *texts; /* contents that were put into its document */
	size_t text_count;
};

/* What a verification found to be otherwise than the log says; JSON arrays as text. */
struct ar_repair {
	uint64_t from, to; /* facts that were replayed */
	struct ar_str fields; /* of the read models, that are written again */
	struct ar_str unavailable; /* refs of content that is gone */
};

struct ar_input {
	enum ar_input_kind kind;
	ar_usec now;
	const struct ar_policy *policy;
	enum ar_command command;
	const void *args; /* struct ar_cmd_<name>_in */
	struct ar_masked masked; /* in the args */
	struct ar_str account;
	struct ar_str subject; /* RETRY_DUE: the turn; CALL_DUE: the call; ACTION_DUE: the question */
	const struct ar_step_output *outputs; /* MODEL_DONE: one; RECOVER: what was saved of each open step */
	size_t output_count;
	struct ar_step_end end; /* MODEL_DONE */
	const struct ar_tool_end *tool_end; /* TOOL_DONE */
	const struct ar_tool_asked *tool_asked; /* TOOL_ASKED */
	const struct ar_hook_end *hook_end; /* HOOK_DONE */
	const struct ar_repair *repair; /* REPAIR */
};

enum ar_effect_kind {
	AR_EFFECT_MODEL_CALL = 1,
	AR_EFFECT_MODEL_CANCEL,
	AR_EFFECT_TOOL_CALL,
	AR_EFFECT_TOOL_CANCEL,
	AR_EFFECT_HOOK_RUN,
	AR_EFFECT_HOOK_CANCEL,
	AR_EFFECT_WAKE, /* come back with `input` about `subject` at `at` */
	AR_EFFECT_WAKE_CANCEL, /* nothing is to come back about `subject` any more */
	AR_EFFECT_TOOL_ANSWER, /* of a person, to `question` of the running call `subject` */
};

/* How a content appears in a document. */
enum ar_hook_form {
	AR_HOOK_TEXT = 1, /* as a text */
	AR_HOOK_PARTS, /* an input of a turn: the text of its parts */
	AR_HOOK_JSON, /* as it is, when it is JSON; else as a text */
};

/* A piece of the document that a handler is given: literal JSON text, or a content. */
struct ar_hook_part {
	struct ar_str literal;
	struct ar_str ref;
	enum ar_hook_form form;
};

struct ar_effect {
	enum ar_effect_kind kind;
	struct ar_str thread, turn, step, model_request, options;
	struct ar_str route; /* MODEL_CALL: name of the entry in policy.models */
	struct ar_str model; /* what its server calls it */
	bool is_transcript; /* MODEL_CALL: the messages after the first are told as one text, to be summarised */
	struct ar_str question, answer, answer_content; /* TOOL_ANSWER: the decision's word, JSON or absent */
	ar_usec at;
	enum ar_input_kind input;
	struct ar_str
		subject; /* WAKE; TOOL_CALL and TOOL_CANCEL: the call; HOOK_RUN and HOOK_CANCEL: the run */
	struct ar_str tool, args_ref, operation; /* TOOL_CALL */
	const struct ar_context_entry *messages; /* MODEL_CALL: the request, oldest first */
	size_t message_count;
	const struct ar_tool *const *tools; /* MODEL_CALL: what the model may call */
	size_t tool_count;
	struct ar_str handler; /* HOOK_RUN: its name */
	const struct ar_hook_part *parts; /* and the document it is given */
	size_t part_count;
};

struct ar_content {
	struct ar_hash hash;
	struct ar_str bytes;
};

/* What a decision says. Everything lives in the arena that decide() was given. */
struct ar_decision {
	struct ar_arena *arena;
	const struct ar_session *session;
	const struct ar_input *input;
	struct ar_event *events;
	size_t event_count, event_room;
	struct ar_effect *effects;
	size_t effect_count, effect_room;
	struct ar_content *contents;
	size_t content_count, content_room;
	struct ar_str reply; /* JSON result of a command */
	struct ar_counters counters;
	struct ar_buf scratch; /* for JSON texts while deciding */
};

/* A session that does not exist yet: core set, head 0. */
void ar_session_init(struct ar_session *s, struct ar_str core, struct ar_json_parser *json);
void ar_session_fini(struct ar_session *s);

/* Zero events and AR_OK is a legal answer (nothing to do). AR_E_REFUSED carries a catalogue code. */
AR_MUST_USE enum ar_status ar_session_decide(const struct ar_session *s, const struct ar_input *in,
					     struct ar_arena *arena, struct ar_decision *ret,
					     struct ar_error *err);

/* The next fact becomes true. AR_E_CORRUPT: it cannot follow what is known (sequence gap, unknown id, illegal move). */
AR_MUST_USE enum ar_status ar_session_apply(struct ar_session *s, const struct ar_event *e,
					    struct ar_error *err);

/* A tool as the fact tool.catalog.resolved and the answer of get_tool_inventory show it; policy is the word of the decision about it. */
void ar_tool_render(struct ar_jw *w, const struct ar_tool *t, struct ar_str policy);

/* The tools that a turn has, or (with a turn that has but its thread) that one without wishes of its own would have, as an array of such
 * objects: what its next model request offers. */
void ar_session_render_tools(const struct ar_session *s, const struct ar_policy *policy,
			     const struct ar_turn *turn, struct ar_arena *arena, struct ar_jw *w);

/* The whole state as JSON, and back. Decoding gives a state that behaves and prints the same. */
void ar_session_snapshot(const struct ar_session *s, struct ar_buf *out);
AR_MUST_USE enum ar_status ar_session_restore(struct ar_session *s, struct ar_json snapshot,
					      struct ar_error *err);

#endif
