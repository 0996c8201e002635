/* See webhooks.h. All webhooks of the settings, and what control asks of them. Owner: the loop thread. */
#include "delivery/delivery.h"
#include "describe.h"
#include "json.h"
#include "mem.h"
#include "sign.h"
#include "tenant.h"
#include "url.h"
#include "webhook/webhook_priv.h"

#include <string.h>

#define NAME_MAX_LEN 64

/* ---- settings ---- */

static bool is_name(struct ar_str text)
{
	return text.len <= NAME_MAX_LEN && ar_id_acceptable(text) &&
	       !ar_str_starts(text, AR_STR(AR_WEBHOOK_PUSH_PREFIX));
}

static enum ar_status check_one(const struct ar_config_webhooks *w, struct ar_error *err)
{
	struct ar_arena a = { 0 };
	struct ar_str key;
	uint8_t types[AR_EV_COUNT];
	bool is_usable = !*w->secret || ar_webhook_key(ar_str_from(w->secret), &a, &key);

	ar_arena_fini(&a);
	if (!is_name(ar_str_from(w->name)))
		return ar_fail(err, AR_E_INVALID,
			       "webhooks: the name '%.64s' is not 1 to %d of A-Z a-z 0-9 . _ : -, or begins "
			       "with " AR_WEBHOOK_PUSH_PREFIX,
			       w->name, NAME_MAX_LEN);
	if (!ar_url_is_safe(w->url))
		return ar_fail(err, AR_E_INVALID,
			       "webhooks: the url of '%.64s' is neither https nor an address of this machine",
			       w->name);
	if (!is_usable)
		return ar_fail(err, AR_E_INVALID,
			       "webhooks: the secret of '%.64s' is neither whsec_ with base64 of at least 16 "
			       "bytes nor a text of at least 16 bytes",
			       w->name);
	for (size_t i = 0; i < w->events.count; i++) {
		if (!ar_event_types_add(ar_str_from(w->events.v[i]), types))
			return ar_fail(err, AR_E_INVALID, "webhooks: '%.64s': there is no event type '%.64s'",
				       w->name, w->events.v[i]);
	}
	return AR_OK;
}

static struct ar_texts texts_of(const struct ar_config_strings *s, struct ar_arena *a)
{
	struct ar_str *at = ar_arena_alloc(a, (s->count + 1) * sizeof(*at));

	for (size_t i = 0; i < s->count; i++)
		at[i] = ar_arena_str(a, ar_str_from(s->v[i]));
	return (struct ar_texts){ at, s->count };
}

enum ar_status ar_host_webhooks_read(const struct ar_config *c, struct ar_arena *a,
				     struct ar_host_webhook_list *ret, struct ar_error *err)
{
	ret->settings = ar_arena_alloc(a, (c->webhooks_count + 1) * sizeof(*ret->settings));
	ret->count = c->webhooks_count;
	for (size_t i = 0; i < c->webhooks_count; i++) {
		const struct ar_config_webhooks *w = &c->webhooks[i];

		if (check_one(w, err) != AR_OK)
			return err->status;
		ret->settings[i] = (struct ar_webhook_setting){
			.name = ar_arena_str(a, ar_str_from(w->name)),
			.tenant = ar_arena_str(a, ar_str_from(w->tenant)),
			.address = ar_host_webhook_address(ar_str_from(w->url), a),
			.events = texts_of(&w->events, a),
		};
	}
	return AR_OK;
}

void ar_host_webhooks_name(const struct ar_config *c, struct ar_arena *a, struct ar_policy *policy)
{
	struct ar_webhook_name *names = ar_arena_alloc(a, (c->webhooks_count + 1) * sizeof(*names));

	for (size_t i = 0; i < c->webhooks_count; i++)
		names[i] =
			(struct ar_webhook_name){ .tenant =
							  ar_arena_str(a, ar_str_from(c->webhooks[i].tenant)),
						  .name = ar_arena_str(a, ar_str_from(c->webhooks[i].name)) };
	policy->webhooks = names;
	policy->webhook_count = c->webhooks_count;
}

/* ---- what control asks ---- */

static bool status_of(void *arg, size_t index, struct ar_webhook_status *ret)
{
	const struct ar_host_webhooks *all = arg;
	const struct ar_host_webhook *w = &all->at[index];

	*ret = (struct ar_webhook_status){ 0 };
	AR_LIST_FOR (it, &w->queue) {
		const struct ar_delivery *d = AR_CONTAINER_OF(it, struct ar_delivery, node);

		if (d->state == AR_DELIVERY_DONE)
			continue;
		if (ret->waiting++ == 0)
			ret->waiting_since = d->time;
	}
	if (w->last_error[0])
		ret->last_error = ar_str_from(w->last_error);
	return w->is_open;
}

