/* `agentctl token`: make, list, rotate and revoke API tokens. What is printed of a new one on standard
 * output is the token alone, so that a script can take it; everything else goes to standard error. */
#include "api.h"
#include "clock.h"

#include <string.h>

#define NAME_WIDTH 20
#define TENANT_WIDTH 12
#define SCOPES_WIDTH 34
#define AGE_WIDTH 10
#define LIST_PAGE 200

enum { TOKEN_SCOPES, TOKEN_TENANT, TOKEN_EXPIRES, TOKEN_GRACE, TOKEN_ALL, TOKEN_KEY, TOKEN_OWNER };

static ar_usec now(void)
{
	struct ar_clock *clock = ar_clock_system();

	return clock->wall(clock);
}

/* ---- create, rotate ---- */

static void print_new(struct ar_ctl *c, const struct ar_api_reply *r)
{
	struct ar_json record = ar_json_get(r->doc, "record");
	struct ar_str token = ar_api_str(r->doc, "token"), id = ar_api_str(record, "tokenId");

	if (ar_str_absent(token)) {
		ar_ctl_note(c,
			    "%.*s was created by an earlier call with this key; its secret was shown then. "
			    "Rotate it if it is lost.",
			    AR_STR_ARG(id));
		return;
	}
	ar_out_line(&c->out, token);
	ar_out_printf(&c->out, "\n");
	ar_ctl_note(c, "%.*s of tenant %.*s, owner %.*s; it is shown this once", AR_STR_ARG(id),
		    AR_STR_ARG(ar_api_str(record, "tenant")), AR_STR_ARG(ar_api_str(record, "owner")));
}

static void write_scopes(struct ar_jw *w, const char *list)
{
	struct ar_str rest = ar_str_from(list ? list : "read"), scope;

	ar_jw_key(w, "scopes");
	ar_jw_open_array(w);
	while (rest.len) {
		rest = ar_str_split(rest, ',', &scope);
		ar_jw_str(w, scope);
	}
	ar_jw_close_array(w);
}

static enum ar_exit create(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	ar_usec expires = 0, span;

	if (a->values[TOKEN_EXPIRES]) {
		struct ar_str text = ar_str_from(a->values[TOKEN_EXPIRES]);

		if (ar_ctl_parse_span(text, &span))
			expires = now() + span;
		else if (!ar_time_parse(text, &expires))
			return ar_ctl_complain(c, AR_EXIT_USAGE,
					       AR_STR("such as --expires 90d or 2027-01-01T00:00:00Z"),
					       "--expires needs a duration (s, m, h, d) or a time");
	}
	ar_jw_open(&w);
	ar_jw_mstr(&w, "name", ar_str_from(a->words[1]));
	write_scopes(&w, a->values[TOKEN_SCOPES]);
	ar_jw_mstr(&w, "tenant", ar_str_from(a->values[TOKEN_TENANT]));
	ar_jw_mtime(&w, "expiresAt", expires);
	ar_jw_mstr(&w, "owner", ar_str_from(a->values[TOKEN_OWNER]));
	ar_jw_mstr(&w, "idempotencyKey", ar_str_from(a->values[TOKEN_KEY]));
	ar_jw_close(&w);
	return ar_api_show(c, "create_token", &body, print_new);
}

static enum ar_exit rotate(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);
	ar_usec grace = -1;

	if (a->values[TOKEN_GRACE] && !ar_ctl_parse_span(ar_str_from(a->values[TOKEN_GRACE]), &grace))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("such as --grace 24h, or 0s"),
				       "--grace needs a duration (s, m, h, d)");
	ar_jw_open(&w);
	ar_jw_mstr(&w, "tokenId", ar_str_from(a->words[1]));
	if (grace >= 0)
		ar_jw_mint(&w, "graceSeconds", grace / 1000000);
	ar_jw_close(&w);
	return ar_api_show(c, "rotate_token", &body, print_new);
}

/* ---- revoke ---- */

static void print_revoked(struct ar_ctl *c, const struct ar_api_reply *r)
{
	struct ar_str id = ar_api_str(ar_json_get(r->doc, "record"), "tokenId");

	ar_ctl_note(c,
		    ar_str_is(ar_api_str(r->doc, "result"), "no_op") ? "%.*s was revoked before"
								     : "%.*s is revoked",
		    AR_STR_ARG(id));
}

static enum ar_exit revoke(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "tokenId", ar_str_from(a->words[1]));
	ar_jw_close(&w);
	return ar_api_show(c, "revoke_token", &body, print_revoked);
}

/* ---- list ---- */

static struct ar_str scopes_of(struct ar_ctl *c, struct ar_json record)
{
	struct ar_buf text = { 0 };
	struct ar_str scope;

	for (struct ar_json_iter it = ar_json_iter(ar_json_get(record, "scopes")); ar_json_next(&it);) {
		if (text.len)
			ar_buf_addc(&text, ',');
		if (ar_json_str(it.value, &scope))
			ar_buf_adds(&text, scope);
	}
	return ar_ctl_take_buf(c, &text);
}

