/* What facts say of an output beside the one that brought it: that parts of it were masked, and
 * that it was too long to be shown and lies in storage. Pure. */
#include "apply.h"
#include "decide.h"
#include "output/outputs.h"

static struct ar_shape_redaction redaction(const struct ar_masked *masked)
{
	return (struct ar_shape_redaction){ .kind = masked->count > 0 ? AR_STR("secret") : AR_STR_NONE,
					    .rule_refs = masked->rules,
					    .count = AR_OPT_INT(masked->count) };
}

void ar_decide_masked(struct ar_decision *d, const struct ar_ids *owner, struct ar_str ref,
		      const struct ar_masked *masked)
{
	const struct ar_shape_redaction redacted = redaction(masked);
	struct ar_ids ids = *owner;

	if (masked->count == 0)
		return;
	ids.at[AR_SCOPE_OUTPUT] = ref;
	ar_decide_emit(d, AR_EV_OUTPUT_REDACTED, &ids,
		       &(struct ar_ev_output_redacted){ .redaction = &redacted });
}

static struct ar_str media_type(const struct ar_spill *s)
{
	if (s->is_binary)
		return AR_STR("application/octet-stream");
	return s->is_json ? AR_STR("application/json") : AR_STR("text/plain");
}

/* What a model said, or is told by a hook, is the conversation, and stays with it. */
static ar_usec expiry_of(const struct ar_decision *d, const struct ar_spill *s)
{
	bool is_kept =
		s->owner != AR_OUTPUT_SPILLED_OWNER_TOOL && s->owner != AR_OUTPUT_SPILLED_OWNER_PROCESS;

	return is_kept ? 0 : ar_output_expiry(d);
}

void ar_decide_spilled(struct ar_decision *d, const struct ar_ids *owner, const struct ar_spill *s)
{
	int64_t limit = d->input->policy->tool_result_bytes;
	const struct ar_shape_redaction redacted = redaction(s->masked);
	struct ar_ids ids = *owner;

	if (s->size <= limit)
		return;
	ids.at[AR_SCOPE_OUTPUT] = s->ref;
	ar_decide_emit(d, AR_EV_OUTPUT_SPILLED, &ids,
		       &(struct ar_ev_output_spilled){
			       .owner = s->owner,
			       .media_type = media_type(s),
			       .encoding = s->is_binary ? AR_OUTPUT_SPILLED_ENCODING_BINARY
							: AR_OUTPUT_SPILLED_ENCODING_UTF_8,
			       .size_bytes = s->size,
			       .preview = s->is_binary
						  ? AR_STR("")
						  : ar_str_utf8_prefix(s->beginning, AR_OUTPUT_PREVIEW_MAX),
			       .truncation = s->is_cut ? AR_OUTPUT_SPILLED_TRUNCATION_HEAD_TAIL
						       : AR_OUTPUT_SPILLED_TRUNCATION_NONE,
			       .redaction = &redacted,
			       .expires_at = expiry_of(d, s),
			       .threshold_bytes = limit,
			       .further_refs = s->further });
}

enum ar_status ar_apply_output_spilled(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_output_spilled *p = KEPT(s, e, output_spilled);
	struct ar_stored_output *output = ar_arena_alloc(&s->arena, sizeof(*output));
	struct ar_thread *t =
		ar_apply_thread(s, e); /* the turn may have left the window before its process ended */

	if (!t)
		return ar_apply_unknown(err, e, "thread");
	*output = (struct ar_stored_output){ .ref = ar_apply_keep(s, e->ids[AR_SCOPE_OUTPUT]),
					     .owner = ar_apply_word(e, "owner", p->owner),
					     .media_type = p->media_type,
					     .encoding = ar_apply_word(e, "encoding", p->encoding),
					     .truncation = ar_apply_word(e, "truncation", p->truncation),
					     .preview = p->preview,
					     .redaction = p->redaction,
					     .call = ar_apply_keep(s, e->ids[AR_SCOPE_TOOL_CALL]),
					     .process = ar_apply_keep(s, e->ids[AR_SCOPE_PROCESS]),
					     .size = p->size_bytes,
					     .at = e->time,
					     .expires = p->expires_at };
	ar_apply_output_stored(s, output->ref, p->expires_at);
	for (size_t i = 0; i < p->further_refs.count; i++)
		ar_apply_output_stored(s, p->further_refs.at[i], p->expires_at);
	ar_vec_push(&s->arena, &t->outputs, output);
	if (t->outputs.count > AR_WINDOW_OUTPUTS)
		ar_vec_remove(&t->outputs, 0);
	return AR_OK;
}
