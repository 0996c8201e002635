/* See process_host.h. */
#include "process_host.h"

#include "sandbox_open.h"
#include "log.h"
#include "processes.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

#define HOSTS_MAX 256
#define SWEEP_MS (3600 * 1000)
#define SWEEP_MORE_MS (60 * 1000)

/* ---- the proxy ---- */

void ar_host_processes_serve(struct ar_host_processes *p, struct ar_str name, int fd)
{
	if (!p->gate)
		close(fd);
	else if (!ar_egress_gate_serve(p->gate, name, fd))
		ar_log_line(p->log, "error", "agent-proxy cannot be started; sandboxes have no network",
			    NULL);
}

void ar_host_processes_unserve(struct ar_host_processes *p, struct ar_str name)
{
	if (p->gate)
		ar_egress_gate_forget(p->gate, name);
}

static void on_listener(void *arg, struct ar_str name, int fd)
{
	ar_host_processes_serve(arg, name, fd);
}

static void on_listener_gone(void *arg, struct ar_str name)
{
	ar_host_processes_unserve(arg, name);
}

/* A connection that it refused is a violation of the process; one that it allowed is not reported. */
static void on_report(void *arg, struct ar_str name, struct ar_str report)
{
	struct ar_host_processes *p = arg;
	struct ar_str verdict = AR_STR_NONE, method = AR_STR("connect"), host = AR_STR("?"),
		      reason = AR_STR_NONE;
	struct ar_arena a = { 0 };
	struct ar_buf detail = { 0 };
	struct ar_jw w = ar_jw(&detail);
	struct ar_json v;
	int64_t port = 0;

	if (ar_json_parse(p->json, report, &v, NULL) != AR_OK ||
	    !ar_json_str(ar_json_get(v, "verdict"), &verdict) || !ar_str_is(verdict, "denied"))
		return;
	ar_json_str(ar_json_get(v, "method"), &method);
	ar_json_str(ar_json_get(v, "host"), &host);
	ar_json_str(ar_json_get(v, "reason"), &reason);
	ar_json_i64(ar_json_get(v, "port"), &port);
	ar_jw_open(&w);
	ar_jw_mstr(&w, "boundary", AR_STR("network"));
	ar_jw_mstr(&w, "attempted",
		   ar_arena_fmt(&a, "%.*s %.*s:%lld", AR_STR_ARG(method), AR_STR_ARG(host), (long long)port));
	ar_jw_mstr(&w, "effect", AR_STR("blocked"));
	ar_jw_mstr(&w, "evidence", AR_STR("enforcer"));
	ar_jw_mstr(&w, "reason", reason);
	ar_jw_mint(&w, "count", 1);
	ar_jw_close(&w);
	ar_processes_report_violation(p->host, name, ar_buf_str(&detail));
	ar_buf_fini(&detail);
	ar_arena_fini(&a);
}

static size_t split_hosts(struct ar_str text, struct ar_str *ret)
{
	size_t count = 0, at = 0;

	while (at < text.len && count < HOSTS_MAX) {
		size_t from;

		while (at < text.len && (text.p[at] == ' ' || text.p[at] == '\n' || text.p[at] == '\t'))
			at++;
		for (from = at;
		     at < text.len && text.p[at] != ' ' && text.p[at] != '\n' && text.p[at] != '\t';)
			at++;
		if (at > from)
			ret[count++] = ar_str_sub(text, from, at - from);
	}
	return count;
}

static enum ar_status open_gate(uv_loop_t *loop, const struct ar_config *c, struct ar_sandbox *sandbox,
				struct ar_host_processes *p, struct ar_error *err)
{
	struct ar_str rules[HOSTS_MAX];
	size_t count = split_hosts(ar_str_from(c->sandbox.allow_hosts), rules);
	const struct ar_egress_hidden *secrets;
	struct ar_arena a = { 0 };
	size_t secret_count;
	enum ar_status rc;

