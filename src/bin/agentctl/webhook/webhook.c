/* `agentctl webhook`: the webhooks of the tenant, what each could not deliver, and sending it again. They are
 * made and removed in the settings. */
#include "api.h"

#include <string.h>

#define NAME_WIDTH 20
#define ADDRESS_WIDTH 36
#define COUNT_WIDTH 8
#define DELIVERY_WIDTH 30
#define TYPE_WIDTH 22
#define TIME_WIDTH 20

/* ---- list ---- */

static void print_count(struct ar_ctl *c, struct ar_json v)
{
	double number = 0;

	if (ar_json_num(v, &number))
		ar_out_printf(&c->out, "%-*.0f  ", COUNT_WIDTH, number);
	else
		ar_out_printf(&c->out, "%-*s  ", COUNT_WIDTH, "-");
}

static void print_row(struct ar_ctl *c, struct ar_json record)
{
	struct ar_str error = ar_api_str(record, "lastError");

	ar_out_column(&c->out, ar_api_str(record, "name"), NAME_WIDTH);
	ar_out_column(&c->out, ar_api_str(record, "address"), ADDRESS_WIDTH);
	print_count(c, ar_json_get(record, "waiting"));
	print_count(c, ar_json_get(record, "failureCount"));
	ar_out_line(&c->out, ar_str_absent(error) ? AR_STR("-") : error);
	ar_out_printf(&c->out, "\n");
}

static void print_table(struct ar_ctl *c, const struct ar_api_reply *r)
{
	struct ar_json webhooks = ar_json_get(r->doc, "webhooks");

	if (ar_json_len(webhooks) == 0) {
		ar_ctl_note(c, "there are no webhooks; the list `webhooks` of the settings has them");
		return;
	}
	ar_out_style(&c->out, AR_STYLE_BOLD);
	ar_out_printf(&c->out, "%-*s  %-*s  %-*s  %-*s  %s\n", NAME_WIDTH, "WEBHOOK", ADDRESS_WIDTH,
		      "ADDRESS", COUNT_WIDTH, "WAITING", COUNT_WIDTH, "GIVEN UP", "LAST ERROR");
	ar_out_style(&c->out, AR_STYLE_PLAIN);
	for (struct ar_json_iter it = ar_json_iter(webhooks); ar_json_next(&it);)
		print_row(c, it.value);
}

static enum ar_exit list(struct ar_ctl *c, const struct ar_ctl_args *a AR_UNUSED)
{
	struct ar_buf body = { 0 };

	ar_buf_addz(&body, "{}");
	return ar_api_show(c, "list_webhooks", &body, print_table);
}

/* ---- one of them ---- */

static void print_failure(struct ar_ctl *c, struct ar_json failure)
{
	bool is_again = false;

	ar_json_bool(ar_json_get(failure, "redelivering"), &is_again);
	ar_out_column(&c->out, ar_api_str(failure, "deliveryId"), DELIVERY_WIDTH);
	ar_out_column(&c->out, ar_api_str(failure, "eventType"), TYPE_WIDTH);
	ar_out_column(&c->out, ar_str_sub(ar_api_str(failure, "failedAt"), 0, 19), TIME_WIDTH);
	print_count(c, ar_json_get(failure, "attempts"));
	ar_out_line(&c->out, is_again ? AR_STR("(is being sent again)") : ar_api_str(failure, "reason"));
	ar_out_printf(&c->out, "\n");
}

static void print_deliveries(struct ar_ctl *c, struct ar_json record)
{
	struct ar_json failures = ar_json_get(record, "failures");

	if (ar_json_len(failures) == 0) {
		ar_ctl_note(c, "nothing was given up that was not delivered since");
		return;
	}
	ar_out_style(&c->out, AR_STYLE_BOLD);
	ar_out_printf(&c->out, "%-*s  %-*s  %-*s  %-*s  %s\n", DELIVERY_WIDTH, "DELIVERY", TYPE_WIDTH,
		      "EVENT", TIME_WIDTH, "GIVEN UP (UTC)", COUNT_WIDTH, "ATTEMPTS", "WHY");
	ar_out_style(&c->out, AR_STYLE_PLAIN);
	for (struct ar_json_iter it = ar_json_iter(failures); ar_json_next(&it);)
		print_failure(c, it.value);
}

