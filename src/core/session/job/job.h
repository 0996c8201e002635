/* Jobs: an instruction over many inputs. Each item is worked on by a turn in a session of its own, whose end
 * comes back as report_turn. The state has the counts, the place in the list and the items that are worked
 * on; an item that was begun has a row of the store (engine/index_rows.c), one that was not has none.
 *
 * The list is kept as contents of at most AR_JOB_LIST_ITEMS items, each with the ref of the next, so that
 * going on costs the same at every place. A decision that begins items needs the content that holds them;
 * ar_job_needs() says so, and the engine brings it. Pure; see apply_job.c for what the facts mean. */
#ifndef AR_SESSION_JOB_H
#define AR_SESSION_JOB_H

#include "decide.h"
#include "report/report.h"

#define AR_JOBS_MAX 1000 /* of one session; those that ended count */
#define AR_JOB_ITEMS_MAX 1000000
#define AR_JOB_ITEM_BYTES ((size_t)64 * 1024) /* of one item */
#define AR_JOB_LIST_ITEMS 256 /* of one content of the list */
#define AR_JOB_LIST_BYTES ((size_t)48 * 1024) /* of its items; one item may be longer */
#define AR_JOB_INPUT_BYTES ((size_t)64 * 1024 * 1024) /* of all lists that a job is made from */
#define AR_JOB_INPUTS_MAX 10000 /* refs that a job is made from */
#define AR_JOB_CONCURRENCY 8 /* when none is asked for */
#define AR_JOB_CONCURRENCY_MAX 10000
#define AR_JOB_ATTEMPTS_MAX 100
#define AR_JOB_ATTEMPTS_SCHEDULED 3 /* of a job that a schedule starts: nobody may be there to ask for one */
#define AR_JOB_AHEAD_MAX 1024 /* items that were assigned before their turn came */
#define AR_JOB_ID_MAX 110 /* so that the ids of its items are ids */
#define AR_JOB_PROGRESS ((ar_usec)1000 * 1000) /* between two job.progress of a job that runs */

#define AR_SOURCE_JOB "job" /* of the sessions and turns of items */

/* An item that is worked on. */
struct ar_job_item {
	int64_t number, attempt;
	struct ar_str thread; /* of one that is assigned; absent: that of its own session */
	struct ar_str input_ref; /* the content that holds it; absent: not known */
	bool is_assigned; /* somebody works on it who reports it; otherwise a turn does */
};

/* A number at or above the cursor that is not pending. */
struct ar_job_ahead {
	int64_t number;
};

struct ar_job {
	struct ar_str id, task, person;
	struct ar_str instruction_ref, schema_ref;
	struct ar_texts input_refs;
	struct ar_str list_ref; /* content that holds the item at the cursor; absent: none is left */
	const struct ar_shape_turn_options *options;
	const struct ar_shape_create_policy *policy; /* of the sessions of its items */
	const struct ar_shape_failure *error; /* why it failed */
	struct ar_str reason; /* why it was cancelled */
	struct ar_str schedule, schedule_run; /* that started it; absent: none did */
	struct ar_str report_to; /* the run, until it is told how the job ended */
	int64_t list; /* of its rows in the store: the sequence of job.created */
	int64_t status; /* enum ar_job_state */
	int64_t item_count, cursor, concurrency, max_runtime;
	struct ar_opt_int max_attempts; /* of an item that is tried again by itself */
	struct ar_opt_int inactivity_ms; /* longest time in which no item begins or ends */
	const struct ar_shape_task_delivery *deliver_to; /* NULL: its end is reported nowhere */
	const struct ar_shape_delivery_state *delivery; /* NULL: none began */
	int64_t completed, failed, reported;
	int64_t retryable; /* of those that failed */
	int64_t input_tokens, output_tokens, cached_tokens;
	int64_t cost; /* billionths */
	struct ar_opt_bool unpriced; /* the cost of an attempt is not known */
	ar_usec created, started, ended, progressed;
	ar_usec alive; /* when an item began or ended last */
	struct ar_vec running; /* struct ar_job_item */
	struct ar_vec spare; /* struct ar_job_item: memory of those that ended, for the next ones */
	struct ar_vec ahead; /* struct ar_job_ahead */
};

/* What the row of an item says. */
struct ar_job_row {
	bool is_known; /* the engine looked for it */
	struct ar_str record; /* JSON; absent: there is none */
};

/* What the engine read for a decision about a job. */
struct ar_job_read {
	const struct ar_text *texts;
	size_t text_count;
	struct ar_job_row row;
};

/* ---- state.c ---- */

struct ar_job *ar_session_job(const struct ar_session *s, struct ar_str id); /* NULL: none */
bool ar_job_is_over(const struct ar_job *job);
bool ar_session_has_open_jobs(const struct ar_session *s); /* that run, or whose end is not reported yet */

/* The id of an item: that of its job, a dot and its number. */
struct ar_str ar_job_item_id(struct ar_arena *a, const struct ar_job *job, int64_t number);

/* The job and the number that the id of an item names; NULL: none of this session. */
struct ar_job *ar_session_job_of(const struct ar_session *s, struct ar_str item_id, int64_t *ret_number);

/* The same of the subject of what was sent for an item: its id, a colon and the number of the attempt. */
struct ar_job *ar_session_job_of_subject(const struct ar_session *s, struct ar_str subject,
					 int64_t *ret_number, uint64_t *ret_attempt);

