/* See peers.h. What follows from a change is done in the loop's next turn (on_later), so that no peer is
 * closed from inside a call of its own. */
#include "worker/peers.h"

#include "link_client.h"
#include "list.h"
#include "mem.h"
#include "url.h"

#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define RETRY_FIRST_MS 250
#define RETRY_MAX_MS 30000

/* Tries an address again and again until there is a link. */
struct dialer {
	uv_timer_t timer;
	struct ar_link_client *client; /* connecting, or NULL */
	uint64_t pause_ms; /* the last pause; 0: none since the last link */
};

struct peer {
	struct ar_list node;
	struct ar_worker_peers *all;
	char *url;
	struct ar_worker_serve *serve;
	struct dialer dialer;
	char *named[AR_WORKER_NODES_MAX]; /* by this node, while there is a link to it */
	size_t named_count;
	bool is_joined, is_drained;
	bool is_closed; /* its timer is being closed */
};

/* owner: loop thread */
struct ar_worker_peers {
	uv_loop_t *loop;
	struct ar_worker_peers_options o;
	char *token; /* NULL: not asked to join yet */
	struct ar_list peers; /* struct peer */
	size_t count;
	struct dialer first; /* of the address that we were given */
	uv_timer_t later;
	size_t handles;
	bool has_joined; /* a node has greeted, once at least */
	bool has_parted; /* since that was asked last */
	bool is_draining, is_over, is_closing;
};

/* ---- life ---- */

static void settle(struct ar_worker_peers *p)
{
	if (!p->is_closing || p->handles > 0)
		return;
	if (p->token)
		explicit_bzero(p->token, strlen(p->token));
	ar_free(p->token);
	ar_free(p);
}

static void on_closed(uv_handle_t *handle)
{
	struct ar_worker_peers *p = handle->data;

	p->handles--;
	settle(p);
}

static void on_peer_closed(uv_handle_t *handle)
{
	struct peer *one = handle->data;
	struct ar_worker_peers *p = one->all;

	ar_free(one->url);
	ar_free(one);
	p->handles--;
	settle(p);
}

static void open_timer(struct ar_worker_peers *p, uv_timer_t *timer, void *data)
{
	AR_ASSERT(uv_timer_init(p->loop, timer) == 0);
	timer->data = data;
	p->handles++;
}

static void stop_dialing(struct dialer *d)
{
	uv_timer_stop(&d->timer);
	if (d->client)
		ar_link_client_cancel(d->client);
	d->client = NULL;
}

static void forget_named(struct peer *one)
{
	while (one->named_count > 0)
		ar_free(one->named[--one->named_count]);
}

static void close_peer(struct peer *one)
{
	ar_list_del(&one->node);
	one->all->count--;
	one->is_closed = true;
	stop_dialing(&one->dialer);
	forget_named(one);
	ar_worker_serve_close(one->serve);
	uv_close((uv_handle_t *)&one->dialer.timer, on_peer_closed);
}

/* ---- what is there ---- */

static void on_later(uv_timer_t *timer);

static void look_later(struct ar_worker_peers *p)
{
	if (!p->is_closing)
		uv_timer_start(&p->later, on_later, 0, 0);
}

static struct peer *find_peer(struct ar_worker_peers *p, struct ar_str url)
{
	AR_LIST_FOR (it, &p->peers) {
		struct peer *one = AR_CONTAINER_OF(it, struct peer, node);

		if (ar_str_is(url, one->url))
			return one;
	}
	return NULL;
}

static bool has_link(struct ar_worker_peers *p)
{
	AR_LIST_FOR (it, &p->peers) {
		if (AR_CONTAINER_OF(it, struct peer, node)->is_joined)
			return true;
	}
	return false;
}

static bool is_named(struct ar_worker_peers *p, const char *url)
{
	AR_LIST_FOR (it, &p->peers) {
		const struct peer *one = AR_CONTAINER_OF(it, struct peer, node);

		for (size_t i = 0; i < one->named_count; i++) {
			if (strcmp(one->named[i], url) == 0)
				return true;
		}
	}
	return false;
}

