/* What a decision wants done once its facts are durable. Plain data in the arena of the
 * decision, or the session's. */
#ifndef AR_SESSION_EFFECT_H
#define AR_SESSION_EFFECT_H

#include "checkpoint.h"
#include "inputs.h"
#include "limits/route.h"
#include "sandbox.h"

struct ar_context_entry;
struct ar_invocation;
struct ar_process_record;
struct ar_tool;
struct ar_turn;

enum ar_effect_kind {
	AR_EFFECT_MODEL_CALL = 1,
	AR_EFFECT_MODEL_CANCEL,
	AR_EFFECT_TOOL_CALL,
	AR_EFFECT_TOOL_CANCEL,
	AR_EFFECT_HOOK_RUN,
	AR_EFFECT_HOOK_CANCEL,
	AR_EFFECT_WAKE,
	AR_EFFECT_WAKE_CANCEL, /* nothing is to come back about the subject any more */
	AR_EFFECT_TOOL_ANSWER, /* of a person, to a question of a running call */
	AR_EFFECT_PROCESS_GO,
	AR_EFFECT_PROCESS_ATTACH, /* find it again; nobody has it in hand */
	AR_EFFECT_PROCESS_WRITE,
	AR_EFFECT_PROCESS_END,
	AR_EFFECT_PROCESS_FORGET, /* its end is on record: what its host keeps of it may go */
	AR_EFFECT_INSPECT, /* the files of a workspace, for a turn that waits for it */
	AR_EFFECT_CHECKPOINT,
	AR_EFFECT_CHECKPOINT_CANCEL,
	AR_EFFECT_SEND, /* a command to another session of the tenant */
	AR_EFFECT_SERVERS, /* those of a workspace are started, for a turn that waits for it */
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

struct ar_effect_model_call {
	struct ar_str thread, turn, step, model_request; /* for ar_decide_call_model() to fill */
	const char *purpose;
	int64_t attempt;
	struct ar_choice choice; /* the model */
	struct ar_str options; /* JSON */
	struct ar_opt_int max_output; /* tokens, as in options: set while money is limited */
	int64_t reserved; /* money that it may cost at most, in billionths; 0: none is */
	struct ar_str request_ref;
	bool is_transcript; /* the messages after the first are told as one text, to be summarised */
	const struct ar_context_entry *messages; /* the request, oldest first */
	size_t message_count;
	const struct ar_tool *const *tools; /* what the model may call */
	size_t tool_count;
};

struct ar_effect_tool_answer {
	struct ar_str call, question;
	struct ar_str decision, content; /* the decision's word; JSON or absent */
};

struct ar_effect_inspect {
	struct ar_str turn, folder;
};

struct ar_effect_servers {
	struct ar_str turn, digest;
	const struct ar_server *servers; /* port/workspace/servers.h */
	size_t count; /* 0: those that run for the folder are ended */
};

struct ar_effect_hook_run {
	struct ar_str run;
	struct ar_str turn; /* that it is about */
	struct ar_str handler; /* its name */
	const struct ar_hook_part *parts; /* the document it is given */
	size_t part_count;
	ar_usec deadline;
};

/* Come back with `input` about `subject` at `at`. */
struct ar_effect_wake {
	enum ar_input_kind input;
	struct ar_str subject;
	struct ar_str turn; /* SILENCE_DUE: that has to be silent until then */
	ar_usec at;
};

/* The process of a call is on record: it may run. */
struct ar_effect_process_go {
	struct ar_str call, process;
};

struct ar_effect_process_write {
	struct ar_str process;
	uint64_t number;
	struct ar_str bytes;
	bool is_eof;
};

struct ar_effect_process_end {
	struct ar_str process, by, reason;
	struct ar_str signal; /* sent before; may be absent */
	int64_t grace_ms;
};

/* In the folder of the session, or in that of a child agent. */
struct ar_effect_checkpoint {
	enum ar_checkpoint_kind kind; /* not DIFF */
	/* of the checkpoint; FORGET: none; FILL: of the workspace; MERGE: of the merge; of a child, FILL and
	 * CLEAR: its id */
	struct ar_str id;
	struct ar_str child; /* whose folder it is; absent: the session's */
	struct ar_str tree; /* RESTORE: that the files are made as */
	struct ar_texts trees; /* FORGET; MERGE: paths */
	/* SAVE: what differs from this state is listed; absent: nothing. MERGE: as of a run of the port */
	struct ar_str from;
	struct ar_str label; /* MERGE, FILL: as of a run of the port */
	enum ar_merge_side side; /* MERGE */
	bool is_waited_for; /* work begins after it: not begun by a runtime that is about to stop */
	bool measures; /* SAVE: the space that the files take is wanted, too */
	ar_usec deadline;
};

/* Sent again while the other session cannot be reached, and after a restart if there is no fact about the
 * answer: its ids or its key must make a repeat safe. */
struct ar_effect_send {
	struct ar_str subject; /* what the answer is about */
	enum ar_command command;
	struct ar_str body; /* JSON */
	struct ar_str person; /* for whom (port/auth.h); absent: not known */
};

struct ar_effect {
	enum ar_effect_kind kind;
	union { /* by kind */
		struct ar_effect_model_call model_call;
		struct ar_str model_cancel; /* the step */
		struct {
			const struct ar_turn *turn;
			const struct ar_invocation *call;
			const struct ar_process_record *process; /* that it has from before; NULL: none */
		} tool_call;
		struct ar_str tool_cancel; /* the call */
		struct ar_effect_hook_run hook_run;
		struct ar_str hook_cancel; /* the run */
		struct ar_effect_inspect inspect;
		struct ar_effect_servers servers;
		struct ar_effect_wake wake;
		struct ar_str wake_cancel; /* the subject */
		struct ar_effect_tool_answer tool_answer;
		struct ar_effect_process_go process_go;
		const struct ar_process_record *process_attach;
		struct ar_effect_process_write process_write;
		struct ar_effect_process_end process_end;
		struct ar_str process_forget; /* the handle */
		struct ar_effect_checkpoint checkpoint;
		struct ar_str checkpoint_cancel; /* the checkpoint */
		struct ar_effect_send send;
	};
};

#endif
