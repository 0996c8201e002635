/* redact_output: bytes of stored content are removed for good. The ref stays and stands for a replacement,
 * which the conversation has from then on. What facts quote of the content (previews) is not changed: the
 * log is never rewritten. Pure. */
#include "apply.h"
#include "closed/closed_group.h"
#include "identity.h"
#include "output/outputs.h"

#define MARK "[redacted]"
#define KIND_REQUEST "request" /* of a redaction: somebody asked for it, no rule found it */

/* ---- what may be ---- */

static size_t count_redacted(const struct ar_session *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->removed.count; i++)
		n += !ar_str_absent(((const struct ar_removed_output *)s->removed.at[i])->replacement);
	return n;
}

static bool is_argument_of(const struct ar_context_entry *entry, struct ar_str ref)
{
	for (size_t i = 0; i < entry->uses.count; i++) {
		if (ar_str_eq(entry->uses.at[i].ref, ref))
			return true;
	}
	return ar_texts_have(entry->images, ref);
}

/* Arguments and images have a form that a provider checks: no text can stand for them. */
static bool is_formed(const struct ar_session *s, struct ar_str ref)
{
	for (size_t i = 0; i < s->threads.count; i++) {
		const struct ar_thread *t = s->threads.at[i];

		for (size_t k = 0; k < t->context.count; k++) {
			if (is_argument_of(t->context.at[k], ref))
				return true;
		}
	}
	return false;
}

static enum ar_status check_removed(const struct ar_session *s, struct ar_str ref, struct ar_error *err)
{
	const struct ar_removed_output *removed = ar_session_removed_output(s, ref);

	if (!removed)
		return AR_OK;
	if (ar_str_absent(removed->replacement))
		return ar_refuse(err, AR_ERR_EXPIRED, "the output has expired: there is nothing to redact");
	return ar_refuse(err, AR_ERR_REDACTED, "the content was redacted before; what is left is %.*s",
			 AR_STR_ARG(removed->replacement));
}

static enum ar_status check_ranges(const struct ar_shape_byte_range_list *ranges, size_t size,
				   struct ar_error *err)
{
	int64_t end = 0;

	for (size_t i = 0; i < ranges->count; i++) {
		const struct ar_shape_byte_range *r = &ranges->at[i];

		if (r->offset < end || r->length < 1 || r->length > (int64_t)size ||
		    r->offset > (int64_t)size - r->length)
			return ar_refuse(err, AR_ERR_INVALID_INPUT,
					 "range %zu of the %zu bytes: ranges are inside of them, not empty, "
					 "in their order and do not overlap",
					 i, size);
		end = r->offset + r->length;
	}
	return AR_OK;
}

/* ---- what is left ---- */

static bool is_json(struct ar_decision *d, struct ar_str text)
{
	struct ar_json v;

	return ar_json_parse(d->json, text, &v, NULL) == AR_OK &&
	       (ar_json_type(v) == AR_JSON_ARRAY || ar_json_type(v) == AR_JSON_OBJECT);
}

/* What a person said is a list of parts: so is what stands for it. */
static struct ar_str mark_of(struct ar_decision *d, struct ar_str text)
{
	if (ar_str_starts(text, AR_STR("[")) && is_json(d, text))
		return ar_arena_fmt(d->arena, "[{\"type\":\"text\",\"text\":\"" MARK " %zu bytes\"}]",
				    text.len);
	return ar_arena_fmt(d->arena, MARK " %zu bytes", text.len);
}

static struct ar_str without(struct ar_decision *d, struct ar_str text,
			     const struct ar_shape_byte_range_list *ranges)
{
	struct ar_str *parts = ar_arena_alloc(d->arena, (2 * ranges->count + 1) * sizeof(*parts));
	size_t n = 0, at = 0;

	if (ranges->count == 0)
		return mark_of(d, text);
	for (size_t i = 0; i < ranges->count; i++) {
		parts[n++] = ar_str_sub(text, at, (size_t)ranges->at[i].offset - at);
		parts[n++] = AR_STR(MARK);
		at = (size_t)(ranges->at[i].offset + ranges->at[i].length);
	}
	parts[n++] = ar_str_sub(text, at, text.len - at);
	return ar_arena_join(d->arena, parts, n);
}

