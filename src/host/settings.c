/* See settings.h. */
#include "settings.h"
#include "buf.h"
#include "id.h"
#include "settings_list.h"
#include "settings_value.h"
#include "userdirs.h"

#include <cyaml/cyaml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct ar_setting setting_of(struct ar_config *c, struct ar_arena *a, size_t i)
{
	const struct ar_config_key *key = &ar_config_keys[i];

	return (struct ar_setting){ key, ar_str_from(key->name), (char *)c + key->offset, a };
}

/* ---- the file ---- */

/* libcyaml tells where a file is wrong through its log: the sentence, "Backtrace:", then the places from the innermost one outwards. The
 * sentence and the innermost place become the error. */
struct complaint {
	char sentence[192];
	char place[128];
};

static void keep_complaint(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
	struct complaint *c = ctx;
	char line[192];

	if (level < CYAML_LOG_ERROR || c->place[0])
		return;
	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = '\0';
	if (!c->sentence[0])
		snprintf(c->sentence, sizeof(c->sentence), "%s", line);
	else if (strstr(line, "(line:"))
		snprintf(c->place, sizeof(c->place), "%.120s", line + strspn(line, "Load: "));
}

static enum ar_status read_file(const char *path, cyaml_config_t *cyaml, struct ar_config_file **ret,
				struct ar_error *err)
{
	struct complaint first = { 0 };
	cyaml_err_t rc;

	*cyaml = (cyaml_config_t){
		.log_fn = keep_complaint, .log_ctx = &first, .log_level = CYAML_LOG_ERROR, .mem_fn = cyaml_mem
	};
	rc = cyaml_load_file(path, cyaml, &ar_config_file_schema, (cyaml_data_t **)ret, NULL);
	cyaml->log_fn = NULL;
	if (rc == CYAML_OK)
		return AR_OK;
	return ar_fail(err, AR_E_INVALID, "%s: %s%s%s", path,
		       first.sentence[0] ? first.sentence : cyaml_strerror(rc), first.place[0] ? ", " : "",
		       first.place);
}

static enum ar_status apply_file(const char *path, struct ar_config *c, struct ar_arena *a,
				 struct ar_error *err)
{
	struct ar_config_file *file = NULL;
	cyaml_config_t cyaml;
	enum ar_status rc = read_file(path, &cyaml, &file, err);

	/* An empty file is read as no document at all. */
	for (size_t i = 0; rc == AR_OK && file && i < ar_config_key_count; i++) {
		struct ar_setting setting = setting_of(c, a, i);

		rc = ar_setting_set_from_file(&setting, file, err);
	}
	if (rc == AR_OK && file)
		rc = ar_settings_lists(file, a, c, err);
	cyaml_free(&cyaml, &ar_config_file_schema, file, 0);
	return rc;
}

/* ---- defaults, environment, command line ---- */

static enum ar_status apply_presets(struct ar_config *c, struct ar_arena *a, struct ar_error *err)
{
	for (size_t i = 0; i < ar_config_key_count; i++) {
		struct ar_setting setting = setting_of(c, a, i);

		if (ar_setting_set(&setting, setting.key->preset, "the defaults", err) != AR_OK)
			return AR_E_INVALID;
	}
	return AR_OK;
}

static enum ar_status apply_environment(struct ar_config *c, struct ar_arena *a, struct ar_error *err)
{
	for (size_t i = 0; i < ar_config_key_count; i++) {
		struct ar_setting setting = setting_of(c, a, i);
		const char *env = setting.key->env;
		const char *value = env ? getenv(env) : NULL;

		if (value && *value && ar_setting_set(&setting, value, env, err) != AR_OK)
			return AR_E_INVALID;
	}
	return AR_OK;
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

static enum ar_status fill_paths(struct ar_config *c, struct ar_arena *a, struct ar_error *err)
{
	struct ar_buf path = { 0 };

	if (!*c->node.id)
		c->node.id = host_name(a);
	if (!*c->data_dir && ar_user_data_dir(&path))
		c->data_dir = ar_arena_str(a, ar_buf_str(&path)).p;
	ar_buf_clear(&path);
	if (!*c->socket) {
		ar_user_socket(ar_str_from(c->data_dir), &path);
		c->socket = ar_arena_str(a, ar_buf_str(&path)).p;
	}
	ar_buf_fini(&path);
	if (!*c->data_dir)
		return ar_fail(err, AR_E_INVALID, "no data folder: set HOME, AGENTD_DATA_DIR or --data-dir");
	return AR_OK;
}

enum ar_status ar_settings_load(const struct ar_settings_args *args, struct ar_arena *a,
				struct ar_config *ret, struct ar_error *err)
{
	*ret = (struct ar_config){ 0 };
	if (apply_presets(ret, a, err) != AR_OK)
		return AR_E_INVALID;
	if (args->is_unlistening)
		ret->listen = ret->socket = "off";
	if (args->config_file && apply_file(args->config_file, ret, a, err) != AR_OK)
		return AR_E_INVALID;
	if (apply_environment(ret, a, err) != AR_OK)
		return AR_E_INVALID;
	if (args->data_dir)
		ret->data_dir = args->data_dir;
	if (args->listen)
		ret->listen = args->listen;
	if (args->socket)
		ret->socket = args->socket;
	return fill_paths(ret, a, err);
}
