/* Push configurations of A2A: which there are is in the homes of tenants. The homes are listed at the start
 * (on a cluster again and again, for other nodes make some), and each is looked at, one after the other, when
 * it is found, when a configuration of it was set or removed here, and when it has come to this node. Each
 * configuration that is not over runs as a webhook of its own (push.c). Owner: the loop thread. */
#include "describe.h"
#include "mem.h"
#include "tenant.h"
#include "webhook/webhook_priv.h"

#include <string.h>

#define PAGE 200
#define LOOK ((ar_usec)1000 * 1000)
#define LIST_EVERY ((ar_usec)30 * 1000 * 1000)

static void look_next(struct ar_host_webhooks *all);

static void on_timer(uv_timer_t *timer);

static void set_timer(struct ar_host_webhooks *all)
{
	if (!all->is_closing)
		uv_timer_start(&all->pushes->timer, on_timer, LOOK / 1000, 0);
}

static bool is_here(const struct ar_host_webhooks *all, const struct ar_push_home *h)
{
	struct ar_str address;

	return ar_control_place(all->o.control, (struct ar_str){ h->key, AR_SESSION_KEY_LEN }, &address) ==
	       AR_PLACE_HERE;
}

/* ---- one that ends ---- */

static void on_closed(uv_handle_t *timer)
{
	struct ar_host_webhook *w = timer->data;

	ar_push_free(w->push);
}

void ar_push_release(struct ar_host_push *p)
{
	struct ar_host_webhook *w = &p->w;

	if (!p->is_gone || w->all->is_closing || w->sending || w->is_looking || w->is_reporting ||
	    p->is_reading || uv_is_closing((uv_handle_t *)&w->timer))
		return;
	uv_close((uv_handle_t *)&w->timer, on_closed);
}

void ar_push_end(struct ar_host_push *p)
{
	if (!p->is_gone)
		ar_host_webhook_leave(&p->w);
	p->is_gone = true;
	ar_push_release(p);
}

/* ---- a home ---- */

static struct ar_host_push *find_running(struct ar_pushes *s, struct ar_str tenant, struct ar_str name)
{
	AR_LIST_FOR (it, &s->all) {
		struct ar_host_push *p = AR_CONTAINER_OF(it, struct ar_host_push, node);

		if (!p->is_gone && ar_str_eq(p->setting.tenant, tenant) && ar_str_eq(p->setting.name, name))
			return p;
	}
	return NULL;
}

static bool is_due(const struct ar_webhook *known)
{
	return known && known->push && !ar_webhook_is_over(known);
}

/* Also of a home that is not there any more: then none is due. */
static void end_others(struct ar_host_webhooks *all, const struct ar_push_home *h,
		       const struct ar_session *home)
{
	AR_LIST_FOR_SAFE (it, &all->pushes->all) {
		struct ar_host_push *p = AR_CONTAINER_OF(it, struct ar_host_push, node);
		const struct ar_webhook *known = home ? ar_session_webhook(home, p->setting.name) : NULL;

		if (memcmp(p->w.home, h->key, AR_SESSION_KEY_LEN) == 0 && !is_due(known))
			ar_push_end(p);
	}
}

static void start(struct ar_host_webhooks *all, const struct ar_push_home *h, struct ar_str tenant,
		  const struct ar_webhook *known)
{
	struct ar_host_push *p = ar_push_new(all, tenant, known);

	if (!p) {
		if (!all->pushes->has_warned)
			ar_log_line(
				all->o.log, "warning",
				"push configurations cannot be used with a2a.push_to or a2a.push_key as they "
				"are now",
				NULL);
		all->pushes->has_warned = true;
		return;
	}
	memcpy(p->w.home, h->key, AR_SESSION_KEY_LEN);
	ar_list_push(&all->pushes->all, &p->node);
	ar_host_webhook_start(&p->w);
}

static void take_home(struct ar_host_webhooks *all, const struct ar_push_home *h,
		      const struct ar_session *home)
{
	struct ar_str tenant = home ? ar_session_tenant(home) : AR_STR_NONE;

	end_others(all, h, home);
	for (size_t i = 0; home && i < home->webhooks.count; i++) {
		const struct ar_webhook *known = home->webhooks.at[i];

		if (is_due(known) && !find_running(all->pushes, tenant, known->name))
			start(all, h, tenant, known);
	}
}

