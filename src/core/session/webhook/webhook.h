/* Webhooks of a tenant, in its home session: how far each has come in the events of all sessions, and what
 * it gave up. Which there are is in the settings; the host sends, and reports here (report_webhook). A
 * position only moves on, and what is given up is a fact together with the position behind it. A push
 * configuration of A2A is one more, which a caller asked for: it is for one task, and its position is one in
 * the log of that task's session. Pure. */
#ifndef AR_SESSION_WEBHOOK_WEBHOOK_H
#define AR_SESSION_WEBHOOK_WEBHOOK_H

#include "decide.h"

#define AR_WEBHOOKS_MAX 256 /* names that a home knows */
#define AR_WEBHOOK_PUSHES_MAX 1000 /* push configurations that it knows; those that are over go first */
#define AR_WEBHOOK_TASK_PUSHES_MAX 8 /* of one task */
#define AR_WEBHOOK_PUSH_PREFIX "push:" /* of their names, which none of the settings begins with */
#define AR_WEBHOOK_FAILURES_MAX 100 /* of one webhook: the newest that were not sent again */
#define AR_WEBHOOK_PUSH_FAILURES_MAX 16 /* of a push configuration, whose are not sent again: of one report */

struct ar_webhook_failure {
	const struct ar_shape_webhook_failure *record;
};

struct ar_webhook {
	struct ar_str name;
	struct ar_str cursor; /* absent: none was recorded */
	int64_t failure_count; /* in all */
	struct ar_vec failures; /* struct ar_webhook_failure, oldest first */
	const struct ar_shape_push_record *push; /* NULL: it is one of the settings */
	struct ar_opt_bool over; /* with push: nothing more will be sent */
};

static inline bool ar_webhook_is_over(const struct ar_webhook *w)
{
	return w->over.set && w->over.v;
}

/* The name of a push configuration, in the arena: another one each time it is set, so that what is still
 * reported of one that was replaced does not count for the other. */
struct ar_str ar_webhook_push_name(struct ar_arena *a, struct ar_str sealed);

/* NULL: the task has none with that id. */
struct ar_webhook *ar_session_push(const struct ar_session *s, struct ar_str task, struct ar_str config);

struct ar_webhook *ar_session_webhook(const struct ar_session *s, struct ar_str name); /* NULL: none */

/* NULL: it is not among those that are kept. */
const struct ar_shape_webhook_failure *ar_webhook_failure(const struct ar_webhook *w, struct ar_str delivery);

/* Whether everything that a stored snapshot has of them was there. */
bool ar_webhooks_are_whole(const struct ar_session *s);

#endif
