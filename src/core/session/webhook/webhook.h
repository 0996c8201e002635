/* Webhooks of a tenant, in its home session: how far each has come in the events of all sessions, and what
 * it gave up. Which there are is in the settings; the host sends, and reports here (report_webhook). A
 * position only moves on, and what is given up is a fact together with the position behind it. Pure. */
#ifndef AR_SESSION_WEBHOOK_WEBHOOK_H
#define AR_SESSION_WEBHOOK_WEBHOOK_H

#include "decide.h"

#define AR_WEBHOOKS_MAX 256 /* names that a home knows */
#define AR_WEBHOOK_FAILURES_MAX 100 /* of one webhook: the newest that were not sent again */

struct ar_webhook_failure {
	const struct ar_shape_webhook_failure *record;
};

struct ar_webhook {
	struct ar_str name;
	struct ar_str cursor; /* absent: none was recorded */
	int64_t failure_count; /* in all */
	struct ar_vec failures; /* struct ar_webhook_failure, oldest first */
};

struct ar_webhook *ar_session_webhook(const struct ar_session *s, struct ar_str name); /* NULL: none */

/* NULL: it is not among those that are kept. */
const struct ar_shape_webhook_failure *ar_webhook_failure(const struct ar_webhook *w, struct ar_str delivery);

/* Whether everything that a stored snapshot has of them was there. */
bool ar_webhooks_are_whole(const struct ar_session *s);

#endif
