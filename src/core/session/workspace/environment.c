/* See environment.h. */
#include "workspace/environment.h"

#include "decide.h"
#include "sandbox.h"
#include "text/env_name.h"
#include "workspace/workspace.h"

#define SHOWN_MAX 64 /* bytes of a name in a refusal */

/* ---- variables that are set ---- */

static bool is_plain(struct ar_str value)
{
	for (size_t i = 0; i < value.len; i++) {
		if ((unsigned char)value.p[i] < ' ' || value.p[i] == 0x7f)
			return false;
	}
	return true;
}

static enum ar_status check_name(struct ar_str name, struct ar_error *err)
{
	struct ar_str shown = ar_str_utf8_prefix(name, SHOWN_MAX);

	if (!ar_env_is_name(name))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "'%.*s' is no name of a variable: letters, digits and _, no digit first",
				 AR_STR_ARG(shown));
	if (!ar_env_may_be_requested(name))
		return ar_refuse(
			err, AR_ERR_INVALID_INPUT,
			"a workspace may not set the variable %.*s, which controls what is loaded or "
			"run, or is set by the runtime; leave it out, or ask the operator to set it in "
			"sandbox.env",
			AR_STR_ARG(shown));
	return AR_OK;
}

/* Which secrets there are is not for everybody: one of others is as one that is not there. */
static enum ar_status check_secret(const struct ar_decision *d, const struct ar_shape_workspace_record *r,
				   const struct ar_shape_workspace_variable *v, struct ar_error *err)
{
	if (ar_workspace_is_far(r))
		return ar_refuse(
			err, AR_ERR_INVALID_INPUT,
			"variable %.*s: secrets of the settings do not reach a worker; set them there",
			AR_STR_ARG(v->name));
	if (ar_workspace_has_secret(r, d->input->policy, v->secret))
		return AR_OK;
	return ar_refuse(err, AR_ERR_INVALID_INPUT,
			 "variable %.*s: command_secrets of the settings has no secret of this name for the "
			 "workspace",
			 AR_STR_ARG(v->name));
}

static enum ar_status check_variable(const struct ar_decision *d, const struct ar_shape_workspace_record *r,
				     const struct ar_shape_workspace_variable *v, struct ar_error *err)
{
	if (check_name(v->name, err) != AR_OK)
		return AR_E_REFUSED;
	if (ar_str_absent(v->value) == ar_str_absent(v->secret))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "variable %.*s needs a value or a secret, not both", AR_STR_ARG(v->name));
	if (!is_plain(v->value))
		return ar_refuse(err, AR_ERR_INVALID_INPUT,
				 "the value of variable %.*s has a line end or another control character",
				 AR_STR_ARG(v->name));
	return ar_str_absent(v->secret) ? AR_OK : check_secret(d, r, v, err);
}

static bool is_repeated(const struct ar_shape_workspace_variable_list *list, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (ar_str_eq(list->at[i].name, list->at[at].name))
			return true;
	}
	return false;
}

enum ar_status ar_environment_check(const struct ar_decision *d, const struct ar_shape_workspace_record *r,
				    const struct ar_shape_workspace_variable_list *list, struct ar_error *err)
{
	size_t bytes = 0;

	if (list->count > AR_VARIABLES_MAX)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "an environment has at most %d variables",
				 AR_VARIABLES_MAX);
	/* Nobody could tell a mask from the value that was meant. */
	if (list->count > 0 && d->input->command.masked.count > 0)
		return ar_refuse(
			err, AR_ERR_INVALID_INPUT,
			"a text looks like a secret, which is not stored; put it into command_secrets "
			"of the settings, and name it by the secret of the variable");
	for (size_t i = 0; i < list->count; i++) {
		const struct ar_shape_workspace_variable *v = &list->at[i];

		if (check_variable(d, r, v, err) != AR_OK)
			return AR_E_REFUSED;
		if (is_repeated(list, i))
			return ar_refuse(err, AR_ERR_INVALID_INPUT, "variable %.*s is named twice",
					 AR_STR_ARG(v->name));
		bytes += v->name.len + v->value.len + v->secret.len;
	}
	if (bytes > AR_VARIABLES_BYTES)
		return ar_refuse(err, AR_ERR_INVALID_INPUT, "an environment has at most %d bytes",
				 AR_VARIABLES_BYTES);
	return AR_OK;
}

struct ar_shape_workspace_variable_list ar_environment_copy(
	struct ar_arena *a, const struct ar_shape_workspace_variable_list *list)
{
	struct ar_shape_workspace_variable *all;

	if (list->count == 0)
		return (struct ar_shape_workspace_variable_list){ 0 };
	all = ar_arena_alloc(a, list->count * sizeof(*all));
	for (size_t i = 0; i < list->count; i++)
		all[i] = (struct ar_shape_workspace_variable){ .name = list->at[i].name,
							       .value = list->at[i].value,
							       .secret = list->at[i].secret };
	return (struct ar_shape_workspace_variable_list){ all, list->count };
}

/* ---- profiles ---- */

enum ar_status ar_allowed_profiles_check(const struct ar_texts *list, struct ar_error *err)
{
	bool is_named[AR_SANDBOX_COUNT] = { false };

	for (size_t i = 0; i < list->count; i++) {
		enum ar_sandbox_profile p = ar_sandbox_find(list->at[i]);

		if (!p)
			return ar_refuse(err, AR_ERR_INVALID_INPUT,
					 "allowedProfiles: '%.*s' is not one of read_only, workspace_write, "
					 "no_network, allowlisted_network, danger_full_access",
					 AR_STR_ARG(ar_str_utf8_prefix(list->at[i], SHOWN_MAX)));
		if (is_named[p])
			return ar_refuse(err, AR_ERR_INVALID_INPUT, "allowedProfiles: %s is named twice",
					 ar_sandbox_name(p));
		is_named[p] = true;
	}
	return AR_OK;
}

/* ---- for programs ---- */

struct ar_texts ar_environment_texts(const struct ar_shape_workspace_variable_list *list, bool has_secrets,
				     struct ar_arena *a)
{
	struct ar_str *texts = ar_arena_alloc(a, (list->count + 1) * sizeof(*texts));
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct ar_shape_workspace_variable *v = &list->at[i];

		if (!ar_str_absent(v->value))
			texts[count++] =
				ar_arena_fmt(a, "%.*s=%.*s", AR_STR_ARG(v->name), AR_STR_ARG(v->value));
		else if (has_secrets)
			texts[count++] = ar_arena_str(a, v->name);
	}
	return (struct ar_texts){ texts, count };
}

const struct ar_shape_workspace_variable_list *ar_session_environment(const struct ar_session *s)
{
	static const struct ar_shape_workspace_variable_list none;

	return s->bound ? &s->bound->environment : &none;
}

const struct ar_process_secret *ar_session_secret_variables(const struct ar_session *s, struct ar_arena *a,
							    size_t *ret_count)
{
	const struct ar_shape_workspace_variable_list *list = ar_session_environment(s);
	struct ar_process_secret *secrets = ar_arena_alloc(a, (list->count + 1) * sizeof(*secrets));
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++) {
		if (!ar_str_absent(list->at[i].secret))
			secrets[count++] = (struct ar_process_secret){ .variable = list->at[i].name,
								       .secret = list->at[i].secret };
	}
	*ret_count = count;
	return secrets;
}
