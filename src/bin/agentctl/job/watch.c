/* `agentctl job watch`: progress, rate, failures, and what it costs. */
#include "clock.h"
#include "job/job.h"

#include <stdlib.h>
#include <time.h>

#define BAR 24
#define LOOK_MS 1000

struct watch {
	ar_usec began; /* monotonic: the first look */
	int64_t done_then; /* items that had ended by then */
};

static ar_usec mono(void)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->mono(clock);
}

static int64_t ended(struct ar_json counts)
{
	return ar_api_int(counts, "completed") + ar_api_int(counts, "failed") +
	       ar_api_int(counts, "reported");
}

static void print_bar(struct ar_ctl *c, int64_t done, int64_t all)
{
	int64_t filled = all > 0 ? done * BAR / all : 0;

	ar_out_printf(&c->out, "[");
	for (int64_t i = 0; i < BAR; i++)
		ar_out_printf(&c->out, "%s", i < filled ? "#" : "-");
	ar_out_printf(&c->out, "] ");
}

/* What the rest may cost, if it costs what the items so far did. */
static void print_cost(struct ar_ctl *c, struct ar_json job, int64_t done, int64_t all)
{
	struct ar_str text = ar_api_str(job, "cost");
	double cost = ar_str_empty(text) ? 0 : strtod(ar_ctl_strdup(c, text), NULL);

	if (ar_str_empty(text)) {
		ar_out_printf(&c->out, ", cost not known");
		return;
	}
	ar_out_printf(&c->out, ", cost %.4f", cost);
	if (done > 0 && done < all)
		ar_out_printf(&c->out, " of about %.4f", cost / (double)done * (double)all);
}

static void print_state(struct ar_ctl *c, const struct watch *w, struct ar_json job)
{
	struct ar_json counts = ar_json_get(job, "counts");
	int64_t done = ended(counts), all = ar_api_int(job, "itemCount");
	double seconds = (double)(mono() - w->began) / 1e6;

	if (c->out.is_tty)
		ar_out_printf(&c->out, "\r\033[K");
	print_bar(c, done, all);
	ar_out_printf(&c->out, "%lld of %lld, %lld running, %lld failed", (long long)done, (long long)all,
		      (long long)ar_api_int(counts, "running"), (long long)ar_api_int(counts, "failed"));
	if (seconds > 1 && done > w->done_then)
		ar_out_printf(&c->out, ", %.1f items/s", (double)(done - w->done_then) / seconds);
	print_cost(c, job, done, all);
	ar_out_printf(&c->out, c->out.is_tty ? "" : "\n");
	fflush(c->out.file);
}

/* A job whose items have all ended, some of them to be tried again, waits for somebody. */
static bool waits(struct ar_json job)
{
	struct ar_json counts = ar_json_get(job, "counts");

	return ar_str_is(ar_api_str(job, "status"), "running") && ar_api_int(counts, "pending") == 0 &&
	       ar_api_int(counts, "running") == 0;
}

static enum ar_exit finish(struct ar_ctl *c, struct ar_json job)
{
	struct ar_str status = ar_api_str(job, "status");

	ar_out_break(&c->out);
	if (waits(job)) {
		ar_ctl_note(c, "the failed items may be tried again: agentctl job retry");
		return AR_EXIT_FAILED;
	}
	ar_ctl_note(c, "the job is %.*s", AR_STR_ARG(status));
	return ar_str_is(status, "completed") ? AR_EXIT_OK : AR_EXIT_FAILED;
}

static void pause_for(long ms)
{
	nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

enum ar_exit ar_job_watch(struct ar_ctl *c, struct ar_str job)
{
	struct watch w = { 0 };

	for (;;) {
		struct ar_api_reply r;
		struct ar_buf body = { 0 };
		struct ar_jw j = ar_jw(&body);
		enum ar_exit rc;
		bool is_over;

		ar_jw_open(&j);
		ar_jw_mstr(&j, "jobId", job);
		ar_jw_mint(&j, "limit", 1);
		ar_jw_close(&j);
		rc = ar_api_call(c, "get_job", ar_buf_str(&body), &r);
		ar_buf_fini(&body);
		if (rc == AR_EXIT_OK && !w.began)
			w = (struct watch){ mono(), ended(ar_json_get(r.doc, "counts")) };
		if (rc == AR_EXIT_OK)
			print_state(c, &w, r.doc);
		is_over = rc != AR_EXIT_OK || waits(r.doc) ||
			  !(ar_str_is(ar_api_str(r.doc, "status"), "running") ||
			    ar_str_is(ar_api_str(r.doc, "status"), "pending"));
		if (is_over && rc == AR_EXIT_OK)
			rc = finish(c, r.doc);
		ar_api_fini(&r);
		if (is_over)
			return rc;
		pause_for(LOOK_MS);
	}
}
