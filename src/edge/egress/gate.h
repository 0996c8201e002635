/* The proxy that sandboxes reach the world through, as the daemon has it. Loop thread only. */
#ifndef AR_EGRESS_GATE_H
#define AR_EGRESS_GATE_H

#include "status.h"
#include "str.h"

#include <uv.h>

struct ar_egress_gate;

/* See egress/secret.h. */
struct ar_egress_hidden {
	struct ar_str placeholder, value;
	const struct ar_str *hosts; /* as rules */
	size_t host_count;
};

struct ar_egress_options {
	const char *program; /* agent-proxy */
	const struct ar_str *rules; /* as egress/rule.h reads them; copied */
	size_t rule_count;
	const struct ar_egress_hidden *secrets; /* copied */
	size_t secret_count;
	/* A judgement ({"name","verdict",...}) or the end of a connection ({"name","up","down",...}),
	 * as JSON; `name` is what serve() was given. */
	void (*on_report)(void *arg, struct ar_str name, struct ar_str report);
	void *arg;
};

/* AR_E_INVALID: a rule, also one of a secret, cannot be read; the error names it. The proxy is
 * started with the first socket. */
AR_MUST_USE enum ar_status ar_egress_gate_open(uv_loop_t *loop, const struct ar_egress_options *o,
					       struct ar_egress_gate **ret, struct ar_error *err);

/* Takes the descriptor; false: the proxy cannot be started. */
AR_MUST_USE bool ar_egress_gate_serve(struct ar_egress_gate *g, struct ar_str name, int listener);
void ar_egress_gate_forget(struct ar_egress_gate *g, struct ar_str name);

/* The proxy ends; the loop has to turn until `closed` is called. */
void ar_egress_gate_close(struct ar_egress_gate *g, void (*closed)(void *arg), void *arg);

#endif
