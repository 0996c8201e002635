/* See host_a2a.h. */
#include "a2a/host_a2a.h"

#include "a2a_task.h"
#include "card.h"
#include "clock.h"
#include "hash.h"
#include "id.h"
#include "io/descriptor.h"
#include "json.h"
#include "mem.h"
#include "tenant.h"
#include "url.h"
#include "webhook/push_target.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE_ID_TEXT "A message that is sent again with its id is answered with the same task."
#define CURSOR_TEXT "A cursor in every event of a stream; Last-Event-ID continues after it."

static const struct ar_a2a_extension extensions[] = {
	{ { AR_A2A_CURSOR_EXTENSION, sizeof(AR_A2A_CURSOR_EXTENSION) - 1 },
	  { CURSOR_TEXT, sizeof(CURSOR_TEXT) - 1 } },
	{ { AR_A2A_MESSAGE_ID_EXTENSION, sizeof(AR_A2A_MESSAGE_ID_EXTENSION) - 1 },
	  { MESSAGE_ID_TEXT, sizeof(MESSAGE_ID_TEXT) - 1 } },
};

#define NAME_MAX_LEN 48 /* it is in addresses, and in the source of turns */
#define TEXT_MAX 1024 /* of a description */
#define KEY_MAX 16384

enum { MERGED, PURE, CARDS };

struct host_a2a {
	struct ar_a2a_published published;
	struct ar_arena arena;
	struct ar_json_parser *json;
	struct ar_es256 *key; /* NULL: cards are not signed */
	struct ar_a2a_card (*cards)[CARDS]; /* of each agent; no body: not made yet */
	struct ar_str modified;
	const struct ar_config *config;
};

/* ---- what may be wrong ---- */

static bool is_name(struct ar_str s)
{
	return s.len > 0 && s.len <= NAME_MAX_LEN && s.p[0] != '.' && ar_id_acceptable(s) &&
	       !memchr(s.p, ':', s.len);
}

static enum ar_status check_agent(const struct ar_config_a2a_agents *g, struct ar_error *err)
{
	if (!is_name(ar_str_from(g->name)))
		return ar_fail(
			err, AR_E_INVALID,
			"a2a_agents: the name '%.64s' is not 1 to %d of A-Z a-z 0-9 . _ - that begin with "
			"no dot",
			g->name, NAME_MAX_LEN);
	if (*g->workspace && ar_str_absent(ar_workspace_key_in(ar_str_from(g->workspace))))
		return ar_fail(err, AR_E_INVALID,
			       "a2a_agents: '%.64s': workspace '%.100s' is not the id of one (ws_...)",
			       g->name, g->workspace);
	if (strlen(g->description) > TEXT_MAX)
		return ar_fail(err, AR_E_INVALID,
			       "a2a_agents: the description of '%.64s' has more than %d bytes", g->name,
			       TEXT_MAX);
	if (!ar_str_is_line(ar_str_from(*g->title ? g->title : g->name), 128) ||
	    !ar_str_is_line(ar_str_from(g->version), 64))
		return ar_fail(
			err, AR_E_INVALID,
			"a2a_agents: title and version of '%.64s' have to be one line, of at most 128 and "
			"64 bytes",
			g->name);
	for (size_t i = 0; i < g->tenants.count; i++) {
		if (!*g->tenants.v[i])
			return ar_fail(err, AR_E_INVALID, "a2a_agents: '%.64s': a name in tenants is empty",
				       g->name);
	}
	return AR_OK;
}

/* Others could have copied it, and sign cards of their own. */
static enum ar_status read_key(const char *path, struct ar_es256 **ret, struct ar_error *err)
{
	AR_AUTO(ar_fd_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	struct ar_error why = { 0 };
	char room[KEY_MAX];
	enum ar_status rc;
	ssize_t len;

	if (fd < 0)
		return ar_fail(err, AR_E_INVALID, "'%.200s' cannot be opened: %s", path, strerror(errno));
	if (!ar_fd_is_private_file(fd))
		return ar_fail(
			err, AR_E_INVALID,
			"'%.200s' can be read or changed by others; it must be a file of this user, mode "
			"0600",
			path);
	len = read(fd, room, sizeof room);
	rc = ar_es256_read((struct ar_str){ room, len > 0 ? (size_t)len : 0 }, ret, &why);
	explicit_bzero(room, sizeof room);
	if (rc != AR_OK)
		return ar_fail(err, AR_E_INVALID, "'%.200s': %.250s", path, why.msg);
	return AR_OK;
}

enum ar_status ar_host_a2a_url_check(const struct ar_config *c, struct ar_error *err)
{
	struct ar_url u;
	struct ar_str s = ar_str_from(c->a2a.url);

