/* What jobs are made from: files with items, formats, schemas, limits. Also of the jobs of schedules. */
#include "job/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum ar_exit ar_job_read_file(struct ar_ctl *c, const char *path, struct ar_buf *ret)
{
	bool is_stdin = strcmp(path, "-") == 0;
	FILE *f = is_stdin ? stdin : fopen(path, "rbe");
	char part[65536];
	size_t n;

	if (!f)
		return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR_NONE, "%s cannot be read", path);
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		ar_buf_adds(ret, (struct ar_str){ part, n });
	if (!is_stdin)
		fclose(f);
	return AR_EXIT_OK;
}

static bool has_ending(const char *path, const char *ending)
{
	size_t n = strlen(path), m = strlen(ending);

	return n > m && strcmp(path + n - m, ending) == 0;
}

const char *ar_job_format(const char *given, const char *path)
{
	if (given)
		return given;
	if (has_ending(path, ".csv"))
		return "csv";
	return has_ending(path, ".json") ? "json" : "lines";
}

static void write_number(struct ar_jw *w, const char *name, const char *text, int64_t unit)
{
	if (text)
		ar_jw_mint(w, name, strtoll(text, NULL, 10) * unit);
}

void ar_job_write_limits(struct ar_jw *w, const char *concurrency, const char *max_runtime,
			 const char *attempts)
{
	write_number(w, "concurrency", concurrency, 1);
	write_number(w, "maxRuntime", max_runtime, 1000);
	write_number(w, "maxAttempts", attempts, 1);
}

enum ar_exit ar_job_write_schema(struct ar_ctl *c, struct ar_jw *w, const char *path)
{
	struct ar_buf schema = { 0 };
	enum ar_exit rc = path ? ar_job_read_file(c, path, &schema) : AR_EXIT_OK;

	if (rc == AR_EXIT_OK && path)
		ar_jw_mraw(w, "outputSchema", ar_buf_str(&schema));
	ar_buf_fini(&schema);
	return rc;
}