/* The token goes to addresses of the same kind only: what was joined over TLS leads nowhere without it. */
static bool is_usable(const struct ar_worker_peers *p, const char *url)
{
	struct ar_url first, other;

	return ar_url_parse(p->o.url, &first) && ar_url_parse(url, &other) && !other.has_query &&
	       !other.has_user && ar_url_is_safe(url) && first.is_https == other.is_https;
}

/* ---- links ---- */

static void end(struct ar_worker_peers *p, const char *why)
{
	if (p->is_over || p->is_closing)
		return;
	p->is_over = true;
	p->o.on_denied(p->o.arg, why);
}

static void start_dialing(struct ar_worker_peers *p, struct peer *one);

static void on_peer_time(uv_timer_t *timer)
{
	struct peer *one = timer->data;

	start_dialing(one->all, one);
}

static void on_first_time(uv_timer_t *timer)
{
	start_dialing(timer->data, NULL);
}

/* Many workers of one daemon do not come back at the same moment. */
static void dial_later(struct ar_worker_peers *p, struct peer *one)
{
	struct dialer *d = one ? &one->dialer : &p->first;
	uint64_t dice = 0;

	if (p->is_over || p->is_closing)
		return;
	d->pause_ms = d->pause_ms ? d->pause_ms * 2 : RETRY_FIRST_MS;
	if (d->pause_ms > RETRY_MAX_MS)
		d->pause_ms = RETRY_MAX_MS;
	AR_ASSERT(getrandom(&dice, sizeof dice, 0) == sizeof dice);
	uv_timer_start(&d->timer, one ? on_peer_time : on_first_time,
		       d->pause_ms / 2 + dice % (d->pause_ms / 2 + 1), 0);
}

static void warn(const struct ar_worker_peers *p, const char *message, const char *url, const char *why)
{
	char text[900];

	snprintf(text, sizeof text, "%s: %s", url, why);
	ar_log_line(p->o.log, "warning", message, text);
}

/* Before the first greeting a wrong address or authority is a mistake of who started us; after it, one of the
 * daemon's operator, who will repair it. One node that does not know our token, while another does, is not
 * the end of this worker. */
static void after_failure(struct ar_worker_peers *p, struct peer *one, enum ar_link_failure failure,
			  const char *why)
{
	const char *url = one ? one->url : p->o.url;
	bool is_final =
		failure == AR_LINK_DENIED ? !has_link(p) : failure != AR_LINK_UNREACHABLE && !p->has_joined;
	char text[900];

	if (!is_final) {
		warn(p, "the daemon cannot be joined; trying again", url, why);
		dial_later(p, one);
		return;
	}
	snprintf(text, sizeof text, "%s cannot be joined: %s", url, why);
	end(p, text);
}

static void on_peer_failed(void *arg, enum ar_link_failure failure, const char *why)
{
	struct peer *one = arg;

	one->dialer.client = NULL;
	after_failure(one->all, one, failure, why);
}

static void on_first_failed(void *arg, enum ar_link_failure failure, const char *why)
{
	struct ar_worker_peers *p = arg;

	p->first.client = NULL;
	after_failure(p, NULL, failure, why);
}

static void take_link(struct peer *one, struct ar_link *link)
{
	stop_dialing(&one->dialer);
	one->is_joined = false;
	ar_worker_serve_link(one->serve, link);
}

static void refuse_link(struct ar_link *link, const char *why)
{
	link->v->close(link, ar_str_from(why));
}

static struct peer *add_peer(struct ar_worker_peers *p, struct ar_str url);

/* A link that the first address gave is that of the node that answers, whichever it is. */
static void route_link(struct ar_worker_peers *p, struct ar_link *link, struct ar_str node)
{
	struct ar_arena a = { 0 };
	struct ar_str url = ar_str_from(p->o.url);
	struct peer *one;

	if (!ar_str_absent(node) && is_usable(p, ar_arena_str(&a, node).p))
		url = node;
	one = find_peer(p, url);
	if (!one)
		one = add_peer(p, url);
	if (one)
		take_link(one, link);
	else
		refuse_link(link, "too many nodes");
	ar_arena_fini(&a);
	look_later(p);
}

