/* Webhooks of a tenant: which there are is in the settings, where each is in the events is in the tenant's
 * home session (core/session/webhook), and what waits now is known to the host, which sends. Owner: the loop
 * thread. */
#include "control_priv.h"
#include "webhook/control_webhook.h"
#include "webhook/webhook.h"

bool ar_webhook_is_command(enum ar_command command)
{
	return command == AR_CMD_REPORT_WEBHOOK || command == AR_CMD_REDELIVER_WEBHOOK ||
	       command == AR_CMD_SET_TASK_PUSH || command == AR_CMD_REMOVE_TASK_PUSH;
}

void ar_control_serve_webhooks(struct ar_control *c, const struct ar_control_webhooks *w)
{
	c->webhooks = *w;
}

static bool is_callers(const struct ar_call *c, const struct ar_webhook_setting *w)
{
	return ar_str_eq(w->tenant, ar_control_who(c->who)->tenant);
}

enum ar_status ar_webhook_check(const struct ar_call *c, struct ar_str name, struct ar_error *err)
{
	const struct ar_control_webhooks *all = &c->control->webhooks;

	for (size_t i = 0; i < all->count; i++) {
		if (is_callers(c, &all->settings[i]) && ar_str_eq(all->settings[i].name, name))
			return AR_OK;
	}
	return ar_refuse(err, AR_ERR_NOT_FOUND, "there is no webhook '%.*s'",
			 AR_STR_ARG(ar_str_utf8_prefix(name, 64)));
}

void ar_webhook_redelivering(struct ar_call *c, struct ar_str reply)
{
	const struct ar_control_webhooks *all = &c->control->webhooks;
	const struct ar_cmd_redeliver_webhook_in *in = c->input;

	if (all->redeliver)
		all->redeliver(all->arg, in->name);
	ar_buf_adds(&c->reply, reply);
	ar_call_done(c, ar_command_describe(c->command)->http);
}

/* ---- list_webhooks ---- */

static struct ar_shape_webhook_record record_of(struct ar_call *c, size_t index,
						const struct ar_webhook *known)
{
	const struct ar_control_webhooks *all = &c->control->webhooks;
	const struct ar_webhook_setting *setting = &all->settings[index];
	struct ar_webhook_status now = { 0 };
	struct ar_shape_webhook_failure *failures =
		ar_arena_alloc(&c->arena, (AR_WEBHOOK_FAILURES_MAX + 1) * sizeof(*failures));
	size_t count = known ? known->failures.count : 0;
	bool is_running = all->status(all->arg, index, &now);

	for (size_t i = 0; i < count; i++)
		failures[i] = *((const struct ar_webhook_failure *)known->failures.at[i])->record;
	return (struct ar_shape_webhook_record){ .name = setting->name,
						 .address = setting->address,
						 .events = setting->events,
						 .cursor = known ? known->cursor : AR_STR_NONE,
						 .waiting = { now.waiting, is_running },
						 .waiting_since = now.waiting_since,
						 .last_error = ar_arena_str(&c->arena, now.last_error),
						 .failure_count = known ? known->failure_count : 0,
						 .failures = { failures, count } };
}

/* `home` NULL: the tenant has none yet. */
static void answer(struct ar_call *c, const struct ar_session *home)
{
	const struct ar_control_webhooks *all = &c->control->webhooks;
	struct ar_shape_webhook_record *rows = ar_arena_alloc(&c->arena, (all->count + 1) * sizeof(*rows));
	struct ar_cmd_list_webhooks_out out = { .webhooks = { rows, 0 } };
	struct ar_jw w = ar_jw(&c->reply);

	for (size_t i = 0; i < all->count; i++) {
		const struct ar_webhook_setting *setting = &all->settings[i];

		if (is_callers(c, setting))
			rows[out.webhooks.count++] =
				record_of(c, i, home ? ar_session_webhook(home, setting->name) : NULL);
	}
	ar_struct_encode(&ar_command_describe(c->command)->out, &out, AR_STR_NONE, &w);
	ar_call_done(c, 200);
}

static void on_home(struct ar_engine_view *v, const struct ar_session *s, const struct ar_error *err)
{
	struct ar_call *c = AR_CONTAINER_OF(v, struct ar_call_work, view)->call;

	if (s || err->code == AR_ERR_SESSION_NOT_FOUND)
		c->command == AR_CMD_LIST_WEBHOOKS ? answer(c, s) : ar_push_answer(c, s);
	else
		ar_call_fail_or_move(c, err);
}

void ar_webhook_read_home(struct ar_call *c)
{
	struct ar_str home = ar_control_home(c->who, &c->arena);

	if (!ar_call_is_here(c, home))
		return;
	c->work->view = (struct ar_engine_view){ .session = home, .done = on_home };
	ar_engine_look(c->control->engine, &c->work->view);
}

void ar_query_list_webhooks(struct ar_call *c)
{
	ar_webhook_read_home(c);
}
