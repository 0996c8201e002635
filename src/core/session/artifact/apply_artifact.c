/* artifact.changed: the newest versions are kept, and what they replaced for a while. */
#include "apply.h"
#include "artifact/artifact.h"

static void keep_version(struct ar_session *s, struct ar_vec *window,
			 const struct ar_shape_artifact_record *r)
{
	struct ar_artifact *kept = ar_arena_alloc(&s->arena, sizeof(*kept));

	kept->record = r;
	ar_vec_push(&s->arena, window, kept);
}

/* Takes the version before out of the list, if there is one. */
static const struct ar_shape_artifact_record *take_before(struct ar_session *s, struct ar_str id)
{
	for (size_t i = s->artifacts.count; i > 0; i--) {
		const struct ar_shape_artifact_record *r = ar_artifact_at(&s->artifacts, i - 1);

		if (!ar_str_eq(r->artifact_id, id))
			continue;
		ar_vec_remove(&s->artifacts, i - 1);
		return r;
	}
	return NULL;
}

static void drop_old(struct ar_session *s)
{
	if (s->versions.count > AR_WINDOW_VERSIONS)
		ar_vec_remove(&s->versions, 0);
	if (s->artifacts.count <= AR_WINDOW_ARTIFACTS)
		return;
	ar_vec_remove(&s->artifacts, 0);
	s->artifacts_left = AR_OPT_INT(s->artifacts_left.v + 1);
}

static struct ar_shape_artifact_record record_of(const struct ar_event *e)
{
	const struct ar_ev_artifact_changed *p = PAYLOAD(e, artifact_changed);

	return (struct ar_shape_artifact_record){ .artifact_id = e->ids[AR_SCOPE_ARTIFACT],
						  .kind = p->kind,
						  .path = p->path,
						  .version_id = p->version_id,
						  .read_ref = p->read_ref,
						  .preview_ref = p->preview_ref,
						  .diff_ref = p->diff_ref,
						  .validation_issue_count = p->validation_issue_count,
						  .change = p->change,
						  .state = p->state,
						  .size_bytes = p->size_bytes,
						  .thread_id = e->ids[AR_SCOPE_THREAD],
						  .turn_id = e->ids[AR_SCOPE_TURN],
						  .tool_call_id = e->ids[AR_SCOPE_TOOL_CALL],
						  .task_id = e->ids[AR_SCOPE_TASK],
						  .versions = 1,
						  .sequence = (int64_t)e->sequence,
						  .updated_at = e->time };
}

_Static_assert((int)AR_ARTIFACT_CHANGED_STATE_UNKNOWN == (int)AR_ARTIFACT_RECORD_STATE_UNKNOWN &&
		       (int)AR_ARTIFACT_CHANGED_CHANGE_OBSERVED == (int)AR_ARTIFACT_RECORD_CHANGE_OBSERVED,
	       "a record has the words of its fact");

enum ar_status ar_apply_artifact_changed(struct ar_session *s, const struct ar_event *e, struct ar_error *err)
{
	struct ar_shape_artifact_record r = record_of(e);
	const struct ar_shape_artifact_record *before;

	(void)err;
	/* Without a kind it is a fact of a version that kept no list: its snapshots have none either. */
	if (ar_str_absent(r.kind) || ar_str_absent(r.artifact_id))
		return AR_OK;
	before = take_before(s, r.artifact_id);
	if (before) {
		bool is_same = ar_str_eq(before->version_id, r.version_id);

		r.versions = before->versions + (is_same ? 0 : 1);
		if (!is_same)
			keep_version(s, &s->versions, before);
	}
	keep_version(s, &s->artifacts,
		     ar_struct_copy(&ar_shape_artifact_record_desc, &r, AR_COPY_TEXT, &s->arena));
	drop_old(s);
	return AR_OK;
}
