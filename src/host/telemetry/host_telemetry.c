/* See host_telemetry.h. */
#include "telemetry/host_telemetry.h"
#include "host_priv.h"
#include "mem.h"
#include "metrics.h"
#include "ops/scrape.h"
#include "redact.h"
#include "otlp_sender.h"
#include "telemetry.h"
#include "telemetry_names.h"
#include "url.h"

#include <string.h>

#define PAIRS_MAX 64 /* of the settings: headers, and attributes of the resource */
#define OFF "off"

enum signal { TRACES, METRICS, LOGS, SIGNALS };

static const char *const signal_names[SIGNALS] = { "traces", "metrics", "logs" };

struct ar_host_telemetry {
	struct ar_host *host;
	struct ar_otlp_sender *senders[SIGNALS]; /* NULL: that signal is not exported */
	struct ar_otlp_source source;
	struct ar_attr resource[PAIRS_MAX + 8];
	struct ar_str headers[PAIRS_MAX];
	size_t resource_count, header_count;
	bool too_many; /* pairs */
	bool with_content;
	uv_timer_t metrics_timer;
	ar_usec started; /* wall time */
	struct ar_arena arena; /* as long as it lives */
	struct ar_arena scratch; /* for one commit */
};

/* ---- settings ---- */

static const char *own_endpoint(const struct ar_config *c, enum signal s)
{
	const char *const own[SIGNALS] = { c->telemetry.traces_endpoint, c->telemetry.metrics_endpoint,
					   c->telemetry.logs_endpoint };

	return own[s];
}

/* Absent: the signal is not exported. */
static struct ar_str endpoint(const struct ar_config *c, enum signal s, struct ar_arena *a)
{
	const char *own = own_endpoint(c, s);
	struct ar_str base = ar_str_from(c->telemetry.endpoint);

	if (c->telemetry.disabled || strcmp(own, OFF) == 0)
		return AR_STR_NONE;
	if (*own)
		return ar_arena_str(a, ar_str_from(own));
	while (base.len > 0 && base.p[base.len - 1] == '/')
		base.len--;
	if (base.len == 0)
		return AR_STR_NONE;
	return ar_arena_fmt(a, "%.*s/v1/%s", AR_STR_ARG(base), signal_names[s]);
}

static void add_header(void *arg, struct ar_str name, struct ar_str value)
{
	struct ar_host_telemetry *t = arg;

	if (t->header_count == PAIRS_MAX)
		t->too_many = true;
	else
		t->headers[t->header_count++] =
			ar_arena_fmt(&t->arena, "%.*s: %.*s", AR_STR_ARG(name), AR_STR_ARG(value));
}

static void add_text(struct ar_host_telemetry *t, const char *name, struct ar_str text)
{
	if (t->resource_count == AR_ARRAY_LEN(t->resource) || !ar_str_is_utf8(text))
		t->too_many = true;
	else
		t->resource[t->resource_count++] =
			(struct ar_attr){ .name = name, .kind = AR_ATTR_IS_TEXT, .text = text };
}

static void add_resource(void *arg, struct ar_str name, struct ar_str value)
{
	struct ar_host_telemetry *t = arg;

	for (size_t i = 0; i < t->resource_count; i++) {
		if (ar_str_is(name, t->resource[i].name))
			return; /* ours, or given twice */
	}
	add_text(t, name.p, value);
}

/* Reads the pairs into `t`, whose arena keeps them. */
static enum ar_status read_pairs(struct ar_host_telemetry *t, const struct ar_config *c, struct ar_error *err)
{
	const char *service = ar_attribute_names[AR_ATTR_SERVICE_NAME];
	struct ar_str resource = ar_str_from(c->telemetry.resource);

