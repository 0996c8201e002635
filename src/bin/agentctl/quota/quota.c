/* `agentctl quota`: the quotas of the caller's tenant, and how much of each is used. */
#include "api.h"

static void print_number(struct ar_ctl *c, struct ar_json v, const char *otherwise)
{
	double number = 0;

	if (ar_json_num(v, &number))
		ar_out_printf(&c->out, "%14.12g  ", number);
	else
		ar_out_printf(&c->out, "%14s  ", otherwise);
}

static void print_row(struct ar_ctl *c, struct ar_json row)
{
	struct ar_str resets = ar_api_str(row, "resetsAt");

	ar_out_printf(&c->out, "%-16.*s", AR_STR_ARG(ar_api_str(row, "quota")));
	print_number(c, ar_json_get(row, "limit"), "none");
	print_number(c, ar_json_get(row, "used"), "-");
	ar_out_line(&c->out, ar_api_str(row, "measured"));
	if (!ar_str_empty(resets))
		ar_out_printf(&c->out, "; resets at %.*s", AR_STR_ARG(resets));
	ar_out_printf(&c->out, "\n");
}

static void print_rows(struct ar_ctl *c, const struct ar_api_reply *r)
{
	ar_out_printf(&c->out, "tenant ");
	ar_out_line(&c->out, ar_api_str(r->doc, "tenant"));
	ar_out_printf(&c->out, "\n");
	ar_out_style(&c->out, AR_STYLE_BOLD);
	ar_out_printf(&c->out, "%-16s%14s  %14s  %s\n", "QUOTA", "LIMIT", "USED", "COUNTED");
	ar_out_style(&c->out, AR_STYLE_PLAIN);
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(r->doc, "quotas")); ar_json_next(&it);)
		print_row(c, it.value);
}

static enum ar_exit quota(struct ar_ctl *c, const struct ar_ctl_args *a AR_UNUSED)
{
	struct ar_buf body = { 0 };

	ar_buf_addz(&body, "{}");
	return ar_api_show(c, "get_quota", &body, print_rows);
}

const struct ar_ctl_command ar_cmd_quota = {
	.name = "quota",
	.synopsis = "",
	.summary = "show the quotas of the tenant and what is used",
	.text = "Prints each quota of the caller's tenant: its limit, how much is used, what is counted and\n"
		"where, and when it starts again. A quota without a limit is not counted. The operator sets\n"
		"quotas in the settings (tenants).",
	.examples = "agentctl quota\n"
		    "agentctl quota --json",
	.run = quota,
};
