/* What the formats share: a fact with what is read of it most, the threads of the session, and sums. */
#ifndef AR_EXPORT_PRIV_H
#define AR_EXPORT_PRIV_H

#include "session_export.h"
#include "map.h"

/* Tokens and money of model calls. Money is counted where the price is known. */
struct ar_export_sums {
	int64_t input, output, cached, calls, unpriced;
	double cost;
	char currency[8];
};

struct ar_export_thread {
	char *id;
	char *reason; /* why it began: new, branch, delegate ... */
	char *model; /* that answered last */
	size_t number; /* from 1; also its stream */
	size_t parent; /* number of the thread that it came from; 0: none */
	int64_t steps; /* that were written */
	struct ar_export_sums sums;
	bool is_aside; /* the open model call is the runtime's own, such as a summary */
	void *open; /* of the format: what is not written yet */
};

struct ar_export_fact {
	struct ar_json doc, payload;
	struct ar_str type, id, time;
	struct ar_export_thread *thread; /* NULL: it is of none */
	const struct ar_export_part *parts;
	size_t count;
};

struct ar_export_format {
	const char *name;
	void (*fact)(struct ar_export *x, const struct ar_export_fact *f);
	void (*end)(struct ar_export *x);
	void (*drop)(struct ar_export_thread *t); /* frees t->open */
	void (*fini)(struct ar_export *x); /* empties x->own; NULL: it has nothing */
	bool shows_changes; /* differences of files, and answers to questions */
	size_t text_max; /* bytes of one text that are shown; 0: no texts are */
};

extern const struct ar_export_format ar_export_atif, ar_export_html, ar_export_markdown, ar_export_otlp,
	ar_export_replay;

/* Streams beside those of the threads. */
#define AR_EXPORT_NAV ((size_t)-1)

struct ar_export {
	const struct ar_export_format *format;
	struct ar_export_sink sink;
	struct ar_json_parser *parser; /* of stored texts */
	struct ar_map by_id; /* of threads */
	struct ar_export_thread **threads;
	size_t count, room;
	struct ar_export_sums sums; /* of all threads */
	char *session, *runtime, *title, *tools; /* tools: the newest list, JSON */
	char *first, *last; /* time of the first and the newest fact */
	char *members; /* of the caller, for the end of the document; NULL: none */
	int64_t facts;
	void *own; /* of the format */
};

struct ar_str ar_export_str(struct ar_json object, const char *name);
int64_t ar_export_int(struct ar_json object, const char *name);
struct ar_json ar_export_member(struct ar_json object, const char *name, const char *inner);

/* A number, or its exact text; false: the price is not known. */
bool ar_export_amount(struct ar_export *x, struct ar_json amount, double *ret);

/* Replaces what *at has; an absent text leaves it. */
void ar_export_keep(char **at, struct ar_str text);

/* The part of a fact with this ref; a part without text if it is not there. */
struct ar_export_part ar_export_part(const struct ar_export_fact *f, struct ar_str ref);

/* Its text; else a sentence in brackets that names the reason and the ref. A text that is longer than what
 * is shown ends with one, too. */
void ar_export_add_text(struct ar_buf *out, const struct ar_export_part *p);

/* The words of an input, which is stored as an array of parts. */
void ar_export_add_input(struct ar_export *x, struct ar_buf *out, const struct ar_export_part *p);

void ar_export_write(struct ar_export *x, size_t stream, const char *text);
void ar_export_write_buf(struct ar_export *x, size_t stream, struct ar_buf *text); /* and clears it */

/* Members of the payload that are worth showing with a fact of this type, in the order of their weight;
 * NULL: the fact is not one that is shown beside messages and calls. */
#define AR_EXPORT_MEMBERS 6
const char *const *ar_export_members(struct ar_str type);

#endif
