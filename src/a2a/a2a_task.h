/* A task as A2A shows it: folded from the facts of our task, in their order, and written as Task and
 * StreamResponse. What is shown was a fact before. Single-owner, no I/O. */
#ifndef AR_A2A_TASK_H
#define AR_A2A_TASK_H

#include "json.h"

#define AR_A2A_ARTIFACTS 64 /* of one task; later ones are in the log */
#define AR_A2A_MESSAGES 64 /* of its history; the oldest of more are left out */
#define AR_A2A_ACTIONS 16 /* open questions at once */
#define AR_A2A_OUTPUT_BYTES (1 << 20) /* of an answer that are shown; more is read at its ref */
#define AR_A2A_FILE_BYTES (32 << 10) /* of a file that is shown by its bytes; a larger one by its address */
#define AR_A2A_FILES_BYTES (256 << 10) /* of all such files of a task; later ones by their addresses */

/* The extension of ours: where a reader of the stream is, so that it can go on after a cut. */
#define AR_A2A_CURSOR_EXTENSION "urn:agentruntime:a2a:cursor:v1"

/* An extension of ours: a message that is sent again with its id is answered with the same task. */
#define AR_A2A_MESSAGE_ID_EXTENSION "urn:agentruntime:a2a:message-id:v1"

enum ar_a2a_state {
	AR_A2A_SUBMITTED,
	AR_A2A_WORKING,
	AR_A2A_INPUT_REQUIRED,
	AR_A2A_AUTH_REQUIRED,
	AR_A2A_COMPLETED,
	AR_A2A_FAILED,
	AR_A2A_CANCELED,
	AR_A2A_REJECTED,
	AR_A2A_STATE_COUNT,
};

struct ar_str ar_a2a_state_name(enum ar_a2a_state s);
bool ar_a2a_state_of(struct ar_str name, enum ar_a2a_state *ret);

static inline bool ar_a2a_is_terminal(enum ar_a2a_state s)
{
	return s >= AR_A2A_COMPLETED;
}

/* It waits for its client. */
static inline bool ar_a2a_is_interrupted(enum ar_a2a_state s)
{
	return s == AR_A2A_INPUT_REQUIRED || s == AR_A2A_AUTH_REQUIRED;
}

struct ar_a2a_artifact {
	struct ar_str id, name;
	struct ar_str type; /* media type; absent: not known */
	struct ar_str content; /* text, base64 of a file, JSON of data; absent: `ref` has it */
	struct ar_arena room; /* of the content: of many versions of a file a stream keeps the newest */
	struct ar_str ref; /* an output of the runtime */
	bool is_file, is_data;
	bool is_link; /* a file that is shown by its address */
	int64_t bytes; /* of a file that is shown by its bytes */
};

struct ar_a2a_entry {
	struct ar_str id;
	struct ar_str json; /* its parts as they came; absent: `text` is the only one */
	struct ar_str text;
	bool is_user;
};

/* A question that is open. */
struct ar_a2a_question {
	struct ar_str action, prompt;
	struct ar_str decisions; /* JSON */
	struct ar_str schema; /* JSON; absent: none */
	bool is_permission, is_credential;
};

/* Zeroed with `arena` to begin with; ar_a2a_task_fini() at the end. */
struct ar_a2a_task {
	struct ar_arena *arena;
	struct ar_str id, thread, turn;
	struct ar_str session, context; /* the context: the session, or as its client calls it */
	struct ar_str channel; /* that it came through; absent: by none */
	enum ar_a2a_state state;
	struct ar_str native; /* our own word for it */
	struct ar_str at; /* when, as A2A writes times */
	struct ar_str note_id, note; /* of status.message; absent: none */
	struct ar_a2a_question questions[AR_A2A_ACTIONS];
	size_t question_count;
	struct ar_a2a_artifact artifacts[AR_A2A_ARTIFACTS];
	size_t artifact_count;
	struct ar_a2a_entry history[AR_A2A_MESSAGES];
	size_t history_count;
	/* Of the newest answer of the model; `answer` absent: it is longer than the fact has it. */
	struct ar_str answer_ref, answer;
	int64_t file_bytes; /* of the files that are shown by their bytes */
	bool has_no_data; /* the client takes text alone */
	struct ar_str base; /* public address of this server, for links */
	uint64_t sequence; /* of the newest fact that was folded */
};

/* What a fact changed; several may be set. */
enum ar_a2a_change {
	AR_A2A_CHANGED_STATUS = 1,
	AR_A2A_CHANGED_ARTIFACT = 2, /* the last of them */
};

/* Frees what is not in the arena. */
void ar_a2a_task_fini(struct ar_a2a_task *t);

/* JSON array: the types of facts that the fold wants. */
extern const struct ar_str ar_a2a_types;

/* Folds one fact; returns changes. */
unsigned ar_a2a_fold(struct ar_a2a_task *t, struct ar_json fact);

/* The artifact whose content has to be read first, AR_A2A_OUTPUT_BYTES of it at most; NULL: none. */
struct ar_a2a_artifact *ar_a2a_unread(struct ar_a2a_task *t);

/* That artifact was read: `output` is the answer of read_output, or nothing if it cannot be read. */
void ar_a2a_take_output(struct ar_a2a_task *t, struct ar_a2a_artifact *f, struct ar_json output);

/* Task. history: -1 all, else the newest so many. cursor absent: the client did not ask for it. */
void ar_a2a_write_task(struct ar_jw *w, const struct ar_a2a_task *t, int64_t history, bool has_artifacts,
		       struct ar_str cursor);
/* {"statusUpdate"} and {"artifactUpdate"} of the last artifact. */
void ar_a2a_write_status_update(struct ar_jw *w, const struct ar_a2a_task *t, struct ar_str cursor);
void ar_a2a_write_artifact_update(struct ar_jw *w, const struct ar_a2a_task *t, struct ar_str cursor);

#endif
