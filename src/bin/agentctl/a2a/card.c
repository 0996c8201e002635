/* `agentctl a2a card`: the Agent Card of a published agent, as other systems get it. */
#include "api.h"

#include <string.h>

#define NAME_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

enum { OLD };

static enum ar_exit get_card(struct ar_ctl *c, const char *path, const char *version)
{
	struct ar_http_request r = ar_api_request(c, path);
	struct ar_api_reply reply = { .parser = ar_json_parser_new() };
	struct ar_error err = { 0 };
	enum ar_status st;
	enum ar_exit exit;

	r.headers[0] = version;
	st = ar_http_run(&r, &reply.http, &err);
	if (st == AR_OK &&
	    ar_json_parse(reply.parser, ar_buf_str(&reply.http.body), &reply.doc, NULL) != AR_OK)
		st = ar_fail(&err, AR_E_CORRUPT, "the answer is not JSON; is this an agentd?");
	exit = ar_api_explain(c, st, &reply, &err);
	if (exit == AR_EXIT_OK)
		ar_api_print(c, &reply);
	ar_api_fini(&reply);
	return exit;
}

static enum ar_exit a2a(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	const char *name = a->count > 1 ? a->words[1] : NULL;
	const char *path = "/.well-known/agent-card.json";

	if (strcmp(a->words[0], "card") != 0)
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl a2a card [NAME]"),
				       "a2a has no '%s'", a->words[0]);
	if (name && (!*name || name[strspn(name, NAME_LETTERS)]))
		return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("names are in a2a_agents of the settings"),
				       "'%s' is not the name of an agent", name);
	if (name)
		path = ar_arena_fmt(&c->arena, "/a2a/%s/.well-known/agent-card.json", name).p;
	return get_card(c, path, a->values[OLD] ? NULL : "A2A-Version: 1.0");
}

const struct ar_ctl_command ar_cmd_a2a = {
	.name = "a2a",
	.synopsis = "card [NAME]",
	.summary = "print the card of an agent that other systems may use",
	.text = "card prints the A2A Agent Card of an agent of the setting a2a_agents as one line of JSON,\n"
		"with its signatures; without a name that of the standard agent.",
	.examples = "agentctl a2a card\n"
		    "agentctl a2a card builder",
	.min = 1,
	.max = 2,
	.options = { [OLD] = { "old", NULL,
			       "as clients get it that do not say that they know version 1.0" } },
	.run = a2a,
};
