/* Inside host/webhook. Files: webhooks.c (all of them, their settings), feed.c (one: where it is, what
 * comes next), delivery.c (one event on its way), result.c (one that is a result), report.c (what the home
 * session is told); push.c (one that is a push configuration of A2A), pushes.c (all of those), push_target.c
 * (where they may go). Owner: the loop thread. */
#ifndef AR_HOST_WEBHOOK_PRIV_H
#define AR_HOST_WEBHOOK_PRIV_H

#include "a2a_task.h"
#include "json.h"
#include "post.h"
#include "sender.h"
#include "webhook/push_target.h"
#include "webhook/webhook.h"
#include "webhook/webhooks.h"

#define AR_WEBHOOK_WINDOW 64 /* events of one webhook that are held at once */
#define AR_WEBHOOK_WINDOW_BYTES ((size_t)8 << 20) /* beyond, no further event is taken */
#define AR_PUSH_WINDOW 16 /* the same of a push configuration */
#define AR_PUSH_WINDOW_BYTES ((size_t)1 << 20)
#define AR_WEBHOOK_RETRY ((ar_usec)500 * 1000) /* until something of our own that failed is tried again */

enum ar_delivery_state {
	AR_DELIVERY_READING = 1, /* one that is sent again: its event is looked for */
	AR_DELIVERY_WAITING, /* for `due` and a free place */
	AR_DELIVERY_SENDING,
	AR_DELIVERY_REPORTING, /* a result: its end is reported to the session of its task or job */
	AR_DELIVERY_DONE,
	AR_DELIVERY_FAILED, /* given up */
};

struct ar_host_push;
struct ar_host_webhook;

/* One event on its way. */
struct ar_delivery {
	struct ar_list node; /* of the webhook's queue or again; while it is an orphan in none */
	struct ar_host_webhook *hook;
	struct ar_arena arena; /* text of the record and the cursor */
	struct ar_frame *frame; /* the event; NULL: not read yet */
	struct ar_str body; /* that is sent instead; absent: the event as it is */
	size_t size; /* of what is held of it */
	struct ar_shape_webhook_failure record;
	struct ar_str trace_parent; /* of the event; absent: it is in no trace */
	struct ar_str cursor; /* everything up to here is done when this is */
	ar_usec time; /* of the event, wall clock */
	ar_usec due; /* of the next attempt, monotonic */
	enum ar_delivery_state state;
	bool is_again; /* redeliver_webhook asked for it: it has no cursor */
	bool is_reported; /* in the report that is under way */
	bool is_orphan; /* nobody waits for its end */
	struct ar_subscription read;
	struct ar_webhook_post post;
	struct ar_arena key; /* of the attempt */
	struct ar_str result_of; /* task or job whose result it is; absent: an event like others */
	enum ar_delivery_state then; /* what it is when that is reported */
	struct ar_send_run report;
};

struct ar_host_webhook {
	struct ar_host_webhooks *all;
	const struct ar_config_webhooks *config;
	const struct ar_webhook_setting *setting;
	char home[AR_SESSION_KEY_LEN];
	struct ar_str home_id;
	uint8_t types[AR_EV_COUNT];
	struct ar_webhook_poster *poster;
	uv_timer_t timer;
	bool is_looking, is_known; /* at the home; what it had was read */
	bool wants_look; /* something is to be sent again */
	bool is_measuring; /* where the events end now */
	bool is_open; /* the subscription */
	struct ar_engine_view view;
	struct ar_store_feed heads;
	struct ar_subscription stream;
	char *position; /* recorded, or to be recorded first; NULL: not known */
	bool is_position_new; /* it is to be recorded */
	char *taken; /* cursor of the newest event that was taken; NULL: none since the start */
	struct ar_list queue, again; /* struct ar_delivery, oldest first */
	size_t held, held_bytes, sending;
	ar_usec retry_at; /* monotonic: nothing of our own is tried before */
	ar_usec reported_at;
	struct ar_send_run report;
	struct ar_buf report_body;
	bool is_reporting, reports_position, reports_over;
	char last_error[256];
	struct ar_host_push *push; /* that it is; NULL: it is one of the settings */
};

/* A push configuration: a webhook for one task, whose facts are folded into what A2A says of them. */
struct ar_host_push {
	struct ar_host_webhook w;
	struct ar_list node; /* of all->pushes */
	struct ar_arena arena; /* text of all that follows */
	struct ar_config_webhooks config;
	struct ar_webhook_setting setting;
	struct ar_push_target target;
	struct ar_str task, session; /* the latter by its 26 characters */
	struct ar_str authorization; /* absent: none */
	bool is_public; /* only a public address is dialled */
	bool is_old; /* A2A 0.3: each notification is the task */
	uint64_t begin; /* what comes after it is sent */

	struct ar_arena facts; /* of the state */
	struct ar_a2a_task state;
	uint64_t from; /* what comes after it was not sent yet */
	bool is_task_due; /* nothing was sent: the task as it is comes first */
	struct ar_frame *frame; /* its fact is to be sent, when all content is there; NULL: none is */
	unsigned changes; /* that it made */
	struct ar_send_run read; /* of content */
	struct ar_buf read_body, read_ref;
	bool is_reading;
	ar_usec look_at; /* monotonic: its session on another node is looked at again */
	bool is_last; /* the task has ended: what is queued is all */
	bool is_gone; /* removed, replaced or over: it goes when nothing of it is under way */
};

