/* See check.h. Where starting has a check of its own, that one is asked. */
#include "settings/check.h"
#include "audience.h"
#include "hooks.h"
#include "evidence/log_checkpoints.h"
#include "http_tools.h"
#include "loopback.h"
#include "mcp_tools.h"
#include "model.h"
#include "secrets.h"
#include "store_open.h"
#include "telemetry/host_telemetry.h"
#include "tls/tls_context.h"
#include "a2a/host_a2a.h"
#include "secret/reference.h"
#include "trigger/triggers.h"
#include "webhook/push_target.h"
#include "peer/peers.h"
#include "webhook/webhooks.h"
#include "workspace/folders.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void refuse(struct ar_settings *s, const char *key, const char *sentence)
{
	ar_problem(&s->problems, ar_settings_origin(s, key), key, "%s", sentence);
}

/* ---- files and folders ---- */

static void check_file(struct ar_settings *s, const char *key, const char *path)
{
	if (*path && access(path, R_OK) != 0)
		ar_problem(&s->problems, ar_settings_origin(s, key), key,
			   "'%s' cannot be read: %s; check the path and its permissions", path,
			   strerror(errno));
}

static void check_folder(struct ar_settings *s, const char *key, const char *path, int rights)
{
	struct stat st;

	if (!*path)
		return;
	if (stat(path, &st) != 0 || access(path, rights) != 0)
		ar_problem(&s->problems, ar_settings_origin(s, key), key,
			   "the folder '%s' cannot be used: %s; make it, or name another", path,
			   strerror(errno));
	else if (!S_ISDIR(st.st_mode))
		ar_problem(&s->problems, ar_settings_origin(s, key), key,
			   "'%s' is not a folder; name one, or leave it empty", path);
}

static void check_paths(struct ar_settings *s)
{
	const struct ar_config *c = &s->config;
	struct stat st;

	check_file(s, "auth.jwt_ca_file", c->auth.jwt_ca_file);
	check_folder(s, "tools.workspace", c->tools.workspace, R_OK | X_OK);
	check_folder(s, "sandbox.helpers", c->sandbox.helpers, R_OK | X_OK);
	if (stat(c->data_dir, &st) == 0 || errno != ENOENT) /* one that is not there is made */
		check_folder(s, "data_dir", c->data_dir, R_OK | W_OK | X_OK);
}

/* ---- TLS and addresses ---- */

static bool check_tls(struct ar_settings *s)
{
	const struct ar_config_tls *t = &s->config.tls;
	struct ar_tls_context *context = NULL;
	struct ar_error err = { 0 };

	if (!*t->certificate && !*t->key)
		return false;
	if (!*t->certificate || !*t->key) {
		refuse(s, *t->key ? "tls.key" : "tls.certificate",
		       "tls.certificate and tls.key go together; set both, or remove this one");
		return false;
	}
	check_file(s, "tls.certificate", t->certificate);
	check_file(s, "tls.key", t->key);
	check_file(s, "tls.client_ca", t->client_ca);
	if (s->problems.count == 0 &&
	    ar_tls_context_open(&(struct ar_tls_files){ .certificate = t->certificate,
							.key = t->key,
							.client_ca = t->client_ca },
				&context, &err) != AR_OK)
		refuse(s, "tls.certificate", err.msg);
	ar_tls_context_free(context);
	return true;
}

static void check_listen(struct ar_settings *s, const char *key, const char *address, bool may_be_open)
{
	struct ar_authority a;
	union ar_sockaddr sa;

	if (strcmp(address, "off") == 0)
		return;
	if (!ar_authority_parse(ar_str_from(address), &a) || !a.has_port || !ar_authority_address(&a, &sa))
		ar_problem(&s->problems, ar_settings_origin(s, key), key,
			   "'%.100s' is not an address with a port; write one such as 127.0.0.1:7717 or "
			   "[::1]:7717, or off",
			   address);
	else if (!may_be_open && !ar_sockaddr_is_loopback(&sa))
		ar_problem(&s->problems, ar_settings_origin(s, key), key,
			   "'%.100s' is not loopback; set tls.certificate, tls.key and auth.required, or "
			   "listen on 127.0.0.1",
			   address);
}

/* ---- settings that need one another ---- */

/* Its value is somewhere that nobody asked, so that nothing can be said of it. */
static bool is_pending(const struct ar_settings *s, const char *const *at)
{
	const struct ar_secret_ref *ref = ar_secret_reference_at(s->refs, at);

	return ref && !ref->is_there;
}

static void check_pairs(struct ar_settings *s)
{
	const struct ar_config *c = &s->config;
	struct ar_error err = { 0 };

	if (*c->blob.s3_url && !*c->store)
		refuse(s, "blob.s3_url", "it needs a PostgreSQL store; set `store` too, or remove it");
	if (*c->auth.jwt_issuer && !*c->auth.jwt_audience)
		refuse(s, "auth.jwt_issuer",
		       "it needs auth.jwt_audience; set it to what aud names in your tokens");
	if (c->sandbox.uid_first > c->sandbox.uid_last)
		refuse(s, "sandbox.uid_first", "it is greater than sandbox.uid_last; choose a smaller one");
	if (!is_pending(s, &c->a2a.push_key) && ar_host_push_key_check(c, &err) != AR_OK)
		refuse(s, "a2a.push_key", err.msg);
	if (ar_host_workspaces_check(c, &err) != AR_OK)
		refuse(s,
		       ar_str_starts(ar_str_from(err.msg), AR_STR("workspaces.default"))
			       ? "workspaces.default"
			       : "workspaces.checkpoints",
		       err.msg);
}