	if (strcmp(c->telemetry.service_name, "agentd") != 0) /* else the resource may name it */
		add_text(t, service, ar_str_from(c->telemetry.service_name));
	add_text(t, ar_attribute_names[AR_ATTR_SERVICE_VERSION], AR_STR(AR_VERSION));
	add_text(t, ar_attribute_names[AR_ATTR_SDK_NAME], AR_STR("agentruntime"));
	add_text(t, ar_attribute_names[AR_ATTR_SDK_LANGUAGE], AR_STR("c"));
	add_text(t, ar_attribute_names[AR_ATTR_SDK_VERSION], AR_STR(AR_VERSION));
	if (!ar_otlp_pairs(resource, &t->arena, add_resource, t) || t->too_many)
		return ar_fail(err, AR_E_INVALID,
			       "telemetry.resource is not name=value pairs of UTF-8 text, at most %d",
			       PAIRS_MAX);
	add_resource(t, ar_str_from(service), ar_str_from(c->telemetry.service_name));
	if (!ar_otlp_pairs(ar_str_from(c->telemetry.headers), &t->arena, add_header, t) || t->too_many)
		return ar_fail(err, AR_E_INVALID,
			       "telemetry.headers is not name=value pairs, percent-encoded, at most %d",
			       PAIRS_MAX);
	return AR_OK;
}

static enum ar_status check_endpoint(struct ar_str url, enum signal s, struct ar_error *err)
{
	struct ar_url parts;

	if (ar_str_absent(url) ||
	    ((ar_str_starts(url, AR_STR("http://")) || ar_str_starts(url, AR_STR("https://"))) &&
	     ar_url_parse(url.p, &parts)))
		return AR_OK;
	return ar_fail(err, AR_E_INVALID, "telemetry: the address for %s is not an http or https URL",
		       signal_names[s]);
}

enum ar_status ar_host_telemetry_check(const struct ar_config *c, struct ar_error *err)
{
	struct ar_host_telemetry t = { 0 };
	enum ar_status st = AR_OK;

	for (enum signal s = TRACES; s < SIGNALS && st == AR_OK; s++)
		st = check_endpoint(endpoint(c, s, &t.arena), s, err);
	if (st == AR_OK)
		st = read_pairs(&t, c, err);
	ar_arena_fini(&t.arena);
	return st;
}

/* ---- what is sent ---- */

static void send_span(struct ar_host_telemetry *t, const struct ar_session *s, const struct ar_event *e)
{
	struct ar_span span = { 0 };
	struct ar_buf *out;

	if (!ar_telemetry_ends_span(e, &span.of))
		return;
	out = ar_otlp_sender_room(t->senders[TRACES]);
	if (!out) /* what is dropped is not derived either */
		return;
	ar_telemetry_span(s, e, t->with_content, &t->scratch, &span);
	ar_otlp_span(out, &span);
	ar_otlp_sender_added(t->senders[TRACES], 1);
}

static void send_record(struct ar_host_telemetry *t, struct ar_record *r)
{
	struct ar_buf *out = ar_otlp_sender_room(t->senders[LOGS]);
	struct ar_clock *clock = ar_clock_system();

	if (!out)
		return;
	r->has_trace &= t->senders[TRACES] != NULL; /* a trace that nobody exports is none */
	ar_otlp_record(out, r, clock->wall(clock));
	ar_otlp_sender_added(t->senders[LOGS], 1);
}

void ar_host_telemetry_committed(struct ar_host_telemetry *t, const struct ar_session *s,
				 const struct ar_event *facts, size_t count)
{
	struct ar_record record;

	for (size_t i = 0; i < count; i++) {
		if (t->senders[TRACES])
			send_span(t, s, &facts[i]);
		if (t->senders[LOGS] && ar_telemetry_record(s, &facts[i], &t->scratch, &record))
			send_record(t, &record);
	}
	ar_arena_reset(&t->scratch);
}

static void on_metrics(uv_timer_t *timer)
{
	struct ar_host_telemetry *t = timer->data;
	struct ar_otlp_sender *sender = t->senders[METRICS];
	struct ar_clock *clock = ar_clock_system();
	struct ar_buf *out = ar_otlp_sender_room(sender);

	if (!out)
		return;
	ar_scrape_collect(t->host);
	ar_otlp_sender_added(sender, ar_otlp_metrics(out, t->host->metrics, t->started, clock->wall(clock)));
	ar_otlp_sender_flush(sender);
}

/* ---- requests ---- */

struct request_attrs {
	struct ar_attr at[16 + AR_SCOPE_COUNT];
	size_t count;
	const struct ar_redactor *redactor;
	struct ar_arena *arena;
};

