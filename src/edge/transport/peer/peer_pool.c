/* The idle connections to each peer. The one used last is used first, so that a quiet time lets the others
 * run out. Owner: the loop thread. */
#include "mem.h"
#include "server.h"

#define IDLE_PER_PEER 32

static struct ar_peer *peer_at(struct ar_peers *peers, struct ar_str address)
{
	struct ar_peer *p = ar_map_get(&peers->by_address, address);

	if (p)
		return p;
	p = ar_new0(sizeof *p);
	p->address = ar_str_dup(address);
	ar_list_init(&p->idle);
	ar_map_put(&peers->by_address, ar_str_from(p->address), p);
	return p;
}

void ar_peer_pool_release(struct ar_peers *peers, struct ar_peer *p)
{
	if (--p->link_count)
		return;
	ar_map_del(&peers->by_address, ar_str_from(p->address));
	ar_free(p->address);
	ar_free(p);
}

void ar_peer_pool_forget(struct ar_peer_link *l)
{
	if (ar_list_empty(&l->idle))
		return;
	ar_list_del(&l->idle);
	l->peer->idle_count--;
}

void ar_peer_pool_put(struct ar_peer_link *l)
{
	struct ar_http_server *s = l->server;

	if (l->peer->idle_count >= IDLE_PER_PEER || s->is_draining || !ar_byte_link_is_current(l->link)) {
		ar_peer_link_close(l);
		return;
	}
	ar_list_push(&l->peer->idle, &l->idle);
	l->peer->idle_count++;
	ar_deadline_set(&s->deadlines, &l->deadline, AR_DEADLINE_PEER_IDLE, uv_now(s->loop));
}

/* A connection that the peer has closed meanwhile does not take a byte; then the next may. */
static bool send_over_idle(struct ar_peer *p, struct ar_peer_ask *ask)
{
	while (!ar_list_empty(&p->idle)) {
		struct ar_peer_link *l = AR_CONTAINER_OF(p->idle.prev, struct ar_peer_link, idle);

		ar_peer_pool_forget(l);
		if (!ar_byte_link_is_current(l->link))
			ar_peer_link_close(l);
		else if (ar_peer_link_send(l, ask))
			return true;
	}
	return false;
}

bool ar_peer_ask_start(struct ar_http_server *s, struct ar_peer_ask *ask)
{
	struct ar_peer *p = peer_at(&s->peers, ask->address);
	struct ar_peer_link *l;

	ask->was_pooled = !ask->is_stream && !ask->is_fresh && send_over_idle(p, ask);
	if (ask->was_pooled)
		return true;
	l = ar_peer_link_new(s, p);
	l->ask = ask;
	ask->link = l;
	if (ar_peer_link_connect(l))
		return true;
	ar_peer_ask_stop(ask);
	return false;
}

void ar_peers_init(struct ar_peers *peers, const char *key)
{
	ar_list_init(&peers->links);
	peers->key = key ? ar_str_dup(ar_str_from(key)) : NULL;
}

void ar_peers_close(struct ar_peers *peers)
{
	AR_LIST_FOR_SAFE (it, &peers->links)
		ar_peer_link_close(AR_CONTAINER_OF(it, struct ar_peer_link, node));
}

/* A link stays in the list until the loop has closed it, so what the callbacks begin anew does no harm
 * here. */
void ar_http_server_lose_peer(struct ar_http_server *s, struct ar_str address)
{
	AR_LIST_FOR_SAFE (it, &s->peers.links) {
		struct ar_peer_link *l = AR_CONTAINER_OF(it, struct ar_peer_link, node);

		if (!l->is_closing && ar_str_eq(address, ar_str_from(l->peer->address)))
			ar_peer_link_lose(l, "it is gone");
	}
}

void ar_peers_fini(struct ar_peers *peers)
{
	ar_map_fini(&peers->by_address);
	ar_free((char *)peers->key);
}