	if (!ar_url_parse(c->a2a.url, &u) || !ar_url_is_safe(c->a2a.url) || memchr(s.p, '?', s.len) ||
	    memchr(s.p, '#', s.len) || memchr(s.p, '@', s.len) || ar_str_ends(s, AR_STR("/")))
		return ar_fail(
			err, AR_E_INVALID,
			"'%.200s' is not an https address, or an http address of this machine, without "
			"user, query and final slash",
			c->a2a.url);
	return AR_OK;
}

static bool has_agent(const struct ar_config *c, const char *name)
{
	for (size_t i = 0; i < c->a2a_agents_count; i++) {
		if (strcmp(c->a2a_agents[i].name, name) == 0)
			return true;
	}
	return false;
}

enum ar_status ar_host_a2a_check(const struct ar_config *c, const char **ret_key, struct ar_error *err)
{
	struct ar_es256 *key = NULL;

	*ret_key = NULL;
	for (size_t i = 0; i < c->a2a_agents_count; i++) {
		if (check_agent(&c->a2a_agents[i], err) != AR_OK)
			return err->status;
	}
	if (c->a2a_agents_count && !*c->a2a.url)
		return ar_fail(
			err, AR_E_INVALID,
			"a2a_agents: set a2a.url to the address at which others reach this server, such as "
			"https://agents.example.com");
	*ret_key = "a2a.url";
	if (*c->a2a.url && ar_host_a2a_url_check(c, err) != AR_OK)
		return err->status;
	*ret_key = "a2a.standard_agent";
	if (*c->a2a.standard_agent && !has_agent(c, c->a2a.standard_agent))
		return ar_fail(err, AR_E_INVALID, "a2a_agents has no agent '%.64s'", c->a2a.standard_agent);
	*ret_key = "a2a.push_to";
	if (ar_host_push_check(c, err) != AR_OK)
		return err->status;
	*ret_key = "a2a.card_key";
	if (*c->a2a.card_key && read_key(c->a2a.card_key, &key, err) != AR_OK)
		return err->status;
	ar_es256_free(key);
	return AR_OK;
}

/* ---- what is published ---- */

static struct ar_texts texts_of(const struct ar_config_strings *s, struct ar_arena *a)
{
	struct ar_str *all = ar_arena_alloc(a, (s->count + 1) * sizeof(*all));

	for (size_t i = 0; i < s->count; i++)
		all[i] = ar_arena_str(a, ar_str_from(s->v[i]));
	if (s->count)
		return (struct ar_texts){ all, s->count };
	all[0] = AR_STR(AR_TENANT_LOCAL);
	return (struct ar_texts){ all, 1 };
}

static bool has_text(const struct ar_config_strings *s, struct ar_str text)
{
	for (size_t i = 0; i < s->count; i++) {
		if (ar_str_is(text, s->v[i]))
			return true;
	}
	return false;
}

/* A definition of one workspace is for sessions there; sessions of this agent are in its own. */
static bool is_for(const struct ar_audience *audience, const struct ar_config_a2a_agents *g)
{
	return ar_str_empty(audience->workspace) || ar_str_is(audience->workspace, g->workspace);
}

static void read_skills(const struct ar_config_a2a_agents *g, const struct ar_policy *policy,
			struct ar_arena *a, struct ar_a2a_agent *ret)
{
	struct ar_a2a_skill *all = ar_arena_alloc(a, (policy->definition_count + 1) * sizeof(*all));
	struct ar_str *tag = ar_arena_alloc(a, sizeof(*tag)), *local = ar_arena_alloc(a, sizeof(*local));

