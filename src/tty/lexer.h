/* Colours for code, line by line: keywords, texts, comments, numbers, by a table of languages. Code in a
 * language that the table does not have is left as it is. Owner: the caller's thread. */
#ifndef AR_TTY_LEXER_H
#define AR_TTY_LEXER_H

#include "text.h"

struct ar_language;

/* Zeroed: no language. May be copied to try a line. */
struct ar_lexer {
	const struct ar_language *language; /* NULL = none */
	bool is_in_comment; /* one over several lines is open */
};

/* For the word after the opening of a code block, such as "c" or "python"; the rest of that line is
 * ignored. */
struct ar_lexer ar_lexer(struct ar_str name);

/* Adds a line, in its colours, harmless. */
void ar_lexer_line(struct ar_lexer *l, struct ar_str line, struct ar_buf *to);

#endif
