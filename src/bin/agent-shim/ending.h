/* How it ends: asked to, by its time, by itself, or not even begun; and what is then written, in this order: the rest of the output, the missing
 * ranges, violations and limits, leftovers, the sums, the exit, the seal. */
#ifndef AR_SHIM_ENDING_H
#define AR_SHIM_ENDING_H

#include "json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ar_loop;
struct ar_shim;

enum ar_ending_stage {
	AR_ENDING_NONE,
	AR_ENDING_INTERRUPTED,
	AR_ENDING_TERMINATED,
	AR_ENDING_KILLED,
};

struct ar_ending {
	uint64_t barrier_at, timeout_at; /* deadlines, here and below; 0: none */
	enum ar_ending_stage stage;
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

void ar_ending_arm_setup(struct ar_shim *s); /* agent-init must be ready in time */
void ar_ending_arm_barrier(struct ar_shim *s); /* GO must come in time */
void ar_ending_arm_timeout(struct ar_shim *s); /* GO came */
void ar_ending_watch(struct ar_shim *s, struct ar_loop *l);

/* The daemon's END and SIGNAL, JSON as in shim_wire.h. */
void ar_ending_ask(struct ar_shim *s, struct ar_piece json);
void ar_ending_signal(struct ar_shim *s, struct ar_piece json);
void ar_ending_shut_down(struct ar_shim *s); /* the machine goes down */

/* Nothing of the command ran, and why. */
void ar_ending_fail(struct ar_shim *s, const char *step, int error, const char *message);
void ar_ending_fail_as_told(struct ar_shim *s, struct ar_piece json);

void ar_ending_command_ended(struct ar_shim *s); /* agent-init told the command's own end */

/* One round: reaps, looks at the deadlines, goes on. ending.is_over when all is written. */
void ar_ending_step(struct ar_shim *s);

#endif
