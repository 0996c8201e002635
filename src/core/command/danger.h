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

/* Adds what one command's words say to the dangers of `c`. `is_piped`: it reads what another one writes. */
void ar_danger_check(const struct ar_words *words, bool is_piped, struct ar_arena *a,
		     struct ar_command_line *c);

/* What a redirection writes to. */
void ar_danger_check_target(struct ar_str target, struct ar_command_line *c);

/* A function that starts itself twice. */
void ar_danger_check_bomb(struct ar_str text, struct ar_arena *a, struct ar_command_line *c);

/* Of words that no shell split: the words themselves, and each that could be a text for one. */
void ar_danger_scan_argv(const struct ar_str *argv, size_t argc, struct ar_arena *a,
			 struct ar_command_line *c);

/* The last part of a path. */
struct ar_str ar_danger_base(struct ar_str path);

void ar_danger_raise(struct ar_command_line *c, enum ar_danger danger, struct ar_str hit);

/* unquote.c: the bytes that $'...' stands for. `in` is what is between the quotes; `out` has room for as many bytes. Returns how many. */
size_t ar_unquote_ansi(struct ar_str in, char *out);

#endif
