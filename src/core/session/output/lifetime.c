/* How long outputs are kept. Only those of tools and processes have a lifetime: what a model said is the
 * conversation. An output that something else needs (the conversation, an artifact) stays until nothing does;
 * one that an export of evidence may name stays with its session. The log is woken at the earliest time
 * (ar_session_due). Pure. */
#include "apply.h"
#include "artifact/artifact.h"
#include "closed/closed_group.h"
#include "output/outputs.h"

#define SECOND 1000000 /* microseconds */
#define EXPIRED_MAX 128 /* by one decision; the rest is the next one's */

int64_t ar_output_seconds(const struct ar_session *s, const struct ar_policy *policy)
{
	return s->preset && s->preset->output_seconds.set ? s->preset->output_seconds.v
							  : policy->output_seconds;
}

ar_usec ar_output_expiry(const struct ar_decision *d)
{
	int64_t seconds = ar_output_seconds(d->session, d->input->policy);

	if (seconds <= 0 || d->session->expiring.count >= AR_EXPIRING_MAX)
		return 0;
	return d->input->now + seconds * SECOND;
}

/* ---- what is needed elsewhere ---- */

static bool is_in_context(const struct ar_session *s, struct ar_str ref)
{
	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];

		if (ar_vec_last_with(&t->context, offsetof(struct ar_context_entry, ref), ref))
			return true;
	}
	return false;
}

static bool is_artifact(const struct ar_vec *artifacts, struct ar_str ref)
{
	for (size_t i = 0; i < artifacts->count; i++) {
		const struct ar_shape_artifact_record *r = ar_artifact_at(artifacts, i);

		if (ar_str_eq(r->read_ref, ref) || ar_str_eq(r->preview_ref, ref) ||
		    ar_str_eq(r->diff_ref, ref))
			return true;
	}
	return false;
}

static bool is_needed(const struct ar_session *s, struct ar_str ref)
{
	return is_in_context(s, ref) || is_artifact(&s->artifacts, ref) || is_artifact(&s->versions, ref);
}

/* ---- expiry ---- */

ar_usec ar_outputs_due(const struct ar_session *s)
{
	for (size_t i = 0; i < s->expiring.count; i++) {
		const struct ar_expiring_output *o = s->expiring.at[i];

		if (!is_needed(s, o->ref))
			return o->expires;
	}
	return 0;
}

void ar_outputs_expire(struct ar_decision *d)
{
	struct ar_vec all = ar_vec_copy(d->arena, &d->session->expiring);
	size_t expired = 0;

	for (size_t i = 0; i < all.count && expired < EXPIRED_MAX; i++) {
		const struct ar_expiring_output *o = all.at[i];
		struct ar_ids ids = { 0 };

		if (o->expires > d->input->now)
			return;
		if (is_needed(d->session, o->ref))
			continue;
		ids.at[AR_SCOPE_OUTPUT] = o->ref;
		ar_decide_emit(d, AR_EV_OUTPUT_EXPIRED, &ids,
			       &(struct ar_ev_output_expired){ .expires_at = o->expires,
							       .expired_at = d->input->now });
		expired++;
	}
}

/* ---- state ---- */

const struct ar_removed_output *ar_session_removed_output(const struct ar_session *s, struct ar_str ref)
{
	return ar_vec_last_with(&s->removed, offsetof(struct ar_removed_output, ref), ref);
}

struct ar_str ar_session_output_now(const struct ar_session *s, struct ar_str ref,
				    const struct ar_removed_output **ret_removed)
{
	*ret_removed = NULL;
	for (size_t i = 0; i <= AR_REDACTED_MAX; i++) {
		const struct ar_removed_output *removed = ar_session_removed_output(s, ref);

		if (!removed)
			break;
		*ret_removed = removed;
		if (ar_str_absent(removed->replacement) || removed->whole.v)
			break;
		ref = removed->replacement;
	}
	return ref;
}

static void forget(struct ar_vec *v, size_t member, struct ar_str ref)
{
	void *item = ar_vec_last_with(v, member, ref);
	size_t i;

	if (item && ar_vec_find(v, item, &i))
		ar_vec_remove(v, i);
}

void ar_apply_output_stored(struct ar_session *s, struct ar_str ref, ar_usec expires)
{
	struct ar_expiring_output *o;
	size_t i = s->expiring.count;

	forget(&s->removed, offsetof(struct ar_removed_output, ref), ref);
	forget(&s->expiring, offsetof(struct ar_expiring_output, ref), ref);
	if (!expires)
		return;
	o = ar_arena_alloc(&s->arena, sizeof(*o));
	*o = (struct ar_expiring_output){ .ref = ar_apply_keep(s, ref), .expires = expires };
	for (i = s->expiring.count;
	     i > 0 && ((const struct ar_expiring_output *)s->expiring.at[i - 1])->expires > expires;)
		i--;
	ar_vec_insert(&s->arena, &s->expiring, i, o);
}

void ar_apply_outputs_kept(struct ar_session *s)
{
	if (s->expiring.count == 0)
		return;
	s->expiring.count = 0;
	ar_closed_groups_open_all(s);
	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_vec *outputs = &((const struct ar_thread *)s->threads.at[i])->outputs;

		for (size_t k = 0; k < outputs->count; k++) {
			struct ar_stored_output *o = outputs->at[k];

			if (!ar_session_removed_output(s, o->ref))
				o->expires = 0;
		}
	}
}

void ar_apply_output_removed(struct ar_session *s, const struct ar_removed_output *removed)
{
	struct ar_removed_output *o = ar_arena_alloc(&s->arena, sizeof(*o));

	forget(&s->expiring, offsetof(struct ar_expiring_output, ref), removed->ref);
	*o = *removed;
	o->ref = ar_apply_keep(s, removed->ref);
	o->replacement = ar_apply_keep(s, removed->replacement);
	ar_vec_push(&s->arena, &s->removed, o);
	for (size_t i = 0; s->removed.count > AR_WINDOW_REMOVED && i < s->removed.count; i++) {
		if (ar_str_absent(((const struct ar_removed_output *)s->removed.at[i])->replacement)) {
			ar_vec_remove(&s->removed, i);
			break;
		}
	}
}

enum ar_status ar_apply_output_expired(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_output_expired *p = PAYLOAD(e, output_expired);

	(void)err;
	ar_apply_output_removed(s, &(struct ar_removed_output){ .ref = e->ids[AR_SCOPE_OUTPUT],
								.expires = p->expires_at,
								.at = p->expired_at });
	return AR_OK;
}