/* Words of the caller's own choice: masked, and only if they are text. */
static void add_word(struct request_attrs *l, const char *name, struct ar_str text)
{
	struct ar_redact_counts counts = { 0 };

	if (ar_str_empty(text) || !ar_str_is_utf8(text))
		return;
	if (l->redactor)
		text = ar_redact(l->redactor, text, l->arena, &counts);
	l->at[l->count++] = (struct ar_attr){ .name = name, .kind = AR_ATTR_IS_TEXT, .text = text };
}

static void add_number(struct request_attrs *l, enum ar_attribute name, int64_t number)
{
	l->at[l->count++] = (struct ar_attr){ .name = ar_attribute_names[name],
					      .kind = AR_ATTR_IS_INT,
					      .number = number };
}

/* A turn that only the caller named is no join: a refused request may name anything. */
static bool is_joined(const struct ar_http_answered *a, const struct ar_request_ids *ids)
{
	return a->status < 400 && !ar_str_empty(ids->session) && !ar_str_empty(ids->at[AR_SCOPE_TURN]);
}

static void add_ids(struct request_attrs *l, const struct ar_request_ids *ids)
{
	add_word(l, ar_attribute_names[AR_ATTR_SESSION], ids->session);
	add_word(l, ar_attribute_names[AR_ATTR_QUEUED_TURN], ids->queued_turn);
	for (int i = 0; i < AR_SCOPE_COUNT; i++) {
		if (ar_scope_attributes[i])
			add_word(l, ar_scope_attributes[i], ids->at[i]);
	}
}

void ar_host_telemetry_request(struct ar_host_telemetry *t, const struct ar_http_answered *a,
			       const struct ar_request_ids *ids)
{
	struct ar_clock *clock = ar_clock_system();
	struct ar_record r = { .severity = a->status >= 500 ? AR_SEVERITY_WARN : AR_SEVERITY_INFO,
			       .event = "request",
			       .body = AR_STR("request") };
	struct request_attrs l = { 0 };

	if (!t || !t->senders[LOGS])
		return;
	l.redactor = t->host->redactor;
	l.arena = &t->scratch;
	r.time = clock->wall(clock);
	add_word(&l, ar_attribute_names[AR_ATTR_REQUEST_ID], a->request_id);
	add_word(&l, ar_attribute_names[AR_ATTR_HTTP_METHOD], a->method);
	add_word(&l, ar_attribute_names[AR_ATTR_URL_PATH], a->path);
	add_word(&l, ar_attribute_names[AR_ATTR_COMMAND], a->command);
	add_word(&l, ar_attribute_names[AR_ATTR_ERROR_TYPE], a->code);
	add_word(&l, ar_attribute_names[AR_ATTR_TENANT], a->tenant);
	add_ids(&l, ids);
	add_number(&l, AR_ATTR_HTTP_STATUS, a->status);
	add_number(&l, AR_ATTR_DURATION, (int64_t)(a->micros / 1000));
	r.has_trace = is_joined(a, ids);
	if (r.has_trace) {
		ar_trace_of(ids->session, ids->at[AR_SCOPE_TURN], r.of.trace);
		ar_span_of(ids->session, ids->at[AR_SCOPE_TURN], r.of.span);
		r.of.flags = 1;
	} else {
		add_word(&l, ar_attribute_names[AR_ATTR_CORRELATION], AR_STR("missing"));
	}
	r.attrs = (struct ar_attrs){ l.at, l.count };
	send_record(t, &r);
	ar_arena_reset(&t->scratch);
}

/* ---- metrics about it ---- */

static void measure(struct ar_metrics *m, struct ar_str signal, const struct ar_otlp_counts *c)
{
	static const char *const drops[AR_OTLP_DROPS] = { "queue", "refused", "expired", "stopped",
							  "rejected" };
	static const char *const requests[AR_OTLP_REQUESTS] = { "ok", "retried", "failed" };

	ar_metric_set(m, AR_METRIC_TELEMETRY_EXPORTED, signal, AR_STR_NONE, (int64_t)c->exported);
	ar_metric_set(m, AR_METRIC_TELEMETRY_QUEUED, signal, AR_STR_NONE, (int64_t)c->queued);
	for (size_t i = 0; i < AR_OTLP_DROPS; i++)
		ar_metric_set(m, AR_METRIC_TELEMETRY_DROPPED, signal, ar_str_from(drops[i]),
			      (int64_t)c->dropped[i]);
	for (size_t i = 0; i < AR_OTLP_REQUESTS; i++)
		ar_metric_set(m, AR_METRIC_TELEMETRY_REQUESTS, signal, ar_str_from(requests[i]),
			      (int64_t)c->requests[i]);
}

