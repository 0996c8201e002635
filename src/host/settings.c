/* See settings.h. */
#include "settings.h"
#include "buf.h"
#include "id.h"
#include "secret/resolve.h"
#include "settings/file.h"
#include "settings/value.h"
#include "text/suggest.h"
#include "userdirs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PREFIX AR_STR("AGENTD_") /* of our variables */

static struct ar_setting setting_of(struct ar_settings *s, size_t i, enum ar_origin_kind kind)
{
	const struct ar_config_key *key = &ar_config_keys[i];

	return (struct ar_setting){ key,
				    key->name,
				    (char *)&s->config + key->offset,
				    { kind, kind == AR_FROM_ENVIRONMENT ? key->env : NULL, 0 },
				    &s->problems,
				    s->refs };
}

static void apply_presets(struct ar_settings *s)
{
	for (size_t i = 0; i < ar_config_key_count; i++) {
		struct ar_setting setting = setting_of(s, i, AR_FROM_DEFAULT);

		AR_ASSERT(ar_setting_set(&setting, ar_str_from(setting.key->preset)));
	}
}

/* ---- the environment ---- */

static void apply_environment(struct ar_settings *s)
{
	for (size_t i = 0; i < ar_config_key_count; i++) {
		struct ar_setting setting = setting_of(s, i, AR_FROM_ENVIRONMENT);
		const char *value = setting.key->env ? getenv(setting.key->env) : NULL;

		if (!value || !*value)
			continue;
		ar_secret_reference_drop(s->refs, setting.at);
		if (ar_setting_set(&setting, ar_str_from(value)))
			s->origins[i] = setting.origin;
	}
}

/* Variables with our prefix that are no settings: fault injection, and what Kubernetes sets
 * for a service named agentd. */
static bool is_foreign(struct ar_str name)
{
	return ar_str_is(name, "AGENTD_FAULT") || ar_str_starts(name, AR_STR("AGENTD_SERVICE_")) ||
	       ar_str_starts(name, AR_STR("AGENTD_PORT"));
}

/* A variable that is nearly the name of a setting was meant to be it, and what it says would be lost:
 * refused. Others are reported. */
static void check_variable(struct ar_settings *s, struct ar_str name)
{
	struct ar_origin at = { AR_FROM_ENVIRONMENT, ar_arena_str(s->problems.arena, name).p, 0 };
	struct ar_suggestion best = { 0 };

	for (size_t i = 0; i < ar_config_key_count; i++) {
		const char *env = ar_config_keys[i].env;

		if (env && ar_str_is(name, env))
			return;
		if (env && ar_str_starts(ar_str_from(env), PREFIX))
			ar_suggest(&best, name, env);
	}
	if (best.word && best.distance <= (name.len < PREFIX.len + 5 ? 1 : 2))
		ar_problem(&s->problems, &at, NULL,
			   "there is no such variable; did you mean %s? Rename or unset it", best.word);
	else
		ar_problem(&s->warnings, &at, NULL,
			   "no setting has this variable and it is ignored; docs/reference/config.md lists "
			   "them");
}

static void check_environment(struct ar_settings *s)
{
	for (char **entry = environ; *entry; entry++) {
		struct ar_str name;

		ar_str_split(ar_str_from(*entry), '=', &name);
		if (ar_str_starts(name, PREFIX) && !is_foreign(name))
			check_variable(s, name);
	}
}

/* ---- the command line, and what the machine says ---- */

static struct ar_origin *origin_of(struct ar_settings *s, const char *key)
{
	size_t i = 0;

	while (i < ar_config_key_count && strcmp(ar_config_keys[i].name, key) != 0)
		i++;
	AR_ASSERT(i < ar_config_key_count);
	return &s->origins[i];
}

static void apply_options(struct ar_settings *s, const struct ar_settings_args *args)
{
	const struct {
		const char *value, **at, *key, *option;
	} options[] = { { args->data_dir, &s->config.data_dir, "data_dir", "--data-dir" },
			{ args->listen, &s->config.listen, "listen", "--listen" },
			{ args->socket, &s->config.socket, "socket", "--socket" } };

	for (size_t i = 0; i < AR_ARRAY_LEN(options); i++) {
		if (!options[i].value)
			continue;
		*options[i].at = options[i].value;
		*origin_of(s, options[i].key) =
			(struct ar_origin){ AR_FROM_COMMAND_LINE, options[i].option, 0 };
	}
}

/* One "key=value", read as a variable of the environment would be. A problem names the
 * key and never the value. */
