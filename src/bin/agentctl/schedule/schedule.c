/* `agentctl schedule`: turns at the times of a cron expression or an interval: make, list, show, change,
 * pause, resume, run and end schedules. What is printed of a new one on standard output is its id alone. */
#include "api.h"
#include "clock.h"
#include "job/job.h"
#include "resolve.h"

#include <string.h>

#define ID_WIDTH 32
#define NAME_WIDTH 20
#define STATE_WIDTH 8
#define TIME_WIDTH 20
#define JITTER_MAX 3600 /* seconds */

enum {
	SCHEDULE_ZONE,
	SCHEDULE_SESSION,
	SCHEDULE_WORKSPACE,
	SCHEDULE_MODEL,
	SCHEDULE_MODE,
	SCHEDULE_JITTER,
	SCHEDULE_CATCH_UP,
	SCHEDULE_OVERLAP,
	SCHEDULE_PAUSED,
	SCHEDULE_ALL,
	SCHEDULE_REASON,
	SCHEDULE_KEY,
	SCHEDULE_JOB,
	SCHEDULE_FORMAT,
	SCHEDULE_SCHEMA,
	SCHEDULE_CONCURRENCY,
	SCHEDULE_MAX_RUNTIME,
	SCHEDULE_ATTEMPTS,
};

/* To the second: 2026-11-18T08:00:00Z */
static struct ar_str time_of(struct ar_json object, const char *name)
{
	return ar_str_sub(ar_api_str(object, name), 0, 19);
}

/* ---- create ---- */

static void print_times(struct ar_ctl *c, struct ar_json record)
{
	struct ar_str next = time_of(record, "nextAt");

	ar_out_line(&c->out, ar_api_str(record, "sentence"));
	if (ar_str_empty(next)) {
		ar_out_printf(&c->out, "; %s\n",
			      ar_str_is(ar_api_str(record, "status"), "ended") ? "ended" : "paused");
		return;
	}
	ar_out_printf(&c->out, "; next: ");
	ar_out_line(&c->out, next);
	ar_out_printf(&c->out, "Z\n");
}

static void print_new(struct ar_ctl *c, const struct ar_api_reply *r)
{
	struct ar_json record = ar_json_get(r->doc, "schedule");

	ar_out_line(&c->out, ar_api_str(record, "scheduleId"));
	ar_out_printf(&c->out, "\n");
	ar_ctl_note(c, "%.*s; next: %.*s", AR_STR_ARG(ar_api_str(record, "sentence")),
		    AR_STR_ARG(time_of(record, "nextAt")));
}

/* --job FILE: its items. */
static enum ar_exit write_job(struct ar_ctl *c, struct ar_jw *w, const struct ar_ctl_args *a)
{
	struct ar_buf items = { 0 };
	enum ar_exit rc;

	if (!a->values[SCHEDULE_JOB])
		return AR_EXIT_OK;
	rc = ar_job_read_file(c, a->values[SCHEDULE_JOB], &items);
	if (rc == AR_EXIT_OK) {
		ar_jw_key(w, "job");
		ar_jw_open(w);
		ar_jw_mstr(w, "input", ar_buf_str(&items));
		ar_jw_mstr(w, "inputFormat",
			   ar_str_from(ar_job_format(a->values[SCHEDULE_FORMAT], a->values[SCHEDULE_JOB])));
		ar_job_write_limits(w, a->values[SCHEDULE_CONCURRENCY], a->values[SCHEDULE_MAX_RUNTIME],
				    a->values[SCHEDULE_ATTEMPTS]);
		rc = ar_job_write_schema(c, w, a->values[SCHEDULE_SCHEMA]);
		ar_jw_close(w);
	}
	ar_buf_fini(&items);
	return rc;
}

static enum ar_exit write_start(struct ar_ctl *c, struct ar_jw *w, const struct ar_ctl_args *a,
				struct ar_str session)
{
	enum ar_exit rc;

	ar_jw_key(w, "start");
	ar_jw_open(w);
	ar_jw_mstr(w, "text", ar_str_from(a->words[3]));
	ar_jw_mstr(w, "sessionId", session);
	if (a->values[SCHEDULE_WORKSPACE]) {
		ar_jw_key(w, "createPolicy");
		ar_jw_open(w);
		ar_jw_mstr(w, "workspaceId", ar_str_from(a->values[SCHEDULE_WORKSPACE]));
		ar_jw_close(w);
	}
	if (a->values[SCHEDULE_MODEL] || a->values[SCHEDULE_MODE]) {
		ar_jw_key(w, "options");
		ar_jw_open(w);
		ar_jw_mstr(w, "model", ar_str_from(a->values[SCHEDULE_MODEL]));
		ar_jw_mstr(w, "mode", ar_str_from(a->values[SCHEDULE_MODE]));
		ar_jw_close(w);
	}
	rc = write_job(c, w, a);
	ar_jw_close(w);
	return rc;
}

