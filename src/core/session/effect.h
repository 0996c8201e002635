/* What a decision wants done once its facts are durable. Plain data in the arena of the decision, or the session's. */
#ifndef AR_SESSION_EFFECT_H
#define AR_SESSION_EFFECT_H

#include "inputs.h"
#include "sandbox.h"

struct ar_context_entry;
struct ar_process_record;
struct ar_tool;

enum ar_effect_kind {
	AR_EFFECT_MODEL_CALL = 1,
	AR_EFFECT_MODEL_CANCEL,
	AR_EFFECT_TOOL_CALL,
	AR_EFFECT_TOOL_CANCEL,
	AR_EFFECT_HOOK_RUN,
	AR_EFFECT_HOOK_CANCEL,
	AR_EFFECT_WAKE, /* come back with `input` about `subject` at `at`; SILENCE_DUE: when `turn` is silent until then */
	AR_EFFECT_WAKE_CANCEL, /* nothing is to come back about `subject` any more */
	AR_EFFECT_TOOL_ANSWER, /* of a person, to `question` of the running call `subject` */
	AR_EFFECT_PROCESS_GO, /* the process of call `subject` is on record as `process`: it may run */
	AR_EFFECT_PROCESS_ATTACH, /* find it again; nobody has it in hand */
	AR_EFFECT_PROCESS_WRITE,
	AR_EFFECT_PROCESS_END,
	AR_EFFECT_PROCESS_FORGET, /* its end is on record: what its host keeps of it may go */
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
	bool can_see; /* MODEL_CALL: it takes images */
	bool is_transcript; /* MODEL_CALL: the messages after the first are told as one text, to be summarised */
	struct ar_str question, answer, answer_content; /* TOOL_ANSWER: the decision's word, JSON or absent */
	ar_usec at;
	enum ar_input_kind input;
	struct ar_str
		subject; /* WAKE; TOOL_CALL and TOOL_CANCEL: the call; HOOK_RUN and HOOK_CANCEL: the run */
	struct ar_str tool, args_ref, operation; /* TOOL_CALL */
	enum ar_sandbox_profile profile; /* TOOL_CALL: the boundary that was settled */
	struct ar_str process; /* PROCESS_*; TOOL_CALL: the one it has from before; absent: none */
	struct ar_str ending; /* TOOL_CALL: how that one ended (process/record.h); absent: it runs */
	struct ar_str handle; /* PROCESS_ATTACH, PROCESS_FORGET */
	const struct ar_process_record *record; /* PROCESS_ATTACH */
	struct ar_str by, reason, signal; /* PROCESS_END; signal: sent before, may be absent */
	int64_t grace_ms;
	uint64_t number; /* PROCESS_WRITE */
	struct ar_str bytes;
	bool is_eof;
	const struct ar_context_entry *messages; /* MODEL_CALL: the request, oldest first */
	size_t message_count;
	const struct ar_tool *const *tools; /* MODEL_CALL: what the model may call */
	size_t tool_count;
	struct ar_str handler; /* HOOK_RUN: its name */
	const struct ar_hook_part *parts; /* and the document it is given */
	size_t part_count;
};

#endif