static void apply_override(struct ar_settings *s, const char *text)
{
	struct ar_str key, value = ar_str_split(ar_str_from(text), '=', &key);
	const char *name = ar_arena_str(s->problems.arena, key).p;
	struct ar_origin at = { AR_FROM_COMMAND_LINE, name, 0 };
	struct ar_setting setting;
	size_t i = 0;

	while (i < ar_config_key_count && strcmp(ar_config_keys[i].name, name) != 0)
		i++;
	if (i == ar_config_key_count || ar_str_absent(value)) {
		ar_problem(&s->problems, &at, NULL,
			   "an override is key=value with a key of docs/reference/config.md");
		return;
	}
	setting = setting_of(s, i, AR_FROM_COMMAND_LINE);
	setting.origin = at;
	ar_secret_reference_drop(s->refs, setting.at);
	if (ar_setting_set(&setting, value))
		s->origins[i] = at;
}

/* The host's name, in the characters that an id may have. */
static const char *host_name(struct ar_arena *a)
{
	char name[AR_ID_MAX + 1] = "";

	if (gethostname(name, sizeof(name) - 1) != 0 || !*name)
		return "node-1";
	for (char *p = name; *p; p++) {
		if (!ar_id_acceptable((struct ar_str){ p, 1 }))
			*p = '-';
	}
	return ar_arena_str(a, ar_str_from(name)).p;
}

static void fill(struct ar_settings *s, const char *key, const char **at, const char *value)
{
	if (**at || !value)
		return;
	*at = value;
	*origin_of(s, key) = (struct ar_origin){ AR_FROM_HOST, NULL, 0 };
}

static void fill_paths(struct ar_settings *s, struct ar_arena *a)
{
	static const struct ar_origin nowhere = { 0 };
	struct ar_config *c = &s->config;
	struct ar_buf path = { 0 };

	fill(s, "node.id", &c->node.id, host_name(a));
	fill(s, "data_dir", &c->data_dir,
	     ar_user_data_dir(&path) ? ar_arena_str(a, ar_buf_str(&path)).p : NULL);
	ar_buf_clear(&path);
	ar_user_socket(ar_str_from(c->data_dir), &path);
	fill(s, "socket", &c->socket, ar_arena_str(a, ar_buf_str(&path)).p);
	ar_buf_fini(&path);
	if (!*c->data_dir && s->problems.count == 0) /* what could not be read may have named it */
		ar_problem(&s->problems, &nowhere, "data_dir",
			   "there is no data directory; set HOME, AGENTD_DATA_DIR or --data-dir");
}

void ar_settings_read(const struct ar_settings_args *args, struct ar_arena *a, struct ar_settings *ret)
{
	*ret = (struct ar_settings){ .problems.arena = a, .warnings.arena = a };
	ret->refs = ar_arena_alloc(a, sizeof(*ret->refs));
	*ret->refs = (struct ar_secret_refs){ 0 };
	ret->origins = ar_arena_alloc(a, ar_config_key_count * sizeof(*ret->origins));
	ret->lists = ar_arena_alloc(a, ar_config_list_count * sizeof(*ret->lists));
	apply_presets(ret);
	if (args->no_listeners)
		ret->config.listen = ret->config.socket = "off";
	if (args->config_file)
		ar_settings_file(args->config_file, ret);
	apply_environment(ret);
	check_environment(ret);
	apply_options(ret, args);
	for (const char *const *o = args->overrides; o && *o; o++)
		apply_override(ret, *o);
	fill_paths(ret, a);
}

const struct ar_origin *ar_settings_origin(const struct ar_settings *s, const char *key)
{
	return origin_of((struct ar_settings *)(uintptr_t)s, key);
}

void ar_settings_resolve(struct ar_settings *s, bool is_asking)
{
	ar_secret_resolve(s->refs, is_asking, &s->problems);
}

void ar_settings_fini(struct ar_settings *s)
{
	ar_secret_refs_fini(s->refs);
}

static enum ar_status load(const struct ar_settings_args *args, bool is_resolving, struct ar_arena *a,
			   struct ar_config *ret, struct ar_error *err)
{
	struct ar_settings s;

	ar_settings_read(args, a, &s);
	if (is_resolving && s.problems.count == 0)
		ar_settings_resolve(&s, true);
	*ret = s.config;
	if (s.problems.count > 0)
		return ar_fail(err, AR_E_INVALID, "%s", s.problems.v[0].p);
	return AR_OK;
}

enum ar_status ar_settings_load(const struct ar_settings_args *args, struct ar_arena *a,
				struct ar_config *ret, struct ar_error *err)
{
	return load(args, false, a, ret, err);
}

enum ar_status ar_settings_load_secrets(const struct ar_settings_args *args, struct ar_arena *a,
					struct ar_config *ret, struct ar_error *err)
{
	return load(args, true, a, ret, err);
}
