/* A shell command as text, read in two opposite ways. Strictly: is it provably a list of plain
 * commands, and which? All else is opaque, and nothing allows an opaque text by itself. Leniently: does
 * any word in it, however it is quoted or nested, look like harm? That only ever raises a decision.
 * Neither is a boundary: that is the sandbox's. Pure; memory is the caller's arena. */
#ifndef AR_CORE_COMMAND_H
#define AR_CORE_COMMAND_H

#include "arena.h"
#include "json.h"

#define AR_COMMAND_TEXT_MAX 65536 /* longer ones are opaque and unreadable */
#define AR_COMMAND_WORDS_MAX 1024 /* of one command, and of a whole literal text */
#define AR_COMMAND_DEPTH_MAX 8 /* of commands within commands */
#define AR_PATH_TEXT_MAX 4096 /* of a path when it is resolved; longer ones no kernel takes */

/* How a command hangs on the one before it. */
enum ar_command_join {
	AR_JOIN_SEQUENCE = 1, /* after it; the first one too */
	AR_JOIN_AND,
	AR_JOIN_OR,
	AR_JOIN_PIPE,
};

/* Bytes in a word that is not known before it runs: any bytes of one word; any bytes, several words, or
 * none. A text that has these bytes itself is read as unknown there. */
#define AR_ANY_PART '\1'
#define AR_ANY_WORDS '\2'

struct ar_command_argv {
	const struct ar_str *words;
	size_t count;
	enum ar_command_join join;
};

struct ar_command_redirect {
	struct ar_str target;
	bool is_write;
};

enum ar_danger {
	AR_DANGER_RECURSIVE_DELETE = 1,
	AR_DANGER_HISTORY_REWRITE,
	AR_DANGER_DEVICE_WRITE,
	AR_DANGER_DATABASE_DROP,
	AR_DANGER_PUBLISH_DEPLOY,
	AR_DANGER_FORK_BOMB,
	AR_DANGER_PIPE_TO_SHELL,
	AR_DANGER_OPEN_PERMISSIONS,
	AR_DANGER_CREDENTIAL_READ,
	AR_DANGER_PRIVILEGE_CHANGE,
	AR_DANGER_HOST_CONTROL,
	AR_DANGER_OUTSIDE_WRITE, /* a place of the system, a home, above the workspace, or a protected path */
	/* the text does not show what runs; or it is too deep or too long to be read whole */
	AR_DANGER_UNREADABLE,
	AR_DANGER_COUNT,
};

struct ar_command_line {
	bool is_opaque;
	const char *why; /* opaque: what could not be taken literally */
	struct ar_command_argv *commands; /* of a literal text: exactly these run; opaque: none */
	size_t count;
	/* leniently: everything that looks like a command, the inner ones too */
	struct ar_command_argv *seen;
	size_t seen_count;
	/* commands of which a part is not known before they run, with AR_ANY_* in their words */
	struct ar_command_argv *shapes;
	size_t shape_count;
	/* as seen, inside quotes too, and the targets of programs that write (tee, cp) */
	struct ar_command_redirect *redirects;
	size_t redirect_count;
	bool reads_input; /* a shell or an interpreter in it takes its input for commands */
	bool changes_folder; /* it has a cd: later relative paths are seen from elsewhere */
	/* where it runs, for patterns with paths; set by the reader's caller, may be absent */
	struct ar_str root, cwd;
	uint32_t dangers; /* bits 1 << enum ar_danger */
	struct ar_str hits[AR_DANGER_COUNT]; /* the words that said so */
};

/* Reads what a shell would be given. */
void ar_command_parse(struct ar_str text, struct ar_arena *a, struct ar_command_line *ret);

/* The same of a command that no shell reads: one literal command. Without words: opaque. */
void ar_command_of_argv(const struct ar_str *argv, size_t argc, struct ar_arena *a,
			struct ar_command_line *ret);

/* The word for a class, as facts call it. */
const char *ar_danger_name(enum ar_danger danger);

/* What it destroys is gone: deletes, rewrites, drops. */
bool ar_command_is_destructive(const struct ar_command_line *c);

/* "recursive_delete (rm -rf), ...": the classes and what hit; absent: none. */
struct ar_str ar_command_danger_text(const struct ar_command_line *c, struct ar_arena *a);

/* A pattern of words, separated by blanks ("git status"). Strictly: every command of a literal text
 * begins with exactly these words; false for an opaque one and for none. Leniently: somewhere these
 * words stand in this order within one command. */
bool ar_command_begins(const struct ar_command_line *c, struct ar_str pattern);
bool ar_command_mentions(const struct ar_command_line *c, struct ar_str pattern);

/* Neither, but what is not known before it runs could make it so: `git $x` for "git push". */
bool ar_command_may_mention(const struct ar_command_line *c, struct ar_str pattern);

/* It is given an input: adds AR_DANGER_PIPE_TO_SHELL when something in it takes that for commands. */
void ar_command_judge_input(struct ar_command_line *c);

/* Adds AR_DANGER_OUTSIDE_WRITE when it writes where it should not. `root` and `cwd`:
 * where it runs; may be absent. */
void ar_command_judge_writes(struct ar_command_line *c);

struct ar_str ar_command_join_word(enum ar_command_join join); /* "" for the first */

/* [{"words":[...],"join":"and"}, ...] of what was parsed, or of what was seen in an opaque
 * text, then with "opaque":true. */
void ar_command_words_json(const struct ar_command_line *c, struct ar_jw *w);

/* A path by its text alone, seen from `cwd` (itself seen from `root`; both may be absent): without `.`,
 * `..`, doubled and trailing slashes. Links are not followed. Absent: it is too long. Relative: from
 * the root when it lies below it ("." is the root itself), else as resolved. */
struct ar_str ar_path_resolve(struct ar_str root, struct ar_str cwd, struct ar_str path,
			      char out[static AR_PATH_TEXT_MAX]);
struct ar_str ar_path_relative(struct ar_str root, struct ar_str cwd, struct ar_str path,
			       char out[static AR_PATH_TEXT_MAX]);

/* The strict half and the lenient half of ar_command_parse. */
void ar_command_read_literal(struct ar_str text, struct ar_arena *a, struct ar_command_line *ret);
void ar_command_scan(struct ar_str text, struct ar_arena *a, struct ar_command_line *ret);

#endif
