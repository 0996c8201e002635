/* See request_log.h. */
#include "ops/request_log.h"
#include "clock.h"
#include "log.h"
#include "redact.h"
#include "host_priv.h"

#define LINES_MAX 200 /* per second: a client that is refused in a loop must not fill the disk */
#define SECOND 1000000

static bool is_over(struct ar_request_log *l)
{
	ar_usec now = ar_clock_system()->mono(ar_clock_system());

	if (now - l->second >= SECOND) {
		l->second = now;
		l->lines = 0;
	}
	if (l->lines++ < LINES_MAX)
		return false;
	l->left_out++;
	return true;
}

/* Words of the caller's own choice: nobody keeps it from naming a turn after a password. */
static void add_masked(const struct ar_request_log *l, struct ar_jw *w, const char *name, struct ar_str text)
{
	struct ar_redact_counts counts = { 0 };
	struct ar_arena a = { 0 };

	ar_jw_mstr(w, name, ar_redact(l->redactor, text, &a, &counts));
	ar_arena_fini(&a);
}

void ar_request_log_write(struct ar_request_log *l, const struct ar_http_answered *a)
{
	struct ar_log_entry e;
	struct ar_jw *w;

	if (is_over(l))
		return;
	w = ar_log_begin(l->log, &e, a->status >= 500 ? "warning" : "info", "request");
	add_masked(l, w, "requestId", a->request_id);
	ar_jw_mstr(w, "method", a->method);
	add_masked(l, w, "path", a->path);
	ar_jw_mstr(w, "command", a->command);
	ar_jw_mint(w, "status", a->status);
	ar_jw_mstr(w, "code", a->code);
	add_masked(l, w, "sessionId", a->session);
	add_masked(l, w, "turnId", a->turn);
	ar_jw_mstr(w, "tenant", a->tenant);
	add_masked(l, w, "actor", a->actor);
	ar_jw_mstr(w, "via", ar_str_from(a->via));
	ar_jw_key(w, "durationMs");
	ar_jw_num(w, (double)a->micros / 1000);
	ar_jw_mint(w, "bytes", (int64_t)a->bytes);
	if (l->left_out)
		ar_jw_mint(w, "leftOut", (int64_t)l->left_out);
	l->left_out = 0;
	ar_log_end(&e);
}

static void answered(void *arg, const struct ar_http_answered *a)
{
	struct ar_host *r = arg;

	ar_request_log_write(&r->requests, a);
	ar_host_telemetry_request(r->telemetry, a);
}

void ar_request_log_wire(const struct ar_config *c, struct ar_http_ops *ops)
{
	if (c->log.requests == AR_CONFIG_LOG_REQUESTS_OFF)
		return;
	ops->answered = answered;
	ops->answered_from = c->log.requests == AR_CONFIG_LOG_REQUESTS_ALL ? 0 : 400;
}
