/* The inside of the lenient reading: a text that is being read, word by word. For scan.c, which knows
 * the bytes, and words.c, which knows words and commands. */
#ifndef AR_COMMAND_SCAN_H
#define AR_COMMAND_SCAN_H

#include "danger.h"

#define AR_SCAN_WORD_SPARE 256 /* bytes of a word that variables may bring */
#define AR_SCAN_HEREDOCS_MAX 4 /* that wait for their text */

/* What of a text is certain. */
enum ar_scan_mode {
	AR_SCAN_MAYBE, /* a quoted word: perhaps nothing of it runs */
	AR_SCAN_SUBSTITUTIONS, /* what is in $() and backticks runs */
	AR_SCAN_COMMANDS, /* all of it runs */
};

/* One text with all that is nested in it. */
struct ar_scan {
	struct ar_arena *a;
	struct ar_command_line *out;
	struct ar_variables variables;
	size_t seen_room, shape_room;
	size_t work;
	int depth;
	bool has_arguments; /* $1, $@ may be something: there is a function, or a set */
	bool is_fed; /* the next text reads what another command writes */
	bool is_maybe; /* what is read now perhaps does not run */
};

struct ar_heredoc {
	struct ar_str end;
	bool is_quoted, is_stripped;
	enum ar_reads reads; /* of the command that it is for */
};

struct ar_reading {
	struct ar_scan *s;
	struct ar_str text;
	size_t at;
	enum ar_scan_mode mode;
	char *word, *shape; /* the one being read; room for all of the text and of what variables bring */
	size_t len, shape_len, room;
	bool has_word; /* also an empty one, when it was quoted */
	bool has_quotes;
	bool is_nested; /* it has bytes that mean something to a shell which reads it again */
	bool in_quotes;
	int braces, parens;
	int cases; /* that are open */
	bool expects_pattern; /* of a case: no command */
	bool is_first_quoted; /* the first word of the command is no reserved one */
	/* the next word is where < or > leads, a text for <<< (s), the end of a text for << (h); 0: none */
	char redirect;
	struct ar_words words;
	struct ar_words own; /* of this command alone, as shapes, without redirections */
	size_t start_known; /* is_start is for this many words, less one; 0: for none */
	bool is_start; /* the next word is an assignment or the command */
	struct ar_words *outer; /* gets all words too */
	struct ar_str input; /* of a <<<; absent: none */
	bool is_piped, is_next_piped, is_pattern;
	struct ar_heredoc heredocs[AR_SCAN_HEREDOCS_MAX];
	size_t heredoc_count, heredoc_done;
};

/* scan.c */
bool ar_scan_afford(struct ar_scan *s,
		    size_t bytes); /* counts bytes that are read; false: more than may be read in all */
void ar_scan_text(struct ar_scan *s, struct ar_str text, struct ar_words *outer, enum ar_scan_mode mode);

/* words.c */
void ar_scan_unreadable(struct ar_scan *s, struct ar_str what);
bool ar_scan_is_name_byte(char c);

/* Bytes of the word that is being read: as they are seen, in its shape, in both. */
void ar_scan_put_byte(struct ar_reading *r, char c);
void ar_scan_put_shape(struct ar_reading *r, char c);
void ar_scan_put(struct ar_reading *r, char c);
void ar_scan_put_all(struct ar_reading *r, struct ar_str text);

/* Something that is not known: within quotes and in an assignment one word, else any number of them. */
void ar_scan_put_unknown(struct ar_reading *r);
void ar_scan_put_variable(struct ar_reading *r, struct ar_str name);

void ar_scan_end_word(struct ar_reading *r);
void ar_scan_end_command(struct ar_reading *r);

#endif
