/* See model.h. */
#include "model.h"
#include "ops/descriptors.h"

#include <string.h>

/* Settings of one vendor. */
struct place {
	int provider; /* value of model.provider */
	const char *wire;
	const char *base_url, *const *api_key;
	/* model of a server at another address; NULL: the vendor's names hold there too */
	const char *unnamed;
};

/* One server as a provider is opened for it. */
struct server {
	const struct ar_wire *wire;
	const char *base_url, *version; /* "" = none */
	const char *const *api_key; /* where it stands in the settings: it may be renewed */
};

#define PLACES 4

static void list_places(const struct ar_config *c, struct place places[PLACES])
{
	const struct place all[PLACES] = {
		{ AR_CONFIG_MODEL_PROVIDER_OPENAI_CHAT, "openai-chat", c->openai.base_url, &c->openai.api_key,
		  "default" },
		{ AR_CONFIG_MODEL_PROVIDER_OPENAI_RESPONSES, "openai-responses", c->openai.base_url,
		  &c->openai.api_key, "default" },
		{ AR_CONFIG_MODEL_PROVIDER_ANTHROPIC, "anthropic", c->anthropic.base_url,
		  &c->anthropic.api_key, NULL },
		{ AR_CONFIG_MODEL_PROVIDER_GEMINI, "gemini", c->gemini.base_url, &c->gemini.api_key, NULL },
	};

	memcpy(places, all, sizeof(all));
}

static bool is_set(const struct place *p)
{
	return *p->base_url || **p->api_key;
}

/* The place that is asked for; with "auto" the first that something is configured for. General settings
 * without a format have always meant the first. */
static const struct place *pick(const struct ar_config *c, const struct place places[PLACES])
{
	bool is_auto = c->model.provider == AR_CONFIG_MODEL_PROVIDER_AUTO;

	if (is_auto && (*c->model.base_url || *c->model.api_key))
		return &places[0];
	for (size_t i = 0; i < PLACES; i++) {
		if (is_auto ? is_set(&places[i]) : places[i].provider == (int)c->model.provider)
			return &places[i];
	}
	return &places[0];
}

static const char *first_of(const char *a, const char *b)
{
	return *a ? a : b;
}

/* ---- opening ---- */

struct opening {
	uv_loop_t *loop;
	const struct ar_config *config;
	struct ar_arena *arena;
	struct ar_models *models;
	struct server *servers; /* of models->open */
};

/* Idle connections cost descriptors too: all servers together keep no more than calls may be under way. */
static uint32_t kept_connections(const struct ar_config *c)
{
	size_t each = ar_descriptors_for_calls(c) / (c->models_count ? c->models_count : 1);

	return each ? (uint32_t)each : 1;
}

static struct ar_provider *open_server(const struct opening *o, const struct server *s)
{
	const struct ar_config *c = o->config;

	return ar_http_provider_new(o->loop,
				    &(struct ar_http_provider_options){
					    .wire = s->wire,
					    .base_url = *s->base_url ? s->base_url : NULL,
					    .api_key_at = s->api_key,
					    .version = *s->version ? s->version : NULL,
					    .connect_timeout_ms = (uint32_t)c->model.connect_timeout_ms,
					    .first_byte_timeout_ms = (uint32_t)c->model.first_byte_timeout_ms,
					    .idle_timeout_ms = (uint32_t)c->model.idle_timeout_ms,
					    .kept_connections = kept_connections(c),
					    .total_timeout_ms = (uint32_t)c->model.total_timeout_ms,
					    .max_output_bytes = (uint32_t)c->model.max_output_bytes });
}

static bool is_same(const struct server *a, const struct server *b)
{
	return a->wire == b->wire && strcmp(a->base_url, b->base_url) == 0 &&
	       strcmp(*a->api_key, *b->api_key) == 0 && strcmp(a->version, b->version) == 0;
}

static struct ar_provider *provider_for(struct opening *o, const struct server *s)
{
	struct ar_models *m = o->models;

	for (size_t i = 0; i < m->open_count; i++) {
		if (is_same(&o->servers[i], s))
			return m->open[i];
	}
	o->servers[m->open_count] = *s;
	m->open[m->open_count] = open_server(o, s);
	return m->open[m->open_count++];
}

static void add(struct opening *o, const struct ar_model_entry *entry, const struct server *s)
{
	struct ar_models *m = o->models;

	m->entries[m->count] = *entry;
	m->slots[m->count] = (struct ar_provider_slot){ entry->name, provider_for(o, s) };
	m->count++;
}

