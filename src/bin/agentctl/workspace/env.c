/* `agentctl workspace env`: the variables of a workspace, and changes of them. The server takes the whole
 * list, so it is read first and sent back with its version: a change in between is refused. */
#include "resolve.h"
#include "text/env_name.h"
#include "workspace/workspace.h"

#include <string.h>

bool ar_workspace_is_variable(const char *word)
{
	struct ar_str name;

	return !ar_str_absent(ar_str_split(ar_str_from(word), '=', &name)) && ar_env_is_name(name);
}

/* ---- what is there ---- */

static void print_variable(struct ar_out *o, struct ar_json v)
{
	struct ar_str secret = ar_api_str(v, "secret");

	ar_out_line(o, ar_api_str(v, "name"));
	ar_out_printf(o, ar_str_absent(secret) ? "=" : "  secret ");
	ar_out_line(o, ar_str_absent(secret) ? ar_api_str(v, "value") : secret);
	ar_out_printf(o, "\n");
}

static void print_variables(struct ar_ctl *c, const struct ar_api_reply *r)
{
	struct ar_json list = ar_json_get(ar_json_get(r->doc, "workspace"), "environment");

	if (ar_json_len(list) == 0)
		ar_ctl_note(c, "the workspace has no variables");
	for (struct ar_json_iter it = ar_json_iter(list); ar_json_next(&it);)
		print_variable(&c->out, it.value);
}

/* ---- what is changed ---- */

static bool is_name_in(struct ar_str names, struct ar_str name)
{
	struct ar_str one;

	while (!ar_str_absent(names)) {
		names = ar_str_split(names, ',', &one);
		if (ar_str_eq(one, name))
			return true;
	}
	return false;
}

static bool is_set(const struct ar_workspace_env *what, struct ar_str name)
{
	struct ar_str own;

	for (int i = 0; i < what->word_count; i++) {
		ar_str_split(ar_str_from(what->words[i]), '=', &own);
		if (ar_str_eq(own, name))
			return true;
	}
	if (!what->secret)
		return false;
	ar_str_split(ar_str_from(what->secret), '=', &own);
	return ar_str_eq(own, name);
}

static void write_variable(struct ar_jw *j, struct ar_str name, struct ar_str value, struct ar_str secret)
{
	ar_jw_open(j);
	ar_jw_mstr(j, "name", name);
	ar_jw_mstr(j, "value", value);
	ar_jw_mstr(j, "secret", secret);
	ar_jw_close(j);
}

static void write_list(struct ar_jw *j, const struct ar_workspace_env *what, struct ar_json old)
{
	struct ar_str name, rest;

	ar_jw_open_array(j);
	for (struct ar_json_iter it = ar_json_iter(old); ar_json_next(&it);) {
		name = ar_api_str(it.value, "name");
		if (!is_set(what, name) && !is_name_in(ar_str_from(what->unset), name))
			write_variable(j, name, ar_api_str(it.value, "value"),
				       ar_api_str(it.value, "secret"));
	}
	for (int i = 0; i < what->word_count; i++) {
		rest = ar_str_split(ar_str_from(what->words[i]), '=', &name);
		write_variable(j, name, rest, AR_STR_NONE);
	}
	if (what->secret) {
		rest = ar_str_split(ar_str_from(what->secret), '=', &name);
		write_variable(j, name, AR_STR_NONE, rest);
	}
	ar_jw_close_array(j);
}

/* A name that is not there is most likely misspelt: nothing is changed. */
static enum ar_exit check_unset(struct ar_ctl *c, struct ar_str names, struct ar_json old)
{
	struct ar_str name;

	while (!ar_str_absent(names)) {
		bool is_there = false;

		names = ar_str_split(names, ',', &name);
		for (struct ar_json_iter it = ar_json_iter(old); ar_json_next(&it);)
			is_there |= ar_str_eq(ar_api_str(it.value, "name"), name);
		if (!is_there)
			return ar_ctl_complain(c, AR_EXIT_FAILED,
					       AR_STR("agentctl workspace env shows the variables"),
					       "the workspace has no variable %.*s", AR_STR_ARG(name));
	}
	return AR_EXIT_OK;
}

static enum ar_exit check_words(struct ar_ctl *c, const struct ar_workspace_env *what)
{
	const char *wrong = what->secret && !ar_workspace_is_variable(what->secret) ? what->secret : NULL;

	for (int i = 0; !wrong && i < what->word_count; i++)
		wrong = ar_workspace_is_variable(what->words[i]) ? NULL : what->words[i];
	if (!wrong)
		return AR_EXIT_OK;
	return ar_ctl_complain(c, AR_EXIT_USAGE, AR_STR("agentctl workspace --help"),
			       "'%s' is not NAME=VALUE: a name has letters, digits and _", wrong);
}

static enum ar_exit change(struct ar_ctl *c, const struct ar_workspace_env *what, struct ar_json record)
{
	struct ar_json old = ar_json_get(record, "environment");
	struct ar_buf body = { 0 };
	struct ar_jw j = ar_jw(&body);
	enum ar_exit exit = check_unset(c, ar_str_from(what->unset), old);

	if (exit != AR_EXIT_OK)
		return exit;
	ar_jw_open(&j);
	ar_jw_mstr(&j, "workspaceId", ar_api_str(record, "workspaceId"));
	ar_jw_mint(&j, "version", ar_api_int(record, "version"));
	ar_jw_key(&j, "environment");
	write_list(&j, what, old);
	ar_jw_close(&j);
	return ar_api_show(c, "update_workspace", &body, print_variables);
}

enum ar_exit ar_workspace_env(struct ar_ctl *c, struct ar_str id, const struct ar_workspace_env *what)
{
	struct ar_buf body = { 0 };
	struct ar_jw j = ar_jw(&body);
	struct ar_api_reply reply;
	enum ar_exit exit = check_words(c, what);

	if (exit != AR_EXIT_OK)
		return exit;
	ar_jw_open(&j);
	ar_jw_mstr(&j, "workspaceId", id);
	ar_jw_close(&j);
	if (what->word_count == 0 && !what->secret && !what->unset)
		return ar_api_show(c, "get_workspace", &body, print_variables);
	exit = ar_api_call(c, "get_workspace", ar_ctl_take_buf(c, &body), &reply);
	if (exit == AR_EXIT_OK)
		exit = change(c, what, ar_json_get(reply.doc, "workspace"));
	ar_api_fini(&reply);
	return exit;
}
