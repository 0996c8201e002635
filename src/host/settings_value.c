/* See settings_value.h. */
#include "settings_value.h"
#include "buf.h"
#include "limits/money.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"

static enum ar_status bad_value(struct ar_error *err, const struct ar_setting *s, const char *from,
				const char *want)
{
	return ar_fail(err, AR_E_INVALID, "%.*s (from %s): %s", AR_STR_ARG(s->path), from, want);
}

static enum ar_status set_int(const struct ar_setting *s, const char *text, const char *from,
			      struct ar_error *err)
{
	int64_t v;

	if (!ar_str_to_i64(ar_str_from(text), &v))
		return bad_value(err, s, from, "a whole number is needed");
	if (v < s->key->min || (s->key->max && v > s->key->max))
		return ar_fail(err, AR_E_INVALID, "%.*s (from %s): %lld to %lld is allowed",
			       AR_STR_ARG(s->path), from, (long long)s->key->min, (long long)s->key->max);
	*(int64_t *)s->at = v;
	return AR_OK;
}

static enum ar_status set_bool(const struct ar_setting *s, const char *text, const char *from,
			       struct ar_error *err)
{
	if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
		return bad_value(err, s, from, "true or false is needed");
	*(bool *)s->at = strcmp(text, "true") == 0;
	return AR_OK;
}

static enum ar_status set_decimal(const struct ar_setting *s, const char *text, const char *from,
				  struct ar_error *err)
{
	int64_t v = AR_CONFIG_UNSET;

	if (*text && !ar_money_parse(ar_str_from(text), &v))
		return bad_value(err, s, from,
				 "a decimal like 3 or 0.25 is needed, with at most nine places");
	*(int64_t *)s->at = v;
	return AR_OK;
}

/* Index of the word among those that are allowed; -1 with an error that lists them. */
static int find_word(const struct ar_setting *s, const char *text, const char *from, struct ar_error *err)
{
	struct ar_buf all = { 0 };

	for (int i = 0; s->key->values[i]; i++) {
		if (strcmp(text, s->key->values[i]) == 0) {
			ar_buf_fini(&all);
			return i;
		}
		ar_buf_addf(&all, "%s%s", i > 0 ? ", " : "", s->key->values[i]);
	}
	ar_fail(err, AR_E_INVALID, "%.*s (from %s): one of %.*s is needed", AR_STR_ARG(s->path), from,
		AR_STR_ARG(ar_buf_str(&all)));
	ar_buf_fini(&all);
	return -1;
}

static enum ar_status set_enum(const struct ar_setting *s, const char *text, const char *from,
			       struct ar_error *err)
{
	int i = find_word(s, text, from, err);

	if (i < 0)
		return AR_E_INVALID;
	*(int *)s->at = i;
	return AR_OK;
}

static enum ar_status set_string(const struct ar_setting *s, const char *text, const char *from AR_UNUSED,
				 struct ar_error *err AR_UNUSED)
{
	*(const char **)s->at = ar_arena_str(s->arena, ar_str_from(text)).p;
	return AR_OK;
}

static enum ar_status set_no_strings(const struct ar_setting *s, const char *text AR_UNUSED,
				     const char *from AR_UNUSED, struct ar_error *err AR_UNUSED)
{
	*(struct ar_config_strings *)s->at = (struct ar_config_strings){ 0 };
	return AR_OK;
}

enum ar_status ar_setting_set(const struct ar_setting *s, const char *text, const char *from,
			      struct ar_error *err)
{
	static enum ar_status (*const setters[])(const struct ar_setting *, const char *, const char *,
						 struct ar_error *) = {
		[AR_CONFIG_STRING] = set_string,   [AR_CONFIG_INT] = set_int,
		[AR_CONFIG_BOOL] = set_bool,	   [AR_CONFIG_ENUM] = set_enum,
		[AR_CONFIG_DECIMAL] = set_decimal, [AR_CONFIG_STRINGS] = set_no_strings,
	};

	return setters[s->key->kind](s, text, from, err);
}

/* ---- from the file ---- */

/* "env:NAME" at the end of a secret, alone or after a blank, '=' or ':', is that variable. Scalar settings have a variable of their own. */
static enum ar_status take_variable(const struct ar_setting *s, const char *text, const char **ret,
				    struct ar_error *err)
{
	const char *at = strstr(text, "env:");
	const char *name = at ? at + 4 : NULL, *value;

	*ret = text;
	if (!at || (at > text && !strchr(" =:", at[-1])) || !*name || name[strspn(name, NAME_CHARS)])
		return AR_OK;
	value = getenv(name);
	if (!value || !*value)
		return ar_fail(err, AR_E_INVALID,
			       "%.*s (from the file): the variable %s that it names is not set",
			       AR_STR_ARG(s->path), name);
	*ret = ar_arena_fmt(s->arena, "%.*s%s", (int)(at - text), text, value).p;
	return AR_OK;
}

static enum ar_status set_strings(const struct ar_setting *s, const struct ar_config_file_strings *from,
				  struct ar_error *err)
{
	const char **all = ar_arena_alloc(s->arena, from->count * sizeof(*all));

	for (size_t i = 0; i < from->count; i++) {
		const char *text = from->v[i];

		if (s->key->values && find_word(s, text, "the file", err) < 0)
			return AR_E_INVALID;
		if (s->key->secret && take_variable(s, text, &text, err) != AR_OK)
			return AR_E_INVALID;
		all[i] = ar_arena_str(s->arena, ar_str_from(text)).p;
	}
	*(struct ar_config_strings *)s->at = (struct ar_config_strings){ all, from->count };
	return AR_OK;
}

enum ar_status ar_setting_set_from_file(const struct ar_setting *s, const void *file, struct ar_error *err)
{
	const void *member = (const char *)file + s->key->file_offset;
	const void *value = *(const void *const *)member;
	const char *text = value;
	char number[24];

	if (!value)
		return AR_OK;
	switch (s->key->kind) {
	case AR_CONFIG_STRINGS:
		return set_strings(s, member, err);
	case AR_CONFIG_BOOL:
		*(bool *)s->at = *(const bool *)value;
		return AR_OK;
	case AR_CONFIG_INT:
		snprintf(number, sizeof(number), "%lld", (long long)*(const int64_t *)value);
		return set_int(s, number, "the file", err);
	default:
		break;
	}
	if (s->key->secret && !s->key->env && take_variable(s, text, &text, err) != AR_OK)
		return AR_E_INVALID;
	return ar_setting_set(s, text, "the file", err);
}