/* The home of a tenant, for which pushes.c looks whether it has configurations. */
struct ar_push_home {
	struct ar_list node;
	char key[AR_SESSION_KEY_LEN];
	bool wants_look, is_failed; /* the latter: it could not be looked at, and wants it again in a while */
};

struct ar_pushes {
	struct ar_list all; /* struct ar_host_push */
	struct ar_list homes; /* struct ar_push_home */
	struct ar_webhook_poster *open, *secure, *public; /* to http, https, public https */
	uv_timer_t timer;
	struct ar_store_sessions list;
	char before[AR_SESSION_KEY_LEN]; /* of the list */
	bool is_listing, is_looking;
	bool has_warned; /* of one that cannot be used */
	struct ar_push_home *looked; /* with is_looking */
	struct ar_engine_view view;
	ar_usec list_at; /* monotonic: the homes are listed again; 0: not */
	uint8_t types[AR_EV_COUNT];
	struct ar_str base; /* public address of this server */
};

struct ar_host_webhooks {
	struct ar_host_webhooks_options o;
	struct ar_arena arena;
	struct ar_json_parser *json;
	struct ar_host_webhook_list list;
	struct ar_host_webhook *at;
	struct ar_list orphans; /* struct ar_delivery that nobody waits for, while their end is reported */
	struct ar_pushes *pushes; /* NULL: none are offered */
	bool is_closing;
};

/* feed.c */
void ar_host_webhook_wake(struct ar_host_webhook *w); /* its next step, from the loop */
void ar_host_webhook_start(struct ar_host_webhook *w);
void ar_host_webhook_leave(struct ar_host_webhook *w); /* another node has it, or it ends: all is dropped */

/* delivery.c */
/* The event of a frame, whose reference goes over. NULL: it is none for this webhook. */
struct ar_delivery *ar_delivery_of_frame(struct ar_host_webhook *w, struct ar_frame *f);
/* One that was given up and is to be sent again. */
void ar_delivery_again(struct ar_host_webhook *w, const struct ar_shape_webhook_failure *f);
/* The same with a body of its own, which is copied. */
void ar_delivery_of_push(struct ar_host_webhook *w, struct ar_frame *f, struct ar_str body);
void ar_delivery_send_due(struct ar_host_webhook *w, ar_usec now);
void ar_delivery_drop(struct ar_delivery *d); /* also one that is being sent */

/* result.c */
/* Whether the event is the result of a task or a job, and for which webhook; the latter is borrowed. */
bool ar_delivery_is_result(struct ar_delivery *d, struct ar_json event, struct ar_str *ret_webhook);
/* Its delivery has ended: that is reported to the session first, and again until the session has it. */
void ar_delivery_report(struct ar_delivery *d, enum ar_delivery_state then);
void ar_delivery_report_again(struct ar_delivery *d);
void ar_delivery_free(struct ar_delivery *d); /* delivery.c */

/* push.c */
struct ar_host_push *ar_push_new(struct ar_host_webhooks *all, struct ar_str tenant,
				 const struct ar_webhook *known); /* NULL: not with these settings */
void ar_push_free(struct ar_host_push *p);
void ar_push_begin(struct ar_host_push *p, struct ar_str cursor); /* the recorded position; absent: none */
struct ar_follow_request ar_push_follow(const struct ar_host_push *p);
bool ar_push_wants(const struct ar_host_push *p); /* another fact */
void ar_push_take(struct ar_host_push *p, struct ar_frame *f); /* the reference goes over */
void ar_push_go_on(struct ar_host_push *p); /* what it held up may be possible now */
void ar_push_reset(struct ar_host_push *p); /* what was folded is forgotten */
/* What a request of it has beside url and body. */
void ar_push_dress(const struct ar_host_push *p, struct ar_webhook_post *post);
bool ar_push_is_over(const struct ar_host_push *p); /* all was sent or given up, though not reported yet */

/* pushes.c */
AR_MUST_USE enum ar_status ar_pushes_open(struct ar_host_webhooks *all, struct ar_error *err);
void ar_pushes_serve(struct ar_host_webhooks *all, struct ar_control_webhooks *ret);
struct ar_webhook_poster *ar_pushes_poster(const struct ar_pushes *s, const struct ar_host_push *p);
void ar_push_end(struct ar_host_push *p); /* it is gone from now on */
void ar_push_release(struct ar_host_push *p); /* something of it has ended: frees one that is gone */
void ar_pushes_close(struct ar_host_webhooks *all);
void ar_pushes_free(struct ar_host_webhooks *all);

/* report.c */
void ar_host_webhook_report(struct ar_host_webhook *w, ar_usec now);
/* When a report is due; 0: none is. */
ar_usec ar_host_webhook_report_due(const struct ar_host_webhook *w);

static inline ar_usec ar_webhook_now(void)
{
	return ar_clock_system()->mono(ar_clock_system());
}

#endif