	*tag = AR_STR("agent");
	*local = AR_STR(AR_TENANT_LOCAL);
	for (size_t i = 0; i < policy->definition_count; i++) {
		const struct ar_definition_entry *d = &policy->definitions[i];

		if (d->of.kind != AR_INSPECT_AGENT || !is_for(&d->audience, g))
			continue;
		all[ret->skill_count++] = (struct ar_a2a_skill){
			.id = d->of.name,
			.name = d->of.name,
			.description = ar_str_empty(d->of.description) ? d->of.name : d->of.description,
			.tags = { tag, 1 },
			.tenants = d->audience.tenants.count ? d->audience.tenants
							     : (struct ar_texts){ local, 1 },
			.is_public = has_text(&g->skills, d->of.name)
		};
	}
	ret->skills = all;
}

static enum ar_status check_skills(const struct ar_config_a2a_agents *g, const struct ar_a2a_agent *agent,
				   struct ar_error *err)
{
	for (size_t i = 0; i < g->skills.count; i++) {
		bool has = false;

		for (size_t j = 0; j < agent->skill_count && !has; j++)
			has = ar_str_is(agent->skills[j].id, g->skills.v[i]);
		if (!has)
			return ar_fail(
				err, AR_E_INVALID,
				"a2a_agents: '%.64s': skills names '%.100s', which is no agent definition "
				"of the settings (agents)",
				g->name, g->skills.v[i]);
	}
	return AR_OK;
}

static struct ar_str set_text(struct ar_arena *a, const char *text)
{
	return *text ? ar_arena_str(a, ar_str_from(text)) : AR_STR_NONE;
}

static enum ar_status read_agent(const struct ar_config_a2a_agents *g, const struct ar_policy *policy,
				 struct ar_arena *a, struct ar_a2a_agent *ret, struct ar_error *err)
{
	static const char *const modes[] = {
		[AR_CONFIG_A2A_AGENTS_MODE_DEFAULT] = "",
		[AR_CONFIG_A2A_AGENTS_MODE_UNTRUSTED] = "untrusted",
		[AR_CONFIG_A2A_AGENTS_MODE_ON_REQUEST] = "on_request",
		[AR_CONFIG_A2A_AGENTS_MODE_ON_FAILURE] = "on_failure",
		[AR_CONFIG_A2A_AGENTS_MODE_NEVER] = "never",
		[AR_CONFIG_A2A_AGENTS_MODE_PLAN] = "plan",
		[AR_CONFIG_A2A_AGENTS_MODE_AUTO] = "auto",
	};

	*ret = (struct ar_a2a_agent){ .name = ar_arena_str(a, ar_str_from(g->name)),
				      .title = ar_arena_str(a, ar_str_from(*g->title ? g->title : g->name)),
				      .description = ar_arena_str(a, ar_str_from(g->description)),
				      .version = ar_arena_str(a, ar_str_from(g->version)),
				      .workspace = set_text(a, g->workspace),
				      .model = set_text(a, g->model),
				      .mode = set_text(a, modes[g->mode]),
				      .tenants = texts_of(&g->tenants, a),
				      .speaks_v03 = g->old_clients };
	read_skills(g, policy, a, ret);
	return check_skills(g, ret, err);
}

/* ---- cards ---- */

/* As HTTP dates are, whatever the locale says. */
static struct ar_str date_of(time_t t, struct ar_arena *a)
{
	static const char days[] = "SunMonTueWedThuFriSat", months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	struct tm tm;

	gmtime_r(&t, &tm);
	return ar_arena_fmt(a, "%.3s, %02d %.3s %04d %02d:%02d:%02d GMT", days + 3 * (ptrdiff_t)tm.tm_wday,
			    tm.tm_mday, months + 3 * (ptrdiff_t)tm.tm_mon, tm.tm_year + 1900, tm.tm_hour,
			    tm.tm_min, tm.tm_sec);
}

static void make_card(struct host_a2a *h, const struct ar_a2a_card_ask *ask, struct ar_arena *a,
		      struct ar_a2a_card *ret)
{
	struct ar_arena work = { 0 };
	struct ar_buf out = { 0 };

