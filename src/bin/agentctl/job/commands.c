/* `agentctl job`: an instruction over many items: make jobs, follow them, read their results. */
#include "job/job.h"

#include <string.h>

#define ID_WIDTH 36
#define STATUS_WIDTH 10

/* ---- create ---- */

static enum ar_exit write_job(struct ar_ctl *c, const struct ar_ctl_args *a, struct ar_str items,
			      struct ar_str instruction, struct ar_buf *body)
{
	struct ar_jw w = ar_jw(body);
	enum ar_exit rc;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "instruction", instruction);
	ar_jw_mstr(&w, "input", items);
	ar_jw_mstr(&w, "inputFormat",
		   ar_str_from(ar_job_format(a->values[JOB_FORMAT], a->values[JOB_INPUT])));
	ar_job_write_limits(&w, a->values[JOB_CONCURRENCY], a->values[JOB_MAX_RUNTIME],
			    a->values[JOB_ATTEMPTS]);
	ar_jw_mstr(&w, "sessionId", ar_str_from(a->values[JOB_SESSION]));
	ar_jw_mstr(&w, "idempotencyKey", ar_str_from(a->values[JOB_KEY]));
	if (a->values[JOB_HOLD])
		ar_jw_mbool(&w, "start", false);
	if (a->values[JOB_WORKSPACE]) {
		ar_jw_key(&w, "createPolicy");
		ar_jw_open(&w);
		ar_jw_mstr(&w, "workspaceId", ar_str_from(a->values[JOB_WORKSPACE]));
		ar_jw_close(&w);
	}
	if (a->values[JOB_MODEL]) {
		ar_jw_key(&w, "options");
		ar_jw_open(&w);
		ar_jw_mstr(&w, "model", ar_str_from(a->values[JOB_MODEL]));
		ar_jw_close(&w);
	}
	rc = ar_job_write_schema(c, &w, a->values[JOB_SCHEMA]);
	ar_jw_close(&w);
	return rc;
}

static void print_made(struct ar_ctl *c, const struct ar_api_reply *r)
{
	ar_out_line(&c->out, ar_api_str(r->doc, "jobId"));
	ar_out_printf(&c->out, "\n");
	ar_ctl_note(c, "%lld items", (long long)ar_api_int(r->doc, "itemCount"));
}

static enum ar_exit create(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf items = { 0 }, instruction = { 0 }, body = { 0 };
	struct ar_str job = AR_STR_NONE;
	struct ar_api_reply r;
	enum ar_exit rc;

	if (!a->values[JOB_INPUT] || a->count < 2)
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl job --help"),
				       "job create needs --input FILE and an instruction");
	rc = ar_ctl_read_text(c, a->words + 1, a->count - 1, &instruction);
	if (rc == AR_EXIT_OK)
		rc = ar_job_read_file(c, a->values[JOB_INPUT], &items);
	if (rc == AR_EXIT_OK)
		rc = write_job(c, a, ar_buf_str(&items), ar_buf_str(&instruction), &body);
	if (rc == AR_EXIT_OK) {
		rc = ar_api_call(c, "create_job", ar_buf_str(&body), &r);
		if (rc == AR_EXIT_OK && c->is_json)
			ar_api_print(c, &r);
		else if (rc == AR_EXIT_OK)
			print_made(c, &r);
		if (rc == AR_EXIT_OK)
			job = ar_str_from(ar_ctl_strdup(c, ar_api_str(r.doc, "jobId")));
		ar_api_fini(&r);
	}
	ar_buf_fini(&items);
	ar_buf_fini(&instruction);
	ar_buf_fini(&body);
	return rc == AR_EXIT_OK && a->values[JOB_WATCH] ? ar_job_watch(c, job) : rc;
}

/* ---- list and show ---- */

static void print_counts(struct ar_ctl *c, struct ar_json job)
{
	struct ar_json counts = ar_json_get(job, "counts");

	ar_out_printf(&c->out,
		      "%lld items: %lld pending, %lld running, %lld completed, %lld reported, %lld failed\n",
		      (long long)ar_api_int(job, "itemCount"), (long long)ar_api_int(counts, "pending"),
		      (long long)ar_api_int(counts, "running"), (long long)ar_api_int(counts, "completed"),
		      (long long)ar_api_int(counts, "reported"), (long long)ar_api_int(counts, "failed"));
}

