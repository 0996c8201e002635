/* Reading the jobs of a session. Pure. */
#include "hash.h"
#include "job/job.h"
#include "machine.h"
#include "tenant.h"

#include <string.h>

struct ar_job *ar_session_job(const struct ar_session *s, struct ar_str id)
{
	return ar_vec_last_with(&s->jobs, offsetof(struct ar_job, id), id);
}

bool ar_job_is_over(const struct ar_job *job)
{
	return job->status != AR_JOB_PENDING && job->status != AR_JOB_RUNNING;
}

bool ar_session_has_open_jobs(const struct ar_session *s)
{
	for (size_t i = 0; i < s->jobs.count; i++) {
		const struct ar_job *job = s->jobs.at[i];

		if (job->status == AR_JOB_RUNNING || (ar_job_is_over(job) && !ar_str_absent(job->report_to)))
			return true;
	}
	return false;
}

struct ar_str ar_job_item_id(struct ar_arena *a, const struct ar_job *job, int64_t number)
{
	return ar_arena_fmt(a, "%.*s.%lld", AR_STR_ARG(job->id), (long long)number);
}

struct ar_job *ar_session_job_of(const struct ar_session *s, struct ar_str item_id, int64_t *ret_number)
{
	size_t dot = item_id.len;
	struct ar_str digits;
	struct ar_job *job;
	uint64_t n;

	while (dot > 0 && item_id.p[dot - 1] != '.')
		dot--;
	if (dot == 0)
		return NULL;
	digits = (struct ar_str){ item_id.p + dot, item_id.len - dot };
	job = ar_session_job(s, (struct ar_str){ item_id.p, dot - 1 });
	if (!job || digits.len > 7 || (digits.len > 1 && digits.p[0] == '0') || !ar_str_to_u64(digits, &n) ||
	    (int64_t)n >= job->item_count)
		return NULL;
	*ret_number = (int64_t)n;
	return job;
}

struct ar_job *ar_session_job_of_subject(const struct ar_session *s, struct ar_str subject,
					 int64_t *ret_number, uint64_t *ret_attempt)
{
	size_t colon = subject.len;

	while (colon > 0 && subject.p[colon - 1] != ':')
		colon--;
	if (colon == 0 ||
	    !ar_str_to_u64((struct ar_str){ subject.p + colon, subject.len - colon }, ret_attempt))
		return NULL;
	return ar_session_job_of(s, (struct ar_str){ subject.p, colon - 1 }, ret_number);
}

struct ar_job_item *ar_job_running(const struct ar_job *job, int64_t number)
{
	for (size_t i = 0; i < job->running.count; i++) {
		struct ar_job_item *item = job->running.at[i];

		if (item->number == number)
			return item;
	}
	return NULL;
}

int64_t ar_job_at_work(const struct ar_job *job)
{
	int64_t n = 0;

	for (size_t i = 0; i < job->running.count; i++)
		n += !((const struct ar_job_item *)job->running.at[i])->is_assigned;
	return n;
}

bool ar_job_is_ahead(const struct ar_job *job, int64_t number)
{
	for (size_t i = 0; i < job->ahead.count; i++) {
		if (((const struct ar_job_ahead *)job->ahead.at[i])->number == number)
			return true;
	}
	return false;
}

bool ar_job_is_pending(const struct ar_job *job, int64_t number)
{
	return number >= job->cursor && number < job->item_count && !ar_job_is_ahead(job, number);
}

struct ar_shape_job_counts ar_job_counts(const struct ar_job *job)
{
	int64_t running = (int64_t)job->running.count;

	return (struct ar_shape_job_counts){ .pending =
						     AR_OPT_INT(job->item_count - running - job->completed -
								job->failed - job->reported),
					     .running = AR_OPT_INT(running),
					     .completed = AR_OPT_INT(job->completed),
					     .failed = AR_OPT_INT(job->failed),
					     .reported = AR_OPT_INT(job->reported) };
}

struct ar_str ar_job_status_word(const struct ar_job *job)
{
	return ar_str_from(ar_machine_state_name(AR_MACHINE_JOB, (int)job->status));
}

struct ar_str ar_job_thread_of(const struct ar_session *s, struct ar_arena *a, const struct ar_job *job,
			       const struct ar_job_item *item)
{
	if (!ar_str_absent(item->thread))
		return item->thread;
	return ar_job_item_thread(a, ar_job_item_key(s, a, job, item->number));
}

struct ar_texts ar_job_threads(const struct ar_session *s, const struct ar_job *job, struct ar_arena *a)
{
	struct ar_str *ids = ar_arena_alloc(a, (job->running.count + 1) * sizeof(*ids));

	for (size_t i = 0; i < job->running.count; i++)
		ids[i] = ar_job_thread_of(s, a, job, job->running.at[i]);
	return (struct ar_texts){ ids, job->running.count };
}

struct ar_str ar_job_cursor_text(struct ar_arena *a, int64_t number, struct ar_str list_ref)
{
	if (ar_str_absent(list_ref))
		return AR_STR("");
	return ar_arena_fmt(a, "%lld %.*s", (long long)number, AR_STR_ARG(list_ref));
}

struct ar_str ar_job_item_key(const struct ar_session *s, struct ar_arena *a, const struct ar_job *job,
			      int64_t number)
{
	char *key = ar_arena_alloc(a, AR_SESSION_KEY_LEN + 1);

	ar_tenant_derive(ar_session_tenant(s), s->created, ar_job_item_id(a, job, number), key);
	return (struct ar_str){ key, AR_SESSION_KEY_LEN };
}

struct ar_str ar_job_item_thread(struct ar_arena *a, struct ar_str key)
{
	return ar_id_inner(a, "thread", key, 1);
}

/* Unique in the tenant, as ids that callers choose have to be. */
struct ar_str ar_job_item_turn(struct ar_arena *a, struct ar_str key, int64_t attempt)
{
	return ar_arena_fmt(a, "item-%.*s-%lld", AR_STR_ARG(key), (long long)attempt);
}
