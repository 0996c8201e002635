/* Both readings of a command together, and what is asked of them: patterns of rules, words
 * for people and facts. Pure. */
#include "command.h"
#include "danger.h"

#include <string.h>

static const char *const names[AR_DANGER_COUNT] = {
	[AR_DANGER_RECURSIVE_DELETE] = "recursive_delete", [AR_DANGER_HISTORY_REWRITE] = "history_rewrite",
	[AR_DANGER_DEVICE_WRITE] = "device_write",	   [AR_DANGER_DATABASE_DROP] = "database_drop",
	[AR_DANGER_PUBLISH_DEPLOY] = "publish_deploy",	   [AR_DANGER_FORK_BOMB] = "fork_bomb",
	[AR_DANGER_PIPE_TO_SHELL] = "pipe_to_shell",	   [AR_DANGER_OPEN_PERMISSIONS] = "open_permissions",
	[AR_DANGER_CREDENTIAL_READ] = "credential_read",   [AR_DANGER_PRIVILEGE_CHANGE] = "privilege_change",
	[AR_DANGER_HOST_CONTROL] = "host_control",	   [AR_DANGER_UNREADABLE] = "unreadable",
	[AR_DANGER_OUTSIDE_WRITE] = "outside_write",
};

#define DESTRUCTIVE \
	(1u << AR_DANGER_RECURSIVE_DELETE | 1u << AR_DANGER_HISTORY_REWRITE | 1u << AR_DANGER_DEVICE_WRITE | \
	 1u << AR_DANGER_DATABASE_DROP)

void ar_command_parse(struct ar_str text, struct ar_arena *a, struct ar_command_line *ret)
{
	*ret = (struct ar_command_line){ 0 };
	ar_command_read_literal(text, a, ret);
	ar_command_scan(text, a, ret);
}

void ar_command_of_argv(const struct ar_str *argv, size_t argc, struct ar_arena *a,
			struct ar_command_line *ret)
{
	struct ar_command_argv *one = ar_arena_alloc(a, sizeof(*one));

	*ret = (struct ar_command_line){ .is_opaque = argc == 0 || ar_str_empty(argv[0]),
					 .commands = one,
					 .count = 1 };
	*one = (struct ar_command_argv){ argv, argc, AR_JOIN_SEQUENCE };
	if (ret->is_opaque) {
		ret->why = "it has no words";
		ret->count = 0;
	}
	/* A word may be a text for a shell, or several: each is scanned beside the whole. */
	ar_danger_scan_argv(argv, argc, a, ret);
}

void ar_command_judge_input(struct ar_command_line *c)
{
	if (c->reads_input)
		ar_danger_raise(c, AR_DANGER_PIPE_TO_SHELL, AR_STR("its input"));
}

const char *ar_danger_name(enum ar_danger danger)
{
	return names[danger];
}

bool ar_command_is_destructive(const struct ar_command_line *c)
{
	return c->dangers & DESTRUCTIVE;
}

struct ar_str ar_command_danger_text(const struct ar_command_line *c, struct ar_arena *a)
{
	struct ar_str text = AR_STR_NONE;

	for (int i = 1; i < AR_DANGER_COUNT; i++) {
		struct ar_str hit = ar_str_utf8_prefix(ar_shape_shown(c->hits[i], a), 64);

		if (!(c->dangers >> i & 1))
			continue;
		text = ar_arena_fmt(a, "%.*s%s%s (%.*s)", AR_STR_ARG(text), text.len ? ", " : "", names[i],
				    AR_STR_ARG(hit));
	}
	return text;
}

/* ---- patterns ---- */

static struct ar_str next_word(struct ar_str *rest)
{
	struct ar_str word;

	do {
		*rest = ar_str_split(*rest, ' ', &word);
	} while (ar_str_empty(word) && !ar_str_absent(*rest));
	return word;
}

static bool argv_begins(const struct ar_command_argv *c, struct ar_str pattern)
{
	size_t at = 0;

	while (!ar_str_absent(pattern)) {
		struct ar_str word = next_word(&pattern);

		if (ar_str_empty(word))
			continue;
		if (at == c->count || !ar_str_eq(c->words[at++], word))
			return false;
	}
	return at > 0;
}

bool ar_command_begins(const struct ar_command_line *c, struct ar_str pattern)
{
	for (size_t i = 0; i < c->count; i++) {
		if (!argv_begins(&c->commands[i], pattern))
			return false;
	}
	return !c->is_opaque && c->count > 0;
}

