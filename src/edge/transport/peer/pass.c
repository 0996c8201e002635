/* Passing a command of a session on to the node that owns another session (core/control/send/send.c): the
 * answer comes back to control. Owner: the loop thread. */
#include "control.h"
#include "describe.h"
#include "mem.h"
#include "peer/pass.h"
#include "server.h"

struct ar_pass {
	struct ar_peer_ask ask;
	struct ar_list node; /* in server->passes */
	struct ar_http_server *server;
	struct ar_passed_call *call;
};

static void finish(struct ar_pass *p, uint16_t code, struct ar_str reply)
{
	ar_list_del(&p->node);
	p->call->done(p->call, code, reply);
	ar_free(p);
}

static uint16_t code_in(struct ar_http_server *s, struct ar_str body)
{
	struct ar_str name = AR_STR_NONE;
	struct ar_json v;
	uint16_t code = 0;

	if (ar_json_parse(s->parser, body, &v, NULL) == AR_OK &&
	    ar_json_str(ar_json_get(ar_json_get(v, "error"), "code"), &name))
		code = (uint16_t)ar_error_find(name);
	return code ? code : AR_ERR_INTERNAL;
}

static void on_answered(struct ar_peer_ask *ask, struct ar_h1_answer *answer)
{
	struct ar_pass *p = AR_CONTAINER_OF(ask, struct ar_pass, ask);
	struct ar_str body = ar_buf_str(&answer->body);

	finish(p, answer->status < 300 ? 0 : code_in(p->server, body), body);
}

static void on_lost(struct ar_peer_ask *ask, const char *why AR_UNUSED)
{
	finish(AR_CONTAINER_OF(ask, struct ar_pass, ask), AR_ERR_OUTCOME_UNKNOWN, AR_STR("{}"));
}

static void on_ended(struct ar_peer_ask *ask)
{
	on_lost(ask, "it answered with a stream");
}

static void on_opened(struct ar_peer_ask *ask AR_UNUSED, uint64_t as_of AR_UNUSED)
{
}

static void on_bytes(struct ar_peer_ask *ask AR_UNUSED, struct ar_str bytes AR_UNUSED)
{
}

static const struct ar_peer_ask_vtable callbacks = { on_answered, on_opened, on_bytes, on_ended, on_lost };

bool ar_http_server_pass(void *server, struct ar_passed_call *call)
{
	struct ar_pass *p = ar_new0(sizeof(*p));

	p->server = server;
	p->call = call;
	p->ask = (struct ar_peer_ask){ .v = &callbacks,
				       .address = call->address,
				       .command = call->command,
				       .body = call->body,
				       .who = call->who };
	ar_list_push(&p->server->passes, &p->node);
	if (ar_peer_ask_start(p->server, &p->ask))
		return true;
	ar_list_del(&p->node);
	ar_free(p);
	return false;
}

void ar_passes_close(struct ar_http_server *s)
{
	AR_LIST_FOR_SAFE (it, &s->passes) {
		struct ar_pass *p = AR_CONTAINER_OF(it, struct ar_pass, node);

		ar_peer_ask_stop(&p->ask);
		ar_list_del(&p->node);
		ar_free(p);
	}
}
