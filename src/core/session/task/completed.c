/* What is said when a task is complete: the refs that it leaves, where its result is, and
 * whether anything of it still goes on. Each of them is what a caller or a fact said, never a
 * guess. Pure. */
#include "artifact/artifact.h"
#include "delivery/delivery.h"
#include "describe.h"
#include "task/task.h"

#define KIND_MAX 64

/* ---- refs ---- */

struct ar_shape_result_ref_list ar_task_plain_refs(struct ar_decision *d,
						   struct ar_shape_result_ref_list refs)
{
	struct ar_shape_result_ref *at = ar_arena_alloc(d->arena, (refs.count + 1) * sizeof(*at));

	for (size_t i = 0; i < refs.count; i++)
		at[i].text_ = ar_str_absent(refs.at[i].text_) ? refs.at[i].ref : refs.at[i].text_;
	return (struct ar_shape_result_ref_list){ at, refs.count };
}

/* Whether it can be the id of a fact of its own, of which the word is said as well. */
static bool is_said(const struct ar_shape_result_ref *r, struct ar_str word)
{
	return !ar_str_empty(word) && !ar_str_absent(r->ref) && ar_id_acceptable(r->ref) &&
	       r->ref.len <= AR_ID_MAX;
}

static struct ar_str kind_of(const struct ar_shape_result_ref *r)
{
	return ar_str_empty(r->kind) ? AR_STR(AR_ARTIFACT_OTHER) : ar_str_utf8_prefix(r->kind, KIND_MAX);
}

void ar_task_say_artifacts(struct ar_decision *d, const struct ar_task *task,
			   struct ar_shape_result_ref_list refs)
{
	const struct ar_shape_party producer = { .kind = AR_STR("task"), .id = task->id };
	struct ar_ids ids = ar_task_ids(task, ar_task_run(task));

	for (size_t i = 0; i < refs.count; i++) {
		const struct ar_shape_result_ref *r = &refs.at[i];

		if (!is_said(r, r->version_id))
			continue;
		ids.at[AR_SCOPE_ARTIFACT] = r->ref;
		ar_decide_emit(d, AR_EV_ARTIFACT_CHANGED, &ids,
			       &(struct ar_ev_artifact_changed){
				       .change = AR_ARTIFACT_CHANGED_CHANGE_OBSERVED,
				       .read_ref = r->ref,
				       .version_id = r->version_id,
				       .preview_ref = r->preview_ref,
				       .diff_ref = r->diff_ref,
				       .validation_issue_count = r->validation_issue_count,
				       .producer = &producer,
				       .kind = kind_of(r),
				       .state = AR_ARTIFACT_CHANGED_STATE_UNKNOWN });
	}
}

/* The ref stands where its kind has its place. */
static struct ar_ev_evidence_changed evidence_of(int kind, struct ar_str ref)
{
	struct ar_ev_evidence_changed e = { .kind = kind };

	if (kind == AR_EVIDENCE_CHANGED_KIND_REPLAY)
		e.replay_ref = ref;
	else if (kind == AR_EVIDENCE_CHANGED_KIND_REVIEW)
		e.review_ref = ref;
	else if (kind == AR_EVIDENCE_CHANGED_KIND_TRACE)
		e.trace_ref = ref;
	else if (kind == AR_EVIDENCE_CHANGED_KIND_PACK)
		e.pack_ref = ref;
	else
		e.kind =
			0; /* how checks ended is recorded by record_evidence: here it would be a mere name */
	return e;
}

void ar_task_say_evidence(struct ar_decision *d, const struct ar_task *task,
			  struct ar_shape_result_ref_list refs)
{
	struct ar_ids ids = ar_task_ids(task, ar_task_run(task));

	for (size_t i = 0; i < refs.count; i++) {
		const struct ar_shape_result_ref *r = &refs.at[i];
		struct ar_ev_evidence_changed e =
			evidence_of(ar_enum_find(&ar_evidence_changed_kind_desc, r->kind), r->ref);

		if (!is_said(r, r->kind) || e.kind <= 0)
			continue;
		e.source = ar_str_absent(d->input->account) ? AR_STR("caller") : d->input->account;
		e.scope = &(struct ar_shape_evidence_scope){ .task_id = task->id };
		ids.at[AR_SCOPE_EVIDENCE] = r->ref;
		ar_decide_emit(d, AR_EV_EVIDENCE_CHANGED, &ids, &e);
	}
}

/* ---- delivery ---- */

static bool waits_for(const struct ar_task *task, const char *kind, struct ar_str other)
{
	const struct ar_edge *edge = ar_task_edge(task, ar_str_from(kind), other);

	return edge && !ar_str_is(edge->status, AR_EDGE_SATISFIED);
}

/* A parent that waits for the task by an edge is told of its end with that edge
 * (ar_task_release). Of any other it is not known whether anybody took the result. */
static const struct ar_shape_delivery_state *delivery_of(const struct ar_session *s,
							 const struct ar_task *task)
{
	static const struct ar_shape_delivery_state none = { .state = AR_STR("not_applicable") };
	static const struct ar_shape_delivery_state missing = { .state = AR_STR("parent_missing") };
	static const struct ar_shape_delivery_state delivered = { .state = AR_STR("delivered"),
								  .to = AR_STR("parent") };
	static const struct ar_shape_delivery_state pending = { .state = AR_STR("pending"),
								.to = AR_STR("parent") };
	const struct ar_task *parent = task ? ar_session_declared(s, task->parent) : NULL;

	if (task && task->sheet->delivery)
		return task->sheet->delivery;
	if (!task || ar_str_absent(task->parent))
		return &none;
	if (!parent || ar_task_is_over(parent))
		return &missing;
	if (waits_for(parent, "blocked_by", task->id) || waits_for(task, "blocks", parent->id))
		return &delivered;
	return &pending;
}

/* ---- the end ---- */

static bool is_delivered(const struct ar_shape_delivery_state *delivery)
{
	return ar_str_is(delivery->state, "delivered") || ar_str_is(delivery->state, "not_applicable");
}

void ar_task_say_completed(struct ar_decision *d, const struct ar_ids *ids,
			   const struct ar_ev_task_completed *said)
{
	struct ar_str task = ids->at[AR_SCOPE_TASK];
	const struct ar_task *declared = ar_session_declared(d->session, task);
	struct ar_ev_task_completed e = *said;
	const struct ar_deliverable what = { .task = declared };
	const struct ar_shape_delivery_state *sent = NULL;

	if (declared && ar_delivery_to(&what))
		sent = declared->sheet->delivery ? declared->sheet->delivery
						 : ar_delivery_begin(d, &what, e.completion_summary);
	if (sent) /* nobody's word stands for it */
		e.delivery_state = sent;
	if (!e.delivery_state)
		e.delivery_state = delivery_of(d->session, declared);
	e.reconciled = is_delivered(e.delivery_state) && !ar_task_process(d->session, task);
	ar_decide_emit(d, AR_EV_TASK_COMPLETED, ids, &e);
}