static void print_webhook(struct ar_ctl *c, struct ar_json record)
{
	static const char *const lines[][2] = { { "webhook", "name" },
						{ "address", "address" },
						{ "position", "cursor" },
						{ "since", "waitingSince" },
						{ "last error", "lastError" } };
	struct ar_str type;

	for (size_t i = 0; i < AR_ARRAY_LEN(lines); i++)
		ar_out_member(&c->out, lines[i][0], ar_api_str(record, lines[i][1]));
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(record, "events")); ar_json_next(&it);) {
		if (ar_json_str(it.value, &type))
			ar_out_member(&c->out, "event", type);
	}
	ar_out_printf(&c->out, "%-11s", "waiting");
	print_count(c, ar_json_get(record, "waiting"));
	ar_out_printf(&c->out, "\n%-11s", "given up");
	print_count(c, ar_json_get(record, "failureCount"));
	ar_out_printf(&c->out, "\n");
}

static void print_json(struct ar_ctl *c, struct ar_json record)
{
	struct ar_buf text = { 0 };

	ar_json_print(record, &text);
	ar_buf_addc(&text, '\n');
	ar_out_json(&c->out, ar_buf_str(&text));
	ar_buf_fini(&text);
}

static enum ar_exit print_named(struct ar_ctl *c, const struct ar_api_reply *r, struct ar_str name,
				void (*print)(struct ar_ctl *c, struct ar_json record))
{
	for (struct ar_json_iter it = ar_json_iter(ar_json_get(r->doc, "webhooks")); ar_json_next(&it);) {
		if (!ar_str_eq(ar_api_str(it.value, "name"), name))
			continue;
		(c->is_json ? print_json : print)(c, it.value);
		return AR_EXIT_OK;
	}
	return ar_ctl_complain(c, AR_EXIT_FAILED, AR_STR("agentctl webhook list"),
			       "the settings have no webhook '%.*s' of this tenant", AR_STR_ARG(name));
}

static enum ar_exit show_by(struct ar_ctl *c, const struct ar_ctl_args *a,
			    void (*print)(struct ar_ctl *c, struct ar_json record))
{
	struct ar_api_reply r = { 0 };
	enum ar_exit rc = ar_api_call(c, "list_webhooks", AR_STR("{}"), &r);

	if (rc == AR_EXIT_OK)
		rc = print_named(c, &r, ar_str_from(a->words[1]), print);
	ar_api_fini(&r);
	return rc;
}

static enum ar_exit show(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return show_by(c, a, print_webhook);
}

static enum ar_exit deliveries(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	return show_by(c, a, print_deliveries);
}

/* ---- again ---- */

static void print_again(struct ar_ctl *c, const struct ar_api_reply *r)
{
	ar_out_line(&c->out, ar_api_str(r->doc, "deliveryId"));
	ar_out_printf(&c->out, "  is sent again\n");
}

static enum ar_exit redeliver(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct ar_buf body = { 0 };
	struct ar_jw w = ar_jw(&body);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "name", ar_str_from(a->words[1]));
	ar_jw_mstr(&w, "deliveryId", ar_str_from(a->words[2]));
	ar_jw_close(&w);
	return ar_api_show(c, "redeliver_webhook", &body, print_again);
}

/* ---- the command ---- */

static const struct {
	const char *name;
	int words; /* the name counted */
	enum ar_exit (*run)(struct ar_ctl *c, const struct ar_ctl_args *a);
} acts[] = {
	{ "list", 1, list },
	{ "show", 2, show },
	{ "deliveries", 2, deliveries },
	{ "redeliver", 3, redeliver },
};

static enum ar_exit webhook(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(acts); i++) {
		if (strcmp(a->words[0], acts[i].name) == 0 && a->count == acts[i].words)
			return acts[i].run(c, a);
	}
	return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl webhook --help"),
			       "webhook needs list, show or deliveries with a name, or redeliver with a name "
			       "and a delivery");
}

const struct ar_ctl_command ar_cmd_webhook = {
	.name = "webhook",
	.synopsis = "list|show|deliveries|redeliver [WEBHOOK] [DELIVERY]",
	.summary = "list and show webhooks, send again what they gave up",
	.text = "A webhook sends the events of the tenant to another system. The list `webhooks` of the "
		"settings\n"
		"has them: they are made, changed and removed there. deliveries lists what a webhook gave "
		"up,\n"
		"redeliver sends one of these again. Needs a token with the scope admin.",
	.examples = "agentctl webhook list\n"
		    "agentctl webhook show ci\n"
		    "agentctl webhook deliveries ci\n"
		    "agentctl webhook redeliver ci msg_0000000000pabcdefghjkmnpqr",
	.min = 1,
	.max = 3,
	.run = webhook,
};