/* When it runs, and what happens to times that it cannot keep. */
static enum ar_exit write_times(struct ar_ctl *c, struct ar_jw *w, const struct ar_ctl_args *a)
{
	uint64_t jitter;

	ar_jw_mstr(w, "spec", ar_str_from(a->count > 2 ? a->words[2] : NULL));
	ar_jw_mstr(w, "zone", ar_str_from(a->values[SCHEDULE_ZONE]));
	ar_jw_mstr(w, "catchUp", ar_str_from(a->values[SCHEDULE_CATCH_UP]));
	ar_jw_mstr(w, "overlap", ar_str_from(a->values[SCHEDULE_OVERLAP]));
	if (!a->values[SCHEDULE_JITTER])
		return AR_EXIT_OK;
	if (!ar_str_to_u64(ar_str_from(a->values[SCHEDULE_JITTER]), &jitter) || jitter > JITTER_MAX)
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("such as --jitter 30"),
				       "--jitter needs a number of seconds, at most %d", JITTER_MAX);
	ar_jw_mint(w, "jitterMs", (int64_t)jitter * 1000);
	return AR_EXIT_OK;
}

static enum ar_exit create(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	struct ar_str session = AR_STR_NONE;
	enum ar_exit rc = AR_EXIT_OK;

	if (a->values[SCHEDULE_SESSION])
		rc = ar_resolve_session(c, a->values[SCHEDULE_SESSION], &session);
	if (rc != AR_EXIT_OK)
		return rc;
	ar_jw_open(&w);
	ar_jw_mstr(&w, "name", ar_str_from(a->words[1]));
	rc = write_times(c, &w, a);
	if (rc == AR_EXIT_OK)
		rc = write_start(c, &w, a, session);
	if (a->values[SCHEDULE_PAUSED])
		ar_jw_mbool(&w, "paused", true);
	ar_jw_mstr(&w, "idempotencyKey", ar_str_from(a->values[SCHEDULE_KEY]));
	ar_jw_close(&w);
	if (rc == AR_EXIT_OK)
		return ar_api_show(c, "create_schedule", &body, print_new);
	ar_buf_fini(&body);
	return rc;
}

/* ---- list ---- */

static void print_row(struct ar_ctl *c, struct ar_json record)
{
	ar_out_column(&c->out, ar_api_str(record, "scheduleId"), ID_WIDTH);
	ar_out_column(&c->out, ar_api_str(record, "name"), NAME_WIDTH);
	ar_out_column(&c->out, ar_api_str(record, "status"), STATE_WIDTH);
	ar_out_column(&c->out, time_of(record, "nextAt"), TIME_WIDTH);
	ar_out_line(&c->out, ar_api_str(record, "sentence"));
	ar_out_printf(&c->out, "\n");
}

static void print_table(struct ar_ctl *c, const struct ar_api_reply *r)
{
	struct ar_json schedules = ar_json_get(r->doc, "schedules");

	if (ar_json_len(schedules) == 0) {
		ar_ctl_note(c, "there are no schedules; `agentctl schedule create NAME WHEN TEXT` makes one");
		return;
	}
	ar_out_style(&c->out, AR_STYLE_BOLD);
	ar_out_printf(&c->out, "%-*s  %-*s  %-*s  %-*s  %s\n", ID_WIDTH, "SCHEDULE", NAME_WIDTH, "NAME",
		      STATE_WIDTH, "STATUS", TIME_WIDTH, "NEXT (UTC)", "WHEN");
	ar_out_style(&c->out, AR_STYLE_PLAIN);
	for (struct ar_json_iter it = ar_json_iter(schedules); ar_json_next(&it);)
		print_row(c, it.value);
	if (!ar_str_absent(ar_api_str(r->doc, "nextCursor")))
		ar_ctl_note(c, "there are more; `agentctl call list_schedules` takes their cursor");
}

static enum ar_exit list(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return ar_api_list(c, "list_schedules", a->values[SCHEDULE_ALL] != NULL, print_table);
}

/* ---- show ---- */

