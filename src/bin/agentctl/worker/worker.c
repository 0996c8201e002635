/* `agentctl worker`: machines that hold workspaces: make, list, show, drain and remove them. What is printed
 * of a new one on standard output is its enrolment token alone, so that a script can take it. */
#include "api.h"
#include "clock.h"
#include "resolve.h"

#include <string.h>

#define ID_WIDTH 29
#define NAME_WIDTH 20
#define STATE_WIDTH 12
#define AGE_WIDTH 10

enum { WORKER_ALL, WORKER_LABELS, WORKER_REASON, WORKER_KEY };

static ar_usec now(void)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->wall(clock);
}

/* ---- create ---- */

static void print_new(struct ar_ctl *c, const struct ar_api_reply *r)
{
	struct ar_str id = ar_api_str(ar_json_get(r->doc, "worker"), "workerId");
	struct ar_str token = ar_api_str(r->doc, "enrolmentToken");

	if (ar_str_absent(token)) {
		ar_ctl_note(c,
			    "%.*s was created by an earlier call with this key; its token was shown then. "
			    "Remove it and create another if the token is lost.",
			    AR_STR_ARG(id));
		return;
	}
	ar_out_line(&c->out, token);
	ar_out_printf(&c->out, "\n");
	ar_ctl_note(c,
		    "%.*s; the token enrols it, once and within an hour: agentd worker --join URL "
		    "--token-file FILE",
		    AR_STR_ARG(id));
}

/* k=v,k=v; false: a part has no '='. */
static bool write_labels(struct ar_jw *w, const char *list)
{
	struct ar_str rest = ar_str_from(list), one, value;

	if (!list)
		return true;
	ar_jw_key(w, "labels");
	ar_jw_open(w);
	while (rest.len) {
		char name[64];

		rest = ar_str_split(rest, ',', &one);
		value = ar_str_split(one, '=', &one);
		if (one.len == 0 || one.len >= sizeof(name) || ar_str_absent(value))
			return false;
		memcpy(name, one.p, one.len);
		name[one.len] = '\0';
		ar_jw_mstr(w, name, value);
	}
	ar_jw_close(w);
	return true;
}

static enum ar_exit create(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "name", ar_str_from(a->words[1]));
	if (!write_labels(&w, a->values[WORKER_LABELS])) {
		ar_buf_fini(&body);
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("such as --labels zone=a,gpu=none"),
				       "--labels needs names with values");
	}
	ar_jw_mstr(&w, "idempotencyKey", ar_str_from(a->values[WORKER_KEY]));
	ar_jw_close(&w);
	return ar_api_show(c, "create_worker", &body, print_new);
}

/* ---- list ---- */

static struct ar_str state_of(struct ar_json record)
{
	struct ar_str status = ar_api_str(record, "status");
	bool is_draining = false;

	ar_json_bool(ar_json_get(record, "draining"), &is_draining);
	if (!ar_str_is(status, "active"))
		return status;
	if (ar_str_absent(ar_api_str(record, "enrolledAt")))
		return AR_STR("not enrolled");
	return is_draining ? AR_STR("drained") : status;
}

static void print_row(struct ar_ctl *c, struct ar_json record)
{
	struct ar_buf labels = { 0 };

	if (ar_json_len(ar_json_get(record, "labels")))
		ar_json_print(ar_json_get(record, "labels"), &labels);
	ar_out_column(&c->out, ar_api_str(record, "workerId"), ID_WIDTH);
	ar_out_column(&c->out, ar_api_str(record, "name"), NAME_WIDTH);
	ar_out_column(&c->out, state_of(record), STATE_WIDTH);
	ar_out_age(&c->out, ar_api_time(record, "updatedAt"), now(), AGE_WIDTH);
	ar_out_printf(&c->out, "  ");
	ar_out_line(&c->out, ar_buf_str(&labels));
	ar_out_printf(&c->out, "\n");
	ar_buf_fini(&labels);
}

static void print_table(struct ar_ctl *c, const struct ar_api_reply *r)
{
	struct ar_json workers = ar_json_get(r->doc, "workers");

	if (ar_json_len(workers) == 0) {
		ar_ctl_note(c, "there are no workers; `agentctl worker create NAME` makes one");
		return;
	}
	ar_out_style(&c->out, AR_STYLE_BOLD);
	ar_out_printf(&c->out, "%-*s  %-*s  %-*s  %-*s  %s\n", ID_WIDTH, "WORKER", NAME_WIDTH, "NAME",
		      STATE_WIDTH, "STATE", AGE_WIDTH, "CHANGED", "LABELS");
	ar_out_style(&c->out, AR_STYLE_PLAIN);
	for (struct ar_json_iter it = ar_json_iter(workers); ar_json_next(&it);)
		print_row(c, it.value);
	if (!ar_str_absent(ar_api_str(r->doc, "nextCursor")))
		ar_ctl_note(c, "there are more; `agentctl call list_workers` takes their cursor");
}

