/* See peers.h. */
#include "peer/peers.h"

#include "a2a_client.h"
#include "id.h"
#include "io/descriptor.h"
#include "jwk.h"
#include "mem.h"
#include "metrics.h"
#include "url.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define NAME_MAX_LEN 64
#define KEYS_MAX 65536
#define CARD_MS (5 * 60 * 1000) /* how long a card is used */

struct host_peer {
	struct ar_host_peers *all;
	const struct ar_config_peers *setting;
	struct ar_peer *peer;
};

struct ar_host_peers {
	struct ar_host_peers_options o;
	struct ar_arena arena;
	struct host_peer *at;
	size_t count;
};

/* ---- settings ---- */

static enum ar_status read_file(const char *path, struct ar_arena *a, struct ar_str *ret,
				struct ar_error *err)
{
	AR_AUTO(ar_fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = ar_arena_alloc(a, KEYS_MAX + 1);
	size_t len = 0;
	ssize_t n = 1;

	while (fd >= 0 && n > 0 && len < KEYS_MAX) {
		n = read(fd, text + len, KEYS_MAX - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (fd < 0 || n < 0)
		return ar_fail(err, AR_E_INVALID, "keys_file '%.120s' cannot be read", path);
	if (len == KEYS_MAX)
		return ar_fail(err, AR_E_INVALID, "keys_file '%.120s' has %d bytes or more", path, KEYS_MAX);
	*ret = (struct ar_str){ text, len };
	return AR_OK;
}

/* The keys as a JWKS; a file with one JWK becomes one. Absent: none are pinned. */
static enum ar_status read_keys(const struct ar_config_peers *p, struct ar_arena *a, struct ar_str *ret,
				struct ar_error *err)
{
	struct ar_json_parser *parser;
	struct ar_jwks *keys;
	struct ar_json doc = { 0 };
	const char *why = "it is no JSON";
	struct ar_str text;
	bool is_good;

	*ret = AR_STR_NONE;
	if (!*p->keys_file)
		return AR_OK;
	if (read_file(p->keys_file, a, &text, err) != AR_OK)
		return err->status;
	parser = ar_json_parser_new();
	keys = ar_new0(sizeof(*keys));
	is_good = ar_json_parse(parser, text, &doc, NULL) == AR_OK;
	if (is_good && ar_json_type(ar_json_get(doc, "keys")) == AR_JSON_NONE)
		text = ar_arena_fmt(a, "{\"keys\":[%.*s]}", AR_STR_ARG(text));
	is_good = is_good && ar_jwks_read(keys, parser, text, &why);
	ar_json_parser_free(parser);
	ar_jwks_fini(keys);
	ar_free(keys);
	if (!is_good)
		return ar_fail(err, AR_E_INVALID, "keys_file '%.100s': %s", p->keys_file, why);
	*ret = text;
	return AR_OK;
}

static enum ar_status check_one(const struct ar_config *c, const struct ar_config_peers *p,
				struct ar_arena *a, struct ar_str *ret_keys, struct ar_error *err)
{
	struct ar_str name = ar_str_from(p->name);

	if (name.len > NAME_MAX_LEN || !ar_id_acceptable(name))
		return ar_fail(err, AR_E_INVALID,
			       "peers: the name '%.64s' is not 1 to %d of A-Z a-z 0-9 . _ : -", p->name,
			       NAME_MAX_LEN);
	if (!ar_url_is_safe(p->url))
		return ar_fail(err, AR_E_INVALID,
			       "peers: the url of '%.64s' is neither https nor an address of this machine",
			       p->name);
	if (*p->token && !ar_str_is_line(ar_str_from(p->token), 8192))
		return ar_fail(err, AR_E_INVALID, "peers: the token of '%.64s' is not one line", p->name);
	if (p->mechanism == AR_CONFIG_PEERS_MECHANISM_PUSH && (!*c->a2a.url || !*c->a2a.push_key))
		return ar_fail(
			err, AR_E_INVALID,
			"peers: '%.64s' has mechanism: push, which needs a2a.url, the address at which "
			"it reaches this server, and a2a.push_key",
			p->name);
	for (size_t i = 0; i < p->tenants.count; i++) {
		if (!*p->tenants.v[i])
			return ar_fail(err, AR_E_INVALID, "peers: '%.64s': a name in tenants is empty",
				       p->name);
	}
	if (read_keys(p, a, ret_keys, err) != AR_OK)
		return ar_fail_wrap(err, "peers");
	return AR_OK;
}

enum ar_status ar_host_peers_check(const struct ar_config *c, struct ar_error *err)
{
	struct ar_arena a = { 0 };
	enum ar_status status = AR_OK;
	struct ar_str keys;

	for (size_t i = 0; status == AR_OK && i < c->peers_count; i++)
		status = check_one(c, &c->peers[i], &a, &keys, err);
	ar_arena_fini(&a);
	return status;
}

/* ---- life ---- */

void ar_host_peers_refuse(struct ar_host_peers *all, const struct ar_config_peers *p,
			  enum ar_peer_error error, struct ar_str reason)
{
	const char *word = ar_a2a_error_word(error);
	struct ar_log_entry entry;
	struct ar_jw *w;

	w = ar_log_begin(all->o.log, &entry, "warning", "a peer was refused or not reached");
	ar_jw_mstr(w, "peer", ar_str_from(p->name));
	ar_jw_mstr(w, "kind", ar_str_from(word));
	ar_jw_mstr(w, "detail", reason);
	ar_log_end(&entry);
	if (all->o.metrics)
		ar_metric_add(all->o.metrics, AR_METRIC_PEER_FAILURES, ar_str_from(word), AR_STR_NONE, 1);
}

static void on_trouble(void *arg, enum ar_peer_error error, struct ar_str reason)
{
	const struct host_peer *p = arg;

	ar_host_peers_refuse(p->all, p->setting, error, reason);
}

static void open_one(struct ar_host_peers *all, size_t i, struct ar_str keys)
{
	const struct ar_config_peers *c = &all->o.config->peers[i];
	struct host_peer *p = &all->at[i];

	*p = (struct host_peer){ .all = all, .setting = c };
	p->peer = ar_a2a_peer_new(all->o.loop,
				  &(struct ar_a2a_options){ .url = c->url,
							    .token = &c->token,
							    .ca_file = c->ca_file,
							    .keys = keys,
							    .poll_ms = (uint32_t)c->poll_ms,
							    .timeout_ms = (uint32_t)c->timeout_ms,
							    .idle_ms = (uint32_t)c->idle_ms,
							    .card_ms = CARD_MS,
							    .answer_max = (uint32_t)c->max_answer_bytes,
							    .artifact_max = (uint32_t)c->max_artifact_bytes,
							    .stream_max = (uint32_t)c->max_stream_bytes,
							    .on_trouble = on_trouble,
							    .arg = p });
}

enum ar_status ar_host_peers_open(const struct ar_host_peers_options *o, struct ar_host_peers **ret,
				  struct ar_error *err)
{
	struct ar_host_peers *all;
	struct ar_str keys;

	*ret = NULL;
	if (o->config->peers_count == 0)
		return AR_OK;
	all = ar_new0(sizeof(*all));
	all->o = *o;
	all->at = ar_arena_alloc(&all->arena, o->config->peers_count * sizeof(*all->at));
	for (; all->count < o->config->peers_count; all->count++) {
		if (check_one(o->config, &o->config->peers[all->count], &all->arena, &keys, err) != AR_OK) {
			ar_host_peers_close(all);
			return err->status;
		}
		open_one(all, all->count, keys);
	}
	*ret = all;
	return AR_OK;
}

void ar_host_peers_close(struct ar_host_peers *all)
{
	if (!all)
		return;
	for (size_t i = 0; i < all->count; i++)
		all->at[i].peer->v->close(all->at[i].peer);
	ar_arena_fini(&all->arena);
	ar_free(all);
}

/* ---- use ---- */

static bool is_for(const struct ar_config_peers *p, struct ar_str tenant)
{
	if (p->tenants.count == 0)
		return ar_str_is(tenant, "local");
	for (size_t i = 0; i < p->tenants.count; i++) {
		if (strcmp(p->tenants.v[i], "*") == 0 || ar_str_is(tenant, p->tenants.v[i]))
			return true;
	}
	return false;
}

static const struct host_peer *find_peer(const struct ar_host_peers *all, struct ar_str tenant,
					 struct ar_str name)
{
	for (size_t i = 0; all && i < all->count; i++) {
		if (ar_str_is(name, all->at[i].setting->name) && is_for(all->at[i].setting, tenant))
			return &all->at[i];
	}
	return NULL;
}

struct ar_peer *ar_host_peers_find(struct ar_host_peers *all, struct ar_str tenant, struct ar_str name)
{
	const struct host_peer *p = find_peer(all, tenant, name);

	return p ? p->peer : NULL;
}

const struct ar_config_peers *ar_host_peers_setting(const struct ar_host_peers *all, struct ar_str tenant,
						    struct ar_str name)
{
	const struct host_peer *p = find_peer(all, tenant, name);

	return p ? p->setting : NULL;
}

struct ar_str ar_host_peers_names(const struct ar_host_peers *all, struct ar_str tenant, struct ar_arena *a)
{
	struct ar_str names = AR_STR_NONE;

	for (size_t i = 0; all && i < all->count; i++) {
		const struct ar_config_peers *p = all->at[i].setting;

		if (!is_for(p, tenant))
			continue;
		names = ar_str_absent(names) ? ar_str_from(p->name)
					     : ar_arena_fmt(a, "%.*s, %s", AR_STR_ARG(names), p->name);
	}
	return ar_str_absent(names) ? AR_STR("none") : names;
}
