/* The parts of agent-proxy: main.c gives up privilege and runs the loop, gate.c talks to the daemon, door.c serves the listening socket of one sandbox, passage.c is one
 * connection through it. One thread; names are looked up on libuv's workers. */
#ifndef AR_PROXY_GATE_H
#define AR_PROXY_GATE_H

#include "arena.h"
#include "list.h"
#include "request.h"
#include "secret.h"

#include <uv.h>

#define AR_DOOR_PASSAGES_MAX 256 /* at once; further clients wait in the backlog */
#define AR_DOOR_RULES_MAX 256
#define AR_DOOR_SECRETS_MAX 16

struct ar_gate {
	uv_loop_t *loop;
	int fd;
	uv_poll_t poll;
	uv_timer_t look; /* at the resolver's configuration */
	unsigned outdated; /* looks since it was replaced */
	struct ar_list doors;
};

/* What the daemon said of a door. */
struct ar_door_terms {
	struct ar_arena arena; /* of all below */
	struct ar_egress_rule *rules;
	size_t rule_count;
	struct ar_egress_secret *secrets;
	size_t secret_count;
};

struct ar_door {
	struct ar_list node; /* gate's doors */
	struct ar_gate *gate;
	char name[128];
	int fd;
	uv_poll_t poll;
	struct ar_door_terms terms;
	size_t passages;
	bool is_closed;
};

/* ---- gate.c ---- */

void ar_gate_open(struct ar_gate *g, uv_loop_t *loop, int fd);

/* About one request, before anything is dialled. `rule` NULL: none let it through; `reason` says why. */
void ar_gate_judged(struct ar_door *d, const struct ar_egress_request *r, const struct ar_egress_rule *rule,
		    const char *reason);
void ar_gate_passed(struct ar_door *d, const struct ar_egress_request *r, uint64_t up, uint64_t down);

/* ---- door.c ---- */

/* Takes the descriptor and the terms. */
void ar_door_open(struct ar_gate *g, struct ar_str name, int fd, const struct ar_door_terms *terms);
void ar_door_close(struct ar_gate *g, struct ar_str name);
void ar_door_left(struct ar_door *d); /* one passage less */

/* ---- passage.c ---- */

void ar_passage_begin(struct ar_door *d, int fd); /* takes the descriptor */

#endif
