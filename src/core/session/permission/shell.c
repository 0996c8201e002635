/* What a shell is asked to run, read from the arguments of its call: one text, one list of
 * words, or something for a program that runs already, which is opaque whatever it says. Pure. */
#include "command.h"
#include "decide.h"
#include "permission/permission.h"

#define ARGV_MAX 1024

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

const struct ar_command_line *ar_shell_command(struct ar_decision *d, const struct ar_act *act,
					       struct ar_str *ret_covers)
{
	struct ar_command_line *c;
	struct ar_json args = { 0 };
	struct ar_str text, cwd, input;

	*ret_covers = AR_STR_NONE;
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
	c->root = d->input->policy->workspace;
	c->cwd = cwd;
	ar_command_judge_writes(c);
	if (!ar_str_empty(input))
		ar_command_judge_input(c);
	*ret_covers = ar_covers_command(d, c, text, input);
	return c;
}