static void print_list(struct ar_ctl *c, const struct ar_api_reply *r)
{
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(r->doc, "jobs")); ar_json_next(&it);) {
		ar_out_column(&c->out, ar_api_str(it.value, "jobId"), ID_WIDTH);
		ar_out_column(&c->out, ar_api_str(it.value, "status"), STATUS_WIDTH);
		print_counts(c, it.value);
	}
}

static void print_failed(struct ar_ctl *c, struct ar_json items)
{
	for (struct ar_json_iter it = ar_json_iter(items); ar_json_next(&it);) {
		if (!ar_str_is(ar_api_str(it.value, "status"), "failed"))
			continue;
		ar_out_column(&c->out, ar_api_str(it.value, "jobItemId"), ID_WIDTH + 8);
		ar_out_line(&c->out, ar_api_str(ar_json_get(it.value, "lastError"), "message"));
		ar_out_printf(&c->out, "\n");
	}
}

static void print_job(struct ar_ctl *c, const struct ar_api_reply *r)
{
	ar_out_member(&c->out, "job", ar_api_str(r->doc, "jobId"));
	ar_out_member(&c->out, "status", ar_api_str(r->doc, "status"));
	ar_out_member(&c->out, "session", ar_api_str(r->doc, "sessionId"));
	ar_out_member(&c->out, "cost", ar_api_str(r->doc, "cost"));
	ar_out_member(&c->out, "reason", ar_api_str(r->doc, "reason"));
	ar_out_member(&c->out, "error", ar_api_str(ar_json_get(r->doc, "error"), "message"));
	print_counts(c, r->doc);
	print_failed(c, ar_json_get(r->doc, "items"));
}

static enum ar_exit call_with(struct ar_ctl *c, const char *command, const char *member, const char *value,
			      ar_api_print_fn *print)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, member, ar_str_from(value));
	ar_jw_mint(&w, "limit", 1000);
	ar_jw_close(&w);
	return ar_api_show(c, command, &body, print);
}

static enum ar_exit list(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return call_with(c, "list_jobs", "sessionId", a->words[1], print_list);
}

static enum ar_exit show(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return call_with(c, "get_job", "jobId", a->words[1], print_job);
}

static enum ar_exit watch(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return ar_job_watch(c, ar_str_from(a->words[1]));
}

static enum ar_exit results(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return ar_job_results(c, ar_str_from(a->words[1]), a->values[JOB_CSV] != NULL);
}

/* ---- start, cancel, retry ---- */

static void print_status(struct ar_ctl *c, const struct ar_api_reply *r)
{
	ar_out_line(&c->out, ar_api_str(r->doc, "jobId"));
	ar_out_printf(&c->out, "  ");
	ar_out_line(&c->out, ar_api_str(r->doc, "status"));
	ar_out_printf(&c->out, "\n");
}

static enum ar_exit start(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "jobId", ar_str_from(a->words[1]));
	ar_jw_close(&w);
	return ar_api_show(c, "start_job", &body, print_status);
}

static enum ar_exit cancel(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	const char *reason = a->values[JOB_REASON];
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "jobId", ar_str_from(a->words[1]));
	ar_jw_mstr(&w, "reason", ar_str_from(reason ? reason : "cancelled by agentctl"));
	ar_jw_close(&w);
	return ar_api_show(c, "cancel_job", &body, print_status);
}

static void print_retried(struct ar_ctl *c, const struct ar_api_reply *r)
{
	ar_out_line(&c->out, ar_api_str(r->doc, "jobItemId"));
	ar_out_printf(&c->out, "  attempt %lld\n", (long long)ar_api_int(r->doc, "attemptCount"));
}

