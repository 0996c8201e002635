/* See value.h. */
#include "settings/value.h"
#include "buf.h"
#include "limits/money.h"
#include "text/suggest.h"

#include <string.h>

#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_"
#define DIGITS "0123456789"

static bool refuse(const struct ar_setting *s, struct ar_str text, const char *want)
{
	ar_problem(s->problems, &s->origin, s->path, "%s %s", ar_problem_word(s->problems, text).p, want);
	return false;
}

/* ---- numbers ---- */

/* What may follow a number: how many of the smallest unit of its kind it is. A duration's
 * smallest is the millisecond. */
static const struct unit_word {
	const char *word;
	enum ar_config_unit kind; /* MS for every duration */
	int64_t factor;
} unit_words[] = {
	{ "ms", AR_CONFIG_UNIT_MS, 1 },
	{ "s", AR_CONFIG_UNIT_MS, 1000 },
	{ "m", AR_CONFIG_UNIT_MS, 60000 },
	{ "min", AR_CONFIG_UNIT_MS, 60000 },
	{ "h", AR_CONFIG_UNIT_MS, 3600000 },
	{ "d", AR_CONFIG_UNIT_MS, 86400000 },
	{ "B", AR_CONFIG_UNIT_BYTES, 1 },
	{ "kB", AR_CONFIG_UNIT_BYTES, 1000 },
	{ "KB", AR_CONFIG_UNIT_BYTES, 1000 },
	{ "MB", AR_CONFIG_UNIT_BYTES, 1000000 },
	{ "GB", AR_CONFIG_UNIT_BYTES, 1000000000 },
	{ "TB", AR_CONFIG_UNIT_BYTES, 1000000000000 },
	{ "KiB", AR_CONFIG_UNIT_BYTES, 1 << 10 },
	{ "MiB", AR_CONFIG_UNIT_BYTES, 1 << 20 },
	{ "GiB", AR_CONFIG_UNIT_BYTES, 1 << 30 },
	{ "TiB", AR_CONFIG_UNIT_BYTES, (int64_t)1 << 40 },
	{ "%", AR_CONFIG_UNIT_PERCENT, 1 },
};

/* Of each unit of the catalogue: its kind, how many of the kind's smallest it is, its name, and what is
 * said of text that is no such number. */
static const struct {
	enum ar_config_unit kind;
	int64_t factor;
	const char *name, *want;
} units[] = {
	[AR_CONFIG_UNIT_NONE] = { AR_CONFIG_UNIT_NONE, 1, "",
				  "is not a whole number; write decimal digits only, such as 10" },
	[AR_CONFIG_UNIT_MS] = { AR_CONFIG_UNIT_MS, 1, " ms",
				"is not a duration; write a whole number of milliseconds, or one with a "
				"unit: 500ms, 5s, 10m, 2h, 1d" },
	[AR_CONFIG_UNIT_S] = { AR_CONFIG_UNIT_MS, 1000, " s",
			       "is not a duration in whole seconds; write a whole number of seconds, or one "
			       "with a unit: 5s, 10m, 2h, 1d" },
	[AR_CONFIG_UNIT_DAYS] = { AR_CONFIG_UNIT_MS, 86400000, " days",
				  "is not a duration in whole days; write a whole number of days, such as 30 "
				  "or 30d" },
	[AR_CONFIG_UNIT_BYTES] = { AR_CONFIG_UNIT_BYTES, 1, " bytes",
				   "is not a size; write a whole number of bytes, or one with a unit: 512MB, "
				   "64KiB, 2GiB" },
	[AR_CONFIG_UNIT_PERCENT] = { AR_CONFIG_UNIT_PERCENT, 1, " %",
				     "is not a percentage; write a whole number, such as 80 or 80%" },
};

static const struct unit_word *find_unit(struct ar_str word, enum ar_config_unit kind)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(unit_words); i++) {
		if (unit_words[i].kind == kind && ar_str_is(word, unit_words[i].word))
			return &unit_words[i];
	}
	return NULL;
}

/* Digits without a zero in front, then nothing or a unit of the setting's kind that gives a whole
 * number of the setting's own. */
static bool parse_number(const struct ar_config_key *key, struct ar_str text, int64_t *ret)
{
	size_t len = 0;
	const struct unit_word *unit;
	int64_t v;

	while (len < text.len && strchr(DIGITS, text.p[len]))
		len++;
	if ((len > 1 && text.p[0] == '0') || !ar_str_to_i64(ar_str_sub(text, 0, len), &v))
		return false;
	*ret = v;
	if (len == text.len)
		return true;
	unit = find_unit(ar_str_sub(text, len, text.len), units[key->unit].kind);
	if (!unit || __builtin_mul_overflow(v, unit->factor, &v) || v % units[key->unit].factor != 0)
		return false;
	*ret = v / units[key->unit].factor;
	return true;
}

