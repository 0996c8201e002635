/* A push configuration as a client of A2A sends it, and as it is shown. Pure functions. */
#ifndef AR_A2A_PUSH_H
#define AR_A2A_PUSH_H

#include "a2a_error.h"

/* TaskPushNotificationConfig. Text is in the arena; absent: not there. */
struct ar_a2a_push {
	struct ar_str task, id;
	struct ar_str url, token;
	struct ar_str scheme, credentials; /* of Authorization */
};

/* All but the task, which may come from elsewhere; the url is only known to be a text of a usable length.
 * What becomes a header can be one. False: `f` says why. */
bool ar_a2a_read_push(struct ar_json v, struct ar_arena *a, struct ar_a2a_push *ret,
		      struct ar_a2a_failure *f);

/* Its id: up to 128 of A-Z a-z 0-9 . _ : -, or absent. */
bool ar_a2a_read_push_id(struct ar_json v, struct ar_arena *a, struct ar_str *ret, struct ar_a2a_failure *f);

/* Without token and credentials, which nobody has to see again. */
void ar_a2a_write_push(struct ar_jw *w, const struct ar_a2a_push *p);

#endif
