/* See scrape.h. */
#include "ops/scrape.h"
#include "mem.h"
#include "metrics.h"
#include "ops/self.h"
#include "processes.h"
#include "host_priv.h"

static void set(struct ar_metrics *m, enum ar_metric_id metric, uint64_t value)
{
	ar_metric_set(m, metric, AR_STR_NONE, AR_STR_NONE, (int64_t)value);
}

static void set_as(struct ar_metrics *m, enum ar_metric_id metric, const char *label, uint64_t value)
{
	ar_metric_set(m, metric, ar_str_from(label), AR_STR_NONE, (int64_t)value);
}

static void collect_engine(struct ar_metrics *m, const struct ar_engine *e)
{
	struct ar_engine_counts counts = ar_engine_counts(e);
	struct ar_engine_work work = ar_engine_work(e);

	set(m, AR_METRIC_SESSIONS_OPEN, counts.sessions);
	set(m, AR_METRIC_CALLS_OPEN, counts.steps);
	set(m, AR_METRIC_MODEL_CALLS_WAITING, counts.waiting);
	set(m, AR_METRIC_COMMITS_IN_FLIGHT, counts.commits);
	set(m, AR_METRIC_TURNS_RUNNING, work.running);
	set(m, AR_METRIC_TURNS_WAITING, work.waiting);
	set(m, AR_METRIC_TURNS_QUEUED, work.queued);
	set(m, AR_METRIC_ACTIONS_PENDING, work.asking);
}

static void collect_store(struct ar_metrics *m, const struct ar_store *s)
{
	static const char *const names[AR_STORE_OP_COUNT] = {
		[AR_STORE_APPEND] = "append",
		[AR_STORE_CHUNK] = "chunk",
		[AR_STORE_UPKEEP] = "upkeep",
		[AR_STORE_LOAD] = "load",
		[AR_STORE_READ] = "read",
		[AR_STORE_RECEIPT] = "receipt",
		[AR_STORE_BLOBS] = "blobs",
		[AR_STORE_SESSIONS] = "sessions",
		[AR_STORE_TASKS] = "tasks",
		[AR_STORE_ACTIONS] = "actions",
		[AR_STORE_INDEX] = "index",
		[AR_STORE_TOKEN_PUT] = "token_put",
		[AR_STORE_TOKENS] = "tokens",
		[AR_STORE_TENANT] = "tenant",
		[AR_STORE_FEED] = "feed",
		[AR_STORE_AUDIT_PUT] = "audit_put",
		[AR_STORE_AUDIT_LIST] = "audit_list",
		[AR_STORE_AUDIT_VERIFY] = "audit_verify",
		[AR_STORE_ITEMS] = "items",
		[AR_STORE_DUE] = "due",
		[AR_STORE_USAGE] = "usage",
	};
	const struct ar_store_counts *c = &s->counts;

	for (unsigned i = 0; i < AR_STORE_OP_COUNT; i++) {
		struct ar_str name = ar_str_from(names[i]);

		if (!c->done[i])
			continue;
		ar_metric_set(m, AR_METRIC_STORE_OPERATIONS, name, AR_STR("ok"),
			      (int64_t)(c->done[i] - c->failed[i]));
		ar_metric_set(m, AR_METRIC_STORE_OPERATIONS, name, AR_STR("failed"), (int64_t)c->failed[i]);
	}
	set(m, AR_METRIC_STORE_WAITING, c->waiting);
	AR_ASSERT(ar_metric_descs[AR_METRIC_STORE_BATCH].bucket_count + 1 == AR_STORE_BATCH_SIZES);
	ar_metric_replace(m, AR_METRIC_STORE_BATCH, c->batches, (int64_t)c->batched);
}

