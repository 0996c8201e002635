/* Arguments of file tools, from the tables of the tools, and how a call fails or is stopped. What a tool does
 * is in its own file. */
#include "work.h"

#include "clock.h"

#include <stdarg.h>
#include <string.h>

static const char *const type_words[] = {
	[AR_FILES_STR] = "string",
	[AR_FILES_INT] = "integer",
	[AR_FILES_BOOL] = "boolean",
};

static void write_arg(struct ar_jw *w, const struct ar_files_arg *a)
{
	ar_jw_key(w, a->name);
	ar_jw_open(w);
	ar_jw_mstr(w, "type", ar_str_from(type_words[a->type]));
	ar_jw_mstr(w, "description", ar_str_from(a->text));
	if (a->type == AR_FILES_STR)
		ar_jw_mint(w, "maxLength", a->max);
	if (a->type == AR_FILES_STR && a->min > 0)
		ar_jw_mint(w, "minLength", a->min);
	if (a->type == AR_FILES_INT) {
		ar_jw_mint(w, "minimum", a->min);
		ar_jw_mint(w, "maximum", a->max);
		ar_jw_mint(w, "default", a->fallback);
	}
	if (a->type == AR_FILES_BOOL)
		ar_jw_mbool(w, "default", false);
	ar_jw_close(w);
}

void ar_files_write_schema(const struct ar_files_kind *kind, struct ar_buf *out)
{
	struct ar_jw w = ar_jw(out);

	ar_jw_open(&w);
	ar_jw_mstr(&w, "type", AR_STR("object"));
	ar_jw_key(&w, "properties");
	ar_jw_open(&w);
	for (size_t i = 0; i < kind->arg_count; i++)
		write_arg(&w, &kind->args[i]);
	ar_jw_close(&w);
	ar_jw_key(&w, "required");
	ar_jw_open_array(&w);
	for (size_t i = 0; i < kind->arg_count; i++) {
		if (kind->args[i].is_required)
			ar_jw_str(&w, ar_str_from(kind->args[i].name));
	}
	ar_jw_close_array(&w);
	ar_jw_mbool(&w, "additionalProperties", false);
	ar_jw_close(&w);
}

/* The caller has checked the schema; this keeps the file safe without it. False: of another type or out of
 * range. */
static bool read_arg(struct ar_files_work *w, const struct ar_files_arg *a, struct ar_json v)
{
	char *at = (char *)&w->args + a->at;
	struct ar_str s;
	int64_t n;

	if (a->type == AR_FILES_BOOL)
		return ar_json_bool(v, (bool *)at);
	if (a->type == AR_FILES_INT) {
		if (!ar_json_i64(v, &n) || n < a->min || n > a->max)
			return false;
		*(int64_t *)(void *)at = n;
		return true;
	}
	if (!ar_json_str(v, &s) || s.len > (size_t)a->max || memchr(s.p, '\0', s.len) ||
	    s.len < (size_t)a->min)
		return false;
	*(struct ar_str *)(void *)at = ar_arena_str(&w->arena, s);
	return true;
}

static bool is_missing(struct ar_json v)
{
	enum ar_json_type type = ar_json_type(v);

	return type == AR_JSON_NONE || type == AR_JSON_NULL;
}

void ar_files_read_args(struct ar_files_work *w, const struct ar_files_kind *kind, struct ar_json args)
{
	for (size_t i = 0; i < kind->arg_count; i++) {
		const struct ar_files_arg *a = &kind->args[i];
		struct ar_json v = ar_json_get(args, a->name);

		if (a->type == AR_FILES_INT)
			*(int64_t *)(void *)((char *)&w->args + a->at) = a->fallback;
		if (is_missing(v) && !a->is_required)
			continue;
		if (is_missing(v) || !read_arg(w, a, v))
			ar_files_fail(w, "invalid_arguments",
				      "Call it again with arguments that meet the input schema.",
				      "Argument '%s' of %s is missing, of another type or out of range.",
				      a->name, kind->name);
	}
}

void ar_files_fail(struct ar_files_work *w, const char *category, const char *advice, const char *fmt, ...)
{
	va_list ap;

	if (ar_files_failed(w))
		return;
	va_start(ap, fmt);
	w->message = ar_arena_vfmt(&w->arena, fmt, ap);
	va_end(ap);
	w->outcome = AR_TOOL_ERROR;
	w->category = category;
	w->advice = advice;
}

void ar_files_forgive(struct ar_files_work *w)
{
	w->outcome = (enum ar_tool_outcome)0;
	w->category = w->advice = NULL;
	w->message = w->denied = AR_STR_NONE;
}

bool ar_files_is_over(const struct ar_files_work *w)
{
	struct ar_clock *clock = ar_clock_system();

	return w->arena.total > AR_FILES_MEMORY_MAX || clock->mono(clock) > w->until;
}
