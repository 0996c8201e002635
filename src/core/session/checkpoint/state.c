/* Reading the checkpoints of a session. Pure. */
#include "checkpoint/checkpoints.h"
#include "workspace/work_folder.h"

#define DAY (INT64_C(24) * 3600 * 1000000)

const struct ar_shape_checkpoint_record *ar_session_checkpoint(const struct ar_session *s, struct ar_str id)
{
	for (size_t i = s->checkpoints.count; i > 0; i--) {
		const struct ar_shape_checkpoint_record *r = ar_checkpoint_at(s, i - 1);

		if (ar_str_eq(r->checkpoint_id, id))
			return r;
	}
	return NULL;
}

const struct ar_shape_checkpoint_record *ar_session_checkpoint_of(const struct ar_session *s,
								  struct ar_str turn, int phase)
{
	for (size_t i = s->checkpoints.count; i > 0; i--) {
		const struct ar_shape_checkpoint_record *r = ar_checkpoint_at(s, i - 1);

		if (ar_str_eq(r->turn_id, turn) && r->phase == phase &&
		    r->status == AR_CHECKPOINT_RECORD_STATUS_AVAILABLE)
			return r;
	}
	return NULL;
}

bool ar_checkpoint_is_kept(const struct ar_shape_checkpoint_record *r, const struct ar_policy *policy,
			   ar_usec now)
{
	return policy->checkpoint_days <= 0 || r->created_at >= now - policy->checkpoint_days * DAY;
}

const struct ar_shape_checkpoint_record *ar_session_restoring(const struct ar_session *s,
							      const struct ar_work_folder *p)
{
	for (size_t i = s->checkpoints.count; i > 0; i--) {
		const struct ar_shape_checkpoint_record *r = ar_checkpoint_at(s, i - 1);
		struct ar_work_folder in;

		if (r->status != AR_CHECKPOINT_RECORD_STATUS_PENDING ||
		    r->phase != AR_CHECKPOINT_RECORD_PHASE_RESTORE)
			continue;
		in = ar_work_folder_in(s, r->thread_id);
		if (ar_work_folder_is_same(&in, p))
			return r;
	}
	return NULL;
}

bool ar_session_makes_checkpoint(const struct ar_session *s)
{
	for (size_t i = s->checkpoints.count; i > 0; i--) {
		if (ar_checkpoint_at(s, i - 1)->status == AR_CHECKPOINT_RECORD_STATUS_PENDING)
			return true;
	}
	return false;
}