static void collect_http(struct ar_metrics *m, const struct ar_http_counters *c)
{
	set(m, AR_METRIC_CONNECTIONS_OPEN, c->connections);
	set(m, AR_METRIC_CONNECTIONS_ACCEPTED, c->accepted);
	set_as(m, AR_METRIC_CONNECTIONS_REFUSED, "limit", c->turned_away);
	set_as(m, AR_METRIC_CONNECTIONS_REFUSED, "descriptors", c->no_descriptors);
	set(m, AR_METRIC_CONNECTIONS_TIMED_OUT, c->timeouts);
	set(m, AR_METRIC_TLS_FAILED, c->tls_failed);
	set(m, AR_METRIC_TLS_RELOADS, c->tls_reloads);
	set(m, AR_METRIC_REQUESTS, c->requests);
	set(m, AR_METRIC_REQUESTS_REFUSED, c->refused);
	set(m, AR_METRIC_SENT, c->bytes_sent);
	set(m, AR_METRIC_SUBSCRIBERS_OPEN, c->subscribers);
	set(m, AR_METRIC_SUBSCRIBERS_OPENED, c->streams);
	set_as(m, AR_METRIC_SUBSCRIBERS_DROPPED, "unread", c->streams_cut);
	set(m, AR_METRIC_FRAMES_SENT, c->frames);
	set_as(m, AR_METRIC_FORWARDED, "ok", c->forwarded);
	set_as(m, AR_METRIC_FORWARDED, "failed", c->forward_failed);
	set(m, AR_METRIC_REQUESTS_SETTLING, c->settling);
}

static void collect_prewarmed(struct ar_metrics *m, const struct ar_process_host *h)
{
	struct ar_process_prewarmed s = h ? ar_processes_prewarmed(h) : (struct ar_process_prewarmed){ 0 };

	set(m, AR_METRIC_SANDBOX_PREWARMED, s.waiting);
	set_as(m, AR_METRIC_SANDBOX_PREWARMED_ENDED, "used", s.used);
	set_as(m, AR_METRIC_SANDBOX_PREWARMED_ENDED, "unused", s.unused);
}

static void collect_cluster(struct ar_metrics *m, const struct ar_cluster *c)
{
	const struct ar_member_beat *t = c ? ar_cluster_table(c) : NULL;
	uint64_t up = 0, owned = 0;

	for (size_t i = 0; t && i < t->node_count; i++)
		up += t->nodes[i].state == AR_NODE_UP;
	for (unsigned p = 0; t && p < AR_PARTITIONS; p++)
		owned += t->owner[p] == t->self;
	set_as(m, AR_METRIC_CLUSTER_NODES, "up", up);
	set_as(m, AR_METRIC_CLUSTER_NODES, "draining", t ? t->node_count - up : 0);
	set(m, AR_METRIC_CLUSTER_PARTITIONS, t ? owned : AR_PARTITIONS);
}

static void collect_memory(struct ar_metrics *m, const struct ar_memory *memory, struct ar_store *s)
{
	set(m, AR_METRIC_MEMORY_HEAP, ar_heap_look().used);
	set(m, AR_METRIC_MEMORY_CACHED, ar_store_cached(s));
	set(m, AR_METRIC_MEMORY_LIMIT, memory->mark);
	set(m, AR_METRIC_MEMORY_SHORT, memory->is_short);
}

void ar_scrape_collect(struct ar_host *r)
{
	set_as(r->metrics, AR_METRIC_BUILD, AR_VERSION, 1);
	collect_engine(r->metrics, r->engine);
	collect_store(r->metrics, r->store);
	collect_http(r->metrics, ar_http_server_counters(r->http));
	set(r->metrics, AR_METRIC_SUBSCRIBER_LAG, ar_follow_lag(r->follow));
	set_as(r->metrics, AR_METRIC_SUBSCRIBERS_DROPPED, "behind", ar_follow_cuts(r->follow));
	collect_cluster(r->metrics, r->cluster);
	collect_prewarmed(r->metrics, r->processes.host);
	collect_memory(r->metrics, &r->memory, r->store);
	ar_loop_time_measure(&r->loop_time, r->metrics);
	ar_self_measure(r->metrics);
	ar_host_telemetry_measure(r->telemetry, r->metrics);
	set(r->metrics, AR_METRIC_REQUEST_LOG_DROPPED, r->requests.dropped);
}

void ar_scrape_write(void *arg, struct ar_buf *out)
{
	struct ar_host *r = arg;

	ar_scrape_collect(r);
	ar_metrics_render(r->metrics, out);
}
