/* `agentctl audit`: who did what and what was refused, page by page as a table or a line of JSON each;
 * and whether the trail is whole. */
#include "api.h"
#include "clock.h"
#include "resolve.h"

#include <string.h>

#define PAGE 200
#define LIMIT_DEFAULT 50
#define LIMIT_MAX 1000000
#define VERIFY_MS 600000L
#define WHEN_WIDTH 19 /* 2026-01-31T12:34:56 */
#define WHO_WIDTH 28
#define WHAT_WIDTH 20
#define OUTCOME_WIDTH 18

enum {
	AUDIT_SINCE,
	AUDIT_UNTIL,
	AUDIT_ACTOR,
	AUDIT_COMMAND,
	AUDIT_OUTCOME,
	AUDIT_SESSION,
	AUDIT_TENANT,
	AUDIT_LIMIT,
	AUDIT_OLDEST
};

/* ---- what is printed ---- */

static void print_column(struct ar_ctl *c, struct ar_str text, int width)
{
	ar_out_column(&c->out, ar_str_absent(text) ? AR_STR("-") : text, width);
}

static struct ar_str from_of(struct ar_ctl *c, struct ar_json e)
{
	struct ar_str address = ar_api_str(e, "address");

	if (!ar_str_absent(address))
		return address;
	if (ar_json_type(ar_json_get(e, "uid")) == AR_JSON_NONE)
		return ar_api_str(e, "via");
	return ar_arena_fmt(&c->arena, "uid %lld", (long long)ar_api_int(e, "uid"));
}

/* The ids that were named, the session last: it is the longest. */
static void print_target(struct ar_ctl *c, struct ar_json e)
{
	struct ar_str session = ar_api_str(e, "sessionId"), id;

	for (struct ar_json_iter it = ar_json_iter(ar_json_get(e, "target")); ar_json_next(&it);) {
		if (!ar_json_str(it.value, &id) || ar_str_is(it.name, "sessionId"))
			continue;
		ar_out_line(&c->out, id);
		ar_out_printf(&c->out, " ");
	}
	if (!ar_str_absent(session) && ar_str_is(ar_api_str(e, "outcome"), "allowed"))
		ar_out_line(&c->out, session);
	if (!ar_str_absent(ar_api_str(e, "reason")))
		ar_out_line(&c->out, ar_api_str(e, "reason"));
	if (ar_api_int(e, "count") > 1)
		ar_out_printf(&c->out, " (%lld times)", (long long)ar_api_int(e, "count"));
	ar_out_printf(&c->out, "\n");
}

static void print_row(struct ar_ctl *c, struct ar_json e)
{
	bool is_refused = ar_str_is(ar_api_str(e, "outcome"), "refused");

	print_column(c, ar_str_utf8_prefix(ar_api_str(e, "at"), WHEN_WIDTH), WHEN_WIDTH);
	print_column(c, ar_api_str(e, "actor"), WHO_WIDTH);
	print_column(c, from_of(c, e), 15);
	print_column(c, ar_api_str(e, "command"), WHAT_WIDTH);
	ar_out_style(&c->out, is_refused ? AR_STYLE_RED : AR_STYLE_PLAIN);
	print_column(c, ar_api_str(e, is_refused ? "code" : "outcome"), OUTCOME_WIDTH);
	ar_out_style(&c->out, AR_STYLE_PLAIN);
	print_target(c, e);
}

static void print_head(struct ar_ctl *c)
{
	ar_out_style(&c->out, AR_STYLE_BOLD);
	ar_out_printf(&c->out, "%-*s  %-*s  %-15s  %-*s  %-*s  %s\n", WHEN_WIDTH, "WHEN (UTC)", WHO_WIDTH,
		      "WHO", "FROM", WHAT_WIDTH, "WHAT", OUTCOME_WIDTH, "OUTCOME", "TARGET");
	ar_out_style(&c->out, AR_STYLE_PLAIN);
}

static void print_line(struct ar_ctl *c, struct ar_json e)
{
	struct ar_buf text = { 0 };

	ar_json_print(e, &text);
	ar_buf_addc(&text, '\n');
	ar_out_json(&c->out, ar_buf_str(&text));
	ar_buf_fini(&text);
}

