/* What the facts about webhooks leave in the state. Pure; see apply.c. */
#include "apply.h"
#include "webhook/webhook.h"

static struct ar_webhook *webhook_of(struct ar_session *s, struct ar_str name)
{
	struct ar_webhook *w = ar_session_webhook(s, name);

	if (w)
		return w;
	w = ar_arena_alloc(&s->arena, sizeof(*w));
	w->name = ar_apply_keep(s, name);
	if (s->webhooks.count >= AR_WEBHOOKS_MAX)
		ar_vec_remove(&s->webhooks, 0);
	ar_vec_push(&s->arena, &s->webhooks, w);
	return w;
}

static void forget(struct ar_webhook *w, struct ar_str delivery)
{
	for (size_t i = w->failures.count; i > 0; i--) {
		const struct ar_webhook_failure *f = w->failures.at[i - 1];

		if (ar_str_eq(f->record->delivery_id, delivery))
			ar_vec_remove(&w->failures, i - 1);
	}
}

enum ar_status ar_apply_webhook_progressed(struct ar_session *s, const struct ar_event *e,
					   struct ar_error *err AR_UNUSED)
{
	const struct ar_ev_webhook_progressed *p = PAYLOAD(e, webhook_progressed);

	webhook_of(s, p->webhook)->cursor = ar_apply_keep(s, p->cursor);
	return AR_OK;
}

enum ar_status ar_apply_webhook_failed(struct ar_session *s, const struct ar_event *e,
				       struct ar_error *err AR_UNUSED)
{
	const struct ar_ev_webhook_failed *p = KEPT(s, e, webhook_failed);
	struct ar_webhook *w = webhook_of(s, p->webhook);
	struct ar_webhook_failure *f = ar_arena_alloc(&s->arena, sizeof(*f));

	if (!p->failure)
		return ar_apply_unknown(err, e, "failure");
	if (!ar_webhook_failure(w, p->failure->delivery_id))
		w->failure_count++; /* one that was sent again in vain is counted once */
	forget(w, p->failure->delivery_id);
	if (w->failures.count >= AR_WEBHOOK_FAILURES_MAX)
		ar_vec_remove(&w->failures, 0);
	f->record = p->failure;
	ar_vec_push(&s->arena, &w->failures, f);
	return AR_OK;
}

enum ar_status ar_apply_webhook_redelivering(struct ar_session *s, const struct ar_event *e,
					     struct ar_error *err)
{
	const struct ar_ev_webhook_redelivering *p = PAYLOAD(e, webhook_redelivering);
	struct ar_webhook *w = ar_session_webhook(s, p->webhook);

	for (size_t i = 0; w && i < w->failures.count; i++) {
		struct ar_webhook_failure *f = w->failures.at[i];
		struct ar_shape_webhook_failure *changed;

		if (!ar_str_eq(f->record->delivery_id, p->delivery_id))
			continue;
		changed = ar_arena_alloc(&s->arena, sizeof(*changed));
		*changed = *f->record;
		changed->redelivering = (struct ar_opt_bool){ true, true };
		f->record = changed;
		return AR_OK;
	}
	return ar_apply_unknown(err, e, "delivery");
}

enum ar_status ar_apply_webhook_redelivered(struct ar_session *s, const struct ar_event *e,
					    struct ar_error *err AR_UNUSED)
{
	const struct ar_ev_webhook_redelivered *p = PAYLOAD(e, webhook_redelivered);
	struct ar_webhook *w = ar_session_webhook(s, p->webhook);

	if (w)
		forget(w, p->delivery_id);
	return AR_OK;
}
