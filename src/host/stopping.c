/* How a runtime ends. Asked to (SIGTERM): it hands its partitions to the other nodes while it goes on
 * serving, then finishes what is under way, leaves the cluster, and stops; each phase
 * has an end of its own. Where no other node can take over, calls under way get the time of
 * shutdown.grace_ms to end, so that an answer that is paid for is not asked for again. Fenced:
 * everything is dropped at once, for nothing here is ours any more. A second request ends it at once. */
#include "log.h"
#include "host_priv.h"

#define STEP_MS 10
#define CLOSING_MS 5000
#define GIVING_UP_MS 5000 /* one try to connect, and the answers */
#define LEAVING_MS 2000
#define HANDOVER_SLACK_MS 3000 /* heartbeats and commits around the handover time itself */

static ar_usec now(void)
{
	return ar_clock_system()->mono(ar_clock_system());
}

static void enter(struct ar_host *r, enum ar_stop_phase phase, int64_t ms)
{
	r->phase = phase;
	r->phase_until = now() + ms * 1000;
}

static void end_run(struct ar_host *r)
{
	r->is_over = true;
	uv_stop(r->loop);
}

static void begin_closing(struct ar_host *r)
{
	struct ar_error err;

	ar_refuse(&err, AR_ERR_OVERLOADED, "the runtime is stopping; connect again with the last event id");
	ar_follow_end_all(r->follow, &err);
	ar_http_server_drain(r->http);
	enter(r, AR_STOP_CLOSING, CLOSING_MS);
}

/* A client that waits for a write which the database does not answer gets an unknown outcome
 * before its connection is closed. */
static void begin_giving_up(struct ar_host *r)
{
	ar_store_give_up(r->store);
	enter(r, AR_STOP_GIVING_UP, GIVING_UP_MS);
}

/* What nobody took is left as it stands. */
static void begin_leaving(struct ar_host *r)
{
	for (unsigned p = 0; p < AR_PARTITIONS; p++)
		ar_engine_release(r->engine, p);
	enter(r, AR_STOP_LEAVING, LEAVING_MS);
}

static void begin_end(struct ar_host *r)
{
	if (r->cluster)
		begin_leaving(r);
	else
		end_run(r);
}

/* Once that is done too the node leaves the cluster, so that the others need not wait
 * for our lease to run out. */
static void step_leaving(struct ar_host *r)
{
	if (ar_engine_counts(r->engine).sessions == 0)
		ar_cluster_leave(r->cluster);
	if (ar_cluster_has_left(r->cluster) || now() >= r->phase_until)
		end_run(r);
}

/* What is not begun and what does not end in time is left for the next start. */
static void begin_finishing(struct ar_host *r)
{
	ar_control_drain(r->control);
	ar_engine_drain(r->engine);
	enter(r, AR_STOP_FINISHING, r->config->shutdown.grace_ms);
}

/* Nothing was under way at the last step either: what was committed meanwhile has gone
 * out to those who watch. */
static bool is_finished(struct ar_host *r)
{
	struct ar_engine_counts counts = ar_engine_counts(r->engine);
	bool was_quiet = r->is_quiet;

	r->is_quiet = counts.calls == 0 && counts.commits == 0;
	return was_quiet && r->is_quiet;
}

static bool is_closed(const struct ar_host *r)
{
	return ar_engine_counts(r->engine).commits == 0 && ar_http_server_counters(r->http)->connections == 0;
}

static void on_step(uv_timer_t *timer)
{
	struct ar_host *r = timer->data;
	bool is_late = now() >= r->phase_until;

	switch (r->phase) {
	case AR_STOP_NOT:
		return;
	case AR_STOP_HANDING_OVER:
		if (is_late || ar_cluster_is_drained(r->cluster))
			begin_closing(r);
		return;
	case AR_STOP_FINISHING:
		if (is_late || is_finished(r))
			begin_closing(r);
		return;
	case AR_STOP_CLOSING:
		if (is_late && ar_engine_counts(r->engine).commits > 0)
			begin_giving_up(r);
		else if (is_late || is_closed(r))
			begin_end(r);
		return;
	case AR_STOP_GIVING_UP:
		if (is_late || is_closed(r))
			begin_end(r);
		return;
	case AR_STOP_LEAVING:
		step_leaving(r);
		return;
	}
}

static void stop(struct ar_host *r, enum ar_run_end end, bool is_patient)
{
	/* Who was asked to stop does not come back, whatever ends it. */
	r->end = r->phase == AR_STOP_NOT ? end : AR_RUN_STOPPED;
	ar_engine_expect_stop(r->engine, end == AR_RUN_STOPPED);
	if (r->phase != AR_STOP_NOT || end != AR_RUN_STOPPED) {
		end_run(r);
		return;
	}
	ar_log_line(&r->start->log, "info", "draining", NULL);
	if (r->start->stopping)
		r->start->stopping(r->start->arg);
	uv_timer_start(&r->stop_timer, on_step, 0, STEP_MS);
	if (r->cluster) {
		ar_cluster_drain(r->cluster);
		enter(r, AR_STOP_HANDING_OVER, r->config->cluster.handover_ms + HANDOVER_SLACK_MS);
	} else if (is_patient && r->config->shutdown.grace_ms > 0) {
		begin_finishing(r);
	} else {
		begin_closing(r);
	}
}

void ar_host_stop(struct ar_host *r, enum ar_run_end end)
{
	stop(r, end, false);
}

void ar_host_finish(struct ar_host *r, const char *actor)
{
	if (r->is_closing) {
		r->end = AR_RUN_STOPPED; /* a node that was about to come back does not */
		return;
	}
	if (r->phase == AR_STOP_NOT)
		ar_control_record(r->control, actor, "stop_runtime");
	stop(r, AR_RUN_STOPPED, true);
}
