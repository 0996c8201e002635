/* Arguments of local tools, from the tables of the tools, and how a call fails or is stopped. What a tool does is in its own file. */
#include "work.h"

#include "clock.h"

#include <stdarg.h>
#include <string.h>

static const char *const type_words[] = {
	[AR_LOCAL_STR] = "string",
	[AR_LOCAL_INT] = "integer",
	[AR_LOCAL_BOOL] = "boolean",
};

static void write_arg(struct ar_jw *w, const struct ar_local_arg *a)
{
	ar_jw_key(w, a->name);
	ar_jw_open(w);
	ar_jw_mstr(w, "type", ar_str_from(type_words[a->type]));
	ar_jw_mstr(w, "description", ar_str_from(a->text));
	if (a->type == AR_LOCAL_STR)
		ar_jw_mint(w, "maxLength", a->max);
	if (a->type == AR_LOCAL_STR && a->is_required)
		ar_jw_mint(w, "minLength", 1);
	if (a->type == AR_LOCAL_INT) {
		ar_jw_mint(w, "minimum", a->min);
		ar_jw_mint(w, "maximum", a->max);
		ar_jw_mint(w, "default", a->fallback);
	}
	if (a->type == AR_LOCAL_BOOL)
		ar_jw_mbool(w, "default", false);
	ar_jw_close(w);
}

void ar_local_write_schema(const struct ar_local_kind *kind, struct ar_buf *out)
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

/* The caller has checked the schema; this keeps the file safe without it. False: of another type or out of range. */
static bool read_arg(struct ar_local_work *w, const struct ar_local_arg *a, struct ar_json v)
{
	char *at = (char *)&w->args + a->at;
	struct ar_str s;
	int64_t n;

	if (a->type == AR_LOCAL_BOOL)
		return ar_json_bool(v, (bool *)at);
	if (a->type == AR_LOCAL_INT) {
		if (!ar_json_i64(v, &n) || n < a->min || n > a->max)
			return false;
		*(int64_t *)(void *)at = n;
		return true;
	}
	if (!ar_json_str(v, &s) || s.len > (size_t)a->max || memchr(s.p, '\0', s.len) ||
	    (a->is_required && s.len == 0))
		return false;
	*(struct ar_str *)(void *)at = ar_arena_str(&w->arena, s);
	return true;
}

static bool is_missing(struct ar_json v)
{
	enum ar_json_type type = ar_json_type(v);

	return type == AR_JSON_NONE || type == AR_JSON_NULL;
}

void ar_local_read_args(struct ar_local_work *w, const struct ar_local_kind *kind, struct ar_json args)
{
	for (size_t i = 0; i < kind->arg_count; i++) {
		const struct ar_local_arg *a = &kind->args[i];
		struct ar_json v = ar_json_get(args, a->name);

		if (a->type == AR_LOCAL_INT)
			*(int64_t *)(void *)((char *)&w->args + a->at) = a->fallback;
		if (is_missing(v) && !a->is_required)
			continue;
		if (is_missing(v) || !read_arg(w, a, v))
			ar_local_fail(w, "invalid_arguments",
				      "Call it again with arguments that meet the input schema.",
				      "Argument '%s' of %s is missing, of another type or out of range.",
				      a->name, kind->name);
	}
}

void ar_local_fail(struct ar_local_work *w, const char *category, const char *advice, const char *fmt, ...)
{
	va_list ap;

	if (ar_local_failed(w))
		return;
	va_start(ap, fmt);
	w->message = ar_arena_vfmt(&w->arena, fmt, ap);
	va_end(ap);
	w->outcome = AR_TOOL_ERROR;
	w->category = category;
	w->advice = advice;
}

bool ar_local_is_over(const struct ar_local_work *w)
{
	struct ar_clock *clock = ar_clock_system();

	return ar_local_is_cancelled(w) || w->arena.total > AR_LOCAL_MEMORY_MAX ||
	       clock->mono(clock) > w->until;
}
