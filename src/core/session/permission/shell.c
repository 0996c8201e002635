/* What a shell is asked to run, read from the arguments of its call: one text, one list of
 * words, or something for a program that runs already, which is opaque whatever it says. Pure. */
#include "command.h"
#include "decide.h"
#include "permission/permission.h"

#define ARGV_MAX 1024

/* ---- reading ---- */

static struct ar_str text_of(struct ar_decision *d, struct ar_json args, const char *name)
{
	struct ar_str text = AR_STR_NONE;

	ar_json_str(ar_json_get(args, name), &text);
	return ar_arena_str(d->arena, text);
}

static void read_argv(struct ar_decision *d, struct ar_json argv, struct ar_command_line *ret)
{
	size_t count = ar_json_len(argv) < ARGV_MAX ? ar_json_len(argv) : ARGV_MAX, at = 0;
	struct ar_str *words = ar_arena_alloc(d->arena, (count + 1) * sizeof(*words));

	for (struct ar_json_iter it = ar_json_iter(argv); at < count && ar_json_next(&it);) {
		struct ar_str word = AR_STR("");

		ar_json_str(it.value, &word);
		words[at++] = ar_arena_str(d->arena, word);
	}
	ar_command_of_argv(words, at, d->arena, ret);
	if (ar_json_len(argv) <= ARGV_MAX)
		return;
	ret->is_opaque = true;
	ret->why = "it has too many words";
	ret->count = 0;
	ret->dangers |= 1u << AR_DANGER_UNREADABLE;
}

static void read_input(struct ar_decision *d, struct ar_str text, struct ar_command_line *ret)
{
	ar_command_parse(ar_str_absent(text) ? AR_STR("") : text, d->arena, ret);
	ret->is_opaque = true;
	ret->why = "it goes to a program that runs";
	ret->count = 0;
}

/* ---- what a grant for it covers ---- */

/* Redirections that write nothing: to another output of the same command, or to nowhere. */
static const char *const silent[] = { "2>&1",	     "1>&2",	    ">&2",	 ">/dev/null",
				      "1>/dev/null", "2>/dev/null", "</dev/null" };

static size_t silent_at(struct ar_str text, size_t at)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(silent); i++) {
		struct ar_str one = ar_str_from(silent[i]), after = ar_str_sub(text, at + one.len, 1);

		if (ar_str_starts(ar_str_sub(text, at, one.len), one) &&
		    (after.len == 0 || __builtin_strchr(" \n;|", after.p[0])))
			return one.len;
	}
	return 0;
}

bool ar_shell_is_nearly_literal(struct ar_arena *a, struct ar_str text)
{
	struct ar_command_line rest = { 0 };
	struct ar_buf without = { 0 };

	for (size_t at = 0; at < text.len;) {
		size_t skip = at > 0 && text.p[at - 1] == ' ' ? silent_at(text, at) : 0;

		if (skip == 0)
			ar_buf_addc(&without, text.p[at]);
		at += skip ? skip : 1;
	}
	if (without.len < text.len)
		ar_command_read_literal(ar_arena_str(a, ar_buf_str(&without)), a, &rest);
	ar_buf_fini(&without);
	return !rest.is_opaque && rest.count > 0;
}

/* Exactly this command, in that folder, with that input; absent when it destroys something, or cannot be
 * recognised again. */
static struct ar_str covers_of(struct ar_decision *d, const struct ar_command_line *c, struct ar_str text,
			       struct ar_str input)
{
	bool is_literal = !c->is_opaque && c->count > 0;
	struct ar_jw w;

	if (ar_command_is_destructive(c) ||
	    (!is_literal && (ar_str_absent(text) || !ar_shell_is_nearly_literal(d->arena, text))))
		return AR_STR_NONE;
	w = ar_decide_json(d);
	ar_jw_open_array(&w);
	ar_jw_str(&w, c->cwd);
	if (is_literal)
		ar_command_words_json(c, &w);
	else
		ar_jw_str(&w, text);
	if (!ar_str_absent(input))
		ar_jw_str(&w, input);
	ar_jw_close_array(&w);
	return ar_hash_digits(d->arena, ar_decide_json_end(d), AR_COVERS_LEN);
}

/* ---- which command it is ---- */

/* What runs, where, and what it reads; not in which boundary, and why. */
static struct ar_str digest_of(struct ar_decision *d, struct ar_json args)
{
	static const char *const names[] = { "command", "argv", "cwd", "input" };
	struct ar_jw w = ar_decide_json(d);

	for (size_t i = 0; i < AR_ARRAY_LEN(names); i++) {
		ar_json_print(ar_json_get(args, names[i]), w.out);
		ar_buf_addc(w.out, '\n');
	}
	return ar_hash_digits(d->arena, ar_decide_json_end(d), AR_COVERS_LEN);
}

/* ---- all of it ---- */

const struct ar_command_line *ar_shell_command(struct ar_decision *d, struct ar_act *act)
{
	struct ar_command_line *c;
	struct ar_json args = { 0 };
	struct ar_str text, cwd, input;

	act->covers = AR_STR_NONE;
	if (!act->tool || !(act->tool->capabilities & AR_TOOL_SHELL))
		return NULL;
	c = ar_arena_alloc(d->arena, sizeof(*c));
	if (ar_str_absent(act->args) || ar_json_parse(d->json, act->args, &args, NULL) != AR_OK)
		args = (struct ar_json){ 0 };
	text = text_of(d, args, "command");
	cwd = text_of(d, args, "cwd");
	input = text_of(d, args, "input");
	if (ar_json_type(ar_json_get(args, "argv")) == AR_JSON_ARRAY)
		read_argv(d, ar_json_get(args, "argv"), c);
	else if (!ar_str_absent(text))
		ar_command_parse(text, d->arena, c);
	else
		read_input(d, input, c);
	c->root = act->root;
	c->cwd = cwd;
	ar_command_judge_writes(c);
	if (!ar_str_empty(input))
		ar_command_judge_input(c);
	act->covers = covers_of(d, c, text, input);
	act->digest = digest_of(d, args);
	return c;
}
