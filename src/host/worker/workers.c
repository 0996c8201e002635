/* See workers.h. */
#include "worker/workers.h"

#include "buf.h"
#include "mem.h"

#include <string.h>

_Static_assert(AR_NODES_MAX <= AR_WORKER_NODES_MAX, "every node has a link");

/* ---- folders ---- */

struct folder_wish {
	struct ar_worker_folder folder;
	struct ar_folder_request *request;
};

static void on_folder(struct ar_worker_folder *f)
{
	struct folder_wish *wish = AR_CONTAINER_OF(f, struct folder_wish, folder);
	struct ar_folder_request *r = wish->request;

	r->folder = f->folder;
	r->status = f->status == AR_OK ? AR_OK : ar_refuse(&r->err, AR_ERR_UNAVAILABLE, "%s", f->err.msg);
	ar_free(wish);
	r->done(r);
}

void ar_host_workers_find_folder(void *workers, struct ar_folder_request *r)
{
	struct ar_host_workers *w = workers;
	struct folder_wish *wish;

	if (ar_str_absent(r->worker)) {
		ar_host_folders_find(w->folders, r);
		return;
	}
	wish = ar_new0(sizeof(*wish));
	wish->request = r;
	wish->folder = (struct ar_worker_folder){ .home = r->home,
						  .key = r->key,
						  .worker = r->worker,
						  .root = r->root,
						  .arena = r->arena,
						  .done = on_folder };
	w->ports->find_folder(w->ports->folder_arg, &wish->folder);
}

/* ---- links ---- */

static void take_link(void *arg, const struct ar_http_worker *who, struct ar_link *link)
{
	ar_worker_set_link(((struct ar_host_workers *)arg)->set, who->id, who->tenant, link);
}

static struct ar_str own_node(void *arg)
{
	const struct ar_host_workers *w = arg;

	return w->own_url ? ar_str_from(w->own_url) : AR_STR_NONE;
}

struct ar_http_workers ar_host_workers_of(struct ar_host_workers *w)
{
	return (struct ar_http_workers){ .take = take_link, .node = own_node, .arg = w };
}

/* ---- nodes ---- */

/* The host of "10.0.0.1:7718" or "[::1]:7718", as it is in an address. */
static struct ar_str host_in(struct ar_str address)
{
	const char *colon = address.len ? memrchr(address.p, ':', address.len) : NULL;

	return colon ? ar_str_sub(address, 0, (size_t)(colon - address.p)) : address;
}

static bool is_url_text(struct ar_str url)
{
	for (size_t i = 0; i < url.len; i++) {
		if (url.p[i] <= ' ' || url.p[i] > '~')
			return false;
	}
	return url.len > 0 && url.len <= AR_WORKER_NODE_URL_MAX;
}

/* Absent: nobody reaches the node, or what comes out cannot be an address. */
static struct ar_str url_of(const struct ar_host_workers *w, struct ar_arena *a, const char *id,
			    const char *address)
{
	struct ar_str rest = ar_str_from(w->node_url), host = host_in(ar_str_from(address));
	AR_AUTO(ar_buf_fini) struct ar_buf url = { 0 };

	while (rest.len > 0) {
		bool is_node = ar_str_starts(rest, AR_STR("{node}"));
		bool is_host = ar_str_starts(rest, AR_STR("{host}"));

		if (is_host && host.len == 0)
			return AR_STR_NONE;
		if (is_node || is_host)
			ar_buf_adds(&url, is_node ? ar_str_from(id) : host);
		else
			ar_buf_addc(&url, rest.p[0]);
		rest = ar_str_sub(rest, is_node || is_host ? 6 : 1, rest.len);
	}
	return is_url_text(ar_buf_str(&url)) ? ar_arena_str(a, ar_buf_str(&url)) : AR_STR_NONE;
}

void ar_host_workers_set_self(struct ar_host_workers *w, const char *id, const char *address)
{
	struct ar_arena a = { 0 };
	struct ar_str url = *w->node_url ? url_of(w, &a, id, address) : AR_STR_NONE;

	ar_free(w->own_url);
	w->own_url = ar_str_absent(url) ? NULL : ar_str_dup(url);
	ar_arena_fini(&a);
}

/* Once for each heartbeat. Those in the table are up, or still have what they give away. */
void ar_host_workers_set_table(struct ar_host_workers *w, const struct ar_member_beat *table)
{
	struct ar_str urls[AR_NODES_MAX];
	struct ar_arena a = { 0 };
	size_t count = 0;

	if (!w->set || !*w->node_url || !table || w->beat == table->nodes[table->self].beat)
		return;
	w->beat = table->nodes[table->self].beat;
	for (size_t i = 0; i < table->node_count; i++) {
		urls[count] = url_of(w, &a, table->nodes[i].id, table->nodes[i].address);
		count += !ar_str_absent(urls[count]);
	}
	ar_worker_set_nodes(w->set, (struct ar_texts){ urls, count });
	ar_arena_fini(&a);
}

/* ---- life ---- */

void ar_host_workers_open(uv_loop_t *loop, const struct ar_config *c, const struct ar_worker_ports *local,
			  struct ar_host_folders *folders, struct ar_host_workers *ret)
{
	const struct ar_worker_set_options o = { .heartbeat_ms = c->workers.heartbeat_ms,
						 .lease_ms = c->workers.lease_ms };

	ret->set = ar_worker_set_new(loop, local, &o);
	ret->ports = ar_worker_set_ports(ret->set);
	ret->folders = folders;
	ret->node_url = c->workers.node_url;
}

void ar_host_workers_close(struct ar_host_workers *w)
{
	if (w->set)
		ar_worker_set_close(w->set);
	w->set = NULL;
	ar_free(w->own_url);
	w->own_url = NULL;
}
