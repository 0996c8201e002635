/* Telling another node something for the home session of a tenant that it owns (core/control/audit.c): a
 * request whose answer nobody waits for. What gets lost on the way goes back to control, which tries again
 * later. Owner: the loop thread. */
#include "control.h"
#include "mem.h"
#include "peer/tell.h"
#include "server.h"

struct ar_tell {
	struct ar_peer_ask ask;
	struct ar_list node; /* in server->tells */
	struct ar_http_server *server;
	char *address;
	struct ar_buf body;
};

static void tell_free(struct ar_tell *t)
{
	ar_list_del(&t->node);
	ar_buf_fini(&t->body);
	ar_free(t->address);
	ar_free(t);
}

static void on_lost(struct ar_peer_ask *ask, const char *why AR_UNUSED)
{
	struct ar_tell *t = AR_CONTAINER_OF(ask, struct ar_tell, ask);

	if (!t->server->is_closing)
		ar_control_audit_told(t->server->control, ar_buf_str(&t->body), true);
	tell_free(t);
}

static void on_answered(struct ar_peer_ask *ask, struct ar_h1_answer *answer)
{
	if (answer->status >= 300)
		on_lost(ask, "it was refused");
	else
		tell_free(AR_CONTAINER_OF(ask, struct ar_tell, ask));
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

bool ar_http_server_tell(void *server, struct ar_str address, struct ar_str note)
{
	struct ar_tell *t = ar_new0(sizeof(*t));

	t->server = server;
	t->address = ar_str_dup(address);
	ar_buf_adds(&t->body, note);
	ar_list_push(&t->server->tells, &t->node);
	t->ask = (struct ar_peer_ask){ .v = &callbacks,
				       .address = ar_str_from(t->address),
				       .command = "audit",
				       .body = ar_buf_str(&t->body) };
	if (ar_peer_ask_start(t->server, &t->ask))
		return true;
	tell_free(t);
	return false;
}

void ar_tells_close(struct ar_http_server *s)
{
	AR_LIST_FOR_SAFE (it, &s->tells) {
		struct ar_tell *t = AR_CONTAINER_OF(it, struct ar_tell, node);

		ar_peer_ask_stop(&t->ask);
		tell_free(t);
	}
}
