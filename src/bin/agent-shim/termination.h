/* How it ends: asked to, by its time, by itself, or not even begun; and what is then written, in this order:
 * the rest of the output, the missing ranges, violations and limits, leftovers, the sums, the exit, the
 * seal. */
#ifndef AR_SHIM_TERMINATION_H
#define AR_SHIM_TERMINATION_H

#include "json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ar_loop;
struct ar_shim;

enum ar_termination_stage {
	AR_TERMINATION_NONE,
	AR_TERMINATION_INTERRUPTED,
	AR_TERMINATION_TERMINATED,
	AR_TERMINATION_KILLED,
};

struct ar_termination {
	uint64_t barrier_at, timeout_at; /* deadlines, here and below; 0: none */
	enum ar_termination_stage stage;
	char by[24], reason[1024]; /* of the stage; the reason is JSON text between quotes */
	uint64_t grace;
	uint64_t next_at; /* the next stage */
	bool has_failed; /* nothing of it ran */
	char failure[2048]; /* payload of SPAWN_FAILED */
	const char *exit_by; /* who ended the command; NULL: not ended */
	uint64_t settle_at; /* leftovers are killed */
	uint64_t kill_at; /* again */
	uint64_t give_up_at; /* what does not die is left alone */
	bool is_counted;
	uint64_t leftovers;
	bool is_gone; /* no child is left */
	uint64_t drain_until;
	uint64_t full_since;
	size_t step; /* of the last records */
	bool is_over;
};

void ar_termination_arm_setup(struct ar_shim *s); /* agent-init must be ready in time */
void ar_termination_arm_barrier(struct ar_shim *s); /* GO must come in time */
void ar_termination_arm_timeout(struct ar_shim *s); /* GO came */
void ar_termination_watch(struct ar_shim *s, struct ar_loop *l);

/* The daemon's END and SIGNAL, JSON as in shim_wire.h. */
void ar_termination_request(struct ar_shim *s, struct ar_piece json);
void ar_termination_signal(struct ar_shim *s, struct ar_piece json);
void ar_termination_shut_down(struct ar_shim *s); /* the machine goes down */

/* Nothing of the command ran, and why. */
void ar_termination_fail(struct ar_shim *s, const char *step, int error, const char *message);
void ar_termination_fail_json(struct ar_shim *s, struct ar_piece json);

void ar_termination_command_ended(struct ar_shim *s); /* agent-init reported the command's own end */

/* One round: reaps, looks at the deadlines, goes on. termination.is_over when all is written. */
void ar_termination_step(struct ar_shim *s);

#endif