static void on_first_open(void *arg, struct ar_link *link, struct ar_str node)
{
	struct ar_worker_peers *p = arg;

	p->first.client = NULL;
	route_link(p, link, node);
}

/* An address of one node that leads to another one would take that node's link away from its own peer. */
static void on_peer_open(void *arg, struct ar_link *link, struct ar_str node)
{
	struct peer *one = arg;

	one->dialer.client = NULL;
	if (strcmp(one->url, one->all->o.url) == 0) {
		route_link(one->all, link, node);
	} else if (ar_str_absent(node) || ar_str_is(node, one->url)) {
		take_link(one, link);
	} else {
		refuse_link(link, "this is another node");
		warn(one->all, "the address of a node leads to another one; check workers.node_url", one->url,
		     "another node answers");
		dial_later(one->all, one);
	}
}

/* NULL: the first address. */
static void start_dialing(struct ar_worker_peers *p, struct peer *one)
{
	struct dialer *d = one ? &one->dialer : &p->first;
	struct ar_error err = { 0 };
	const struct ar_link_client_options o = { .url = one ? one->url : p->o.url,
						  .ca_file = p->o.ca_file,
						  .token = ar_str_from(p->token),
						  .on_open = one ? on_peer_open : on_first_open,
						  .on_failed = one ? on_peer_failed : on_first_failed,
						  .arg = one ? (void *)one : (void *)p };

	if (d->client || p->is_over || p->is_closing)
		return;
	if (ar_link_client_start(p->loop, &o, &d->client, &err) == AR_OK)
		return;
	d->client = NULL;
	if (one)
		dial_later(p, one);
	else
		end(p, err.msg);
}

/* ---- from the links ---- */

static void on_joined(void *arg)
{
	struct peer *one = arg;
	struct ar_worker_peers *p = one->all;

	one->dialer.pause_ms = p->first.pause_ms = 0;
	one->is_joined = true;
	p->has_joined = true;
	ar_log_line(p->o.log, "info", "joined", one->url);
	look_later(p);
	p->o.on_joined(p->o.arg);
}

static void on_parted(void *arg, struct ar_str why)
{
	struct peer *one = arg;
	struct ar_worker_peers *p = one->all;
	struct ar_arena a = { 0 };

	one->is_joined = false;
	p->has_parted = true;
	forget_named(one);
	warn(p, "the link is lost; joining again", one->url, ar_arena_str(&a, why).p);
	dial_later(p, one);
	look_later(p);
	ar_arena_fini(&a);
}

static void on_nodes(void *arg, const struct ar_str *urls, size_t count)
{
	struct peer *one = arg;

	forget_named(one);
	for (size_t i = 0; i < count; i++) {
		char *url = ar_str_dup(urls[i]);

		if (is_usable(one->all, url)) {
			one->named[one->named_count++] = url;
			continue;
		}
		warn(one->all, "a node is not joined", url, "it must be https, or http on this machine");
		ar_free(url);
	}
	look_later(one->all);
}

static void on_drained(void *arg)
{
	struct peer *one = arg;

	one->is_drained = true;
	look_later(one->all);
}

/* ---- which nodes ---- */

/* NULL: there are too many. */
static struct peer *add_peer(struct ar_worker_peers *p, struct ar_str url)
{
	struct peer *one;

	if (p->count >= AR_WORKER_NODES_MAX)
		return NULL;
	one = ar_new0(sizeof(*one));
	one->all = p;
	one->url = ar_str_dup(url);
	one->serve = ar_worker_serve_new(p->loop, p->o.ports,
					 &(struct ar_worker_serve_options){ .shared = p->o.shared,
									    .dir = AR_STR(""),
									    .folders = p->o.folders,
									    .offered = p->o.offered,
									    .version = p->o.version,
									    .labels = p->o.labels,
									    .on_joined = on_joined,
									    .on_parted = on_parted,
									    .on_nodes = on_nodes,
									    .on_drained = on_drained,
									    .arg = one },
					 NULL);
	open_timer(p, &one->dialer.timer, one);
	ar_list_push(&p->peers, &one->node);
	p->count++;
	if (p->is_draining)
		ar_worker_serve_drain(one->serve);
	return one;
}

