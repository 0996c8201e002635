/* A node's part in its cluster, wired: what core/cluster decides about partitions is done by the
 * engine; where peers reach us and how they prove themselves comes from the settings and the
 * membership. Owner: the loop thread. */
#include "json.h"
#include "log.h"
#include "host_priv.h"

#include <stdio.h>
#include <string.h>

static void gained(void *arg, const struct ar_partition_set *set)
{
	ar_engine_recover(((struct ar_host *)arg)->engine, set);
}

static bool is_busy(void *arg, unsigned partition)
{
	return ar_engine_load(((struct ar_host *)arg)->engine, partition).steps > 0;
}

static void release(void *arg, unsigned partition)
{
	ar_engine_release(((struct ar_host *)arg)->engine, partition);
}

static bool is_quiet(void *arg, unsigned partition)
{
	return ar_engine_load(((struct ar_host *)arg)->engine, partition).sessions == 0;
}

static void gone(void *arg, struct ar_str address)
{
	struct ar_host *r = arg;

	ar_log_line(&r->start->log, "info", "a node is gone; its sessions continue on other nodes",
		    address.p);
	ar_http_server_lose_peer(r->http, address);
}

/* What we held is another's now. Nothing of it may be shown or written any more: all is dropped,
 * and the process begins anew. */
void ar_node_fenced(void *arg)
{
	struct ar_host *r = arg;

	if (r->end == AR_RUN_FENCED)
		return;
	ar_log_line(&r->start->log, "warning",
		    "this node's epoch was ended by another; everything it held is dropped", NULL);
	ar_host_stop(r, AR_RUN_FENCED);
}

enum ar_status ar_node_join(struct ar_host *r, struct ar_error *err)
{
	const struct ar_config *c = r->config;
	enum ar_status st = ar_store_postgres_member(r->store,
						     &(struct ar_member_options){
							     .lease_ms = (uint32_t)c->cluster.lease_ms,
							     .wake = ar_host_wake,
							     .wake_arg = r },
						     &r->member, err);

	if (st != AR_OK)
		return st;
	r->placement = (struct ar_placement){ ar_node_find, r };
	return AR_OK;
}

/* The address for other nodes: the one that is set, or where we listen, with the real port. */
static void set_address(struct ar_host *r)
{
	const struct ar_config *c = r->config;
	const char *colon = strrchr(c->cluster.listen, ':');
	char *address = r->member->address;

	if (*c->cluster.advertise)
		snprintf(address, AR_ADDRESS_MAX + 1, "%s", c->cluster.advertise);
	else if (colon)
		snprintf(address, AR_ADDRESS_MAX + 1, "%.*s:%u", (int)(colon - c->cluster.listen),
			 c->cluster.listen, ar_http_server_cluster_port(r->http));
}

void ar_node_serve(struct ar_host *r)
{
	const struct ar_config *c = r->config;

	set_address(r);
	ar_host_workers_set_self(&r->workers, r->member->id, r->member->address);
	r->cluster = ar_cluster_new(&(struct ar_cluster_options){ .member = r->member,
								  .clock = ar_clock_system(),
								  .lease = c->cluster.lease_ms * 1000,
								  .handover = c->cluster.handover_ms * 1000,
								  .gained = gained,
								  .is_busy = is_busy,
								  .release = release,
								  .is_quiet = is_quiet,
								  .gone = gone,
								  .fenced = ar_node_fenced,
								  .arg = r });
}

/* ---- questions ---- */

enum ar_place ar_node_find(void *arg, struct ar_str session_key, struct ar_str *ret_address)
{
	struct ar_host *r = arg;

	return r->cluster ? ar_cluster_find(r->cluster, session_key, ret_address) : AR_PLACE_UNSETTLED;
}

bool ar_node_is_cut_off(void *arg)
{
	const struct ar_host *r = arg;

	return r->is_ready && r->phase == AR_STOP_NOT && r->cluster && !ar_cluster_is_settled(r->cluster);
}

bool ar_node_is_store_out(void *arg)
{
	return ((struct ar_host *)arg)->store_watch.is_out || ar_node_is_cut_off(arg);
}

/* NULL: it is. */
static const char *why_not_ready(struct ar_host *r)
{
	if (r->phase != AR_STOP_NOT)
		return "draining";
	if (ar_node_is_store_out(r))
		return "the store is unavailable; the log of agentd has the cause";
	if (r->cluster && !ar_cluster_is_settled(r->cluster))
		return "joining";
	if (ar_memory_is_short(&r->memory, 0))
		return "memory is short, so new work is refused";
	return NULL;
}

bool ar_node_is_ready(void *arg, struct ar_str *ret_why)
{
	const char *why = why_not_ready(arg);

	*ret_why = ar_str_from(why);
	return !why;
}

void ar_node_drain(void *arg)
{
	struct ar_host *r = arg;

	if (r->cluster)
		ar_cluster_drain(r->cluster);
}

static void describe_node(const struct ar_member_beat *t, size_t i, struct ar_jw *w)
{
	const struct ar_member_node *n = &t->nodes[i];
	int64_t has = 0;

	for (unsigned p = 0; p < AR_PARTITIONS; p++)
		has += t->owner[p] == i;
	ar_jw_open(w);
	ar_jw_mstr(w, "nodeId", ar_str_from(n->id));
	ar_jw_mint(w, "epoch", (int64_t)n->epoch);
	ar_jw_mstr(w, "state", n->state == AR_NODE_UP ? AR_STR("up") : AR_STR("draining"));
	ar_jw_mstr(w, "address", ar_str_from(n->address));
	ar_jw_mint(w, "partitions", has);
	ar_jw_mbool(w, "self", i == t->self);
	ar_jw_close(w);
}

/* {"nodes":[...],"owners":[place of the owner of each partition, -1 for none],"settled":bool} */
void ar_node_describe(void *arg, struct ar_buf *out)
{
	struct ar_host *r = arg;
	const struct ar_member_beat *t = r->cluster ? ar_cluster_table(r->cluster) : NULL;
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_jw_key(&w, "nodes");
	ar_jw_open_array(&w);
	for (size_t i = 0; t && i < t->node_count; i++)
		describe_node(t, i, &w);
	ar_jw_close_array(&w);
	ar_jw_key(&w, "owners");
	ar_jw_open_array(&w);
	for (unsigned p = 0; t && p < AR_PARTITIONS; p++)
		ar_jw_int(&w, t->owner[p] == AR_NOBODY ? -1 : t->owner[p]);
	ar_jw_close_array(&w);
	ar_jw_mbool(&w, "settled", r->cluster && ar_cluster_is_settled(r->cluster));
	ar_jw_close(&w);
}