static void on_look(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_pushes *set = AR_CONTAINER_OF(v, struct ar_pushes, view);
	struct ar_host_webhooks *all = set->timer.data;

	set->is_looking = false;
	if (all->is_closing)
		return;
	if (s || err->code == AR_ERR_SESSION_NOT_FOUND) {
		take_home(all, set->looked, s);
	} else {
		set->looked->is_failed = true;
		set_timer(all);
	}
	look_next(all);
}

static void look_next(struct ar_host_webhooks *all)
{
	struct ar_pushes *s = all->pushes;

	AR_LIST_FOR (it, &s->homes) {
		struct ar_push_home *h = AR_CONTAINER_OF(it, struct ar_push_home, node);

		if (s->is_looking)
			return;
		if (!h->wants_look || !is_here(all, h))
			continue;
		h->wants_look = false;
		s->is_looking = true;
		s->looked = h;
		s->view =
			(struct ar_engine_view){ .session = { h->key, AR_SESSION_KEY_LEN }, .done = on_look };
		ar_engine_look(all->o.engine, &s->view);
		return;
	}
}

static struct ar_push_home *find_home(struct ar_pushes *s, const char *key)
{
	AR_LIST_FOR (it, &s->homes) {
		struct ar_push_home *h = AR_CONTAINER_OF(it, struct ar_push_home, node);

		if (memcmp(h->key, key, AR_SESSION_KEY_LEN) == 0)
			return h;
	}
	return NULL;
}

static struct ar_push_home *need_home(struct ar_pushes *s, const char *key)
{
	struct ar_push_home *h = find_home(s, key);

	if (h)
		return h;
	h = ar_new0(sizeof(*h));
	memcpy(h->key, key, AR_SESSION_KEY_LEN);
	h->wants_look = true;
	ar_list_push(&s->homes, &h->node);
	return h;
}

static void pushes_changed(void *arg, struct ar_str tenant)
{
	struct ar_host_webhooks *all = arg;
	char key[AR_SESSION_KEY_LEN];

	ar_tenant_home(tenant, key);
	need_home(all->pushes, key)->wants_look = true;
	look_next(all);
}

/* ---- all homes ---- */

static void list_homes(struct ar_host_webhooks *all, struct ar_str before);

static void on_listed(struct ar_store_op *op)
{
	struct ar_pushes *s = AR_CONTAINER_OF(op, struct ar_pushes, list.op);
	struct ar_host_webhooks *all = s->timer.data;
	bool is_good = op->status == AR_OK;
	char last[AR_SESSION_KEY_LEN];
	bool has_more = is_good && s->list.more && s->list.count;

	s->is_listing = false;
	for (size_t i = 0; is_good && i < s->list.count; i++) {
		if (ar_tenant_is_a_home(s->list.ids[i]))
			need_home(s, s->list.ids[i].p);
	}
	if (has_more)
		memcpy(last, s->list.ids[s->list.count - 1].p, sizeof last);
	ar_store_op_fini(op);
	if (all->is_closing)
		return;
	if (has_more) {
		list_homes(all, (struct ar_str){ last, sizeof last });
		return;
	}
	if (!is_good)
		s->list_at = ar_webhook_now() + LOOK;
	else
		s->list_at = all->o.is_shared ? ar_webhook_now() + LIST_EVERY : 0;
	if (s->list_at)
		set_timer(all);
	look_next(all);
}

static void list_homes(struct ar_host_webhooks *all, struct ar_str before)
{
	struct ar_pushes *s = all->pushes;
	char *at = s->before;

	memcpy(at, before.p, AR_SESSION_KEY_LEN);
	s->is_listing = true;
	s->list = (struct ar_store_sessions){ .op = { .kind = AR_STORE_SESSIONS, .done = on_listed },
					      .before = { at, AR_SESSION_KEY_LEN },
					      .limit = PAGE };
	ar_store_submit(all->o.store, &s->list.op);
}

