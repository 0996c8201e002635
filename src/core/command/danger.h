/* What is inside the lenient reading: lists of words, and what words are harmful. For this folder alone. */
#ifndef AR_COMMAND_DANGER_H
#define AR_COMMAND_DANGER_H

#include "command.h"

/* Words in the order they were seen; grows in the arena, up to AR_COMMAND_WORDS_MAX. */
struct ar_words {
	struct ar_str *at;
	size_t count, room;
	bool is_full; /* there were more */
};

void ar_words_add(struct ar_words *w, struct ar_str word, struct ar_arena *a);

/* All from `from` on, with blanks between them. */
struct ar_str ar_words_join(const struct ar_words *w, size_t from, struct ar_arena *a);

/* ---- harmful words ---- */

/* Adds what one command's words say to the dangers of `c`. `is_piped`: it reads what another one writes. */
void ar_danger_check(const struct ar_words *words, bool is_piped, struct ar_arena *a,
		     struct ar_command_line *c);

/* The same of arguments that are not known: could they make the command at `at` harmful? `is_fed`: more
 * of them come from elsewhere (xargs). */
void ar_danger_check_unknown(const struct ar_words *words, size_t at, bool is_fed, struct ar_command_line *c);

/* A path that is written or read. */
void ar_danger_keep_path(struct ar_command_line *c, struct ar_str target, bool is_write, struct ar_arena *a);

/* A function that starts itself twice. */
void ar_danger_check_bomb(struct ar_str text, struct ar_arena *a, struct ar_command_line *c);

/* Alternatives are separated by blanks: a trailing * fits any end, -x fits -axb too, a long
 * option fits when shortened. */
bool ar_danger_fits(struct ar_str word, const char *alternatives);

/* Whether an unknown word could come to be one of them. */
bool ar_danger_may_fit(struct ar_str shape, const char *alternatives);

/* -x in -axb, but not in --long. */
bool ar_danger_has_letter(struct ar_str word, char letter);
bool ar_danger_contains(struct ar_str word, const char *part);

/* The last part of a path. */
struct ar_str ar_danger_base(struct ar_str path);

void ar_danger_raise(struct ar_command_line *c, enum ar_danger danger, struct ar_str hit);

/* Of words that no shell split: the words themselves, and each that could be a text for one. */
void ar_danger_scan_argv(const struct ar_str *argv, size_t argc, struct ar_arena *a,
			 struct ar_command_line *c);

#define AR_SHELLS "sh bash dash zsh ksh mksh ash fish csh tcsh rbash"
#define AR_INTERPRETERS "python* perl ruby node nodejs deno bun php lua tclsh"

/* ---- shape.c: words with unknown parts ---- */

bool ar_shape_is_unknown(struct ar_str shape); /* has an AR_ANY_* */
bool ar_shape_is_open(struct ar_str shape); /* nothing of it is known */
bool ar_shape_splits(struct ar_str shape); /* may be several words */
bool ar_shape_may_be(struct ar_str shape, struct ar_str text);
struct ar_str ar_shape_merge(struct ar_str a, struct ar_str b,
			     struct ar_arena *arena); /* fits what either fits */
struct ar_str ar_shape_shown(struct ar_str shape,
			     struct ar_arena *a); /* for people: "..." for what is unknown */
bool ar_shape_assigns(struct ar_str shape, struct ar_str *ret_name, struct ar_str *ret_value);

/* ---- prepare.c: a text before its words are read ---- */

/* The text with its brace expansions carried out; what would become too much is AR_ANY_*. */
struct ar_str ar_prepare_braces(struct ar_str text, struct ar_arena *a);

/* Control bytes, blanks that are none to a shell, marks that turn the direction of a text. */
void ar_prepare_check_bytes(struct ar_str text, struct ar_command_line *c);

/* ---- variables.c: what a text assigns ---- */

#define AR_VARIABLES_MAX 32

struct ar_variable {
	struct ar_str name;
	struct ar_str text; /* newest value, without what is unknown */
	struct ar_str shape;
	bool is_program; /* it was used where a command begins */
};

struct ar_variables {
	struct ar_variable at[AR_VARIABLES_MAX];
	size_t count;
	bool is_full; /* others were assigned too: nothing is known for sure */
};

/* NULL: the text did not assign it. */
struct ar_variable *ar_variables_find(struct ar_variables *v, struct ar_str name);

/* Of several values any may hold. Returns false when a command that was read before
 * stood on the old one alone. */
bool ar_variables_learn(struct ar_variables *v, const struct ar_variable *one, struct ar_arena *a);

/* ---- look.c, code.c: what one command runs ---- */

enum ar_reads {
	AR_READS_DATA,
	AR_READS_COMMANDS, /* its input is a text for a shell */
	AR_READS_CODE, /* for another interpreter */
};

/* A command of its own shell: its words with what is unknown in them, and what it leads to. */
struct ar_look {
	const struct ar_words *words;
	struct ar_command_line *c;
	struct ar_arena *a;
	struct ar_words texts; /* out: texts that a shell will read */
	enum ar_reads reads; /* out: what it takes its input for */
	bool is_fed; /* words of xargs come after these */
	bool has_find; /* more commands may come after -exec */
	size_t at; /* the place that is looked at */
};

/* Looks through env, xargs, find -exec and the like to the program, and raises what is not known. */
void ar_look_through(struct ar_look *l);

/* The place of the command word after assignments and reserved words; the count when there is none. */
size_t ar_look_start(const struct ar_words *words);

/* Code for an interpreter: what starts programs or evaluates. */
void ar_code_check(struct ar_str code, struct ar_command_line *c, struct ar_arena *a);

/* The program at `l->at`, when it is an interpreter or an editor: its code. */
void ar_code_look(struct ar_look *l);

void ar_look_unreadable(struct ar_look *l, size_t at);

/* unquote.c: the bytes that $'...' stands for. `in` is what is between the quotes; `out` has room for
 * as many bytes. Returns how many. */
size_t ar_unquote_ansi(struct ar_str in, char *out);

#endif
