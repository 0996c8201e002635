/* What is wrong with the settings. Reading goes on after a mistake, so that one run names all of them. */
#ifndef AR_HOST_SETTINGS_PROBLEM_H
#define AR_HOST_SETTINGS_PROBLEM_H

#include "arena.h"
#include "compiler.h"
#include "status.h"

#define AR_PROBLEMS_MAX 50

enum ar_origin_kind {
	AR_FROM_DEFAULT = 0,
	AR_FROM_FILE,
	AR_FROM_ENVIRONMENT,
	AR_FROM_COMMAND_LINE,
	AR_FROM_HOST, /* made up from the machine: its name, the user's folders */
};

/* Where a value was written. */
struct ar_origin {
	enum ar_origin_kind kind;
	const char *name; /* the file, the variable or the option; otherwise NULL */
	size_t line; /* in a file, from 1; 0: the file as a whole */
};

/* "agentd.yaml:12", "environment AGENTD_LISTEN", "option --listen", "default", "host". */
struct ar_str ar_origin_text(const struct ar_origin *o, struct ar_arena *a);

struct ar_problems {
	struct ar_arena *arena; /* of the sentences */
	struct ar_str v[AR_PROBLEMS_MAX]; /* "agentd.yaml:12: model.name: ..." */
	size_t count;
};

/* Ends reading: more would only be noise. */
bool ar_problems_are_full(const struct ar_problems *p);

/* `key` may be NULL; control characters in the sentence become blanks. */
void ar_problem(struct ar_problems *p, const struct ar_origin *at, const char *key, const char *fmt, ...)
	AR_PRINTF(4, 5);

/* A word out of the settings as sentences show it: not more than a line of it. */
struct ar_str ar_problem_word(struct ar_problems *p, struct ar_str word);

#endif
