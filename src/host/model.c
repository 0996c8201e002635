/* See model.h. */
#include "model.h"

/* Settings of one vendor. */
struct place {
	int provider; /* value of model.provider */
	const char *wire;
	const char *base_url, *api_key;
	const char
		*unnamed; /* model of a server at another address; NULL: the vendor's names hold there too */
};

static bool is_set(const struct place *p)
{
	return *p->base_url || *p->api_key;
}

/* The place that is asked for; with "auto" the first that something is configured for. */
static const struct place *pick(const struct ar_config *c, const struct place *places, size_t count)
{
	bool is_auto = c->model.provider == AR_CONFIG_MODEL_PROVIDER_AUTO;

	for (size_t i = 0; i < count; i++) {
		if (is_auto ? is_set(&places[i]) : places[i].provider == (int)c->model.provider)
			return &places[i];
	}
	return &places[0];
}

static const char *first_of(const char *a, const char *b)
{
	return *a ? a : b;
}

static struct ar_model_choice choose(const struct ar_config *c, const struct place *p)
{
	const struct ar_wire *wire = ar_wire_find(ar_str_from(p->wire));
	const char *base_url = first_of(p->base_url, c->model.base_url);
	const char *api_key = first_of(p->api_key, c->model.api_key);
	const char *name = *base_url && p->unnamed ? p->unnamed : wire->model;

	return (struct ar_model_choice){
		.wire = *base_url || *api_key ? wire : NULL,
		.base_url = *base_url ? base_url : NULL,
		.api_key = api_key,
		.name = first_of(c->model.name, name),
	};
}

struct ar_model_choice ar_model_choose(const struct ar_config *c)
{
	const struct place places[] = {
		{ AR_CONFIG_MODEL_PROVIDER_OPENAI_CHAT, "openai-chat", c->openai.base_url, c->openai.api_key,
		  "default" },
		{ AR_CONFIG_MODEL_PROVIDER_OPENAI_RESPONSES, "openai-responses", c->openai.base_url,
		  c->openai.api_key, "default" },
		{ AR_CONFIG_MODEL_PROVIDER_ANTHROPIC, "anthropic", c->anthropic.base_url,
		  c->anthropic.api_key, NULL },
		{ AR_CONFIG_MODEL_PROVIDER_GEMINI, "gemini", c->gemini.base_url, c->gemini.api_key, NULL },
	};
	bool has_general = *c->model.base_url || *c->model.api_key;

	/* General settings without a format have always meant the first. */
	if (has_general && c->model.provider == AR_CONFIG_MODEL_PROVIDER_AUTO)
		return choose(c, &places[0]);
	return choose(c, pick(c, places, AR_ARRAY_LEN(places)));
}

struct ar_provider *ar_model_open(uv_loop_t *loop, const struct ar_config *c)
{
	struct ar_model_choice choice = ar_model_choose(c);

	if (!choice.wire)
		return NULL;
	return ar_http_provider_new(loop,
				    &(struct ar_http_provider_options){
					    .wire = choice.wire,
					    .base_url = choice.base_url,
					    .api_key = choice.api_key,
					    .version = *c->model.api_version ? c->model.api_version : NULL,
					    .connect_timeout_ms = (uint32_t)c->model.connect_timeout_ms,
					    .first_byte_timeout_ms = (uint32_t)c->model.first_byte_timeout_ms,
					    .idle_timeout_ms = (uint32_t)c->model.idle_timeout_ms,
					    .total_timeout_ms = (uint32_t)c->model.total_timeout_ms,
					    .max_output_bytes = (uint32_t)c->model.max_output_bytes });
}