static void print_state(struct ar_ctl *c, struct ar_json record)
{
	ar_usec revoked = ar_api_time(record, "revokedAt"), expires = ar_api_time(record, "expiresAt");
	char left[AR_OUT_LEFT];

	if (revoked) {
		ar_out_printf(&c->out, "revoked");
	} else if (expires) {
		ar_out_left(expires, now(), left);
		ar_out_printf(&c->out, "%s", expires > now() ? left : "expired");
	} else {
		ar_out_printf(&c->out, "-");
	}
	ar_out_printf(&c->out, "\n");
}

static void print_row(struct ar_ctl *c, struct ar_json record)
{
	ar_usec used = ar_api_time(record, "lastUsedAt");

	ar_out_line(&c->out, ar_api_str(record, "tokenId"));
	ar_out_printf(&c->out, "  ");
	ar_out_column(&c->out, ar_api_str(record, "name"), NAME_WIDTH);
	ar_out_column(&c->out, ar_api_str(record, "tenant"), TENANT_WIDTH);
	ar_out_column(&c->out, scopes_of(c, record), SCOPES_WIDTH);
	if (used)
		ar_out_age(&c->out, used, now(), AGE_WIDTH);
	else
		ar_out_printf(&c->out, "%-*s", AGE_WIDTH, "never");
	ar_out_printf(&c->out, "  ");
	print_state(c, record);
}

static void print_table(struct ar_ctl *c, const struct ar_api_reply *r)
{
	struct ar_json tokens = ar_json_get(r->doc, "tokens");

	if (ar_json_len(tokens) == 0) {
		ar_ctl_note(c, "there are no tokens; `agentctl token create NAME` creates one");
		return;
	}
	ar_out_style(&c->out, AR_STYLE_BOLD);
	ar_out_printf(&c->out, "%-20s  %-*s  %-*s  %-*s  %-*s  %s\n", "TOKEN", NAME_WIDTH, "NAME",
		      TENANT_WIDTH, "TENANT", SCOPES_WIDTH, "SCOPES", AGE_WIDTH, "USED", "ENDS");
	ar_out_style(&c->out, AR_STYLE_PLAIN);
	for (struct ar_json_iter it = ar_json_iter(tokens); ar_json_next(&it);)
		print_row(c, it.value);
	if (!ar_str_absent(ar_api_str(r->doc, "nextCursor")))
		ar_ctl_note(c, "there are more; --tenant shows those of one tenant");
}

static enum ar_exit list(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "tenant", ar_str_from(a->values[TOKEN_TENANT]));
	if (a->values[TOKEN_ALL])
		ar_jw_mbool(&w, "includeEnded", true);
	ar_jw_mint(&w, "limit", LIST_PAGE);
	ar_jw_close(&w);
	return ar_api_show(c, "list_tokens", &body, print_table);
}

/* ---- the command ---- */

static const struct {
	const char *name;
	int words;
	enum ar_exit (*run)(struct ar_ctl *c, const struct ar_ctl_args *a);
} acts[] = {
	{ "create", 2, create },
	{ "list", 1, list },
	{ "rotate", 2, rotate },
	{ "revoke", 2, revoke },
};

static enum ar_exit token(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(acts); i++) {
		if (strcmp(a->words[0], acts[i].name) == 0 && a->count == acts[i].words)
			return acts[i].run(c, a);
	}
	return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl token --help"),
			       "token needs create NAME, list, rotate ID or revoke ID");
}

const struct ar_ctl_command ar_cmd_token = {
	.name = "token",
	.synopsis = "create NAME | list | rotate ID | revoke ID",
	.summary = "create, list, rotate and revoke API tokens",
	.text = "A token gives a program access over the network, as one tenant, with some of the scopes "
		"read, submit,\n"
		"decide, worker and admin (which includes all). It is shown once, when it is created; the "
		"server\n"
		"stores its hash. Create the first one on the server's machine, over its unix socket, where "
		"its user\n"
		"and root are the operator. After rotate the token has a new secret, and the previous one "
		"stays valid\n"
		"for the grace time. A revoked token ends within seconds, with its event streams.\n"
		"The owner counts for rules that need several people: name the person who gets the token.",
	.examples = "agentctl token create bob-laptop --scopes read,decide --owner bob\n"
		    "agentctl token create deploy --scopes read,submit --expires 90d\n"
		    "agentctl token create root --scopes admin --tenant acme\n"
		    "agentctl token list --all\n"
		    "agentctl token rotate tok_9f2k4c7m1x8q0w3e --grace 24h\n"
		    "AGENTCTL_TOKEN=art_... agentctl --url https://agents.example.com:7717 sessions",
	.min = 1,
	.max = 2,
	.options = { { "scopes", "LIST", "create: scopes, separated by commas (read)" },
		     { "tenant", "NAME", "create, list: tenant (the caller's)" },
		     { "expires", "SPAN", "create: expiry, such as 90d or a time (never)" },
		     { "grace", "SPAN", "rotate: how long the previous secret stays valid (1h)" },
		     { "all", NULL, "list: also ended ones" },
		     { "key", "KEY", "create: makes a repeat safe" },
		     { "owner", "NAME", "create: the person who uses it (you)" } },
	.run = token,
};
