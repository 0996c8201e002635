/* Inside the tool delegate_to_peer: one piece of work that is with a peer. Files: delegate.c (the tool and
 * its calls), handover.c (until the peer has it), steps.c (until it has ended), update.c and question.c (what
 * the peer says and asks), push.c (what it posts), notes.c (the reports to the session), output.c (what the
 * peer left). Owner: the loop thread. */
#ifndef AR_HOST_PEER_DELEGATE_PRIV_H
#define AR_HOST_PEER_DELEGATE_PRIV_H

#include "json.h"
#include "list.h"
#include "map.h"
#include "peer/delegate.h"
#include "sender.h"

struct ar_delegates {
	struct ar_tool_source base;
	uv_loop_t *loop;
	const struct ar_config *config; /* in force */
	struct ar_host_peers *peers;
	struct ar_control *control;
	struct ar_sender *sender;
	struct ar_json_parser *json;
	struct ar_list works;
	struct ar_map by_operation; /* the works that a peer may post about */
	struct ar_map passes; /* of push.c: operation -> what is on its way */
};

/* An artifact of the peer, as far as it came. */
struct ar_peer_output {
	struct ar_list node;
	struct ar_arena arena;
	struct ar_str id, name;
	struct ar_buf bytes;
};

/* The next report to the session. */
struct ar_peer_note {
	struct ar_list node;
	struct ar_arena arena;
	int event; /* enum of report_peer_task.event */
	struct ar_str task_id, context_id, native_status, message, message_id, reason;
	struct ar_str card; /* BEGIN */
	ar_usec since; /* UNREACHABLE, UNCLEAR: wall clock; 0: it is reached */
};

struct ar_work;
typedef void ar_work_step_fn(struct ar_work *w);

struct ar_work {
	struct ar_list node;
	struct ar_delegates *all;
	struct ar_tool_call *call; /* NULL: its end was reported */
	struct ar_peer *peer; /* NULL: the tenant has none of that name */
	const struct ar_config_peers *setting;
	struct ar_arena arena; /* text that lives as long */
	struct ar_str name, message, message_id, context, operation, call_id, tenant;
	struct ar_str remote_task, remote_context; /* absent: not known */
	struct ar_str binding;
	struct ar_texts capabilities;
	struct ar_str push_url, push_token; /* absent: the peer posts nothing */
	int mechanism; /* enum of remote_task.deliveryMechanism */
	bool has_foreign; /* it posted something about another task */
	bool is_repeat_safe;
	bool is_begun; /* the intent is a fact */
	struct ar_str why; /* the card did not come */

	/* The peer is asked for one thing at a time, and for a second beside a task that is followed. */
	struct ar_peer_run run, aside;
	bool is_running, is_aside;
	void (*on_run)(struct ar_work *w, const struct ar_peer_result *r);
	uv_timer_t timer;
	ar_work_step_fn *due; /* what the timer is for; NULL: nothing */

	/* Its state, as it was reported to the session or is about to be. */
	enum ar_peer_state state;
	struct ar_arena update_arena;
	struct ar_str last_update; /* the newest note, as text: what is not new is not reported */
	struct ar_str prompt; /* the words of the newest state */
	ar_usec away_since; /* monotonic; 0: it is there */
	unsigned tries; /* since then */
	unsigned looks; /* that found nothing, in a row */
	bool is_unclear; /* a message left whose answer is not known */

	/* The question of the peer that a person has to answer. */
	bool wants_answer, is_asked;
	struct ar_str asked; /* the newest note when it was asked */
	unsigned questions, stale;

	struct ar_list notes;
	struct ar_send_run report;
	struct ar_buf body;
	bool is_reporting;
	uint64_t report_count;
	ar_usec reported_at; /* monotonic */
	uv_timer_t report_timer;

	struct ar_list outputs;
	size_t output_bytes;

	bool is_cancelled, is_cancel_sent, is_ending;
	struct ar_tool_result end; /* with is_ending */
	unsigned open_timers; /* 0: they are closed */
};

static inline ar_usec ar_work_now(void)
{
	return ar_clock_system()->mono(ar_clock_system());
}

/* delegate.c */
void ar_work_finish(struct ar_work *w); /* reports the end when all before it is reported */
void ar_work_let_go(struct ar_work *w); /* frees it when nothing of it is under way */

/* handover.c */
void ar_work_begin(struct ar_work *w);
void ar_work_begun(struct ar_work *w, const struct ar_cmd_report_peer_task_out *known);
void ar_work_refused(struct ar_work *w); /* the session takes no note of it */

/* steps.c */
typedef void ar_work_done_fn(struct ar_work *w, const struct ar_peer_result *r);
void ar_work_ask(struct ar_work *w, enum ar_peer_op op, ar_work_done_fn *then);
void ar_work_wait(struct ar_work *w, int64_t ms, ar_work_step_fn *then);
bool ar_work_is_away(const struct ar_peer_result *r);
void ar_work_try_again(struct ar_work *w, const struct ar_peer_result *r, ar_work_step_fn *then);
void ar_work_follow(struct ar_work *w);
void ar_work_go_on(struct ar_work *w); /* by the state that it has */
void ar_work_cancel(struct ar_work *w);
void ar_work_stop(struct ar_work *w); /* the next step to the end of one that is cancelled */
void ar_work_end(struct ar_work *w, struct ar_tool_result result);
void ar_work_end_by_state(struct ar_work *w);
void ar_work_end_missing(struct ar_work *w, struct ar_str why);
void ar_work_end_unclear(struct ar_work *w, struct ar_str why); /* whether the peer has the message */
void ar_work_end_confused(struct ar_work *w); /* the task that the peer named is that of another work */
void ar_work_end_refused(struct ar_work *w, enum ar_tool_outcome outcome, const struct ar_peer_result *r);

/* update.c */
bool ar_work_update(struct ar_work *w, const struct ar_peer_update *u); /* false: too much; it has ended */
bool ar_work_waits(const struct ar_work *w); /* for an answer */

/* question.c */
bool ar_work_is_answered(struct ar_work *w); /* what it asks, and it has only not gone on yet */
void ar_work_want_answer(struct ar_work *w);
void ar_work_answer(struct ar_work *w, const struct ar_tool_answer *a);
void ar_work_ask_beside(struct ar_work *w, enum ar_peer_op op, struct ar_str text);
void ar_work_reported(struct ar_work *w); /* nothing is left to tell */

/* push.c */
void ar_work_set_push(struct ar_work *w);
void ar_delegates_drop_passes(struct ar_delegates *all);

/* notes.c */
struct ar_peer_note *ar_work_note(struct ar_work *w, int event);
void ar_work_report(struct ar_work *w); /* sends the next one if there is one */
void ar_work_drop_notes(struct ar_work *w);

/* output.c */
AR_MUST_USE bool ar_work_keep(struct ar_work *w,
			      const struct ar_peer_update *u); /* false: more than allowed */
void ar_work_drop_outputs(struct ar_work *w);
/* What the model reads, and the artifacts; lives in the arena. */
void ar_work_result(struct ar_work *w, struct ar_arena *a, struct ar_tool_result *ret);

#endif
