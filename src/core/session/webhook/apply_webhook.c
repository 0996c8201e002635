/* What the facts about webhooks leave in the state. Pure; see apply.c. */
#include "apply.h"
#include "webhook/webhook.h"

/* The oldest of its kind goes when there are as many as may be; of push configurations one that is over. */
static void make_room(struct ar_session *s, bool is_push)
{
	size_t count = 0, oldest = s->webhooks.count;

	for (size_t i = 0; i < s->webhooks.count; i++) {
		const struct ar_webhook *w = s->webhooks.at[i];

		if (!w->push != !is_push)
			continue;
		count++;
		if (oldest == s->webhooks.count && (!is_push || ar_webhook_is_over(w)))
			oldest = i;
	}
	if (count >= (is_push ? AR_WEBHOOK_PUSHES_MAX : AR_WEBHOOKS_MAX) && oldest < s->webhooks.count)
		ar_vec_remove(&s->webhooks, oldest);
}

static struct ar_webhook *webhook_of(struct ar_session *s, struct ar_str name, bool is_push)
{
	struct ar_webhook *w = ar_session_webhook(s, name);

	if (w)
		return w;
	w = ar_arena_alloc(&s->arena, sizeof(*w));
	w->name = ar_apply_keep(s, name);
	make_room(s, is_push);
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

	struct ar_webhook *w = webhook_of(s, p->webhook, false);

	w->cursor = ar_apply_keep(s, p->cursor);
	w->over = p->is_over;
	return AR_OK;
}

enum ar_status ar_apply_webhook_failed(struct ar_session *s, const struct ar_event *e,
				       struct ar_error *err AR_UNUSED)
{
	const struct ar_ev_webhook_failed *p = KEPT(s, e, webhook_failed);
	struct ar_webhook *w = webhook_of(s, p->webhook, false);
	struct ar_webhook_failure *f = ar_arena_alloc(&s->arena, sizeof(*f));

	if (!p->failure)
		return ar_apply_unknown(err, e, "failure");
	if (!ar_webhook_failure(w, p->failure->delivery_id))
		w->failure_count++; /* one that was sent again in vain is counted once */
	forget(w, p->failure->delivery_id);
	if (w->failures.count >= (w->push ? AR_WEBHOOK_PUSH_FAILURES_MAX : AR_WEBHOOK_FAILURES_MAX))
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

enum ar_status ar_apply_webhook_added(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_webhook_added *p = KEPT(s, e, webhook_added);
	struct ar_webhook *w;

	if (!p->push)
		return ar_apply_unknown(err, e, "push");
	w = webhook_of(s, p->webhook, true);
	w->push = p->push;
	w->cursor = AR_STR_NONE;
	w->over = (struct ar_opt_bool){ 0 };
	return AR_OK;
}

enum ar_status ar_apply_webhook_removed(struct ar_session *s, const struct ar_event *e,
					struct ar_error *err AR_UNUSED)
{
	const struct ar_ev_webhook_removed *p = PAYLOAD(e, webhook_removed);

	for (size_t i = s->webhooks.count; i > 0; i--) {
		if (ar_str_eq(((const struct ar_webhook *)s->webhooks.at[i - 1])->name, p->webhook))
			ar_vec_remove(&s->webhooks, i - 1);
	}
	return AR_OK;
}
