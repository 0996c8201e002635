/* See model.h. One thread. */
#include "model.h"
#include "api.h"
#include "clock.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_MS 5000L
#define WAIT_USEC 60000000
#define POLL_MS 250

struct ar_model_vendor {
	const char *providers; /* values of AGENTD_PROVIDER, with a space around each */
	const char *url_variable, *key_variable;
	const char *base_url;
	const char *models; /* path of the list */
	const char *key_header;
	const char *more_header; /* NULL: none */
};

static const struct ar_model_vendor vendors[] = {
	{ " openai-chat openai-responses ", "OPENAI_BASE_URL", "OPENAI_API_KEY", "https://api.openai.com/v1",
	  "/models", "Authorization: Bearer ", NULL },
	{ " anthropic ", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "https://api.anthropic.com", "/v1/models",
	  "x-api-key: ", "anthropic-version: 2023-06-01" },
	{ " gemini ", "GEMINI_BASE_URL", "GEMINI_API_KEY", "https://generativelanguage.googleapis.com",
	  "/v1beta/models", "x-goog-api-key: ", NULL },
};

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static bool is_asked_for(const struct ar_model_vendor *v, const char *provider)
{
	char padded[64];

	snprintf(padded, sizeof(padded), " %s ", provider);
	return strstr(v->providers, padded);
}

/* As agentd chooses: what AGENTD_PROVIDER says, else the first with an address or a key. */
static const struct ar_model_vendor *vendor_of(void)
{
	const char *provider = variable("AGENTD_PROVIDER");
	bool is_auto = !provider || strcmp(provider, "auto") == 0;

	for (size_t i = 0; i < AR_ARRAY_LEN(vendors); i++) {
		const struct ar_model_vendor *v = &vendors[i];

		if (is_auto ? variable(v->url_variable) || variable(v->key_variable)
			    : is_asked_for(v, provider))
			return v;
	}
	return &vendors[0];
}

/* People write addresses with and without the version that the path begins with. */
static struct ar_str without_version(struct ar_str base, const struct ar_model_vendor *v)
{
	struct ar_str head;
	size_t n;

	while (ar_str_ends(base, AR_STR("/")))
		base.len--;
	ar_str_split(ar_str_from(v->models + 1), '/', &head);
	n = head.len + 1;
	if (base.len > n && ar_str_ends(base, (struct ar_str){ v->models, n }))
		base.len -= n;
	return base;
}

bool ar_model_endpoint(struct ar_ctl *c, struct ar_model_endpoint *ret)
{
	const struct ar_model_vendor *v = vendor_of();
	struct ar_str base = ar_str_from(variable(v->url_variable));

	*ret = (struct ar_model_endpoint){ .vendor = v,
					   .key = variable(v->key_variable),
					   .name = variable("AGENTD_MODEL"),
					   .url_variable = v->url_variable,
					   .key_variable = v->key_variable };
	if (ar_str_absent(base) && !ret->key)
		return false;
	if (ar_str_absent(base))
		base = ar_str_from(v->base_url);
	ret->base_url = ar_ctl_strdup(c, without_version(base, v));
	return true;
}

enum ar_status ar_model_list(struct ar_ctl *c, const struct ar_model_endpoint *m, struct ar_http_reply *ret,
			     struct ar_error *err)
{
	const struct ar_model_vendor *v = m->vendor;
	struct ar_http_request r = {
		.url = ar_arena_fmt(&c->arena, "%s%s", m->base_url, v->models).p,
		.headers = { m->key ? ar_arena_fmt(&c->arena, "%s%s", v->key_header, m->key).p : NULL,
			     v->more_header },
		.cacert = c->cacert,
		.total_ms = ASK_MS,
		.signal_fd = -1,
	};

	return ar_http_run(&r, ret, err);
}

/* A list of {"id"} under "data", or of {"name":"models/..."} under "models". */
bool ar_model_is_listed(struct ar_str body, const char *name)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json doc = { 0 };
	bool is_listed = false;

	if (ar_json_parse(parser, body, &doc, NULL) == AR_OK) {
		for (struct ar_json_iter it = ar_json_iter(ar_json_get(doc, "data")); ar_json_next(&it);)
			is_listed = is_listed || ar_str_is(ar_api_str(it.value, "id"), name);
		for (struct ar_json_iter it = ar_json_iter(ar_json_get(doc, "models")); ar_json_next(&it);)
			is_listed = is_listed || ar_str_ends(ar_api_str(it.value, "name"), ar_str_from(name));
	}
	ar_json_parser_free(parser);
	return is_listed;
}

static bool is_ready(struct ar_ctl *c, const struct ar_model_endpoint *m)
{
	struct ar_http_reply reply;
	bool is_ok = ar_model_list(c, m, &reply, NULL) == AR_OK && reply.status < 500;

	ar_buf_fini(&reply.body);
	return is_ok;
}

enum ar_exit ar_model_wait(struct ar_ctl *c)
{
	struct ar_clock *clock = ar_clock_system();
	ar_usec deadline = clock->mono(clock) + WAIT_USEC;
	struct ar_model_endpoint m;

	if (!ar_model_endpoint(c, &m))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("set OPENAI_BASE_URL"),
				       "there is no model address to wait for");
	if (is_ready(c, &m))
		return AR_EXIT_OK;
	ar_ctl_note(c, "waiting for the model server at %s", m.base_url);
	while (clock->mono(clock) < deadline) {
		poll(NULL, 0, POLL_MS);
		if (is_ready(c, &m))
			return AR_EXIT_OK;
	}
	return ar_ctl_complain(c, AR_EXIT_FAILED,
			       ar_arena_fmt(&c->arena, "start it, or correct %s", m.url_variable),
			       "the model server at %s does not answer", m.base_url);
}
