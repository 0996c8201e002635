/* `agentctl` alone on a terminal: work here. find.c looks for a server of models on this machine;
 * first.c asks about it where nothing else names a model, then begins a chat. One thread. */
#ifndef AR_CTL_FIRST_H
#define AR_CTL_FIRST_H

#include "api.h"

#define AR_FIRST_MODELS 9 /* that are offered: one digit each */

struct ar_first_server {
	const char *name; /* of the program that usually listens there */
	unsigned port;
	struct ar_str models[AR_FIRST_MODELS]; /* kept for the invocation */
	size_t count;
};

/* The first server on a usual port of this machine that lists models. Ports of other ordinary users are
 * passed over: what is typed and the files that are read would go to them. False: there is none. */
bool ar_first_find(struct ar_ctl *c, struct ar_first_server *ret);

/* Whether another ordinary user listens on the port of this machine. */
bool ar_first_is_foreign(unsigned port);

#endif
