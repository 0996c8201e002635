/* What a wire format says about an answer while it reads it: outputs, tool calls, names, counts, its end.
 * Every byte that a peer makes us keep or pass on is charged to the answer's cap here. Pure. */
#ifndef AR_PROVIDER_OUTPUTS_H
#define AR_PROVIDER_OUTPUTS_H

#include "answer.h"

#define AR_OUT_NO_INDEX ((int64_t)-1)

/* A word of theirs and ours; a row of zeros ends a table. */
struct ar_out_word {
	const char *theirs, *ours;
};

AR_BEGIN_DECLS

/* Passes bytes on; nothing happens when they are empty or the answer has been decided. */
void ar_out_put(struct ar_answer *a, enum ar_output_kind kind, uint32_t index, struct ar_str bytes);

/* The same with the text of a member; false when there is none or it is empty. */
bool ar_out_put_member(struct ar_answer *a, enum ar_output_kind kind, struct ar_json object,
		       const char *name);

/* The newest tool call with this index (or, without one, this key); newest, because servers reuse an index.
 * NULL when there is none. */
struct ar_answer_tool *ar_out_tool_find(struct ar_answer *a, int64_t wire_index, struct ar_str key);

/* NULL when there are too many; the answer is decided then. */
struct ar_answer_tool *ar_out_tool_new(struct ar_answer *a, int64_t wire_index);

/* Keeps the id of a call that has none yet. */
void ar_out_tool_id(struct ar_answer *a, struct ar_answer_tool *t, struct ar_str id);

/* Notifies the runtime, once. A server that gives no id still needs one for the tool's result to name. */
void ar_out_announce(struct ar_answer *a, struct ar_answer_tool *t, struct ar_str name);

/* Arguments as text, or as the object that some servers send. */
void ar_out_args(struct ar_answer *a, struct ar_answer_tool *t, struct ar_json args);

/* Keeps the first text that is not empty, cut to the length of a name. */
void ar_out_copy_first(struct ar_answer *a, struct ar_json v, struct ar_str *keep);

/* Takes a count of tokens: whatever a server counts, a negative number would corrupt sums. */
void ar_out_count(struct ar_json v, int64_t *ret);

/* The model has said why it stopped; `words` (may be NULL) translates, an unknown word is passed on. */
void ar_out_stop(struct ar_answer *a, struct ar_str reason, const struct ar_out_word *words);

/* Adds one element to what goes back to the provider; see ar_model_result.echo. */
void ar_out_echo(struct ar_answer *a, struct ar_str json);

/* The provider reported an error. */
void ar_out_fail(struct ar_answer *a, struct ar_json error);

/* The answer is not the protocol, or over its cap. */
void ar_out_malformed(struct ar_answer *a, const char *what, struct ar_str bytes);
void ar_out_oversize(struct ar_answer *a);

AR_END_DECLS

#endif