/* The id of an item begins with that of its job. */
static enum ar_exit retry(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	const char *item = a->words[1], *dot = strrchr(item, '.');
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	if (!dot)
		return ar_ctl_complain(
			c, AR_EXIT_USAGE, AR_STR("agentctl job show JOB"),
			"retry needs the id of an item, which is that of its job, a dot and a number");
	ar_jw_open(&w);
	ar_jw_mstr(&w, "jobId", (struct ar_str){ item, (size_t)(dot - item) });
	ar_jw_mstr(&w, "jobItemId", ar_str_from(item));
	ar_jw_close(&w);
	return ar_api_show(c, "retry_job_item", &body, print_retried);
}

/* ---- the command ---- */

static const struct {
	const char *name;
	int words; /* the name counted; 0: any number */
	enum ar_exit (*run)(struct ar_ctl *c, const struct ar_ctl_args *a);
} acts[] = {
	{ "create", 0, create },   { "list", 2, list },	  { "show", 2, show },	   { "watch", 2, watch },
	{ "results", 2, results }, { "start", 2, start }, { "cancel", 2, cancel }, { "retry", 2, retry },
};

static enum ar_exit job(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(acts); i++) {
		if (strcmp(a->words[0], acts[i].name) == 0 && (!acts[i].words || a->count == acts[i].words))
			return acts[i].run(c, a);
	}
	return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl job --help"),
			       "job needs create with an instruction, list with a session, show, watch, "
			       "results, start or cancel with a job, or retry with an item");
}

const struct ar_ctl_command ar_cmd_job = {
	.name = "job",
	.synopsis = "create|list|show|watch|results|start|cancel|retry [WORD ...]",
	.summary = "run an instruction over many items",
	.text = "A job gives each item of a list to a turn in a session of its own. create reads the items "
		"from a\n"
		"file (a line each, a JSON array, a table with a header) and prints the id of the job. "
		"watch\n"
		"shows how far it is, how fast, what failed and what it costs; results prints the outputs, "
		"also\n"
		"while it runs. cancel keeps what is done. retry tries one failed item again.",
	.examples = "agentctl job create --input cities.csv --watch Write one sentence about the city.\n"
		    "agentctl job list sess_01m7nvjqe5f3caw480e2yb8wnx\n"
		    "agentctl job watch job_01m7nvjqe5f3caw480e2yb8wnx_1\n"
		    "agentctl job results job_01m7nvjqe5f3caw480e2yb8wnx_1 --csv > results.csv\n"
		    "agentctl job retry job_01m7nvjqe5f3caw480e2yb8wnx_1.3\n"
		    "agentctl job cancel job_01m7nvjqe5f3caw480e2yb8wnx_1 --reason enough",
	.min = 1,
	.max = -1,
	.options = { [JOB_INPUT] = { "input", "FILE", "create: the items; - is standard input" },
		     [JOB_FORMAT] = { "format", "FORMAT",
				      "create: lines, json, csv or item; else by the name of the file" },
		     [JOB_SCHEMA] = { "schema", "FILE", "create: JSON Schema that each output has to fit" },
		     [JOB_CONCURRENCY] = { "concurrency", "N", "create: most items at once" },
		     [JOB_MAX_RUNTIME] = { "max-runtime", "SECONDS", "create: longest run of the job" },
		     [JOB_ATTEMPTS] = { "attempts", "N",
					"create: an item that fails is tried again, up to so many attempts" },
		     [JOB_MODEL] = { "model", "MODEL", "create: model of the items" },
		     [JOB_SESSION] = { "session", "SESSION", "create: session that the job is to be in" },
		     [JOB_WORKSPACE] = { "workspace", "WORKSPACE",
					 "create: workspace that the items work in" },
		     [JOB_KEY] = { "key", "KEY", "create: makes a repeat safe" },
		     [JOB_HOLD] = { "hold", NULL, "create: start it later" },
		     [JOB_WATCH] = { "watch", NULL, "create: follow it to its end" },
		     [JOB_REASON] = { "reason", "TEXT", "cancel: reason to record" },
		     [JOB_CSV] = { "csv", NULL, "results: a table" },
		     [JOB_NDJSON] = { "ndjson", NULL,
				      "results: a JSON object per line, which is the default" } },
	.run = job,
};
