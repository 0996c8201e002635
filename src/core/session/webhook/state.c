/* Reading the webhooks of a home session. Pure. */
#include "webhook/webhook.h"
#include "hash.h"

#define NAME_DIGITS 40

struct ar_str ar_webhook_push_name(struct ar_arena *a, struct ar_str sealed)
{
	return ar_arena_fmt(a, AR_WEBHOOK_PUSH_PREFIX "%.*s",
			    AR_STR_ARG(ar_hash_digits(a, sealed, NAME_DIGITS)));
}

struct ar_webhook *ar_session_push(const struct ar_session *s, struct ar_str task, struct ar_str config)
{
	for (size_t i = 0; i < s->webhooks.count; i++) {
		struct ar_webhook *w = s->webhooks.at[i];

		if (w->push && ar_str_eq(w->push->task_id, task) && ar_str_eq(w->push->config_id, config))
			return w;
	}
	return NULL;
}

struct ar_webhook *ar_session_webhook(const struct ar_session *s, struct ar_str name)
{
	return ar_vec_last_with(&s->webhooks, offsetof(struct ar_webhook, name), name);
}

const struct ar_shape_webhook_failure *ar_webhook_failure(const struct ar_webhook *w, struct ar_str delivery)
{
	for (size_t i = 0; i < w->failures.count; i++) {
		const struct ar_webhook_failure *f = w->failures.at[i];

		if (ar_str_eq(f->record->delivery_id, delivery))
			return f->record;
	}
	return NULL;
}

bool ar_webhooks_are_whole(const struct ar_session *s)
{
	for (size_t i = 0; i < s->webhooks.count; i++) {
		const struct ar_webhook *w = s->webhooks.at[i];

		for (size_t n = 0; n < w->failures.count; n++) {
			if (!((const struct ar_webhook_failure *)w->failures.at[n])->record)
				return false;
		}
	}
	return true;
}
