/* The sender port: takes a command of one session to another session of its tenant, on this node or on the
 * one that owns it, and brings the answer.
 *
 * Contract: loop thread only. The caller owns the run and what it points to until on_done, which comes
 * exactly once, possibly before start() returns; after the runtime began to stop it may not come. A command
 * may arrive although its answer is lost: it has to be one that can be repeated. */
#ifndef AR_PORT_SENDER_H
#define AR_PORT_SENDER_H

#include "str.h"

#include <stdint.h>

struct ar_send_run {
	int command; /* enum ar_command */
	struct ar_str body; /* its input, JSON */
	struct ar_str tenant;
	struct ar_str person; /* for whom (port/auth.h); absent: not known */
	/* code: error of the catalogue, 0: none; reply: JSON text, valid until it returns */
	void (*on_done)(struct ar_send_run *r, uint16_t code, struct ar_str reply);
};

struct ar_sender;

struct ar_sender_vtable {
	void (*start)(struct ar_sender *s, struct ar_send_run *r);
};

struct ar_sender {
	const struct ar_sender_vtable *v;
};

#endif