/* ---- the question ---- */

/* A time, or a span back from now. False: it is neither. */
static bool read_time(const char *text, ar_usec *ret)
{
	struct ar_clock *clock = ar_clock_system();
	ar_usec span;

	if (!text)
		return true;
	if (ar_ctl_parse_span(ar_str_from(text), &span)) {
		*ret = clock->wall(clock) - span;
		return true;
	}
	return ar_time_parse(ar_str_from(text), ret);
}

struct question {
	ar_usec since, until;
	struct ar_str session;
	uint64_t limit;
	const struct ar_ctl_args *args;
};

static enum ar_exit read_question(struct ar_ctl *c, const struct ar_ctl_args *a, struct question *ret)
{
	*ret = (struct question){ .session = AR_STR_NONE, .limit = LIMIT_DEFAULT, .args = a };
	if (!read_time(a->values[AUDIT_SINCE], &ret->since) ||
	    !read_time(a->values[AUDIT_UNTIL], &ret->until))
		return ar_ctl_complain(
			c, AR_EXIT_USAGE, AR_STR("such as --since 24h or 2027-01-01T00:00:00Z"),
			"--since and --until need a duration before now (s, m, h, d) or a time");
	if (a->values[AUDIT_LIMIT] && (!ar_str_to_u64(ar_str_from(a->values[AUDIT_LIMIT]), &ret->limit) ||
				       ret->limit == 0 || ret->limit > LIMIT_MAX))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR_NONE, "--limit must be a number from 1 to %d",
				       LIMIT_MAX);
	if (a->values[AUDIT_SESSION])
		return ar_resolve_session(c, a->values[AUDIT_SESSION], &ret->session);
	return AR_EXIT_OK;
}

static struct ar_str body_of(struct ar_ctl *c, const struct question *q, struct ar_str cursor, uint64_t left)
{
	const char *const *v = (const char *const *)q->args->values;
	struct ar_buf text = { 0 };
	struct ar_jw w = ar_jw(&text);

	ar_jw_open(&w);
	ar_jw_mtime(&w, "since", q->since);
	ar_jw_mtime(&w, "until", q->until);
	ar_jw_mstr(&w, "actor", ar_str_from(v[AUDIT_ACTOR]));
	ar_jw_mstr(&w, "command", ar_str_from(v[AUDIT_COMMAND]));
	ar_jw_mstr(&w, "outcome", ar_str_from(v[AUDIT_OUTCOME]));
	ar_jw_mstr(&w, "sessionId", q->session);
	ar_jw_mstr(&w, "tenant", ar_str_from(v[AUDIT_TENANT]));
	if (v[AUDIT_OLDEST])
		ar_jw_mbool(&w, "oldestFirst", true);
	ar_jw_mstr(&w, "cursor", cursor);
	ar_jw_mint(&w, "limit", left < PAGE ? (int64_t)left : PAGE);
	ar_jw_close(&w);
	return ar_ctl_take_buf(c, &text);
}

static uint64_t take_page(struct ar_ctl *c, const struct ar_api_reply *r)
{
	struct ar_json entries = ar_json_get(r->doc, "entries");

	for (struct ar_json_iter it = ar_json_iter(entries); ar_json_next(&it);)
		(c->is_json ? print_line : print_row)(c, it.value);
	return ar_json_len(entries);
}

static enum ar_exit list(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_str cursor = AR_STR_NONE;
	struct question q;
	enum ar_exit exit = read_question(c, a, &q);
	uint64_t left = q.limit;

	if (exit == AR_EXIT_OK && !c->is_json)
		print_head(c);
	while (exit == AR_EXIT_OK && left > 0) {
		struct ar_api_reply reply;

		exit = ar_api_call(c, "list_audit", body_of(c, &q, cursor, left), &reply);
		if (exit == AR_EXIT_OK) {
			left -= take_page(c, &reply);
			cursor = ar_arena_str(&c->arena, ar_api_str(reply.doc, "nextCursor"));
		}
		ar_api_fini(&reply);
		if (ar_str_absent(cursor))
			break;
	}
	if (exit == AR_EXIT_OK && !ar_str_absent(cursor))
		ar_ctl_note(c, "there are more; --limit N shows N of them");
	return exit;
}

