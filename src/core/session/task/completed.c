/* What is said when a task is complete: the refs that it leaves, where its result is, and whether anything of it still goes on. Each of them is what
 * a caller or a fact said, never a guess. Pure. */
#include "describe.h"
#include "process/record.h"
#include "task/task.h"

/* ---- refs ---- */

static bool ref_of(struct ar_json element, struct ar_str *ret)
{
	return ar_json_str(element, ret) || ar_json_str(ar_json_get(element, "ref"), ret);
}

enum ar_status ar_task_plain_refs(struct ar_decision *d, struct ar_str array, const char *name,
				  struct ar_str *ret, struct ar_error *err)
{
	struct ar_jw w;
	struct ar_json list;
	struct ar_str ref;

	*ret = AR_STR("[]");
	if (ar_str_absent(array))
		return AR_OK;
	if (ar_json_parse(d->json, array, &list, NULL) != AR_OK)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "%s is no array", name);
	w = ar_decide_json(d);
	ar_jw_open_array(&w);
	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it);) {
		if (!ref_of(it.value, &ref))
			return ar_refuse(err, AR_ERR_INVALID_INPUT,
					 "%s has refs: texts, or objects with a member ref", name);
		ar_jw_str(&w, ref);
	}
	ar_jw_close_array(&w);
	*ret = ar_decide_json_end(d);
	return AR_OK;
}

/* The next element that names itself and says the word as well. */
static bool next_said(struct ar_decision *d, struct ar_json_iter *it, const char *name,
		      struct ar_str *ret_ref, struct ar_str *ret_word)
{
	while (ar_json_next(it)) {
		if (!ar_json_str(ar_json_get(it->value, name), ret_word) ||
		    !ar_json_str(ar_json_get(it->value, "ref"), ret_ref) || !ar_id_acceptable(*ret_ref) ||
		    ret_ref->len > AR_ID_MAX || ar_str_empty(*ret_word))
			continue;
		*ret_ref = ar_arena_str(d->arena, *ret_ref);
		*ret_word = ar_arena_str(d->arena, *ret_word);
		return true;
	}
	return false;
}

void ar_task_say_artifacts(struct ar_decision *d, const struct ar_task *task, struct ar_str array)
{
	struct ar_ids ids = ar_task_ids(task, ar_task_run(task));
	struct ar_str ref, version;
	struct ar_json_iter it;
	struct ar_json list;

	if (ar_str_absent(array) || ar_json_parse(d->json, array, &list, NULL) != AR_OK)
		return;
	it = ar_json_iter(list);
	while (next_said(d, &it, "versionId", &ref, &version)) {
		ids.at[AR_SCOPE_ARTIFACT] = ref;
		ar_decide_emit(d, AR_EV_ARTIFACT_CHANGED, &ids,
			       &(struct ar_ev_artifact_changed){
				       .change = AR_ARTIFACT_CHANGED_CHANGE_OBSERVED,
				       .read_ref = ref,
				       .version_id = version,
				       .producer = &(struct ar_shape_party){ .kind = AR_STR("task"),
									     .id = task->id } });
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
	else
		e.pack_ref = ref;
	return e;
}

void ar_task_say_evidence(struct ar_decision *d, const struct ar_task *task, struct ar_str array)
{
	struct ar_ids ids = ar_task_ids(task, ar_task_run(task));
	struct ar_ev_evidence_changed e;
	struct ar_str ref, kind;
	struct ar_json_iter it;
	struct ar_json list;

	if (ar_str_absent(array) || ar_json_parse(d->json, array, &list, NULL) != AR_OK)
		return;
	it = ar_json_iter(list);
	while (next_said(d, &it, "kind", &ref, &kind)) {
		e = evidence_of(ar_enum_find(&ar_evidence_changed_kind_desc, kind), ref);
		if (e.kind <= 0)
			continue;
		e.scope = &(struct ar_shape_evidence_scope){ .task_id = task->id };
		ids.at[AR_SCOPE_EVIDENCE] = ref;
		ar_decide_emit(d, AR_EV_EVIDENCE_CHANGED, &ids, &e);
	}
}

/* ---- delivery ---- */

static bool waits_for(const struct ar_task *task, const char *kind, struct ar_str other)
{
	for (size_t i = 0; i < task->edges.count; i++) {
		const struct ar_edge *edge = task->edges.at[i];

		if (ar_str_is(edge->kind, kind) && ar_str_eq(edge->target, other) &&
		    !ar_str_is(edge->status, AR_EDGE_SATISFIED))
			return true;
	}
	return false;
}

/* A parent that waits for the task by an edge is told of its end with that edge (ar_task_release). Of any other it is not known whether
 * anybody took the result. */
static struct ar_str delivery_of(const struct ar_session *s, const struct ar_task *task)
{
	const struct ar_task *parent = task ? ar_session_declared(s, task->parent) : NULL;

	if (task && !ar_str_absent(task->sheet->delivery))
		return task->sheet->delivery;
	if (!task || ar_str_absent(task->parent))
		return AR_STR("{\"state\":\"not_applicable\"}");
	if (!parent || ar_task_is_over(parent))
		return AR_STR("{\"state\":\"parent_missing\"}");
	if (waits_for(parent, "blocked_by", task->id) || waits_for(task, "blocks", parent->id))
		return AR_STR("{\"state\":\"delivered\",\"to\":\"parent\"}");
	return AR_STR("{\"state\":\"pending\",\"to\":\"parent\"}");
}

/* ---- the end ---- */

/* Whether a command runs that a turn of the task started, or one that worked for it. */
static bool has_process(const struct ar_session *s, struct ar_str task)
{
	struct ar_thread *thread;

	for (size_t i = 0; i < s->processes.count; i++) {
		const struct ar_process_record *p = s->processes.at[i];
		const struct ar_turn *turn = ar_session_turn(s, p->turn, &thread);

		if (ar_process_is_running(p) && turn && turn->task &&
		    (ar_str_eq(turn->task->id, task) || ar_str_eq(turn->task->parent, task)))
			return true;
	}
	return false;
}

static bool is_delivered(struct ar_decision *d, struct ar_str delivery)
{
	struct ar_str state = ar_text_member(d->json, d->arena, delivery, "state", true);

	return ar_str_is(state, "delivered") || ar_str_is(state, "not_applicable");
}

void ar_task_say_completed(struct ar_decision *d, const struct ar_ids *ids,
			   const struct ar_ev_task_completed *said)
{
	struct ar_str task = ids->at[AR_SCOPE_TASK];
	struct ar_ev_task_completed e = *said;
	struct ar_str *const lists[] = { &e.acceptance, &e.artifacts, &e.evidence_refs };

	for (size_t i = 0; i < AR_ARRAY_LEN(lists); i++) {
		if (ar_str_absent(*lists[i]))
			*lists[i] = AR_STR("[]");
	}
	if (ar_str_absent(e.delivery_state))
		e.delivery_state = delivery_of(d->session, ar_session_declared(d->session, task));
	e.reconciled = is_delivered(d, e.delivery_state) && !has_process(d->session, task);
	ar_decide_emit(d, AR_EV_TASK_COMPLETED, ids, &e);
}
