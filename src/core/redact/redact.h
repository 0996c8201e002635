/* Secrets in text are replaced by `[redacted:<rule>]`: values that are known, also when they are
 * written as JSON text, percent-encoded or in base64, and tokens of well-known shape. Time is
 * linear in the text, memory bounded. A redactor belongs to one thread, with its streams; values
 * may be added while they run. */
#ifndef AR_REDACT_REDACT_H
#define AR_REDACT_REDACT_H

#include "arena.h"
#include "buf.h"

#define AR_REDACT_MIN 8 /* bytes of a value that differs from ordinary words */
#define AR_REDACT_MAX 4096 /* a longer value is known by its parts */
#define AR_REDACT_HOLD \
	(6 * AR_REDACT_MAX) /* most bytes that a stream holds back: a value of control characters in JSON */

enum ar_redact_rule {
	AR_REDACT_NONE,
	AR_REDACT_SECRET, /* a value that the operator made known */
	AR_REDACT_ANTHROPIC_KEY,
	AR_REDACT_OPENAI_KEY,
	AR_REDACT_GITHUB_TOKEN,
	AR_REDACT_GITLAB_TOKEN,
	AR_REDACT_SLACK_TOKEN,
	AR_REDACT_AWS_KEY,
	AR_REDACT_GOOGLE_KEY,
	AR_REDACT_RUNTIME_TOKEN, /* an API token of this server */
	AR_REDACT_JWT,
	AR_REDACT_PRIVATE_KEY,
	AR_REDACT_URL_PASSWORD,
	AR_REDACT_RULES,
};

/* How often each rule struck. */
struct ar_redact_counts {
	int64_t by[AR_REDACT_RULES];
};

struct ar_redactor;

/* A text that comes in pieces. Zero it, set `redactor`. */
struct ar_redact_stream {
	const struct ar_redactor *redactor;
	struct ar_redact_counts counts;
	struct ar_buf held; /* not decided yet */
	struct ar_buf out; /* what the last call gave */
	unsigned char before[2]; /* the two bytes before the held ones, newest first */
	size_t covered; /* further bytes that belong to a secret whose mask is out */
	size_t later, later_len; /* bytes until a password begins, and its length; 0 = none */
	enum ar_redact_rule due; /* the mask to write before the byte that is looked at */
	uint8_t swallow; /* class of bytes that prolong the token whose mask is out */
};

AR_BEGIN_DECLS

/* The word in the mask and in facts, such as "jwt". */
const char *ar_redact_rule_name(enum ar_redact_rule rule);

struct ar_redactor *ar_redactor_new(bool with_shapes);
void ar_redactor_free(struct ar_redactor *r);

/* Makes a value known; one under AR_REDACT_MIN bytes is ignored. Copies. */
void ar_redactor_add(struct ar_redactor *r, struct ar_str secret);

/* Forgets the values, not the shapes. What is under way in a stream stays hidden. */
void ar_redactor_forget(struct ar_redactor *r);

/* The text without its secrets: itself when it has none, else in the arena. Adds to the counts. An
 * absent text, or no redactor (NULL), gives the text as it is. */
struct ar_str ar_redact(const struct ar_redactor *r, struct ar_str text, struct ar_arena *a,
			struct ar_redact_counts *counts);

/* Adds up the masks that stand in a text which was masked earlier. A text that quotes one counts as well. */
void ar_redact_count_masks(struct ar_str text, struct ar_redact_counts *counts);

/* The next piece, and the end, after which the stream may begin anew: what is certain now,
 * valid until the next call. The beginning of a known value right at the end is masked too: the
 * text may have been cut there. */
struct ar_str ar_redact_feed(struct ar_redact_stream *s, struct ar_str piece);
struct ar_str ar_redact_end(struct ar_redact_stream *s);
void ar_redact_stream_fini(struct ar_redact_stream *s);

AR_END_DECLS

#endif
