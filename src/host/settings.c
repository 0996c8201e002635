/* See settings.h. */
#include "settings.h"
#include "buf.h"
#include "id.h"
#include "userdirs.h"

#include <cyaml/cyaml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct field {
	const struct ar_config_key *key;
	void *at;
};

static enum ar_status bad_value(struct ar_error *err, const struct field *f, const char *from,
				const char *want)
{
	return ar_fail(err, AR_E_INVALID, "%s (from %s): %s", f->key->name, from, want);
}

static enum ar_status set_int(const struct field *f, struct ar_str text, const char *from,
			      struct ar_error *err)
{
	int64_t v;

	if (!ar_str_to_i64(text, &v))
		return bad_value(err, f, from, "a whole number is needed");
	if (v < f->key->min || (f->key->max && v > f->key->max))
		return ar_fail(err, AR_E_INVALID, "%s (from %s): %lld to %lld is allowed", f->key->name, from,
			       (long long)f->key->min, (long long)f->key->max);
	*(int64_t *)f->at = v;
	return AR_OK;
}

static enum ar_status set_bool(const struct field *f, struct ar_str text, const char *from,
			       struct ar_error *err)
{
	if (!ar_str_is(text, "true") && !ar_str_is(text, "false"))
		return bad_value(err, f, from, "true or false is needed");
	*(bool *)f->at = ar_str_is(text, "true");
	return AR_OK;
}

static enum ar_status set_enum(const struct field *f, struct ar_str text, const char *from,
			       struct ar_error *err)
{
	struct ar_buf all = { 0 };

	for (int i = 0; f->key->values[i]; i++) {
		if (!ar_str_is(text, f->key->values[i]))
			continue;
		*(int *)f->at = i;
		return AR_OK;
	}
	for (int i = 0; f->key->values[i]; i++)
		ar_buf_addf(&all, "%s%s", i > 0 ? ", " : "", f->key->values[i]);
	ar_fail(err, AR_E_INVALID, "%s (from %s): one of %.*s is needed", f->key->name, from,
		AR_STR_ARG(ar_buf_str(&all)));
	ar_buf_fini(&all);
	return AR_E_INVALID;
}

static enum ar_status set_text(const struct field *f, struct ar_arena *a, const char *text, const char *from,
			       struct ar_error *err)
{
	switch (f->key->kind) {
	case AR_CONFIG_INT:
		return set_int(f, ar_str_from(text), from, err);
	case AR_CONFIG_BOOL:
		return set_bool(f, ar_str_from(text), from, err);
	case AR_CONFIG_ENUM:
		return set_enum(f, ar_str_from(text), from, err);
	case AR_CONFIG_STRING:
		break;
	}
	*(const char **)f->at = ar_arena_str(a, ar_str_from(text)).p;
	return AR_OK;
}

/* ---- the file ---- */

static enum ar_status set_from_file(const struct field *f, struct ar_arena *a,
				    const struct ar_config_file *file, struct ar_error *err)
{
	void *const *member = (void *const *)(const void *)((const char *)file + f->key->file_offset);
	char number[24];

	if (!*member)
		return AR_OK;
	if (f->key->kind == AR_CONFIG_STRING || f->key->kind == AR_CONFIG_ENUM)
		return set_text(f, a, *member, "the file", err);
	if (f->key->kind == AR_CONFIG_BOOL) {
		*(bool *)f->at = *(const bool *)*member;
		return AR_OK;
	}
	snprintf(number, sizeof(number), "%lld", (long long)*(const int64_t *)*member);
	return set_int(f, ar_str_from(number), "the file", err);
}

/* libcyaml tells where a file is wrong through its log: the first line of it becomes the error. */
static void keep_first(cyaml_log_t level, void *ctx, const char *fmt, va_list args)
{
	struct ar_error *err = ctx;
	size_t len;

	if (level < CYAML_LOG_ERROR || err->msg[0])
		return;
	vsnprintf(err->msg, sizeof(err->msg), fmt, args);
	len = strlen(err->msg);
	if (len > 0 && err->msg[len - 1] == '\n')
		err->msg[len - 1] = '\0';
}

static enum ar_status read_file(const char *path, cyaml_config_t *cyaml, struct ar_config_file **ret,
				struct ar_error *err)
{
	struct ar_error first = { 0 };
	cyaml_err_t rc;

	*cyaml = (cyaml_config_t){
		.log_fn = keep_first, .log_ctx = &first, .log_level = CYAML_LOG_ERROR, .mem_fn = cyaml_mem
	};
	rc = cyaml_load_file(path, cyaml, &ar_config_file_schema, (cyaml_data_t **)ret, NULL);
	cyaml->log_fn = NULL;
	if (rc == CYAML_OK)
		return AR_OK;
	return ar_fail(err, AR_E_INVALID, "%s: %s", path, first.msg[0] ? first.msg : cyaml_strerror(rc));
}

static enum ar_status apply_file(const char *path, struct ar_config *c, struct ar_arena *a,
				 struct ar_error *err)
{
	struct ar_config_file *file = NULL;
	cyaml_config_t cyaml;
	enum ar_status rc = read_file(path, &cyaml, &file, err);

	/* An empty file is read as no document at all. */
	for (size_t i = 0; rc == AR_OK && file && i < ar_config_key_count; i++) {
		struct field f = { &ar_config_keys[i], (char *)c + ar_config_keys[i].offset };

		rc = set_from_file(&f, a, file, err);
	}
	cyaml_free(&cyaml, &ar_config_file_schema, file, 0);
	return rc;
}

/* ---- defaults, environment, command line ---- */

static enum ar_status apply_presets(struct ar_config *c, struct ar_arena *a, struct ar_error *err)
{
	for (size_t i = 0; i < ar_config_key_count; i++) {
		struct field f = { &ar_config_keys[i], (char *)c + ar_config_keys[i].offset };

		if (set_text(&f, a, f.key->preset, "the defaults", err) != AR_OK)
			return AR_E_INVALID;
	}
	return AR_OK;
}

static enum ar_status apply_environment(struct ar_config *c, struct ar_arena *a, struct ar_error *err)
{
	for (size_t i = 0; i < ar_config_key_count; i++) {
		struct field f = { &ar_config_keys[i], (char *)c + ar_config_keys[i].offset };
		const char *value = f.key->env ? getenv(f.key->env) : NULL;

		if (value && *value && set_text(&f, a, value, f.key->env, err) != AR_OK)
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