/* The item, while it is worked on; NULL: it is not. */
struct ar_job_item *ar_job_running(const struct ar_job *job, int64_t number);
int64_t ar_job_at_work(const struct ar_job *job); /* turns: items that others have take no place */
bool ar_job_is_ahead(const struct ar_job *job, int64_t number);
bool ar_job_is_pending(const struct ar_job *job, int64_t number);
struct ar_shape_job_counts ar_job_counts(const struct ar_job *job);
struct ar_str ar_job_status_word(const struct ar_job *job);
struct ar_texts ar_job_threads(const struct ar_session *s, const struct ar_job *job, struct ar_arena *a);
struct ar_str ar_job_thread_of(const struct ar_session *s, struct ar_arena *a, const struct ar_job *job,
			       const struct ar_job_item *item);

/* The cursor as readers see it: the number, and the ref of the content after a space. */
struct ar_str ar_job_cursor_text(struct ar_arena *a, int64_t number, struct ar_str list_ref);

/* The session that works on an item, as its 26 characters; and the ids of its first thread and its turns. */
struct ar_str ar_job_item_key(const struct ar_session *s, struct ar_arena *a, const struct ar_job *job,
			      int64_t number);
struct ar_str ar_job_item_thread(struct ar_arena *a, struct ar_str key);
struct ar_str ar_job_item_turn(struct ar_arena *a, struct ar_str key, int64_t attempt);

/* ---- needs.c ---- */

/* What is to be read before this input is decided. */
struct ar_job_needs {
	struct ar_str *refs;
	size_t count;
	int64_t list, number; /* row of an item */
	bool has_row;
};

/* False: nothing. Text is in the arena. With a row that was read, the rest. */
bool ar_job_needs(const struct ar_session *s, const struct ar_input *in, const struct ar_job_row *row,
		  struct ar_json_parser *json, struct ar_arena *a, struct ar_job_needs *ret);

/* Whether free places are worth a look at the list; `ends` of those at work are about to end. */
bool ar_job_wants_items(const struct ar_job *job, int64_t ends);

/* ---- items.c ---- */

/* Items that become one content of the list. */
struct ar_job_part {
	struct ar_str *items; /* NULL: they are the lines of the text that are not empty */
	struct ar_str lines;
	size_t first, count, bytes;
};

struct ar_job_list {
	struct ar_job_part *parts;
	size_t part_count, part_room;
	size_t count; /* of the items */
};

/* Refuses a schema that cannot be read; absent is none. */
AR_MUST_USE enum ar_status ar_job_check_schema(struct ar_decision *d, struct ar_str text,
					       struct ar_error *err);

/* Adds the items of a text in that format; refuses with what is wrong with it. */
AR_MUST_USE enum ar_status ar_job_split(struct ar_decision *d, struct ar_str text, int format,
					struct ar_job_list *list, struct ar_error *err);

/* Stores the list; returns the ref of its first content. */
struct ar_str ar_job_store_list(struct ar_decision *d, const struct ar_job_list *list);

/* One content of a list, as it was stored; false: it cannot be read. */
struct ar_job_page {
	int64_t first;
	struct ar_str next; /* absent: it is the last */
	struct ar_str *items;
	size_t count;
};
bool ar_job_read_list(struct ar_decision *d, struct ar_str ref, struct ar_job_page *ret);

/* ---- run.c ---- */

struct ar_ids ar_job_ids(struct ar_decision *d, const struct ar_job *job);
struct ar_ids ar_job_item_ids(struct ar_decision *d, const struct ar_job *job, int64_t number);

/* The job goes on after something changed: begins items, says where it is, ends if all is settled. */
void ar_job_continue(struct ar_decision *d, struct ar_job *job);
void ar_job_begin(struct ar_decision *d, struct ar_job *job); /* job.started, and its first items */

/* An attempt by a turn begins. */
struct ar_job_attempt {
	int64_t number, count;
	struct ar_str input_ref, text;
};
void ar_job_start_item(struct ar_decision *d, struct ar_job *job, const struct ar_job_attempt *attempt);

/* Wakes the job when the first of its limits is over. */
void ar_job_set_clock(struct ar_decision *d, const struct ar_job *job);

/* What the turn of an item is submitted with, again: it is the same turn. */
void ar_job_resend(struct ar_decision *d, const struct ar_job *job);

/* Turns of items at work are asked to stop. */
void ar_job_stop_turns(struct ar_decision *d, const struct ar_job *job, struct ar_str reason);
void ar_job_stop_turn(struct ar_decision *d, const struct ar_job *job, const struct ar_job_item *item,
		      struct ar_str reason);

/* job.progress. */
void ar_job_say_progress(struct ar_decision *d, const struct ar_job *job);
void ar_job_fail(struct ar_decision *d, struct ar_job *job, struct ar_str category, struct ar_str message);

/* An attempt failed. */
struct ar_job_failure {
	struct ar_str category, message;
	bool retryable;
	bool is_final; /* it is not tried again, retryable or not */
	const struct ar_shape_usage *usage;
	struct ar_str cost;
};
void ar_job_item_failed(struct ar_decision *d, const struct ar_job *job, const struct ar_job_item *item,
			const struct ar_job_failure *why);

/* ---- report.c: the schedule that started a job is told how it ended ---- */

void ar_job_report(struct ar_decision *d, const struct ar_job *job); /* if one did, and it has ended */
bool ar_job_report_answered(struct ar_decision *d); /* false: the answer is about something else */

/* ---- decide_job.c, decide_item.c ---- */

void ar_jobs_cancel_task(struct ar_decision *d, const struct ar_task *task,
			 struct ar_str reason); /* those that work for it and are not over */

/* Refuses with job_not_found. */
AR_MUST_USE enum ar_status ar_job_need(const struct ar_decision *d, struct ar_str id, struct ar_job **ret,
				       struct ar_error *err);

ar_report_fn ar_job_report_turn;
void ar_job_sent(struct ar_decision *d); /* the answer to submit_turn or interrupt_turn of an item */
void ar_jobs_recover(struct ar_decision *d);

#endif