static void make_room(struct opening *o, size_t count)
{
	struct ar_models *m = o->models;

	m->entries = ar_arena_alloc(o->arena, count * sizeof(*m->entries));
	m->slots = ar_arena_alloc(o->arena, count * sizeof(*m->slots));
	m->open = ar_arena_alloc(o->arena, count * sizeof(struct ar_provider *));
	o->servers = ar_arena_alloc(o->arena, count * sizeof(*o->servers));
}

/* ---- one model without a list ---- */

static void open_one(struct opening *o, const struct place *p)
{
	const struct ar_config *c = o->config;
	const struct server s = { .wire = ar_wire_find(ar_str_from(p->wire)),
				  .base_url = first_of(p->base_url, c->model.base_url),
				  .api_key = **p->api_key ? p->api_key : &c->model.api_key,
				  .version = c->model.api_version };
	const char *unnamed = *s.base_url && p->unnamed ? p->unnamed : s.wire->model;
	struct ar_str name = ar_arena_str(o->arena, ar_str_from(first_of(c->model.name, unnamed)));

	if (!*s.base_url && !**s.api_key)
		return;
	make_room(o, 1);
	/* Nobody said what it can do or costs: it is tried, and its cost is unknown. */
	add(o,
	    &(struct ar_model_entry){
		    .name = name,
		    .provider = ar_str_from(s.wire->name),
		    .model = name,
		    .price = { AR_MONEY_UNKNOWN, AR_MONEY_UNKNOWN, AR_MONEY_UNKNOWN, AR_MONEY_UNKNOWN },
		    .capabilities = AR_CAN_ALL,
		    .is_undeclared = true,
		    .has_credentials = true,
		    .takes_any = true },
	    &s);
}

/* ---- the list ---- */

static unsigned capabilities_of(const struct ar_config_strings *words)
{
	unsigned bits = 0;

	for (size_t i = 0; i < words->count; i++) {
		for (unsigned k = 0; k < AR_CAPABILITIES; k++) {
			if (strcmp(words->v[i], ar_capability_word[k]) == 0)
				bits |= 1u << k;
		}
	}
	return bits ? bits : (unsigned)AR_CAN_TOOLS | AR_CAN_JSON;
}

static void open_entry(struct opening *o, const struct ar_config_models *m, const struct place *p)
{
	bool is_elsewhere = *m->base_url;
	const struct server s = { .wire = ar_wire_find(ar_str_from(p->wire)),
				  .base_url = first_of(m->base_url, p->base_url),
				  .api_key = *m->api_key || is_elsewhere ? &m->api_key : p->api_key,
				  .version = m->api_version };

	add(o,
	    &(struct ar_model_entry){
		    .name = ar_str_from(m->name),
		    .provider = ar_str_from(s.wire->name),
		    .model = ar_str_from(first_of(m->model, m->name)),
		    .currency = ar_str_from(m->currency),
		    .price = { m->input_price, m->output_price, m->cached_price, m->cache_write_price },
		    .context_tokens = m->context_tokens,
		    .capabilities = capabilities_of(&m->capabilities),
		    .is_undeclared = m->capabilities.count == 0,
		    .has_credentials = *s.base_url || **s.api_key,
		    .is_local = m->local },
	    &s);
}

/* Amounts of several currencies cannot be added up. */
static enum ar_status check_currency(const struct ar_config *c, struct ar_error *err)
{
	for (size_t i = 1; i < c->models_count; i++) {
		if (strcmp(c->models[i].currency, c->models[0].currency) != 0)
			return ar_fail(
				err, AR_E_INVALID,
				"models[%zu].currency: %s is needed, as in models[0]; costs are added up", i,
				c->models[0].currency);
	}
	return AR_OK;
}

enum ar_status ar_models_open(uv_loop_t *loop, const struct ar_config *c, struct ar_arena *a,
			      struct ar_models *ret, struct ar_error *err)
{
	struct opening o = { .loop = loop, .config = c, .arena = a, .models = ret };
	struct place places[PLACES];

	*ret = (struct ar_models){ 0 };
	list_places(c, places);
	if (check_currency(c, err) != AR_OK)
		return AR_E_INVALID;
	if (c->models_count == 0) {
		open_one(&o, pick(c, places));
		return AR_OK;
	}
	make_room(&o, c->models_count);
	/* The words of models.provider are those of model.provider without auto, in the
	 * same order as the places. */
	for (size_t i = 0; i < c->models_count; i++)
		open_entry(&o, &c->models[i], &places[c->models[i].provider]);
	return AR_OK;
}

void ar_models_close(struct ar_models *m)
{
	for (size_t i = 0; i < m->open_count; i++)
		m->open[i]->v->close(m->open[i]);
	m->open_count = 0;
}