/* Homes that are elsewhere may come, and then may have other configurations than before. */
static void on_timer(uv_timer_t *timer)
{
	struct ar_host_webhooks *all = timer->data;
	struct ar_pushes *s = all->pushes;

	if (all->is_closing)
		return;
	AR_LIST_FOR (it, &s->homes) {
		struct ar_push_home *h = AR_CONTAINER_OF(it, struct ar_push_home, node);

		h->wants_look = h->wants_look || h->is_failed || !is_here(all, h);
		h->is_failed = false;
	}
	if (s->list_at && !s->is_listing && ar_webhook_now() >= s->list_at)
		list_homes(all, ar_str_from(ar_tenant_homes_below));
	look_next(all);
	if (all->o.is_shared || s->list_at)
		set_timer(all);
}

/* ---- life ---- */

static void choose_types(uint8_t *types)
{
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json list;
	struct ar_str name;

	AR_ASSERT(ar_json_parse(parser, ar_a2a_types, &list, NULL) == AR_OK);
	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it);)
		AR_ASSERT(ar_json_str(it.value, &name) && ar_event_types_add(name, types));
	ar_json_parser_free(parser);
}

struct ar_webhook_poster *ar_pushes_poster(const struct ar_pushes *s, const struct ar_host_push *p)
{
	if (p->is_public)
		return s->public;
	return ar_str_starts(p->target.url, AR_STR("http:")) ? s->open : s->secure;
}

enum ar_status ar_pushes_open(struct ar_host_webhooks *all, struct ar_error *err)
{
	const struct ar_config *c = all->o.config;
	struct ar_pushes *s;

	if (!*c->a2a.push_to || c->a2a_agents_count == 0)
		return AR_OK;
	if (ar_host_push_check(c, err) != AR_OK)
		return ar_fail_wrap(err, "a2a.push_to");
	if (ar_host_push_key_check(c, err) != AR_OK)
		return ar_fail_wrap(err, "a2a.push_key");
	if (!*c->a2a.push_key)
		return ar_fail(err, AR_E_INVALID, "a2a.push_to needs a2a.push_key");
	s = all->pushes = ar_new0(sizeof(*s));
	ar_list_init(&s->all);
	ar_list_init(&s->homes);
	choose_types(s->types);
	s->base = ar_str_from(c->a2a.url);
	s->open = ar_webhook_poster_new(all->o.loop, false, NULL);
	s->secure = ar_webhook_poster_new(all->o.loop, true, NULL);
	s->public = ar_webhook_poster_new(all->o.loop, true, NULL);
	uv_timer_init(all->o.loop, &s->timer);
	s->timer.data = all;
	list_homes(all, ar_str_from(ar_tenant_homes_below));
	return AR_OK;
}

static enum ar_status seal(void *arg, const struct ar_push_target *t, struct ar_arena *a,
			   struct ar_push_sealed *ret, struct ar_error *err)
{
	const struct ar_host_webhooks *all = arg;

	return ar_host_push_seal(all->o.config, t, a, ret, err);
}

static bool unseal(void *arg, struct ar_str sealed, struct ar_arena *a, struct ar_push_target *t)
{
	const struct ar_host_webhooks *all = arg;

	return ar_host_push_unseal(all->o.config, sealed, a, t);
}

void ar_pushes_serve(struct ar_host_webhooks *all, struct ar_control_webhooks *ret)
{
	if (!all->pushes)
		return;
	ret->seal = seal;
	ret->unseal = unseal;
	ret->pushes_changed = pushes_changed;
}

void ar_pushes_close(struct ar_host_webhooks *all)
{
	struct ar_pushes *s = all->pushes;

	if (!s)
		return;
	AR_LIST_FOR_SAFE (it, &s->all) {
		struct ar_host_push *p = AR_CONTAINER_OF(it, struct ar_host_push, node);

		ar_host_webhook_leave(&p->w);
		if (!uv_is_closing((uv_handle_t *)&p->w.timer))
			uv_close((uv_handle_t *)&p->w.timer, NULL);
	}
	ar_webhook_poster_close(s->open);
	ar_webhook_poster_close(s->secure);
	ar_webhook_poster_close(s->public);
	uv_close((uv_handle_t *)&s->timer, NULL);
}

void ar_pushes_free(struct ar_host_webhooks *all)
{
	struct ar_pushes *s = all->pushes;

	if (!s)
		return;
	AR_LIST_FOR_SAFE (it, &s->all)
		ar_push_free(AR_CONTAINER_OF(it, struct ar_host_push, node));
	AR_LIST_FOR_SAFE (it, &s->homes)
		ar_free(AR_CONTAINER_OF(it, struct ar_push_home, node));
	ar_free(s);
}
