/* The record of a workspace, a worker or a schedule, as lists show it. Pure. */
#include "describe.h"
#include "projection.h"

void ar_projection_workspace(const struct ar_session *s, struct ar_jw *w)
{
	struct ar_shape_workspace_record record = *s->own;

	record.as_of_sequence = AR_OPT_INT((int64_t)s->head);
	ar_struct_encode(&ar_shape_workspace_record_desc, &record, AR_STR_NONE, w);
}

struct ar_str ar_projection_workspace_status(const struct ar_session *s)
{
	return s->own->status == AR_WORKSPACE_RECORD_STATUS_ACTIVE ? AR_STR("active") : AR_STR("archived");
}

void ar_projection_worker(const struct ar_session *s, struct ar_jw *w)
{
	struct ar_shape_worker_record record = *s->own_worker;

	record.as_of_sequence = AR_OPT_INT((int64_t)s->head);
	ar_struct_encode(&ar_shape_worker_record_desc, &record, AR_STR_NONE, w);
}

struct ar_str ar_projection_worker_status(const struct ar_session *s)
{
	return s->own_worker->status == AR_WORKER_RECORD_STATUS_ACTIVE ? AR_STR("active") : AR_STR("removed");
}

void ar_projection_schedule(const struct ar_session *s, struct ar_jw *w)
{
	struct ar_shape_schedule_record record = *s->own_schedule;

	record.as_of_sequence = AR_OPT_INT((int64_t)s->head);
	ar_struct_encode(&ar_shape_schedule_record_desc, &record, AR_STR_NONE, w);
}

struct ar_str ar_projection_schedule_status(const struct ar_session *s)
{
	return s->own_schedule->status == AR_SCHEDULE_RECORD_STATUS_ENDED ? AR_STR("ended") : AR_STR("open");
}
