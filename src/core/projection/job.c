/* Jobs as a session and its threads show them: how far each is. Their items are read with get_job. Pure. */
#include "describe.h"
#include "job/job.h"
#include "thread.h"

#define ENDED_JOBS 3 /* newest of them that are listed; list_jobs has all */
#define SHOWN_THREADS 20 /* that work on items of one job, beside their count; get_job has all */

void ar_projection_show_jobs(const struct ar_session *s, struct ar_shown *ret)
{
	size_t ended = 0;

	for (size_t i = s->jobs.count; i > 0; i--) {
		if (!ar_job_is_over(s->jobs.at[i - 1]) || ended++ < ENDED_JOBS)
			ar_vec_push(&ret->arena, &ret->jobs, s->jobs.at[i - 1]);
	}
}

static void write_threads(const struct ar_session *s, const struct ar_job *job, struct ar_jw *w)
{
	struct ar_arena arena = { 0 };

	ar_jw_key(w, "assignedThreadIds");
	ar_jw_open_array(w);
	for (size_t i = 0; i < job->running.count && i < SHOWN_THREADS; i++)
		ar_jw_str(w, ar_job_thread_of(s, &arena, job, job->running.at[i]));
	ar_jw_close_array(w);
	ar_jw_mint(w, "assignedThreadCount", (int64_t)job->running.count);
	ar_arena_fini(&arena);
}

static void write_job(const struct ar_session *s, const struct ar_job *job, struct ar_jw *w)
{
	const struct ar_shape_job_counts counts = ar_job_counts(job);

	ar_jw_open(w);
	ar_jw_mstr(w, "jobId", job->id);
	ar_jw_mstr(w, "taskId", job->task);
	ar_jw_mstr(w, "status", ar_job_status_word(job));
	ar_jw_mint(w, "itemCount", job->item_count);
	ar_jw_key(w, "counts");
	ar_struct_encode(&ar_shape_job_counts_desc, &counts, AR_STR_NONE, w);
	write_threads(s, job, w);
	/* Items that were begun go on with the session that works on each. */
	ar_jw_mstr(w, "recoverability", ar_job_is_over(job) ? AR_STR("not_applicable") : AR_STR("automatic"));
	if (job->delivery) {
		ar_jw_key(w, "deliveryState");
		ar_struct_encode(&ar_shape_delivery_state_desc, job->delivery, AR_STR_NONE, w);
	}
	ar_jw_mtime(w, "createdAt", job->created);
	ar_jw_mtime(w, "endedAt", job->ended);
	ar_jw_close(w);
}

void ar_projection_jobs(const struct ar_session *s, const struct ar_shown *shown, struct ar_jw *w)
{
	ar_jw_key(w, "jobs");
	ar_jw_open_array(w);
	for (size_t i = 0; i < shown->jobs.count; i++)
		write_job(s, shown->jobs.at[i], w);
	ar_jw_close_array(w);
}