static enum ar_exit list(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return ar_api_list(c, "list_workers", a->values[WORKER_ALL] != NULL, print_table);
}

/* ---- show ---- */

static void print_worker(struct ar_ctl *c, const struct ar_api_reply *r)
{
	static const char *const lines[][2] = { { "worker", "workerId" },
						{ "name", "name" },
						{ "created", "createdAt" },
						{ "created by", "createdBy" },
						{ "enrolled", "enrolledAt" } };
	struct ar_json record = ar_json_get(r->doc, "worker"), live = ar_json_get(r->doc, "live");
	int64_t calls;

	for (size_t i = 0; i < AR_ARRAY_LEN(lines); i++)
		ar_out_member(&c->out, lines[i][0], ar_api_str(record, lines[i][1]));
	ar_out_member(&c->out, "status", state_of(record));
	ar_out_member(&c->out, "now", ar_api_str(live, "state"));
	ar_out_member(&c->out, "last seen", ar_api_str(live, "lastSeenAt"));
	ar_out_member(&c->out, "version", ar_api_str(live, "version"));
	if (ar_json_i64(ar_json_get(live, "openCalls"), &calls))
		ar_out_printf(&c->out, "%-10s %lld\n", "calls", (long long)calls);
}

static enum ar_exit show(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "workerId", ar_str_from(a->words[1]));
	ar_jw_close(&w);
	return ar_api_show(c, "get_worker", &body, print_worker);
}

/* ---- changes ---- */

static void print_record(struct ar_ctl *c, const struct ar_api_reply *r)
{
	print_row(c, ar_json_get(r->doc, "worker"));
}

static enum ar_exit set_draining(struct ar_ctl *c, const struct ar_ctl_args *a, bool is_draining)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "workerId", ar_str_from(a->words[1]));
	ar_jw_mbool(&w, "draining", is_draining);
	ar_jw_close(&w);
	return ar_api_show(c, "update_worker", &body, print_record);
}

static enum ar_exit drain(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return set_draining(c, a, true);
}

static enum ar_exit undrain(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return set_draining(c, a, false);
}

static void print_removed(struct ar_ctl *c, const struct ar_api_reply *r)
{
	ar_out_line(&c->out, ar_api_str(r->doc, "workerId"));
	ar_out_printf(&c->out, ar_str_is(ar_api_str(r->doc, "result"), "no_op") ? "  was removed before\n"
										: "  removed\n");
}

static enum ar_exit remove_it(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "workerId", ar_str_from(a->words[1]));
	ar_jw_mstr(&w, "reason", ar_str_from(a->values[WORKER_REASON]));
	ar_jw_close(&w);
	return ar_api_show(c, "remove_worker", &body, print_removed);
}

/* ---- the command ---- */

static const struct {
	const char *name;
	int words; /* the name counted */
	enum ar_exit (*run)(struct ar_ctl *c, const struct ar_ctl_args *a);
} acts[] = {
	{ "create", 2, create }, { "list", 1, list },	    { "show", 2, show },
	{ "drain", 2, drain },	 { "undrain", 2, undrain }, { "remove", 2, remove_it },
};

static enum ar_exit worker(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(acts); i++) {
		if (strcmp(a->words[0], acts[i].name) == 0 && a->count == acts[i].words)
			return acts[i].run(c, a);
	}
	return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl worker --help"),
			       "worker needs create with a name, list, or show, drain, undrain, remove with "
			       "an id");
}

const struct ar_ctl_command ar_cmd_worker = {
	.name = "worker",
	.synopsis = "create|list|show|drain|undrain|remove [WORKER]",
	.summary = "create, list, show, drain and remove workers",
	.text = "A worker is a machine that holds workspaces and runs the calls of their sessions. WORKER is "
		"its id (wk_...);\n"
		"for create, the name of a new one. create prints the token that makes a machine this "
		"worker, "
		"once and\n"
		"within an hour. A drained worker begins no calls until undrain; those that it has go on. "
		"remove ends its\n"
		"connection and its token, for good: sessions of its workspaces wait.",
	.examples = "agentctl worker create laptop --labels zone=home > token\n"
		    "agentd worker --join https://agents.example.com --token-file token\n"
		    "agentctl worker list\n"
		    "agentctl worker show wk_0000000000mabcdefghjkmnpqr\n"
		    "agentctl worker drain wk_0000000000mabcdefghjkmnpqr\n"
		    "agentctl worker remove wk_0000000000mabcdefghjkmnpqr --reason replaced",
	.min = 1,
	.max = 2,
	.options = { [WORKER_ALL] = { "all", NULL, "list: also removed ones" },
		     [WORKER_LABELS] = { "labels", "LABELS", "create: labels, as name=value,name=value" },
		     [WORKER_REASON] = { "reason", "TEXT", "remove: reason to record" },
		     [WORKER_KEY] = { "key", "KEY", "create: makes a repeat safe" } },
	.run = worker,
};