static void check_entries(struct ar_settings *s, const char *list, enum ar_status st,
			  const struct ar_error *err)
{
	size_t i = 0;

	if (st == AR_OK)
		return;
	while (strcmp(ar_config_lists[i].name, list) != 0)
		i++;
	ar_problem(&s->problems, &s->lists[i], NULL, "%s", err->msg);
}

static enum ar_status check_rules(const struct ar_config *c, struct ar_error *err)
{
	for (size_t i = 0; i < c->permission_rules_count; i++) {
		const struct ar_config_permission_rules *rule = &c->permission_rules[i];

		if (rule->approvals > 0 && rule->effect != AR_CONFIG_PERMISSION_RULES_EFFECT_ASK)
			return ar_fail(err, AR_E_INVALID,
				       "rule '%.100s' has approvals, which only a rule with effect: ask can "
				       "have",
				       rule->name);
	}
	return AR_OK;
}

/* The definitions that an agent names are read with the audiences. */
static void check_a2a(struct ar_settings *s, const struct ar_policy *policy)
{
	const struct ar_a2a_published *published = NULL;
	struct ar_error err = { 0 };
	const char *key = NULL;

	if (ar_host_a2a_check(&s->config, &key, &err) != AR_OK) {
		if (key)
			refuse(s, key, err.msg);
		else
			check_entries(s, "a2a_agents", err.status, &err);
		return;
	}
	check_entries(s, "a2a_agents", ar_host_a2a_open(&s->config, policy, &published, &err), &err);
	ar_host_a2a_close(published);
}

static void check_audiences(struct ar_settings *s)
{
	const struct ar_config *c = &s->config;
	struct ar_arena *a = s->problems.arena;
	struct ar_hook_rule *rules = ar_arena_alloc(a, (c->hooks_count + 1) * sizeof(*rules));
	struct ar_policy policy = { 0 };
	struct ar_error err = { 0 };
	const char *list = NULL;

	if (ar_host_audiences_read(c, a, rules, &policy, &list, &err) != AR_OK)
		check_entries(s, list, err.status, &err);
	else
		check_a2a(s, &policy);
}

/* They are opened on a loop that never waits for anybody. */
static void check_lists(struct ar_settings *s)
{
	const struct ar_config *c = &s->config;
	struct ar_arena *a = s->problems.arena;
	struct ar_tool_source *tools = NULL;
	struct ar_redactor *redactor = NULL;
	struct ar_models models = { 0 };
	struct ar_host_hooks hooks;
	struct ar_host_webhook_list webhooks;
	struct ar_error err = { 0 };
	uv_loop_t loop;

	AR_ASSERT(uv_loop_init(&loop) == 0);
	check_entries(s, "models", ar_models_open(&loop, c, a, &models, &err), &err);
	check_entries(s, "http_tools", ar_http_tools_open(&loop, c, &tools, &err), &err);
	check_entries(s, "mcp_servers", ar_mcp_tools_check(c, &err), &err);
	check_entries(s, "permission_rules", check_rules(c, &err), &err);
	check_entries(s, "hooks", ar_host_hooks_read(c, a, &hooks, &err), &err);
	check_entries(s, "webhooks", ar_host_webhooks_read(c, a, &webhooks, &err), &err);
	check_entries(s, "peers", ar_host_peers_check(c, &err), &err);
	check_entries(s, "triggers", ar_host_triggers_check(c, false, &err), &err);
	if (*c->telemetry.request_log && *c->telemetry.request_log != '/')
		refuse(s, "telemetry.request_log", "write the absolute path of a file");
	if (ar_host_telemetry_check(c, &err) != AR_OK)
		refuse(s, "telemetry.endpoint", err.msg);
	if (ar_log_checkpoints_check(c, &err) != AR_OK)
		refuse(s, "evidence.checkpoint_file", err.msg);
	check_audiences(s);
	if (ar_secrets_load(c, &redactor, &err) != AR_OK)
		refuse(s, "redact.literals", err.msg);
	for (size_t i = 0; redactor && i < s->problems.count; i++)
		s->problems.v[i] = ar_secrets_mask(redactor, s->problems.v[i].p, a);
	ar_redactor_free(redactor);
	ar_models_close(&models);
	if (tools)
		tools->v->close(tools);
	uv_run(&loop, UV_RUN_DEFAULT);
	uv_loop_close(&loop);
}

void ar_settings_look(struct ar_settings *s)
{
	if (ar_store_postgres_is_unverified(s->config.store))
		ar_problem(&s->warnings, ar_settings_origin(s, "store"), "store",
			   "it leads to another machine whose certificate is not verified; add "
			   "sslmode=verify-full, and sslrootcert=FILE with the authority that signed it");
}

void ar_settings_check(struct ar_settings *s)
{
	bool has_tls = check_tls(s);

	check_listen(s, "listen", s->config.listen, has_tls && s->config.auth.required);
	check_listen(s, "cluster.listen", s->config.cluster.listen, true);
	check_paths(s);
	check_pairs(s);
	check_lists(s);
}