static void add_named(struct ar_worker_peers *p, const struct peer *by)
{
	for (size_t i = 0; i < by->named_count; i++) {
		struct peer *one;

		if (find_peer(p, ar_str_from(by->named[i])))
			continue;
		one = add_peer(p, ar_str_from(by->named[i]));
		if (one)
			start_dialing(p, one);
	}
}

/* A list is the word of a node that has a link: without one nothing is known to be gone. */
static void leave_gone(struct ar_worker_peers *p)
{
	bool has_list = false;

	AR_LIST_FOR (it, &p->peers)
		has_list |= AR_CONTAINER_OF(it, struct peer, node)->named_count > 0;
	if (!has_list)
		return;
	AR_LIST_FOR_SAFE (it, &p->peers) {
		struct peer *one = AR_CONTAINER_OF(it, struct peer, node);

		if (one->is_joined || is_named(p, one->url))
			continue;
		ar_log_line(p->o.log, "info", "a node is gone", one->url);
		close_peer(one);
	}
}

static void look_at_drain(struct ar_worker_peers *p)
{
	AR_LIST_FOR (it, &p->peers) {
		if (!AR_CONTAINER_OF(it, struct peer, node)->is_drained)
			return;
	}
	if (p->is_draining)
		p->o.on_drained(p->o.arg);
}

/* The first address may lead to nodes that are new. */
static void look_at_first(struct ar_worker_peers *p)
{
	if (has_link(p) || !p->token)
		stop_dialing(&p->first);
	else if (!p->first.client && !uv_is_active((const uv_handle_t *)&p->first.timer) &&
		 !find_peer(p, ar_str_from(p->o.url)))
		dial_later(p, NULL);
}

static void on_later(uv_timer_t *timer)
{
	struct ar_worker_peers *p = timer->data;

	if (p->is_closing || p->is_over)
		return;
	AR_LIST_FOR (it, &p->peers)
		add_named(p, AR_CONTAINER_OF(it, struct peer, node));
	leave_gone(p);
	look_at_first(p);
	look_at_drain(p);
}

/* ---- for the owner ---- */

struct ar_worker_peers *ar_worker_peers_new(uv_loop_t *loop, const struct ar_worker_peers_options *o)
{
	struct ar_worker_peers *p = ar_new0(sizeof(*p));

	p->loop = loop;
	p->o = *o;
	ar_list_init(&p->peers);
	open_timer(p, &p->first.timer, p);
	open_timer(p, &p->later, p);
	return p;
}

void ar_worker_peers_join(struct ar_worker_peers *p, struct ar_str token)
{
	p->token = ar_str_dup(token);
	start_dialing(p, NULL);
}

void ar_worker_peers_drain(struct ar_worker_peers *p)
{
	p->is_draining = true;
	AR_LIST_FOR (it, &p->peers)
		ar_worker_serve_drain(AR_CONTAINER_OF(it, struct peer, node)->serve);
	look_later(p);
}

bool ar_worker_peers_were_settled(struct ar_worker_peers *p)
{
	bool is_settled = !p->has_parted && has_link(p);

	AR_LIST_FOR (it, &p->peers)
		is_settled &= AR_CONTAINER_OF(it, struct peer, node)->is_joined;
	p->has_parted = false;
	return is_settled;
}

void ar_worker_peers_close(struct ar_worker_peers *p)
{
	p->is_closing = true;
	stop_dialing(&p->first);
	AR_LIST_FOR_SAFE (it, &p->peers)
		close_peer(AR_CONTAINER_OF(it, struct peer, node));
	uv_close((uv_handle_t *)&p->first.timer, on_closed);
	uv_close((uv_handle_t *)&p->later, on_closed);
}
