/* See rpc.h: the peer as a whole. Owner: the loop thread. */
#include "rpc/rpc.h"
#include "mem.h"
#include "rpc/task.h"
#include "server.h"

void ar_rpc_init(struct ar_rpc *r, const struct ar_rpc_vtable *v, struct ar_http_server *s,
		 const struct ar_source *source, const struct ar_principal *who)
{
	*r = (struct ar_rpc){ .v = v, .server = s, .source = source, .who = who };
	ar_list_init(&r->calls);
	ar_list_init(&r->subscriptions);
	ar_list_init(&r->waiting);
	ar_list_init(&r->served);
}

void ar_rpc_take(struct ar_rpc *r, struct ar_str text)
{
	struct ar_rpc_post *post = ar_new0(sizeof *post);
	struct ar_rpc_message message;

	ar_list_init(&post->held);
	post->rpc = r;
	post->bytes = text.len;
	r->call_bytes += text.len;
	ar_rpc_message_read(r->server->parser, text, &post->arena, &message);
	post->is_batch = message.is_batch;
	post->open = message.count;
	/* The last answer takes the post along, and with it the requests. */
	for (size_t i = 0, count = message.count; i < count; i++)
		ar_rpc_task_run(r, post, &message.requests[i]);
}

void ar_rpc_refuse(struct ar_rpc *r, uint16_t code, const char *why)
{
	struct ar_buf text = { 0 };

	r->server->counters.refused++;
	ar_rpc_write_error(&text, AR_STR("null"), code, why);
	r->v->send(r, ar_buf_str(&text));
	ar_buf_fini(&text);
}

bool ar_rpc_wants_more(const struct ar_rpc *r)
{
	return !r->is_draining && !r->is_stopped && r->call_count < AR_RPC_CALLS &&
	       r->call_bytes < r->server->limits.body_bytes;
}

void ar_rpc_drained(struct ar_rpc *r)
{
	struct ar_list turn, *node;

	ar_list_init(&turn);
	ar_list_splice(&turn, &r->waiting);
	ar_list_splice(&turn, &r->served);
	while ((node = ar_list_pop(&turn)))
		ar_carrier_drained(&AR_CONTAINER_OF(node, struct ar_rpc_task, waiting)->carrier);
}

void ar_rpc_drain(struct ar_rpc *r)
{
	if (r->is_draining)
		return;
	r->is_draining = true;
	AR_LIST_FOR_SAFE (it, &r->calls)
		ar_carrier_drain(&AR_CONTAINER_OF(it, struct ar_rpc_task, node)->carrier);
	AR_LIST_FOR_SAFE (it, &r->subscriptions)
		ar_carrier_drain(&AR_CONTAINER_OF(it, struct ar_rpc_task, node)->carrier);
}

bool ar_rpc_is_idle(const struct ar_rpc *r)
{
	return ar_list_empty(&r->calls) && ar_list_empty(&r->subscriptions);
}

static void drop_all(struct ar_list *tasks, bool is_stuck)
{
	AR_LIST_FOR_SAFE (it, tasks) {
		struct ar_rpc_task *t = AR_CONTAINER_OF(it, struct ar_rpc_task, node);

		t->carrier.is_stuck = is_stuck;
		ar_rpc_task_drop(t);
	}
}

void ar_rpc_stop(struct ar_rpc *r, bool is_stuck)
{
	if (r->is_stopped)
		return;
	r->is_stopped = true;
	drop_all(&r->calls, is_stuck);
	drop_all(&r->subscriptions, is_stuck);
}
