/* A session in a format that others read: its facts in their order go in, bytes come out. The caller reads
 * the facts and the stored texts that they refer to, from wherever it likes; nothing here does I/O. What is
 * held in memory does not grow with the number of facts: one open step per thread, and a few bytes per
 * thread. */
#ifndef AR_SESSION_EXPORT_H
#define AR_SESSION_EXPORT_H

#include "arena.h"
#include "json.h"

/* A stored text that a fact refers to and the format shows. */
struct ar_export_part {
	struct ar_str ref;
	size_t max; /* bytes of it that are shown at most */
	/* The caller fills in the rest. */
	struct ar_str text; /* UTF-8; absent: it cannot be shown */
	struct ar_str why; /* one word for that: binary, expired, unavailable */
	int64_t size; /* bytes of the whole */
};

/* Where the bytes go. Stream 0 is the output; bytes of others are kept by the caller, in the order in which
 * they came, until copy() appends them to the output. */
struct ar_export_sink {
	void (*write)(void *arg, size_t stream, struct ar_str bytes);
	void (*copy)(void *arg, size_t stream);
	void *arg;
};

struct ar_export;

/* Formats: atif, markdown, html, otlp, replay. NULL: there is none of this name. */
struct ar_export *ar_export_new(struct ar_str format, const struct ar_export_sink *sink);
void ar_export_free(struct ar_export *x);

/* The stored texts that have to come with this fact, in the arena. Returns how many. */
size_t ar_export_parts(const struct ar_export *x, struct ar_json fact, struct ar_arena *a,
		       struct ar_export_part **ret);

/* The next fact, as readers of the log get it, with its parts. Frames are left out. */
void ar_export_fact(struct ar_export *x, struct ar_json fact, const struct ar_export_part *parts,
		    size_t count);

/* Members that the document of a case has beside its own, JSON without the braces; copied. */
void ar_export_add_members(struct ar_export *x, struct ar_str members);

/* After the last one: writes what is still held, and the rest of the document. */
void ar_export_end(struct ar_export *x);

#endif