static int64_t bytes_of(const struct ar_shape_byte_range_list *ranges, size_t size)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < ranges->count; i++)
		bytes += ranges->at[i].length;
	return ranges->count ? bytes : (int64_t)size;
}

static enum ar_status check_left(struct ar_decision *d, struct ar_str text, struct ar_str left,
				 struct ar_error *err)
{
	const struct ar_cmd_redact_output_in *in = d->input->command.args;

	if (ar_str_is_utf8(text) && !ar_str_is_utf8(left))
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "a range begins or ends inside a character");
	if (in->ranges.count > 0 && is_json(d, text) && !is_json(d, left))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "the content is JSON and would be none any more: redact the inside of a "
				 "string, or all of it");
	if (ar_str_eq(left, text))
		return ar_refuse(err, AR_ERR_REDACTED, "the content is the mark of a redaction already");
	return AR_OK;
}

/* ---- the decision ---- */

struct removal {
	const struct ar_cmd_redact_output_in *in;
	struct ar_str replacement;
};

static void say_removed(struct ar_decision *d, const struct removal *r, struct ar_str ref, bool is_whole)
{
	struct ar_ids ids = { 0 };
	size_t count = r->in->ranges.count;

	ids.at[AR_SCOPE_OUTPUT] = ref;
	ar_decide_emit(d, AR_EV_OUTPUT_REDACTED, &ids,
		       &(struct ar_ev_output_redacted){
			       .redaction =
				       &(struct ar_shape_redaction){
					       .kind = AR_STR(KIND_REQUEST),
					       .count = AR_OPT_INT(count ? (int64_t)count : 1) },
			       .replacement_ref = r->replacement,
			       .whole = { is_whole, true },
			       .requested_by = &(struct ar_shape_asker){ .account_ref = d->input->account },
			       .reason = r->in->reason });
}

/* What a provider wants back of an answer holds its text once more. */
static struct ar_texts echoes_of(struct ar_decision *d, struct ar_str ref)
{
	struct ar_texts found = { 0 };
	struct ar_str *refs = NULL;
	size_t room = 0;

	for (size_t i = 0; i < d->session->threads.count; i++)
		room += ((const struct ar_thread *)d->session->threads.at[i])->context.count;
	refs = ar_arena_alloc(d->arena, (room + 1) * sizeof(*refs));
	found.at = refs;
	for (size_t i = 0; i < d->session->threads.count; i++) {
		const struct ar_thread *t = d->session->threads.at[i];

		for (size_t k = 0; k < t->context.count; k++) {
			const struct ar_context_entry *entry = t->context.at[k];

			if (ar_str_eq(entry->ref, ref) && !ar_str_absent(entry->echo) &&
			    !ar_texts_have(found, entry->echo))
				refs[found.count++] = entry->echo;
		}
	}
	return found;
}

static enum ar_status check(const struct ar_decision *d, struct ar_str text, struct ar_error *err)
{
	const struct ar_cmd_redact_output_in *in = d->input->command.args;
	struct ar_str session_key;
	struct ar_hash hash;

	if (!ar_ref_parse(in->output_ref, &session_key, &hash) ||
	    !ar_str_eq(session_key, d->session->session_key))
		return ar_refuse(err, AR_ERR_REF_NOT_FOUND, "session %.*s has no such content",
				 AR_STR_ARG(d->session->id));
	if (check_removed(d->session, in->output_ref, err) != AR_OK)
		return AR_E_REFUSED;
	if (ar_str_absent(text))
		return ar_refuse(err, AR_ERR_REF_NOT_FOUND, "session %.*s has no such content",
				 AR_STR_ARG(d->session->id));
	if (is_formed(d->session, in->output_ref))
		return ar_refuse(err, AR_ERR_CONFLICT,
				 "the conversation still has these arguments or this image; roll the turn "
				 "back, or continue in a new session");
	if (count_redacted(d->session) >= AR_REDACTED_MAX)
		return ar_refuse(err, AR_ERR_CONFLICT, "a session may have %d redacted contents",
				 AR_REDACTED_MAX);
	return check_ranges(&in->ranges, text.len, err);
}

