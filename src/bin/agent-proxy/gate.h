/* The parts of agent-proxy: main.c gives up privilege and runs the loop, gate.c talks to the daemon,
 * listener.c serves the listening socket of one sandbox, connection.c is one connection through it. One
 * thread; names are looked up on libuv's workers. */
#ifndef AR_PROXY_GATE_H
#define AR_PROXY_GATE_H

#include "arena.h"
#include "list.h"
#include "request.h"
#include "secret.h"

#include <uv.h>

#define AR_LISTENER_CONNECTIONS_MAX 256 /* at once; further clients wait in the backlog */
#define AR_LISTENER_RULES_MAX 256
#define AR_LISTENER_SECRETS_MAX 16

struct ar_gate {
	uv_loop_t *loop;
	int fd;
	uv_poll_t poll;
	uv_timer_t look; /* at the resolver's configuration */
	unsigned outdated; /* looks since it was replaced */
	struct ar_list listeners;
};

/* What the daemon said of a listener. */
struct ar_proxy_terms {
	struct ar_arena arena; /* of all below */
	struct ar_egress_rule *rules;
	size_t rule_count;
	struct ar_egress_secret *secrets;
	size_t secret_count;
};

struct ar_proxy_listener {
	struct ar_list node; /* gate's listeners */
	struct ar_gate *gate;
	char name[128];
	int fd;
	uv_poll_t poll;
	struct ar_proxy_terms terms;
	size_t connections;
	bool is_closed;
};

/* ---- gate.c ---- */

void ar_gate_open(struct ar_gate *g, uv_loop_t *loop, int fd);

/* About one request, before anything is dialled. `rule` NULL: none let it through; `reason` says why. */
void ar_gate_judged(struct ar_proxy_listener *l, const struct ar_egress_request *r,
		    const struct ar_egress_rule *rule, const char *reason);
void ar_gate_passed(struct ar_proxy_listener *l, const struct ar_egress_request *r, uint64_t up,
		    uint64_t down);

/* ---- listener.c ---- */

/* Takes the descriptor and the terms. */
void ar_proxy_listener_open(struct ar_gate *g, struct ar_str name, int fd,
			    const struct ar_proxy_terms *terms);
void ar_proxy_listener_close(struct ar_gate *g, struct ar_str name);
void ar_proxy_listener_release(struct ar_proxy_listener *l); /* one connection less */

/* ---- connection.c ---- */

void ar_proxy_connection_begin(struct ar_proxy_listener *l, int fd); /* takes the descriptor */

#endif
