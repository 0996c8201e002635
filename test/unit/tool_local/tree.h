/* A workspace in a folder of its own with a loop and the source of local tools, and calls to them. One per test. */
#ifndef AR_TEST_TOOL_LOCAL_TREE_H
#define AR_TEST_TOOL_LOCAL_TREE_H

#include "buf.h"
#include "local_tools.h"
#include "unit.h"

#define TREE_CALLS 8

struct call {
	struct ar_tool_call call;
	int done; /* how often */
	enum ar_tool_outcome outcome;
	struct ar_buf text, mime, data, category, advice; /* terminated copies */
};

struct tree {
	uv_loop_t loop;
	struct ar_tool_source *source;
	char base[64]; /* of all that the test makes */
	char root[80]; /* the workspace */
	struct call calls[TREE_CALLS];
};

struct tree *tree_new(const struct ar_local_options *o);
void tree_free(struct tree *t); /* removes the folder */

/* Writes a file of the workspace, folders on the way included. */
void tree_file(struct tree *t, const char *path, const char *bytes, size_t len);
#define tree_text(t, path, text) tree_file((t), (path), (text), sizeof(text) - 1)

/* The absolute path of something in the workspace; until the next call. */
const char *tree_path(const struct tree *t, const char *path);

/* Begins call i; run_all waits until the loop has nothing left. */
struct call *tree_start(struct tree *t, size_t i, const char *tool, const char *args);
void tree_wait(struct tree *t);

/* One call from its beginning to its end; returns its text. */
const char *tree_call(struct tree *t, const char *tool, const char *args);

/* The same, which must fail with this category; returns its text. */
const char *tree_fails(struct tree *t, const char *tool, const char *args, const char *category);

#endif
