/* Sessions in formats that others read. */
#ifndef AR_CTL_EXPORT_H
#define AR_CTL_EXPORT_H

#include "follow.h"

/* Reads all facts that the session has now, in their order, those of our own included. `fact` returns false
 * when it has enough. Progress is shown on a terminal. */
struct ar_facts {
	struct ar_ctl *ctl;
	struct ar_str session;
	int64_t until; /* sequence of the last fact */
	bool (*fact)(void *arg, struct ar_json fact);
	void *arg;
};

AR_MUST_USE enum ar_exit ar_facts_read(struct ar_facts *r);

/* A stored text, at most `max` bytes, in `ret`. False: it cannot be read; *ret_why is one word for that. */
struct ar_stored {
	struct ar_buf text;
	int64_t size; /* of the whole */
	const char *why;
};
bool ar_stored_read(struct ar_ctl *c, struct ar_str ref, size_t max, struct ar_stored *ret);

/* Formats of src/export, to `out`. */
AR_MUST_USE enum ar_exit ar_export_session(struct ar_ctl *c, const char *format, struct ar_str session,
					   int64_t until, FILE *out);

/* One line for a file of predictions: what the session changed in the files of its workspace. */
AR_MUST_USE enum ar_exit ar_export_swebench(struct ar_ctl *c, const char *instance, struct ar_str session,
					    int64_t until);

#endif