static void print_run(struct ar_ctl *c, struct ar_json run)
{
	struct ar_str work =
		ar_texts_first(AR_TEXTS(ar_api_str(run, "jobId"), ar_api_str(run, "sessionId"), AR_STR("")));
	struct ar_str why = ar_api_str(ar_json_get(run, "error"), "message");

	ar_out_printf(&c->out, "run        ");
	ar_out_column(&c->out, time_of(run, "dueAt"), TIME_WIDTH);
	ar_out_column(&c->out, ar_api_str(run, "status"), 10);
	ar_out_line(&c->out, ar_texts_first(AR_TEXTS(why, ar_api_str(run, "reason"), work, AR_STR(""))));
	ar_out_printf(&c->out, "\n");
}

static void print_schedule(struct ar_ctl *c, const struct ar_api_reply *r)
{
	static const char *const lines[][2] = { { "schedule", "scheduleId" }, { "name", "name" },
						{ "status", "status" },	      { "when", "sentence" },
						{ "spec", "spec" },	      { "catch up", "catchUp" },
						{ "overlap", "overlap" },     { "created by", "createdBy" } };
	struct ar_json record = ar_json_get(r->doc, "schedule"), start = ar_json_get(record, "start");
	struct ar_str time;

	for (size_t i = 0; i < AR_ARRAY_LEN(lines); i++)
		ar_out_member(&c->out, lines[i][0], ar_api_str(record, lines[i][1]));
	ar_out_member(&c->out, "session", ar_api_str(start, "sessionId"));
	ar_out_member(&c->out, ar_json_type(ar_json_get(start, "job")) == AR_JSON_OBJECT ? "job" : "text",
		      ar_str_utf8_prefix(ar_api_str(start, "text"), 200));
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(r->doc, "nextTimes")); ar_json_next(&it);) {
		if (ar_json_str(it.value, &time))
			ar_out_member(&c->out, "next", time);
	}
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(r->doc, "runs")); ar_json_next(&it);)
		print_run(c, it.value);
}

static enum ar_exit show(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "scheduleId", ar_str_from(a->words[1]));
	ar_jw_close(&w);
	return ar_api_show(c, "get_schedule", &body, print_schedule);
}

/* ---- changes ---- */

static void print_changed(struct ar_ctl *c, const struct ar_api_reply *r)
{
	print_times(c, ar_json_get(r->doc, "schedule"));
}

static enum ar_exit set_paused(struct ar_ctl *c, const struct ar_ctl_args *a, bool is_paused)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "scheduleId", ar_str_from(a->words[1]));
	ar_jw_mbool(&w, "paused", is_paused);
	ar_jw_close(&w);
	return ar_api_show(c, "update_schedule", &body, print_changed);
}

static enum ar_exit change(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	enum ar_exit rc;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "scheduleId", ar_str_from(a->words[1]));
	rc = write_times(c, &w, a);
	ar_jw_close(&w);
	if (rc == AR_EXIT_OK)
		return ar_api_show(c, "update_schedule", &body, print_changed);
	ar_buf_fini(&body);
	return rc;
}

static enum ar_exit pause_it(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return set_paused(c, a, true);
}

static enum ar_exit resume_it(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return set_paused(c, a, false);
}

static void print_begun(struct ar_ctl *c, const struct ar_api_reply *r)
{
	struct ar_json run = ar_json_get(r->doc, "run");

	ar_out_line(&c->out, ar_api_str(run, "runId"));
	ar_out_printf(&c->out, "  ");
	ar_out_line(&c->out, ar_api_str(run, "status"));
	if (!ar_str_absent(ar_api_str(run, "reason"))) {
		ar_out_printf(&c->out, ": ");
		ar_out_line(&c->out, ar_api_str(run, "reason"));
	}
	ar_out_printf(&c->out, "\n");
}

static enum ar_exit run_now(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "scheduleId", ar_str_from(a->words[1]));
	ar_jw_mstr(&w, "idempotencyKey", ar_str_from(a->values[SCHEDULE_KEY]));
	ar_jw_close(&w);
	return ar_api_show(c, "run_schedule", &body, print_begun);
}

static void print_ended(struct ar_ctl *c, const struct ar_api_reply *r)
{
	ar_out_line(&c->out, ar_api_str(r->doc, "scheduleId"));
	ar_out_printf(&c->out, ar_str_is(ar_api_str(r->doc, "result"), "no_op") ? "  had ended before\n"
										: "  ended\n");
}

static enum ar_exit end_it(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "scheduleId", ar_str_from(a->words[1]));
	ar_jw_mstr(&w, "reason", ar_str_from(a->values[SCHEDULE_REASON]));
	ar_jw_close(&w);
	return ar_api_show(c, "end_schedule", &body, print_ended);
}

/* ---- the command ---- */