static void redeliver(void *arg, struct ar_str name)
{
	struct ar_host_webhooks *all = arg;

	for (size_t i = 0; i < all->list.count; i++) {
		if (!ar_str_eq(all->list.settings[i].name, name))
			continue;
		all->at[i].wants_look = true;
		ar_host_webhook_wake(&all->at[i]);
	}
}

/* ---- life ---- */

/* Without types all of the public schema. Results that are delivered to it come in any case. */
static void choose_types(const struct ar_config_webhooks *c, uint8_t *types)
{
	for (size_t n = 0; n < c->events.count; n++)
		AR_ASSERT(ar_event_types_add(ar_str_from(c->events.v[n]), types));
	for (int type = 1; c->events.count == 0 && type < AR_EV_COUNT; type++)
		types[type] = ar_event_describe((enum ar_event_type)type)->class != AR_CLASS_EXTENDED;
	types[AR_EV_DELIVERY_REQUESTED] = 1;
}

static void open_one(struct ar_host_webhooks *all, size_t i)
{
	struct ar_host_webhook *w = &all->at[i];
	const struct ar_config_webhooks *c = &all->o.config->webhooks[i];
	struct ar_url url = { 0 };

	w->all = all;
	w->config = c;
	w->setting = &all->list.settings[i];
	ar_tenant_home(w->setting->tenant, w->home);
	w->home_id = ar_id_root(&all->arena, "sess", (struct ar_str){ w->home, AR_SESSION_KEY_LEN });
	choose_types(c, w->types);
	ar_url_parse(c->url, &url);
	w->poster = ar_webhook_poster_new(all->o.loop, url.is_https, c->ca_file);
	ar_host_webhook_start(w);
}

static void serve(struct ar_host_webhooks *all)
{
	struct ar_control_webhooks offer = { .settings = all->list.settings,
					     .count = all->list.count,
					     .status = status_of,
					     .redeliver = redeliver,
					     .arg = all };

	ar_pushes_serve(all, &offer);
	ar_control_serve_webhooks(all->o.control, &offer);
}

enum ar_status ar_host_webhooks_open(const struct ar_host_webhooks_options *o, struct ar_host_webhooks **ret,
				     struct ar_error *err)
{
	struct ar_host_webhooks *all;

	*ret = NULL;
	if (o->config->webhooks_count == 0 && !*o->config->a2a.push_to)
		return AR_OK;
	all = ar_new0(sizeof(*all));
	all->o = *o;
	ar_list_init(&all->orphans);
	all->json = ar_json_parser_new();
	if (ar_host_webhooks_read(o->config, &all->arena, &all->list, err) != AR_OK ||
	    ar_pushes_open(all, err) != AR_OK) {
		ar_json_parser_free(all->json);
		ar_arena_fini(&all->arena);
		ar_free(all);
		return err->status;
	}
	all->at = ar_grow(NULL, all->list.count + 1, sizeof(*all->at));
	memset(all->at, 0, (all->list.count + 1) * sizeof(*all->at));
	for (size_t i = 0; i < all->list.count; i++)
		open_one(all, i);
	serve(all);
	*ret = all;
	return AR_OK;
}

void ar_host_webhooks_close(struct ar_host_webhooks *all)
{
	if (!all)
		return;
	all->is_closing = true;
	ar_control_serve_webhooks(all->o.control, &(struct ar_control_webhooks){ 0 });
	for (size_t i = 0; i < all->list.count; i++) {
		struct ar_host_webhook *w = &all->at[i];

		ar_host_webhook_leave(w);
		ar_webhook_poster_close(w->poster);
		uv_close((uv_handle_t *)&w->timer, NULL);
	}
	ar_pushes_close(all);
}

void ar_host_webhooks_free(struct ar_host_webhooks *all)
{
	if (!all)
		return;
	AR_LIST_FOR_SAFE (it, &all->orphans)
		ar_delivery_free(AR_CONTAINER_OF(it, struct ar_delivery, node));
	ar_pushes_free(all);
	for (size_t i = 0; i < all->list.count; i++)
		ar_buf_fini(&all->at[i].report_body);
	ar_free(all->at);
	ar_json_parser_free(all->json);
	ar_arena_fini(&all->arena);
	ar_free(all);
}
