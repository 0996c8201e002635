/* The record of an act for the audit trail: the JSON members that every entry has. */
#ifndef AR_ACCESS_AUDIT_ACT_H
#define AR_ACCESS_AUDIT_ACT_H

#include "auth.h"
#include "json.h"

struct ar_audit_act {
	struct ar_str actor; /* never empty */
	struct ar_str command; /* absent: it was not looked at */
	uint16_t code; /* of the refusal; 0: it was allowed */
	const struct ar_call_origin *from; /* NULL: not known */
};

/* The members of an origin, as entries have them and nodes tell each other; and back: what is not there
 * is not known. Text is the value's. */
void ar_origin_write(struct ar_jw *w, const struct ar_call_origin *from);
void ar_origin_read(struct ar_json v, struct ar_call_origin *ret);

/* Opens the object and writes who, from where, what and the outcome; the caller adds what
 * else it knows and closes it. */
void ar_audit_act_open(struct ar_jw *w, const struct ar_audit_act *a);

#endif
