/* What a model request carries and how a conversation is kept small enough: selection, token
 * estimate, context.resolved, compaction. Pure; shared by the decide_*.c files. */
#ifndef AR_SESSION_CONTEXT_H
#define AR_SESSION_CONTEXT_H

#include "decide.h"

/* ---- select.c ---- */

/* What a thread's next request may carry: its messages, and what was said to the turn while it
 * ran. A look at the session as it is now: taken anew after a fact that changes the
 * conversation. */
struct ar_conversation {
	struct ar_decision *d;
	const struct ar_thread *thread;
	const struct ar_turn *turn; /* that asks; NULL: none, or not known */
	const struct ar_vec *steers; /* struct ar_context_entry that join with the request; NULL: none */
	size_t kept; /* messages of the thread that count */
	size_t sent; /* of these, how many its last request carried */
	const struct ar_boundary *boundary; /* where it was shortened; NULL: nowhere */
	int64_t window; /* of the model that is asked, in tokens; 0: it declares none */
};

struct ar_selection {
	const struct ar_context_entry *
		*entries; /* what goes along, oldest first; a summary before all others */
	size_t count;
	size_t skipped; /* older ones that neither go along nor are in the summary */
	size_t first_new; /* index of the first that the thread's last manifest does not name */
	int64_t tokens; /* of the whole conversation, estimated: what is skipped counts too */
	/* Refs of the operator's prompt, of the workspace's instructions and of the list of skills, each may
	 * be absent, and of the instructions of a child agent: for ar_conversation_resolve() to fill. */
	struct ar_str system[4];
};

/* Tokens of a text of so many bytes, estimated: a quarter of them, and what frames a message. */
int64_t ar_context_estimate(int64_t bytes);

/* Bytes that a tool call adds to the message that makes it. */
int64_t ar_context_call_bytes(struct ar_str name, int64_t args);

/* Tokens of one message. */
int64_t ar_context_tokens(const struct ar_context_entry *entry);

/* Most tokens that a request may have: what the model that is asked takes, or one that declares
 * nothing, and what the operator allows. INT64_MAX: no limit is known. */
int64_t ar_context_window(const struct ar_conversation *c);

/* With a turn also what was said to it while it ran; NULL: without. */
struct ar_conversation ar_conversation_of(struct ar_decision *d, const struct ar_thread *t,
					  const struct ar_turn *turn);
size_t ar_conversation_count(const struct ar_conversation *c); /* of messages */

/* Message `i` of them. */
const struct ar_context_entry *ar_conversation_message(const struct ar_conversation *c, size_t i);

/* Bytes of all that the next request may carry. */
int64_t ar_conversation_bytes(const struct ar_conversation *c);

/* Index of the first message that the boundary does not hide. */
size_t ar_conversation_visible(const struct ar_conversation *c);

/* Tokens of the whole conversation by our own estimate only, whatever a provider counted. */
int64_t ar_conversation_own_estimate(const struct ar_conversation *c);

struct ar_selection ar_conversation_select(struct ar_conversation *c);

/* The array of a manifest. */
void ar_conversation_write_messages(struct ar_jw *j, const struct ar_context_entry *const *entries,
				    size_t count);

/* A manifest names what is new and the manifest before it, so a long conversation is not stored
 * again with every call. `options` are JSON. */
struct ar_str ar_conversation_manifest(struct ar_conversation *c, struct ar_str options,
				       const struct ar_selection *s, const struct ar_choice *choice);

/* A manifest without one before it, that names all that is visible: what the next request continues. */
struct ar_str ar_conversation_baseline(struct ar_conversation *c);

/* ---- bound.c ---- */

/* The most tokens of a text of so many bytes in so many parts, with what a provider adds; and those of the
 * next request of the turn. */
int64_t ar_context_most(int64_t bytes, size_t parts);
int64_t ar_conversation_most(const struct ar_conversation *c, const struct ar_turn *turn,
			     const struct ar_offers *offers, const struct ar_choice *choice);

/* ---- system.c ---- */

#define AR_STANDARD_PROMPT "standard/2"

/* The system prompt of requests of the turn, absent: none. NULL: about as it will be in the next turn. Made
 * once per decision and kept there, unless what it is made of changes meanwhile. */
struct ar_str ar_system_prompt(struct ar_decision *d, const struct ar_turn *turn);

/* ---- resolve.c ---- */

/* Says what the request is made of, once per turn and again when it changed. The contents behind
 * the refs are stored then. */
int64_t ar_decide_instruction_bytes(
	const struct ar_decision *d); /* of the workspace's files and the list of skills; 0: there are none */
void ar_conversation_resolve(struct ar_conversation *c, struct ar_turn *turn, struct ar_selection *s);

/* What a context.resolved says without its estimate, in short: two of the same are the same context. */
struct ar_str ar_context_digest(struct ar_arena *a, struct ar_str session_key,
				const struct ar_ev_context_resolved *p);

/* ---- decide_compact.c ---- */

/* Before a turn asks its model. Held: a compaction goes first, or goes on. */
enum ar_hold ar_decide_compact_first(struct ar_conversation *c, struct ar_turn *turn, int64_t attempt);

/* compact_budget.c: before that. Held: the tokens left are too few for the request as it is, and
 * a compaction was begun. */
enum ar_hold ar_decide_compact_for_budget(struct ar_conversation *c, struct ar_turn *turn);

/* The provider found the request too long. Held: a compaction was begun; otherwise the turn has to fail. */
enum ar_hold ar_decide_compact_overflow(struct ar_decision *d, struct ar_turn *turn);

/* The compaction under way got its summary with this attempt, or none. The turn goes on, or ends
 * if it was made for this. */
void ar_decide_compacted(struct ar_decision *d, struct ar_turn *turn, int64_t attempt, struct ar_str summary);
void ar_decide_compaction_failed(struct ar_decision *d, struct ar_turn *turn, int64_t attempt,
				 struct ar_str category, struct ar_str message);

/* The compaction under way, if any, is over without a result: the turn ends, or its process was lost. */
void ar_decide_compaction_dropped(struct ar_decision *d, struct ar_turn *turn, struct ar_str category,
				  struct ar_str message);

#endif
