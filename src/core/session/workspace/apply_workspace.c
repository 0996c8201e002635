/* What the facts of a workspace leave in the state of its own log. Pure. */
#include "apply.h"

static void keep_record(struct ar_session *s, const struct ar_shape_workspace_record *record)
{
	s->own = ar_struct_copy(&ar_shape_workspace_record_desc, record, AR_COPY_TEXT, &s->arena);
}

enum ar_status ar_apply_workspace_created(struct ar_session *s, const struct ar_event *e,
					  struct ar_error *err)
{
	const struct ar_ev_workspace_created *p = PAYLOAD(e, workspace_created);

	if (s->own || !p->workspace)
		return ar_fail(err, AR_E_CORRUPT, "fact %llu creates a workspace a second time, or none",
			       (unsigned long long)e->sequence);
	keep_record(s, p->workspace);
	return AR_OK;
}

enum ar_status ar_apply_workspace_updated(struct ar_session *s, const struct ar_event *e,
					  struct ar_error *err)
{
	const struct ar_ev_workspace_updated *p = PAYLOAD(e, workspace_updated);
	struct ar_shape_workspace_record record;

	if (!s->own || !p->workspace)
		return ar_apply_unknown(err, e, "workspace");
	record = *p->workspace;
	record.policy = s->own->policy; /* set by facts of its own */
	record.policy_author = s->own->policy_author;
	keep_record(s, &record);
	return AR_OK;
}

enum ar_status ar_apply_workspace_archived(struct ar_session *s, const struct ar_event *e,
					   struct ar_error *err)
{
	struct ar_shape_workspace_record record;

	if (!s->own)
		return ar_apply_unknown(err, e, "workspace");
	record = *s->own;
	record.status = AR_WORKSPACE_RECORD_STATUS_ARCHIVED;
	record.version++;
	record.updated_at = e->time;
	keep_record(s, &record);
	return AR_OK;
}