/* Both as paths from the workspace: ./a//b is a/b. Only what could be a path is compared so. */
static bool is_same_path(const struct ar_command_line *c, struct ar_str got, struct ar_str want)
{
	char got_room[AR_PATH_TEXT_MAX], want_room[AR_PATH_TEXT_MAX];

	if (!ar_danger_contains(got, "/") && !ar_danger_contains(want, "/"))
		return false;
	return ar_str_eq(ar_path_relative(c->root, c->cwd, got, got_room),
			 ar_path_relative(c->root, AR_STR_NONE, want, want_room));
}

/* The first word of a pattern is a program: where it lies does not matter. */
static bool word_is(const struct ar_command_line *c, struct ar_str got, struct ar_str want, bool is_program)
{
	if (ar_str_eq(got, want))
		return true;
	return is_program ? ar_str_eq(ar_danger_base(got), want) : is_same_path(c, got, want);
}

static bool argv_mentions(const struct ar_command_line *c, const struct ar_command_argv *argv,
			  struct ar_str pattern)
{
	struct ar_str word = next_word(&pattern);
	bool is_program = true;

	for (size_t i = 0; i < argv->count && !ar_str_empty(word); i++) {
		if (!word_is(c, argv->words[i], word, is_program))
			continue;
		is_program = false;
		word = next_word(&pattern);
	}
	return ar_str_empty(word);
}

bool ar_command_mentions(const struct ar_command_line *c, struct ar_str pattern)
{
	for (size_t i = 0; i < c->seen_count; i++) {
		if (argv_mentions(c, &c->seen[i], pattern))
			return true;
	}
	return false;
}

/* Whether an unknown word could be this one of a pattern, as it is or as a path. The value of an
 * option that has one is none. */
static bool word_may_be(const struct ar_command_line *c, const struct ar_command_argv *argv, size_t at,
			struct ar_str want)
{
	static const char with_value[] = "-C -c --git-dir --work-tree --namespace --prefix --context";
	struct ar_str shape = argv->words[at];
	char room[AR_PATH_TEXT_MAX];

	if (!ar_shape_splits(shape) && at > 0 && ar_danger_fits(argv->words[at - 1], with_value))
		return false;
	return ar_shape_is_unknown(shape) &&
	       (ar_shape_may_be(shape, want) ||
		ar_shape_may_be(ar_path_relative(c->root, c->cwd, shape, room), want));
}

/* An unknown word counts where the next word of the pattern may stand: after options, and after no
 * operand that is known to be another one. */
static bool argv_may_mention(const struct ar_command_line *c, const struct ar_command_argv *argv,
			     struct ar_str pattern)
{
	struct ar_str word = next_word(&pattern);
	bool is_program = true, is_elsewhere = false;

	for (size_t i = 0; i < argv->count && !ar_str_empty(word); i++) {
		struct ar_str got = argv->words[i];
		bool is_open = !is_program && !is_elsewhere;

		if (is_open && ar_shape_splits(got) && word_may_be(c, argv, i, word))
			return true; /* it may be all the rest */
		if (word_is(c, got, word, is_program) || (is_open && word_may_be(c, argv, i, word))) {
			is_program = is_elsewhere = false;
			word = next_word(&pattern);
		} else if (!is_program && !ar_shape_is_unknown(got) && !ar_str_starts(got, AR_STR("-")) &&
			   !ar_str_starts(argv->words[i - 1], AR_STR("-"))) {
			is_elsewhere = true;
		}
	}
	return ar_str_empty(word);
}

bool ar_command_may_mention(const struct ar_command_line *c, struct ar_str pattern)
{
	for (size_t i = 0; i < c->shape_count; i++) {
		if (argv_may_mention(c, &c->shapes[i], pattern))
			return true;
	}
	return false;
}

/* ---- telling it ---- */

struct ar_str ar_command_join_word(enum ar_command_join join)
{
	static const char *const joins[] = { "", "sequence", "and", "or", "pipe" };

	return ar_str_from(joins[join]);
}

static void argv_json(const struct ar_command_argv *c, bool is_opaque, struct ar_jw *w)
{
	ar_jw_open(w);
	ar_jw_key(w, "words");
	ar_jw_open_array(w);
	for (size_t i = 0; i < c->count; i++)
		ar_jw_str(w, c->words[i]);
	ar_jw_close_array(w);
	ar_jw_mstr(w, "join", ar_command_join_word(c->join));
	if (is_opaque)
		ar_jw_mbool(w, "opaque", true);
	ar_jw_close(w);
}

void ar_command_words_json(const struct ar_command_line *c, struct ar_jw *w)
{
	const struct ar_command_argv *list = c->is_opaque ? c->seen : c->commands;
	size_t count = c->is_opaque ? c->seen_count : c->count;

	ar_jw_open_array(w);
	for (size_t i = 0; i < count; i++)
		argv_json(&list[i], c->is_opaque, w);
	ar_jw_close_array(w);
}
