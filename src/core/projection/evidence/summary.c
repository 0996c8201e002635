/* Evidence: `evidenceSummary` of a thread, `evidenceRefs` of a session. What others said is quoted with its
 * source; nothing here judges. Pure. */
#include "evidence/evidence.h"
#include "thread.h"

typedef bool wanted_fn(const struct ar_shape_evidence_record *r);
typedef void write_fn(struct ar_jw *w, const struct ar_shape_evidence_record *r);

static void write_those(const struct ar_session *s, struct ar_str thread, wanted_fn *is_wanted,
			write_fn *write, struct ar_jw *w)
{
	ar_jw_open_array(w);
	for (size_t i = 0; i < s->evidence.count; i++) {
		const struct ar_shape_evidence_record *r = ar_evidence_at(s, i);

		if (ar_evidence_is_of(r, thread) && (!is_wanted || is_wanted(r)))
			write(w, r);
	}
	ar_jw_close_array(w);
}

static void write_ref(struct ar_jw *w, const struct ar_shape_evidence_record *r)
{
	ar_jw_str(w, r->ref);
}

static bool is_replay(const struct ar_shape_evidence_record *r)
{
	return r->kind == AR_EVIDENCE_RECORD_KIND_REPLAY;
}

static bool is_review(const struct ar_shape_evidence_record *r)
{
	return r->kind == AR_EVIDENCE_RECORD_KIND_REVIEW;
}

static bool has_note(const struct ar_shape_evidence_record *r)
{
	return !ar_str_absent(r->note);
}

static void write_note(struct ar_jw *w, const struct ar_shape_evidence_record *r)
{
	ar_jw_open(w);
	ar_jw_mstr(w, "evidenceId", r->evidence_id);
	ar_jw_mstr(w, "note", r->note);
	ar_jw_mstr(w, "source", r->source);
	ar_jw_mstr(w, "externalRef", r->external_ref);
	ar_jw_close(w);
}

static void write_outcomes(struct ar_jw *w, const struct ar_shape_evidence_record *r)
{
	for (size_t i = 0; i < r->verification_outcomes.count; i++) {
		ar_jw_open(w);
		ar_jw_mstr(w, "name", r->verification_outcomes.at[i].name);
		ar_jw_mstr(w, "status", r->verification_outcomes.at[i].status);
		ar_jw_mstr(w, "source", r->source);
		ar_jw_mstr(w, "evidenceId", r->evidence_id);
		ar_jw_close(w);
	}
}

/* What an export lacks, as it said itself. */
static void write_gaps(struct ar_jw *w, const struct ar_shape_evidence_record *r)
{
	for (size_t i = 0; i < r->known_gaps.count; i++) {
		ar_jw_open(w);
		ar_jw_mstr(w, "part", r->known_gaps.at[i].part);
		ar_jw_mstr(w, "reason", r->known_gaps.at[i].reason);
		ar_jw_mstr(w, "evidenceId", r->evidence_id);
		ar_jw_close(w);
	}
}

static void write_traces(struct ar_jw *w, const struct ar_shape_evidence_record *r)
{
	for (size_t i = 0; i < r->trace_ids.count; i++)
		ar_jw_str(w, r->trace_ids.at[i]);
	if (r->kind == AR_EVIDENCE_RECORD_KIND_TRACE && ar_str_absent(r->request_log_ref))
		ar_jw_str(w, ar_str_absent(r->external_ref) ? r->ref : r->external_ref);
}

void ar_projection_evidence(const struct ar_session *s, const struct ar_thread *t, struct ar_jw *w)
{
	ar_jw_key(w, "evidenceSummary");
	ar_jw_open(w);
	ar_jw_key(w, "evidenceRefs");
	write_those(s, t->id, NULL, write_ref, w);
	ar_jw_key(w, "traceIds");
	write_those(s, t->id, NULL, write_traces, w);
	ar_jw_key(w, "verificationOutcomes");
	write_those(s, t->id, NULL, write_outcomes, w);
	ar_jw_key(w, "knownGaps");
	write_those(s, t->id, NULL, write_gaps, w);
	ar_jw_key(w, "replayRefs");
	write_those(s, t->id, is_replay, write_ref, w);
	ar_jw_key(w, "reviewRefs");
	write_those(s, t->id, is_review, write_ref, w);
	ar_jw_key(w, "auditNotes");
	write_those(s, t->id, has_note, write_note, w);
	ar_jw_close(w);
}

void ar_projection_evidence_refs(const struct ar_session *s, struct ar_str thread, struct ar_jw *w)
{
	ar_jw_key(w, "evidenceRefs");
	write_those(s, thread, NULL, write_ref, w);
}