static const struct {
	const char *name;
	int min, max; /* words, the name counted */
	enum ar_exit (*run)(struct ar_ctl *c, const struct ar_ctl_args *a);
} acts[] = {
	{ "create", 4, 4, create }, { "list", 1, 1, list },	 { "show", 2, 2, show },
	{ "change", 2, 3, change }, { "pause", 2, 2, pause_it }, { "resume", 2, 2, resume_it },
	{ "run", 2, 2, run_now },   { "end", 2, 2, end_it },
};

static enum ar_exit schedule(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(acts); i++) {
		if (strcmp(a->words[0], acts[i].name) == 0 && a->count >= acts[i].min &&
		    a->count <= acts[i].max)
			return acts[i].run(c, a);
	}
	return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl schedule --help"),
			       "schedule needs create with a name, times and a text, list, or show, change, "
			       "pause, resume, run, end with an id");
}

const struct ar_ctl_command ar_cmd_schedule = {
	.name = "schedule",
	.synopsis = "create|list|show|change|pause|resume|run|end [SCHEDULE] [WHEN TEXT]",
	.summary = "create, list, show, change, pause, run and end schedules",
	.text = "A schedule submits TEXT as a turn, or with --job starts a job, at the times of WHEN: five "
		"fields of cron\n"
		"('0 9 * * MON-FRI'), @hourly,\n"
		"@daily, @weekly, @monthly, @yearly, or an interval ('every 15m'). SCHEDULE is its id "
		"(sched_...); for create,\n"
		"the name of a new one. Without --session each run gets a session of its own. change gives "
		"it "
		"other times:\n"
		"WHEN, and the options that are named for it.",
	.examples = "agentctl schedule create report '0 9 * * MON-FRI' 'Summarise what changed since "
		    "yesterday.' --zone Europe/Berlin\n"
		    "agentctl schedule create watch 'every 15m' 'Check the build.' --session last --overlap "
		    "skip\n"
		    "agentctl schedule create cities @daily 'What happened in this city?' --job cities.csv\n"
		    "agentctl schedule list\n"
		    "agentctl schedule show sched_0000000000pabcdefghjkmnpqr\n"
		    "agentctl schedule change sched_0000000000pabcdefghjkmnpqr '30 8 * * MON-FRI'\n"
		    "agentctl schedule pause sched_0000000000pabcdefghjkmnpqr\n"
		    "agentctl schedule run sched_0000000000pabcdefghjkmnpqr\n"
		    "agentctl schedule end sched_0000000000pabcdefghjkmnpqr --reason 'not needed'",
	.min = 1,
	.max = 4,
	.options = { [SCHEDULE_ZONE] = { "zone", "ZONE",
					 "create, change: zone of WHEN, such as Europe/Berlin" },
		     [SCHEDULE_SESSION] = { "session", "SESSION", "create: session that gets the turns" },
		     [SCHEDULE_WORKSPACE] = { "workspace", "ID", "create: workspace of new sessions" },
		     [SCHEDULE_MODEL] = { "model", "MODEL", "create: model of its turns" },
		     [SCHEDULE_MODE] = { "mode", "MODE", "create: permission mode of its turns" },
		     [SCHEDULE_JITTER] = { "jitter", "SECONDS",
					   "create, change: begin up to this much later" },
		     [SCHEDULE_CATCH_UP] = { "catch-up", "POLICY",
					     "create, change: skip, once or all, for times without a "
					     "server" },
		     [SCHEDULE_OVERLAP] = { "overlap", "POLICY",
					    "create, change: skip, queue or cancel, if a run has not ended" },
		     [SCHEDULE_PAUSED] = { "paused", NULL, "create: paused" },
		     [SCHEDULE_ALL] = { "all", NULL, "list: also those that have ended" },
		     [SCHEDULE_REASON] = { "reason", "TEXT", "end: reason to record" },
		     [SCHEDULE_KEY] = { "key", "KEY", "create, run: makes a repeat safe" },
		     [SCHEDULE_JOB] = { "job", "FILE",
					"create: a job over the items of this file; TEXT is its "
					"instruction" },
		     [SCHEDULE_FORMAT] = { "format", "FORMAT",
					   "create, with --job: lines, json, csv or item; else by its name" },
		     [SCHEDULE_SCHEMA] = { "schema", "FILE",
					   "create, with --job: JSON Schema that each output has to fit" },
		     [SCHEDULE_CONCURRENCY] = { "concurrency", "N",
						"create, with --job: most items at once" },
		     [SCHEDULE_MAX_RUNTIME] = { "max-runtime", "SECONDS",
						"create, with --job: longest run of a job" },
		     [SCHEDULE_ATTEMPTS] = { "attempts", "N",
					     "create, with --job: attempts of an item; 3 without it" } },
	.run = schedule,
};