/* ---- verify ---- */

static void print_faults(struct ar_ctl *c, struct ar_json doc)
{
	struct ar_json faults = ar_json_get(doc, "faults");

	for (struct ar_json_iter it = ar_json_iter(faults); ar_json_next(&it);)
		ar_out_printf(&c->out, "entry %lld of writer %lld: %s\n",
			      (long long)ar_api_int(it.value, "entry"),
			      (long long)ar_api_int(it.value, "lane"),
			      ar_str_is(ar_api_str(it.value, "what"), "changed")
				      ? "is not what was written"
				      : "entries before it are missing");
}

static enum ar_exit verify(struct ar_ctl *c)
{
	struct ar_str cursor = AR_STR_NONE;
	long long checked = 0, faults = 0;
	enum ar_exit exit = AR_EXIT_OK;

	do {
		struct ar_api_reply reply;
		struct ar_str body = ar_str_absent(cursor)
					     ? AR_STR("{\"audit\":true}")
					     : ar_arena_fmt(&c->arena, "{\"audit\":true,\"cursor\":\"%.*s\"}",
							    AR_STR_ARG(cursor));

		exit = ar_api_call_within(c, "verify", body, VERIFY_MS, &reply);
		checked += ar_api_int(reply.doc, "checked");
		faults += ar_api_int(reply.doc, "faultCount");
		if (exit == AR_EXIT_OK && c->is_json)
			ar_api_print(c, &reply);
		else if (exit == AR_EXIT_OK)
			print_faults(c, reply.doc);
		cursor = ar_arena_str(&c->arena, ar_api_str(reply.doc, "nextCursor"));
		ar_api_fini(&reply);
	} while (exit == AR_EXIT_OK && !ar_str_absent(cursor));
	if (exit == AR_EXIT_OK && !c->is_json)
		ar_out_printf(&c->out, "%lld entries verified, %lld faults\n", checked, faults);
	if (exit != AR_EXIT_OK || !faults)
		return exit;
	return ar_ctl_complain(c, AR_EXIT_FAILED,
			       AR_STR("compare with an earlier export or backup; see docs/security.md"),
			       "the audit trail was changed after it was written");
}

static enum ar_exit audit(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	if (a->count == 0)
		return list(c, a);
	if (strcmp(a->words[0], "verify") == 0)
		return verify(c);
	return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl audit --help"),
			       "audit has only the argument verify");
}

const struct ar_ctl_command ar_cmd_audit = {
	.name = "audit",
	.synopsis = "[verify]",
	.summary = "show or verify the audit trail",
	.text = "Shows the audit trail of the tenant, newest first; over the unix socket that of all "
		"tenants. It\n"
		"needs the scope admin. With --json each entry is a line of JSON.\n"
		"verify checks that no entry was changed or removed since it was written; for the operator, "
		"over\n"
		"the server's unix socket.",
	.examples = "agentctl audit --since 24h --outcome refused\n"
		    "agentctl audit --command resolve_permission --limit 20\n"
		    "agentctl audit --actor token:tok_9f2k4c7m1x8q0w3e --session sess_...\n"
		    "agentctl audit --json --since 30d --oldest-first --limit 1000000 > audit.ndjson\n"
		    "agentctl audit verify",
	.max = 1,
	.options = { { "since", "WHEN", "from this time: a duration before now, such as 24h, or a time" },
		     { "until", "WHEN", "before this time" },
		     { "actor", "NAME", "only this actor: local, token:tok_..., jwt:..., certificate:..." },
		     { "command", "NAME", "only this command or act" },
		     { "outcome", "WORD", "allowed or refused" },
		     { "session", "ID", "only this session" },
		     { "tenant", "NAME", "only this tenant, for the operator" },
		     { "limit", "N", "number of entries (50)" },
		     { "oldest-first", NULL, "oldest first" } },
	.run = audit,
};
