/* See env_vector.h. */
#include "env_vector.h"

#include "json.h"
#include "path_list.h"
#include "text/env_name.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROXY "http://127.0.0.1:3128"
#define INHERITED_MAX 256 /* bytes of a variable that is taken over */

extern char **environ;

/* Nothing waits for a person who is not there, and nothing asks the kernel for what the filter refuses. */
static const char *const quiet[] = {
	"PAGER=cat",
	"GIT_PAGER=cat",
	"MANPAGER=cat",
	"GIT_TERMINAL_PROMPT=0",
	"GIT_EDITOR=true",
	"EDITOR=true",
	"DEBIAN_FRONTEND=noninteractive",
	"CI=1",
	"npm_config_yes=true",
	"npm_config_update_notifier=false",
	"PIP_NO_INPUT=1",
	"PIP_DISABLE_PIP_VERSION_CHECK=1",
	"PYTHONUNBUFFERED=1",
	"UV_USE_IO_URING=0",
	"TMPDIR=/tmp",
};

static const char *const proxied[] = {
	"HTTP_PROXY=" PROXY,
	"HTTPS_PROXY=" PROXY,
	"http_proxy=" PROXY,
	"https_proxy=" PROXY,
	"ALL_PROXY=" PROXY,
	"all_proxy=" PROXY,
	"NODE_USE_ENV_PROXY=1",
	"NO_PROXY=localhost,127.0.0.1,::1",
	"no_proxy=localhost,127.0.0.1,::1",
};

/* Taken over when they are set and short. */
static const char *const inherited[] = { "LANG", "LC_*", "TZ" };

static bool set_entry(struct ar_env_vector *v, struct ar_str entry)
{
	struct ar_str name;
	size_t i = 0;

	ar_str_split(entry, '=', &name);
	while (i < v->count && (strncmp(v->at[i], name.p, name.len) != 0 || v->at[i][name.len] != '='))
		i++;
	if (i == AR_PLAN_ENV_MAX)
		return false;
	v->at[i] = ar_arena_str(v->arena, entry).p;
	v->count += i == v->count;
	return true;
}

static void put_value(struct ar_env_vector *v, const char *name, struct ar_str value)
{
	if (!ar_str_empty(value))
		set_entry(v, ar_arena_fmt(v->arena, "%s=%.*s", name, AR_STR_ARG(value)));
}

static void put_list(struct ar_env_vector *v, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		set_entry(v, ar_str_from(list[i]));
}

static void put_inherited(struct ar_env_vector *v)
{
	for (char **at = environ; at && *at; at++) {
		struct ar_str entry = ar_str_from(*at), name;

		ar_str_split(entry, '=', &name);
		if (ar_env_is_name(name) && ar_env_is_one_of(name, inherited, AR_ARRAY_LEN(inherited)) &&
		    entry.len <= INHERITED_MAX)
			set_entry(v, entry);
	}
}

static void put_ours(struct ar_env_vector *v, const struct ar_env_options *o)
{
	put_value(v, "PATH", o->path);
	put_value(v, "HOME", o->home);
	put_value(v, "USER", o->user);
	put_value(v, "LOGNAME", o->user);
	put_value(v, "SHELL", access("/bin/bash", X_OK) == 0 ? AR_STR("/bin/bash") : AR_STR("/bin/sh"));
	put_value(v, "TERM", o->tty ? AR_STR("xterm-256color") : AR_STR("dumb"));
	put_value(v, "LANG", AR_STR("C.UTF-8"));
	put_value(v, "PWD", o->cwd);
	put_value(v, "AGENTRUNTIME_SESSION_ID", o->session_id);
	put_value(v, "AGENTRUNTIME_TOOL_CALL_ID", o->call_id);
	put_list(v, quiet, AR_ARRAY_LEN(quiet));
	put_inherited(v);
	for (size_t i = 0; i < o->toolchain_count; i++)
		set_entry(v, o->toolchain[i]);
}

static enum ar_status set_given(struct ar_env_vector *v, struct ar_str entry, const char *whose,
				struct ar_error *err)
{
	struct ar_str name;

	if (ar_str_absent(ar_str_split(entry, '=', &name)) || !ar_env_is_name(name) ||
	    memchr(entry.p, '\0', entry.len))
		return ar_fail(err, AR_E_INVALID, "%s: '%.*s' is not NAME=value", whose,
			       AR_STR_ARG(ar_str_utf8_prefix(name, 64)));
	if (!set_entry(v, entry))
		return ar_fail(err, AR_E_LIMIT, "more than %d environment variables", AR_PLAN_ENV_MAX);
	return AR_OK;
}

static enum ar_status set_requested(struct ar_env_vector *v, struct ar_str entry, struct ar_error *err)
{
	struct ar_str name;

	ar_str_split(entry, '=', &name);
	if (!ar_env_may_be_requested(name))
		return ar_fail(err, AR_E_INVALID,
			       "a request may not set the variable %.*s, which controls what is loaded or "
			       "run; leave it out, or ask the operator to set it in sandbox.env",
			       AR_STR_ARG(ar_str_utf8_prefix(name, 64)));
	return set_given(v, entry, "environment", err);
}

enum ar_status ar_env_fill(const struct ar_env_options *o, struct ar_env_vector *v, struct ar_error *err)
{
	struct ar_str rest = o->setting, entry;
	enum ar_status rc = AR_OK;

	put_ours(v, o);
	while (rc == AR_OK && ar_path_next(&rest, ",\n", &entry))
		rc = set_given(v, entry, "sandbox.env", err);
	for (size_t i = 0; rc == AR_OK && i < o->asked_count; i++)
		rc = set_requested(v, o->asked[i], err);
	/* Last: nothing may point away from the proxy. */
	if (o->uses_proxy)
		put_list(v, proxied, AR_ARRAY_LEN(proxied));
	v->at[v->count] = NULL;
	return rc;
}

bool ar_env_put(struct ar_env_vector *v, struct ar_str entry)
{
	bool is_put = set_entry(v, entry);

	v->at[v->count] = NULL;
	return is_put;
}

struct ar_str ar_env_json(const struct ar_env_vector *v)
{
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	struct ar_str text;

	ar_jw_open(&w);
	for (size_t i = 0; i < v->count; i++) {
		struct ar_str name, value = ar_str_split(ar_str_from(v->at[i]), '=', &name);

		ar_jw_name(&w, name);
		ar_jw_str(&w, value);
	}
	ar_jw_close(&w);
	text = ar_arena_str(v->arena, ar_buf_str(&out));
	ar_buf_fini(&out);
	return text;
}
