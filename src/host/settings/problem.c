/* See problem.h. */
#include "settings/problem.h"
#include "buf.h"

#include <stdarg.h>
#include <stdio.h>

#define SENTENCE_MAX 1024
#define WORD_MAX 60

struct ar_str ar_origin_text(const struct ar_origin *o, struct ar_arena *a)
{
	switch (o->kind) {
	case AR_FROM_FILE:
		return o->line ? ar_arena_fmt(a, "%s:%zu", o->name, o->line) : ar_arena_fmt(a, "%s", o->name);
	case AR_FROM_ENVIRONMENT:
		return ar_arena_fmt(a, "environment %s", o->name);
	case AR_FROM_COMMAND_LINE:
		return ar_arena_fmt(a, "option %s", o->name);
	case AR_FROM_HOST:
		return AR_STR("host");
	case AR_FROM_DEFAULT:
		break;
	}
	return AR_STR("default");
}

bool ar_problems_are_full(const struct ar_problems *p)
{
	return p->count == AR_PROBLEMS_MAX;
}

void ar_problem(struct ar_problems *p, const struct ar_origin *at, const char *key, const char *fmt, ...)
{
	char text[SENTENCE_MAX];
	va_list args;

	if (ar_problems_are_full(p))
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	for (char *c = text; *c; c++) {
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			*c = ' ';
	}
	p->v[p->count++] = ar_arena_fmt(p->arena, "%s: %s%s%s", ar_origin_text(at, p->arena).p,
					key ? key : "", key ? ": " : "", text);
}

struct ar_str ar_problem_word(struct ar_problems *p, struct ar_str word)
{
	struct ar_str shown = ar_str_utf8_prefix(word, WORD_MAX);

	return ar_arena_fmt(p->arena, "'%.*s%s'", AR_STR_ARG(shown), shown.len < word.len ? "..." : "");
}
