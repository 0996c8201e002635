/* What the files of `agentctl job` share. */
#ifndef AR_CTL_JOB_H
#define AR_CTL_JOB_H

#include "api.h"

enum {
	JOB_INPUT,
	JOB_FORMAT,
	JOB_SCHEMA,
	JOB_CONCURRENCY,
	JOB_MAX_RUNTIME,
	JOB_ATTEMPTS,
	JOB_MODEL,
	JOB_SESSION,
	JOB_WORKSPACE,
	JOB_KEY,
	JOB_HOLD,
	JOB_WATCH,
	JOB_REASON,
	JOB_CSV,
	JOB_NDJSON
};

/* input.c. The file `-` is standard input; the format is the given one, or that of the name of the file. */
enum ar_exit ar_job_read_file(struct ar_ctl *c, const char *path, struct ar_buf *ret);
const char *ar_job_format(const char *given, const char *path);
void ar_job_write_limits(struct ar_jw *w, const char *concurrency, const char *max_runtime,
			 const char *attempts);
enum ar_exit ar_job_write_schema(struct ar_ctl *c, struct ar_jw *w, const char *path);

/* watch.c: follows the job until it ended: one line, written anew, on a terminal, else a line a second. */
enum ar_exit ar_job_watch(struct ar_ctl *c, struct ar_str job);

/* results.c: outputs of all items that have one, by number. */
enum ar_exit ar_job_results(struct ar_ctl *c, struct ar_str job, bool is_csv);

#endif
