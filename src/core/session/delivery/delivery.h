/* Where the result of a task or a job goes: a message to a channel of the session, a request of a webhook, a
 * file of the workspace. Each state of a delivery is a fact of the task (task.progress) or the job
 * (job.delivery); one that does not come to its end by its deadline has failed. A task is completed when its
 * delivery has ended, a job delivers after its end.
 *
 * channel  queued, or pending while its peer is away; delivered when the peer acknowledges the message
 * webhook  queued: the host sends delivery.requested (host/webhook) and reports the end (report_delivery)
 * file     queued: a turn of the runtime's own calls write_file, which is judged and confined as one that
 *          a model requests
 *
 * Pure. */
#ifndef AR_SESSION_DELIVERY_H
#define AR_SESSION_DELIVERY_H

#include "decide.h"
#include "job/job.h"

#define AR_DELIVERY_CHANNEL "channel"
#define AR_DELIVERY_WEBHOOK "webhook"
#define AR_DELIVERY_FILE "file"
#define AR_DELIVERIES_MAX 1000 /* of a session that are open at once */

/* A webhook that results can be delivered to. */
struct ar_webhook_name {
	struct ar_str tenant, name;
};

/* What is delivered: one of the two. */
struct ar_deliverable {
	const struct ar_task *task;
	const struct ar_job *job;
};

/* ---- deliver.c ---- */

/* Refuses a place that cannot be one; NULL is none. */
AR_MUST_USE enum ar_status ar_delivery_check(const struct ar_decision *d,
					     const struct ar_shape_task_delivery *to, struct ar_error *err);

/* The delivery begins: what is sent is emitted here, the state that is returned by the caller. NULL: there is
 * nowhere to deliver it to. `summary` may be absent. */
const struct ar_shape_delivery_state *ar_delivery_begin(struct ar_decision *d,
							const struct ar_deliverable *what,
							struct ar_str summary);

/* The same of a job that has ended, with the fact about its state. */
void ar_delivery_begin_job(struct ar_decision *d, const struct ar_job *job);

void ar_delivery_wake(struct ar_decision *d, const struct ar_deliverable *what, ar_usec at);

/* Wakes it for its next step; after the fact that has its state, and after a restart. */
void ar_delivery_set_clock(struct ar_decision *d, const struct ar_deliverable *what);

/* That step: the next attempt, or the end of its time. */
void ar_delivery_due(struct ar_decision *d, const struct ar_deliverable *what);

/* The peer of a channel has everything up to the sequence: results in it are delivered. */
void ar_delivery_acknowledged(struct ar_decision *d, struct ar_str channel, int64_t sequence);

/* A fact about the new state; nothing if it is the same. */
void ar_delivery_say(struct ar_decision *d, const struct ar_deliverable *what,
		     const struct ar_shape_delivery_state *state);
void ar_delivery_say_delivered(struct ar_decision *d, const struct ar_deliverable *what);
void ar_delivery_say_failed(struct ar_decision *d, const struct ar_deliverable *what, struct ar_str reason);

void ar_deliveries_recover(struct ar_decision *d);

/* ---- file.c ---- */

/* The next attempt: a turn that writes the file. */
void ar_delivery_write(struct ar_decision *d, const struct ar_deliverable *what);

/* Such a turn goes on, and has ended. */
void ar_delivery_go_on(struct ar_decision *d, struct ar_turn *turn);
void ar_delivery_turn_ended(struct ar_decision *d, const struct ar_turn *turn, const struct ar_ending *end);

/* ---- state.c ---- */

const struct ar_shape_task_delivery *ar_delivery_to(const struct ar_deliverable *what); /* NULL: nowhere */
const struct ar_shape_delivery_state *ar_delivery_state(const struct ar_deliverable *what); /* NULL: none */
struct ar_str ar_delivery_subject(const struct ar_deliverable *what); /* id of the task or the job */
bool ar_delivery_is_open(const struct ar_deliverable *what);

/* The task or the job of that id; false: the session has none, or it is delivered nowhere. */
bool ar_session_deliverable(const struct ar_session *s, struct ar_str id, struct ar_deliverable *ret);

/* Where the answer of the newest run of a task is stored; absent: somebody outside has it, or it is a job. */
struct ar_str ar_delivery_result(const struct ar_session *s, const struct ar_deliverable *what);

/* The content that is to be read before a step of the delivery is decided; absent: none. */
struct ar_str ar_delivery_needs(const struct ar_session *s, struct ar_str id);

/* The open deliveries of a session follow its facts (s->deliveries, which is not stored). */
void ar_deliveries_note(struct ar_session *s, const struct ar_deliverable *what);
void ar_deliveries_restore(struct ar_session *s); /* after a snapshot was read */

#endif
