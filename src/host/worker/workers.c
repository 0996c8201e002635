/* See workers.h. */
#include "worker/workers.h"

#include "mem.h"

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
	wish->folder = (struct ar_worker_folder){
		.home = r->home, .key = r->key, .worker = r->worker, .arena = r->arena, .done = on_folder
	};
	w->ports->find_folder(w->ports->folder_arg, &wish->folder);
}

/* ---- links ---- */

static void take_link(void *arg, const struct ar_http_worker *who, struct ar_link *link)
{
	ar_worker_set_link(((struct ar_host_workers *)arg)->set, who->id, who->tenant, link);
}

struct ar_http_workers ar_host_workers_of(struct ar_host_workers *w)
{
	return (struct ar_http_workers){ .take = take_link, .arg = w };
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
}

void ar_host_workers_close(struct ar_host_workers *w)
{
	if (w->set)
		ar_worker_set_close(w->set);
	w->set = NULL;
}