void ar_host_telemetry_measure(const struct ar_host_telemetry *t, struct ar_metrics *m)
{
	for (enum signal s = TRACES; t && s < SIGNALS; s++) {
		struct ar_otlp_counts counts;

		if (!t->senders[s])
			continue;
		counts = ar_otlp_sender_counts(t->senders[s]);
		measure(m, ar_str_from(signal_names[s]), &counts);
	}
}

/* ---- life ---- */

static void on_trouble(void *arg, const char *why)
{
	const struct ar_host_telemetry *t = arg;

	ar_log_line(&t->host->start->log, "warning", "telemetry", why);
}

static void open_sender(struct ar_host_telemetry *t, const struct ar_config *c, enum signal s)
{
	struct ar_str url = endpoint(c, s, &t->arena);

	if (ar_str_absent(url))
		return;
	t->senders[s] =
		ar_otlp_sender_new(t->host->loop, &(struct ar_otlp_options){
							  .url = url.p,
							  .ca_file = c->telemetry.ca_file,
							  .headers = t->headers,
							  .header_count = t->header_count,
							  .source = &t->source,
							  .timeout_ms = (uint32_t)c->telemetry.timeout_ms,
							  .interval_ms = (uint32_t)c->telemetry.interval_ms,
							  .queue = (size_t)c->telemetry.queue,
							  .on_trouble = on_trouble,
							  .arg = t });
}

static struct ar_host_telemetry *make(struct ar_host *r, const struct ar_config *c)
{
	struct ar_host_telemetry *t = ar_new0(sizeof(*t));
	struct ar_clock *clock = ar_clock_system();
	struct ar_error err;

	t->host = r;
	t->started = clock->wall(clock);
	t->with_content = c->telemetry.content;
	AR_ASSERT(read_pairs(t, c, &err) == AR_OK); /* checked by the caller */
	add_text(t, ar_attribute_names[AR_ATTR_SERVICE_INSTANCE], r->policy.runtime_id);
	t->source = (struct ar_otlp_source){ .resource = { t->resource, t->resource_count },
					     .scope = "agentd",
					     .version = AR_VERSION,
					     .schema_url = AR_TELEMETRY_SCHEMA_URL };
	for (enum signal s = TRACES; s < SIGNALS; s++)
		open_sender(t, c, s);
	return t;
}

enum ar_status ar_host_telemetry_open(struct ar_host *r, const struct ar_config *c, struct ar_error *err)
{
	struct ar_arena a = { 0 };
	bool is_wanted = false;

	if (ar_host_telemetry_check(c, err) != AR_OK)
		return err->status;
	for (enum signal s = TRACES; s < SIGNALS; s++)
		is_wanted |= !ar_str_absent(endpoint(c, s, &a));
	ar_arena_fini(&a);
	if (!is_wanted)
		return AR_OK;
	r->telemetry = make(r, c);
	r->policy.is_traced = r->telemetry->senders[TRACES] != NULL;
	r->policy.traces_commands = r->policy.is_traced && c->telemetry.commands;
	uv_timer_init(r->loop, &r->telemetry->metrics_timer);
	r->telemetry->metrics_timer.data = r->telemetry;
	if (r->telemetry->senders[METRICS])
		uv_timer_start(&r->telemetry->metrics_timer, on_metrics,
			       (uint64_t)c->telemetry.metrics_interval_ms,
			       (uint64_t)c->telemetry.metrics_interval_ms);
	return AR_OK;
}

void ar_host_telemetry_close(struct ar_host_telemetry *t)
{
	if (!t)
		return;
	uv_close((uv_handle_t *)&t->metrics_timer, NULL);
	for (enum signal s = TRACES; s < SIGNALS; s++)
		ar_otlp_sender_close(t->senders[s]);
	memset(t->senders, 0, sizeof(t->senders)); /* they end by themselves */
}

void ar_host_telemetry_free(struct ar_host_telemetry *t)
{
	if (!t)
		return;
	ar_arena_fini(&t->arena);
	ar_arena_fini(&t->scratch);
	ar_free(t);
}
