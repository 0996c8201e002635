/* Markdown as it streams: a block becomes lines when it is complete and is then forgotten; the block
 * that is still open can be looked at any time. Lines of a code block are final one by one. Everything
 * that comes out is harmless. Owner: the caller's thread. */
#ifndef AR_TTY_MARKDOWN_H
#define AR_TTY_MARKDOWN_H

#include "lexer.h"

struct ar_md_out {
	/* A line, styled. is_whole: it may be longer than the terminal and must not be broken. */
	void (*line)(void *arg, struct ar_str line, bool is_whole);
	void *arg;
	int cols; /* the width that lines are broken to */
};

/* Zeroed. */
struct ar_md {
	struct ar_buf text; /* of the open block */
	struct ar_lexer lexer; /* of the open code block */
	struct ar_buf fence; /* that opened it; empty = there is none */
	size_t fence_indent;
	bool is_begun; /* a line has come out */
	bool has_gap; /* an empty line is due before the next */
};

/* More text; lines of what it completes come out. */
void ar_md_feed(struct ar_md *m, struct ar_str text, const struct ar_md_out *out);

/* The text has ended: the rest comes out. */
void ar_md_end(struct ar_md *m, const struct ar_md_out *out);

/* The lines of the open block as they would be if it ended here; of a long one the last. Changes nothing. */
void ar_md_show_open(const struct ar_md *m, const struct ar_md_out *out);

void ar_md_fini(struct ar_md *m);

/* ---- md_block.c ---- */

/* Lines of one block of Markdown. */
void ar_md_block(struct ar_str text, const struct ar_md_out *out);

#endif
