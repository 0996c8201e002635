/* Processes in the session: found, told about, ended. Decisions are in decide_process.c and
 * command_process.c, their fold in apply_process.c; running them is the engine's (process_run.c)
 * and the port's (port/process.h). Pure. */
#ifndef AR_SESSION_PROCESS_RECORD_H
#define AR_SESSION_PROCESS_RECORD_H

#include "decide.h"

/* ---- state.c: reading ---- */
struct ar_process_record *ar_session_process(const struct ar_session *s, struct ar_str id);
struct ar_process_record *ar_session_process_of(const struct ar_session *s,
						struct ar_str call); /* the newest of a call; NULL: none */
bool ar_process_is_running(const struct ar_process_record *p);
struct ar_str ar_process_status(const struct ar_process_record *p);

/* The beginning of what a host says; `otherwise` when it says nothing. */
struct ar_str ar_process_text(struct ar_str text, size_t max, struct ar_str otherwise);

/* ---- decide_process.c ---- */
struct ar_ids ar_ids_process(struct ar_decision *d, const struct ar_process_record *p);

/* Everything that runs is found again, and ended if that was wanted before. */
void ar_decide_attach(struct ar_decision *d);

/* command_process.c: that it is to end is a fact, once; then it is ended. */
void ar_decide_terminate(struct ar_decision *d, const struct ar_process_record *p,
			 const struct ar_effect_process_end *how);

/* Its call ends, or is to end: so does the process, when it runs. */
void ar_decide_end_process_of(struct ar_decision *d, const struct ar_invocation *call, struct ar_str reason);

/* The turn has ended: what it leaves running ends with it, if the host says so. */
void ar_decide_end_processes(struct ar_decision *d, const struct ar_turn *turn);

/* ---- boundary_words.c ---- */
struct ar_texts ar_process_roots(struct ar_decision *d,
				 struct ar_str json); /* folders, as a host tells them */
struct ar_boundary_words {
	int profile; /* enum ar_sandbox_profile */
	struct ar_str justification; /* may be absent */
	const struct ar_process_ready *ready;
};
struct ar_str ar_decide_boundary(struct ar_decision *d, const struct ar_ids *ids,
				 const struct ar_boundary_words *b); /* the fact's id */

struct ar_violation_words {
	struct ar_str detail; /* JSON object, as in port/process.h */
	bool is_limit; /* of AR_PROC_LIMIT */
	uint64_t seq; /* of its report; 0: it has none */
	struct ar_str sandbox; /* eventId of the boundary */
};
void ar_decide_violation(struct ar_decision *d, const struct ar_ids *ids, const struct ar_violation_words *v);

/* ---- policy_words.c ---- */

/* What is said of a command before it runs. */
struct ar_process_words {
	struct ar_shape_subcommand_list subcommands;
	const struct ar_shape_path_validation *paths;
	bool is_destructive;
};
struct ar_process_words ar_process_policy_words(struct ar_decision *d, const struct ar_process_launched *p);

/* ---- ending.c: how it ended, between the port and the member `end` of its last fact ---- */

/* A call whose process ended just before the runtime did gets its end from there. */
struct ar_shape_process_ending ar_process_ending(struct ar_decision *d, const struct ar_process_over *o);

/* The reverse. NULL, and an outcome that is not known, is an ending that nobody knows. */
struct ar_process_end ar_process_end_told(const struct ar_shape_process_ending *shape);

#endif