	if (count == 0)
		return AR_OK;
	secret_count = ar_host_sandbox_hidden(c, &a, &secrets);
	rc = ar_egress_gate_open(loop,
				 &(struct ar_egress_options){
					 .program = ar_sandbox_helper(sandbox, "agent-proxy", &a).p,
					 .rules = rules,
					 .rule_count = count,
					 .secrets = secrets,
					 .secret_count = secret_count,
					 .on_report = on_report,
					 .arg = p },
				 &p->gate, err);
	ar_arena_fini(&a);
	return rc;
}

/* ---- the host ---- */

/* Audit is root's. Without it there is less evidence, not less of a boundary. */
static struct ar_audit_reader *open_audit(uv_loop_t *loop, const struct ar_config *c,
					  struct ar_sandbox *sandbox, const struct ar_log *log)
{
	struct ar_arena a = { 0 };
	const struct ar_audit_options o = { .program = ar_sandbox_helper(sandbox, "agent-audit", &a).p,
					    .uid_first = (uint32_t)c->sandbox.uid_first,
					    .uid_last = (uint32_t)c->sandbox.uid_last };
	struct ar_audit_reader *audit = NULL;
	struct ar_error err = { 0 };

	if (!c->sandbox.audit || geteuid() != 0) {
		ar_arena_fini(&a);
		return NULL;
	}
	if (ar_audit_open(loop, &o, &audit, &err) != AR_OK)
		ar_log_line(log, "info", "violations have less evidence", err.msg);
	else
		ar_sandbox_add_evidence(sandbox, ar_audit_sees_mounts(audit));
	ar_arena_fini(&a);
	return audit;
}

static enum ar_status open_host(uv_loop_t *loop, const struct ar_config *c, struct ar_sandbox *sandbox,
				struct ar_host_processes *p, struct ar_error *err)
{
	struct ar_arena a = { 0 };
	struct ar_audit_reader *audit;
	char data[PATH_MAX];

	if (!realpath(c->data_dir, data))
		return ar_fail(err, AR_E_IO, "data_dir '%.100s' cannot be opened", c->data_dir);
	audit = open_audit(loop, c, sandbox, p->log);
	p->host = ar_processes_open(loop,
				    &(struct ar_processes_options){
					    .folder = ar_arena_fmt(&a, "%s/processes", data).p,
					    .shim = ar_sandbox_helper(sandbox, "agent-shim", &a).p,
					    .init = ar_sandbox_helper(sandbox, "agent-init", &a).p,
					    .output_bytes = (uint64_t)c->process.max_output_bytes,
					    .grace_ms = c->process.grace_ms,
					    .prewarmed = (size_t)c->sandbox.prewarmed,
					    .prewarmed_ms = c->sandbox.prewarmed_ms,
					    .sandbox = sandbox,
					    .audit = audit,
					    .on_listener = on_listener,
					    .on_listener_gone = on_listener_gone,
					    .context = p },
				    err);
	if (!p->host)
		ar_audit_close(audit);
	ar_arena_fini(&a);
	return p->host ? AR_OK : err->status;
}

enum ar_status ar_host_processes_open(uv_loop_t *loop, const struct ar_config *c, struct ar_sandbox *sandbox,
				      struct ar_host_processes *ret, struct ar_error *err)
{
	if (!sandbox)
		return AR_OK;
	ret->json = ar_json_parser_new();
	if (open_gate(loop, c, sandbox, ret, err) != AR_OK)
		return err->status;
	return open_host(loop, c, sandbox, ret, err);
}

uint64_t ar_host_processes_sweep(struct ar_host_processes *p, bool is_settled)
{
	if (p->host && (!is_settled || ar_processes_sweep(p->host)))
		return SWEEP_MORE_MS;
	return SWEEP_MS;
}

static void gate_closed(void *arg AR_UNUSED)
{
}

void ar_host_processes_close(struct ar_host_processes *p)
{
	if (p->host)
		p->host->v->close(p->host);
	if (p->gate)
		ar_egress_gate_close(p->gate, gate_closed, NULL);
	ar_json_parser_free(p->json);
	*p = (struct ar_host_processes){ 0 };
}
