/* evidence.changed: the newest are kept. */
#include "apply.h"
#include "evidence/evidence.h"
#include "output/outputs.h"

_Static_assert((int)AR_EVIDENCE_CHANGED_KIND_VERIFICATION == (int)AR_EVIDENCE_RECORD_KIND_VERIFICATION,
	       "a record has the words of its fact");

static struct ar_str ref_of(const struct ar_ev_evidence_changed *p)
{
	const struct ar_str refs[] = { p->pack_ref, p->replay_ref, p->review_ref, p->trace_ref };

	return ar_texts_first((struct ar_texts){ refs, AR_ARRAY_LEN(refs) });
}

enum ar_status ar_apply_evidence_changed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	const struct ar_ev_evidence_changed *p = PAYLOAD(e, evidence_changed);
	struct ar_evidence *kept;

	(void)err;
	/* Without a source it is a fact of a version that kept no list: its snapshots have none either. */
	if (ar_str_absent(p->source))
		return AR_OK;
	if (ar_str_is(p->source, AR_EVIDENCE_RUNTIME))
		ar_apply_outputs_kept(s); /* what was exported names them */
	ar_apply_count(&s->counters.evidence.v, e->ids[AR_SCOPE_EVIDENCE]);
	s->counters.evidence.set = true;
	kept = ar_arena_alloc(&s->arena, sizeof(*kept));
	kept->record = ar_struct_copy(&ar_shape_evidence_record_desc,
				      &(struct ar_shape_evidence_record){
					      .evidence_id = e->ids[AR_SCOPE_EVIDENCE],
					      .kind = p->kind,
					      .ref = ref_of(p),
					      .scope = p->scope,
					      .source = p->source,
					      .external_ref = p->external_ref,
					      .note = p->note,
					      .covers = p->sequence,
					      .verification_outcomes = p->verification_outcomes,
					      .known_gaps = p->known_gaps,
					      .trace_ids = p->trace_ids,
					      .request_log_ref = p->request_log_ref,
					      .signals = p->signals,
					      .sequence = (int64_t)e->sequence,
					      .at = e->time },
				      AR_COPY_TEXT, &s->arena);
	ar_vec_push(&s->arena, &s->evidence, kept);
	if (s->evidence.count > AR_WINDOW_EVIDENCE)
		ar_vec_remove(&s->evidence, 0);
	return AR_OK;
}