enum ar_status ar_decide_redact_output(struct ar_decision *d, struct ar_error *err)
{
	const struct ar_cmd_redact_output_in *in = d->input->command.args;
	struct ar_str text = ar_decide_text(d, in->output_ref), left;
	struct removal r = { .in = in };
	struct ar_texts echoes;

	if (check(d, text, err) != AR_OK)
		return AR_E_REFUSED;
	left = without(d, text, &in->ranges);
	if (check_left(d, text, left, err) != AR_OK)
		return AR_E_REFUSED;
	r.replacement = ar_decide_content(d, left);
	echoes = echoes_of(d, in->output_ref);
	say_removed(d, &r, in->output_ref, in->ranges.count == 0);
	for (size_t i = 0; i < echoes.count; i++)
		say_removed(d, &r, echoes.at[i], true);
	ar_decide_reply(d, AR_CMD_REDACT_OUTPUT,
			&(struct ar_cmd_redact_output_out){ .output_ref = in->output_ref,
							    .replacement_ref = r.replacement,
							    .redacted_bytes = bytes_of(&in->ranges, text.len),
							    .sequence = (int64_t)d->session->head });
	return AR_OK;
}

/* ---- state ---- */

static void redact_context(struct ar_vec *context, struct ar_str ref, struct ar_str replacement)
{
	for (size_t i = 0; i < context->count; i++) {
		struct ar_context_entry *entry = context->at[i];

		if (ar_str_eq(entry->ref, ref)) {
			entry->ref = replacement;
			entry->echo = entry->echo_by = AR_STR_NONE;
		}
	}
}

static void redact_turn(struct ar_turn *turn, struct ar_str ref, struct ar_str replacement)
{
	if (ar_str_eq(turn->input_ref, ref))
		turn->input_preview = AR_STR(MARK);
	for (size_t i = 0; i < turn->steps.count; i++) {
		struct ar_step *step = turn->steps.at[i];

		if (ar_str_eq(step->output_ref, ref))
			step->preview = AR_STR(MARK);
	}
	for (size_t i = 0; i < turn->calls.count; i++) {
		struct ar_invocation *call = turn->calls.at[i];

		if (ar_str_eq(call->output_ref, ref))
			call->preview = AR_STR(MARK);
		if (ar_str_eq(call->answer_ref, ref))
			call->answer_ref = replacement;
	}
	redact_context(&turn->steers, ref, replacement);
}

static void redact_thread(struct ar_thread *t, struct ar_str ref, struct ar_str replacement)
{
	redact_context(&t->context, ref, replacement);
	for (size_t i = 0; i < t->boundaries.count; i++) {
		struct ar_boundary *b = t->boundaries.at[i];

		if (ar_str_eq(b->summary_ref, ref)) {
			b->summary_ref = replacement;
			b->preview = AR_STR(MARK);
		}
	}
	for (size_t i = 0; i < t->outputs.count; i++) {
		struct ar_stored_output *o = t->outputs.at[i];

		if (ar_str_eq(o->ref, ref))
			o->preview = AR_STR(MARK);
	}
	for (size_t i = 0; i < t->turns.count; i++)
		redact_turn(t->turns.at[i], ref, replacement);
}

/* Without a replacement it tells what was masked before anything was stored: nothing of the state changes. */
enum ar_status ar_apply_output_redacted(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_output_redacted *p = PAYLOAD(e, output_redacted);
	struct ar_str ref = e->ids[AR_SCOPE_OUTPUT], replacement;

	(void)err;
	if (ar_str_absent(p->replacement_ref))
		return AR_OK;
	replacement = ar_apply_keep(s, p->replacement_ref);
	ar_closed_groups_open_all(s);
	for (size_t i = 0; i < s->threads.count; i++)
		redact_thread(s->threads.at[i], ref, replacement);
	ar_apply_output_removed(s, &(struct ar_removed_output){ .ref = ref,
								.replacement = replacement,
								.whole = p->whole,
								.at = e->time });
	return AR_OK;
}
