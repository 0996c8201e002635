/* `agentctl call`: any command of the catalogue with its JSON, for what has no word of its own here. */
#include "api.h"
#include "describe.h"
#include "help.h"

static const char *command_name(const void *table AR_UNUSED, size_t i)
{
	return i < AR_CMD_COUNT ? ar_command_descs[i].name : NULL;
}

static enum ar_exit unknown(struct ar_ctl *c, const char *name)
{
	const char *near = ar_help_nearest(name, command_name, NULL, AR_CMD_COUNT);

	if (near)
		return ar_ctl_complain(c, AR_EXIT_USAGE, ar_arena_fmt(&c->arena, "did you mean %s?", near),
				       "there is no command '%s'", name);
	return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl call lists them"),
			       "there is no command '%s'", name);
}

static enum ar_exit list_commands(struct ar_ctl *c)
{
	for (size_t i = 0; i < AR_CMD_COUNT; i++) {
		const struct ar_command_desc *d = &ar_command_descs[i];

		if (d->name)
			ar_out_printf(&c->out, "%-26s %s%s\n", d->name, d->built ? "" : "(not built) ",
				      d->doc);
	}
	return AR_EXIT_OK;
}

/* The reply goes out whatever it says: who calls by name wants to see it. */
static enum ar_exit call_with(struct ar_ctl *c, const struct ar_command_desc *d, struct ar_str body)
{
	struct ar_api_reply reply;
	struct ar_error err = { 0 };
	enum ar_status st = ar_api_try(c, d->name, body, &reply, &err);
	enum ar_exit exit;

	if (st == AR_OK)
		ar_api_print(c, &reply);
	exit = ar_api_explain(c, st, &reply, &err);
	ar_api_fini(&reply);
	return exit;
}

static enum ar_exit call(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	const struct ar_command_desc *d;
	struct ar_buf body = { 0 };
	enum ar_exit exit = AR_EXIT_OK;

	if (a->count == 0)
		return list_commands(c);
	d = ar_command_find(ar_str_from(a->words[0]));
	if (!d)
		return unknown(c, a->words[0]);
	if (d->id == AR_CMD_SUBSCRIBE_EVENTS)
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl tail SESSION --json"),
				       "subscribe_events is a stream, not a call");
	if (a->count > 1)
		exit = ar_ctl_read_text(c, a->words + 1, 1, &body);
	else
		ar_buf_addz(&body, "{}");
	if (exit == AR_EXIT_OK)
		exit = call_with(c, d, ar_buf_str(&body));
	ar_buf_fini(&body);
	return exit;
}

const struct ar_ctl_command ar_cmd_call = {
	.name = "call",
	.synopsis = "[COMMAND [JSON | -]]",
	.summary = "call any command of the API by name; prints JSON",
	.text = "Sends JSON to a command of the API and prints the answer or the error. Without JSON it "
		"sends an empty\n"
		"object; - reads standard input. Without COMMAND it lists the commands.",
	.examples = "agentctl call list_sessions '{\"limit\":1}'\n"
		    "echo '{\"title\":\"notes\"}' | agentctl call create_session -",
	.min = 0,
	.max = 2,
	.run = call,
};
