/* A workspace in a folder of its own, and calls of file tools on it, each from a request to an answer. One
 * per test. */
#ifndef AR_TEST_FILES_TREE_H
#define AR_TEST_FILES_TREE_H

#include "files.h"
#include "unit.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

struct call {
	enum ar_tool_outcome outcome;
	struct ar_buf text, mime, data, category, advice, changes, versions; /* terminated copies */
	struct ar_buf id, diff; /* of a checkpoint */
	struct ar_buf base, method, conflicts; /* of isolation; the conflicts with a line for each */
	int64_t files, bytes, left_out, changed;
	bool is_cut;
};

struct tree {
	char base[64]; /* of all that the test makes */
	char root[80]; /* the workspace */
	int64_t max_bytes, max_ms; /* 0: the usual */
	struct call last;
};

struct tree *tree_new(void);
void tree_free(struct tree *t); /* removes the folder */

/* Writes a file of the workspace, folders on the way included. */
void tree_file(struct tree *t, const char *path, const char *bytes, size_t len);
#define tree_text(t, path, text) tree_file((t), (path), (text), sizeof(text) - 1)

/* The absolute path of something in the workspace; until the next call. */
const char *tree_path(const struct tree *t, const char *path);

/* What is in the file now, terminated; NULL: there is none. Until the next call. */
const char *tree_read(const struct tree *t, const char *path);

/* One call, however it ends; it is t->last. */
struct call *tree_run(struct tree *t, const char *tool, const char *args);

/* One call that must succeed; returns its text. */
const char *tree_call(struct tree *t, const char *tool, const char *args);

/* The same, which must fail with this category; returns its message and advice. */
const char *tree_fails(struct tree *t, const char *tool, const char *args, const char *category);

/* Names in a folder of the workspace, hidden ones too. */
size_t tree_count(const struct tree *t, const char *path);

/* Two names of the workspace that change places all the time, until it is stopped. */
struct tree_swap {
	char one[128], two[128];
	atomic_bool stop;
	pthread_t thread;
};

void tree_swap_start(struct tree_swap *s, const struct tree *t, const char *one, const char *two);
void tree_swap_stop(struct tree_swap *s);

#endif