	ar_a2a_card_write(&h->published, ask, h->key, h->json, &work, &out);
	ret->body = ar_arena_str(a, ar_buf_str(&out));
	ret->etag = ar_arena_fmt(a, "\"%.32s\"", ar_hash_digits(&work, ret->body, AR_HASH_HEX).p);
	ret->modified = h->modified;
	ar_buf_fini(&out);
	ar_arena_fini(&work);
}

static void give_card(void *arg, const struct ar_a2a_card_ask *ask, struct ar_arena *a,
		      struct ar_a2a_card *ret)
{
	struct host_a2a *h = arg;
	struct ar_a2a_card *kept = &h->cards[ask->agent - h->published.agents][ask->is_pure ? PURE : MERGED];

	if (!ar_str_absent(ask->tenant)) {
		make_card(h, ask, a, ret);
		return;
	}
	if (ar_str_absent(kept->body))
		make_card(h, ask, &h->arena, kept);
	*ret = *kept;
}

/* ---- pushes ---- */

static const char *push_fault(void *arg, struct ar_str url)
{
	const struct host_a2a *h = arg;
	const char *why = NULL;

	return ar_host_push_way(h->config, url, &why) == AR_PUSH_NOWHERE ? why : NULL;
}

/* ---- life ---- */

static enum ar_status fill(struct host_a2a *h, const struct ar_config *c, const struct ar_policy *policy,
			   struct ar_error *err)
{
	struct ar_a2a_agent *agents = ar_arena_alloc(&h->arena, c->a2a_agents_count * sizeof(*agents));
	struct ar_a2a_published *p = &h->published;

	p->url = ar_arena_str(&h->arena, ar_str_from(c->a2a.url));
	p->agents = agents;
	p->standard = &agents[0];
	p->count = c->a2a_agents_count;
	for (size_t i = 0; i < p->count; i++) {
		if (read_agent(&c->a2a_agents[i], policy, &h->arena, &agents[i], err) != AR_OK)
			return err->status;
	}
	if (*c->a2a.standard_agent)
		p->standard = ar_a2a_agent_find(p, ar_str_from(c->a2a.standard_agent));
	p->security = (struct ar_a2a_security){ .is_open = !c->auth.required,
						.has_certificates = *c->tls.client_ca != 0 };
	if (*c->auth.jwt_issuer)
		p->security.oidc =
			ar_arena_fmt(&h->arena, "%s/.well-known/openid-configuration", c->auth.jwt_issuer);
	p->streams = true;
	p->pushes = *c->a2a.push_to != 0;
	p->push_fault = push_fault;
	h->config = c;
	p->extensions = extensions;
	p->extension_count = AR_ARRAY_LEN(extensions);
	p->card = give_card;
	p->arg = h;
	h->modified = date_of((time_t)(ar_clock_system()->wall(ar_clock_system()) / 1000000), &h->arena);
	h->cards = ar_arena_alloc(&h->arena, p->count * sizeof(*h->cards));
	return AR_OK;
}

enum ar_status ar_host_a2a_open(const struct ar_config *c, const struct ar_policy *policy,
				const struct ar_a2a_published **ret, struct ar_error *err)
{
	const char *key;
	struct host_a2a *h;

	*ret = NULL;
	if (c->a2a_agents_count == 0)
		return AR_OK;
	if (ar_host_a2a_check(c, &key, err) != AR_OK)
		return key ? ar_fail_wrap(err, key) : err->status;
	h = ar_new0(sizeof(*h));
	h->json = ar_json_parser_new();
	if ((*c->a2a.card_key && read_key(c->a2a.card_key, &h->key, err) != AR_OK) ||
	    fill(h, c, policy, err) != AR_OK) {
		ar_host_a2a_close(&h->published);
		return err->status;
	}
	*ret = &h->published;
	return AR_OK;
}

void ar_host_a2a_close(const struct ar_a2a_published *p)
{
	struct host_a2a *h = p ? AR_CONTAINER_OF(p, struct host_a2a, published) : NULL;

	if (!h)
		return;
	ar_es256_free(h->key);
	ar_json_parser_free(h->json);
	ar_arena_fini(&h->arena);
	ar_free(h);
}