static bool set_int(const struct ar_setting *s, struct ar_str text)
{
	const struct ar_config_key *key = s->key;
	const char *unit = units[key->unit].name;
	int64_t v;

	if (!parse_number(key, text, &v))
		return refuse(s, text, units[key->unit].want);
	if (v < key->min || (key->max && v > key->max)) {
		ar_problem(s->problems, &s->origin, s->path, "%s is out of range; %lld to %lld%s is allowed",
			   ar_problem_word(s->problems, text).p, (long long)key->min,
			   key->max ? (long long)key->max : (long long)INT64_MAX, unit);
		return false;
	}
	*(int64_t *)s->at = v;
	return true;
}

static bool set_decimal(const struct ar_setting *s, struct ar_str text)
{
	bool has_zeros = text.len > 1 && text.p[0] == '0' && text.p[1] != '.';
	int64_t v = AR_CONFIG_UNSET;

	if (has_zeros || (text.len && !ar_money_parse(text, &v)))
		return refuse(
			s, text,
			"is not an amount; write a decimal such as 3 or 0.25, with at most nine places");
	*(int64_t *)s->at = v;
	return true;
}

/* ---- words ---- */

static bool set_bool(const struct ar_setting *s, struct ar_str text)
{
	static const struct {
		const char *word, *meant;
	} other[] = { { "yes", "true" }, { "on", "true" },   { "1", "true" },  { "y", "true" },
		      { "no", "false" }, { "off", "false" }, { "0", "false" }, { "n", "false" } };
	struct ar_suggestion best = { 0 };

	if (ar_str_is(text, "true") || ar_str_is(text, "false")) {
		*(bool *)s->at = ar_str_is(text, "true");
		return true;
	}
	ar_suggest(&best, text, "true");
	ar_suggest(&best, text, "false");
	for (size_t i = 0; i < AR_ARRAY_LEN(other); i++) {
		if (ar_str_is(text, other[i].word))
			best.word = other[i].meant;
	}
	ar_problem(s->problems, &s->origin, s->path, "%s is not a boolean; write true or false%s%s%s",
		   ar_problem_word(s->problems, text).p, best.word ? "; did you mean '" : "",
		   best.word ? best.word : "", best.word ? "'?" : "");
	return false;
}

/* Index of the word among those that are allowed; -1 with a problem that lists them. */
static int find_word(const struct ar_setting *s, struct ar_str text)
{
	struct ar_suggestion best = { 0 };
	struct ar_buf all = { 0 };
	int found = -1;

	for (int i = 0; s->key->values[i] && found < 0; i++) {
		if (ar_str_is(text, s->key->values[i]))
			found = i;
		ar_suggest(&best, text, s->key->values[i]);
		ar_buf_addf(&all, "%s%s", i > 0 ? ", " : "", s->key->values[i]);
	}
	if (found < 0)
		ar_problem(s->problems, &s->origin, s->path, "%s is not allowed; choose one of %.*s%s%s%s",
			   ar_problem_word(s->problems, text).p, AR_STR_ARG(ar_buf_str(&all)),
			   best.word ? "; did you mean '" : "", best.word ? best.word : "",
			   best.word ? "'?" : "");
	ar_buf_fini(&all);
	return found;
}

static bool set_enum(const struct ar_setting *s, struct ar_str text)
{
	int i = find_word(s, text);

	if (i < 0)
		return false;
	*(int *)s->at = i;
	return true;
}

/* "env:NAME" at the end of a secret, alone or after a blank, '=' or ':', is that variable. Settings
 * that have a variable of their own need no other. */
static bool take_variable(const struct ar_setting *s, const char *text, const char **ret)
{
	const struct ar_secret_place place = { s->key, s->path, s->origin, ret, s->problems, s->refs };
	const char *at = s->key->secret && !s->key->env ? strstr(text, "env:") : NULL;
	const char *name = at ? at + 4 : NULL;

	*ret = text;
	if (!at || (at > text && !strchr(" =:", at[-1])) || !*name || name[strspn(name, NAME_CHARS)])
		return true;
	return ar_secret_reference_variable(&place, (struct ar_str){ text, (size_t)(at - text) }, name);
}

static bool set_string(const struct ar_setting *s, struct ar_str text)
{
	return take_variable(s, ar_arena_str(s->problems->arena, text).p, s->at);
}

static bool set_no_strings(const struct ar_setting *s, struct ar_str text AR_UNUSED)
{
	*(struct ar_config_strings *)s->at = (struct ar_config_strings){ 0 };
	return true;
}

bool ar_setting_set(const struct ar_setting *s, struct ar_str text)
{
	static bool (*const setters[])(const struct ar_setting *, struct ar_str) = {
		[AR_CONFIG_STRING] = set_string,   [AR_CONFIG_INT] = set_int,
		[AR_CONFIG_BOOL] = set_bool,	   [AR_CONFIG_ENUM] = set_enum,
		[AR_CONFIG_DECIMAL] = set_decimal, [AR_CONFIG_STRINGS] = set_no_strings,
	};

	return setters[s->key->kind](s, text);
}

bool ar_setting_word(const struct ar_setting *s, struct ar_str text, const char **ret)
{
	if (s->key->values && find_word(s, text) < 0)
		return false;
	return take_variable(s, ar_arena_str(s->problems->arena, text).p, ret);
}
