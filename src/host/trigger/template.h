/* The text of a turn, or the instruction and the items of a job, from the template of a trigger and the JSON
 * body of a request. What the sender wrote is untrusted: it goes in as JSON between marks that the sender
 * cannot guess, behind a sentence that says so. Pure functions, any thread. */
#ifndef AR_HOST_TRIGGER_TEMPLATE_H
#define AR_HOST_TRIGGER_TEMPLATE_H

#include "buf.h"
#include "json.h"
#include "status.h"

#define AR_TRIGGER_VALUE_MAX ((size_t)16 * 1024) /* bytes of one inserted value; the rest is left out */
#define AR_TRIGGER_TEXT_MAX ((size_t)256 * 1024) /* bytes of the whole text */
#define AR_TRIGGER_INSTRUCTION_MAX ((size_t)64 * 1024) /* of a job: create_job takes no more */
#define AR_TRIGGER_ITEMS_MAX 10000 /* of one request */

/* AR_E_INVALID: a {{ without }}, or something between them that is neither `body` nor a path. */
AR_MUST_USE enum ar_status ar_trigger_template_check(struct ar_str template, struct ar_error *err);

struct ar_trigger_text {
	struct ar_str template; /* that was checked */
	struct ar_str name; /* of the trigger */
	const char *work; /* that is started: turn, job */
	struct ar_str mark; /* between which data stands; the sender does not know it */
	struct ar_json body;
};

/* Appends the text. False: it would be larger than AR_TRIGGER_TEXT_MAX. A member that is not there is
 * null. */
AR_MUST_USE bool ar_trigger_text(const struct ar_trigger_text *t, struct ar_buf *out);

/* Appends a JSON array: a text for each element of the array at this path, between the marks. Refused:
 * no array is there, or it is too long. */
AR_MUST_USE enum ar_status ar_trigger_items(const struct ar_trigger_text *t, struct ar_str path,
					    struct ar_buf *out, struct ar_error *err);

/* Whether it is `body` or the path of a member. */
bool ar_trigger_is_path(struct ar_str path);

#endif
