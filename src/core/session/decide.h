/* Shared by the decide_*.c files: writing facts, contents and effects into a decision. A fact is
 * applied when it is emitted: the session that a decision sees, its threads, turns and calls are
 * always as the facts so far leave them. */
#ifndef AR_SESSION_DECIDE_H
#define AR_SESSION_DECIDE_H

#include "session.h"

struct ar_ids {
	struct ar_str at[AR_SCOPE_COUNT];
};

/* What something that may hold a turn came to. */
enum ar_hold {
	AR_GO_ON,
	/* the turn waits for a person, a handler or a model, or it has ended: there is nothing
	 * more to do now */
	AR_HELD,
};

/* The tools of one turn: the runtime's own, sorted by name, then those that the client runs. */
struct ar_offers {
	const struct ar_tool **at;
	size_t count;
};

/* decide.c: emits a fact and applies it. */
void ar_decide_emit(struct ar_decision *d, enum ar_event_type type, const struct ar_ids *ids,
		    const void *payload);
uint64_t ar_decide_next_sequence(const struct ar_decision *d); /* of the fact that is emitted next */
struct ar_effect *ar_decide_effect(struct ar_decision *d, enum ar_effect_kind kind);
void ar_decide_wake(struct ar_decision *d, enum ar_input_kind input, struct ar_str subject, ar_usec at);
void ar_decide_wake_cancel(struct ar_decision *d, struct ar_str subject);
void ar_decide_send(struct ar_decision *d, const struct ar_effect_send *send); /* to another session */
struct ar_str ar_decide_content(struct ar_decision *d, struct ar_str bytes); /* stores it, gives its ref */
struct ar_str ar_decide_ref(struct ar_decision *d, struct ar_str bytes); /* its ref, without storing it */
void ar_decide_content_of(struct ar_decision *d, struct ar_str ref,
			  struct ar_str bytes); /* stores it; the ref is that of these bytes */
struct ar_str ar_decide_text(
	const struct ar_decision *d,
	struct ar_str ref); /* one that this decision stores or was brought; else absent */
struct ar_str ar_decide_mint(struct ar_decision *d, const char *prefix, int64_t *counter);
void ar_decide_reply(struct ar_decision *d, enum ar_command command, const void *out);
struct ar_jw ar_decide_json(struct ar_decision *d); /* begin a JSON text ... */
struct ar_str ar_decide_json_end(struct ar_decision *d); /* ... and take it */
struct ar_ids ar_ids_thread(const struct ar_thread *t);

/* The struct as JSON text. */
static inline struct ar_str ar_decide_shape(struct ar_decision *d, const struct ar_struct_desc *desc,
					    const void *s)
{
	struct ar_jw w = ar_decide_json(d);

	ar_struct_encode(desc, s, AR_STR_NONE, &w);
	return ar_decide_json_end(d);
}

/* history/clock_step.c: emitted before the first fact of a decision before which the clock was set back. */
void ar_decide_clock_step(struct ar_decision *d);

/* workspace/folder.c: ar_session_is_admitted() and ar_session_folder(); of a session that is being made,
 * by what the command says. */
bool ar_decide_is_admitted(const struct ar_decision *d);
struct ar_str ar_decide_folder(const struct ar_decision *d);
struct ar_str ar_decide_folder_of(const struct ar_decision *d,
				  const struct ar_turn *turn); /* that its calls work in */
bool ar_decide_may_use(const struct ar_decision *d, const struct ar_tool *tool);

/* workspace/bind.c: whether a session that is being made may have the workspace that it names, and
 * the fact that it has it. A word of the host, which names none of ours, is kept and binds nothing. */
AR_MUST_USE enum ar_status ar_decide_check_binding(const struct ar_decision *d, struct ar_str workspace,
						   struct ar_error *err);
void ar_decide_bind(struct ar_decision *d);
const struct ar_shape_workspace_record *ar_decide_workspace(
	const struct ar_decision *d); /* that the command brings; NULL: none */

/* workspace/inspect.c: before the first request of a turn. Held: the answer goes on with it. */
enum ar_hold ar_workspace_inspect(struct ar_decision *d, const struct ar_turn *turn);

/* decide_access.c: makes the home session of a tenant, with a thread, if this is its first fact. */
void ar_decide_home(struct ar_decision *d);

/* channel/decide_channel.c: after a restart nobody is at the other end any more. */
void ar_decide_channels_lost(struct ar_decision *d);

/* How long ago something began that the session knows, whatever the wall clock did meanwhile:
 * the fact about that moves what is open. */
static inline ar_usec ar_decide_since(const struct ar_decision *d, ar_usec began)
{
	ar_usec passed = d->input->now - (d->is_clock_told ? 0 : d->input->step) - began;

	return passed > 0 ? passed : 0;
}
struct ar_ids ar_ids_turn(struct ar_decision *d, const struct ar_turn *turn);
struct ar_ids ar_ids_run(struct ar_decision *d, const struct ar_turn *turn,
			 struct ar_str run); /* of one that is to begin */

/* decide_input.c: what a person says; `text` is shorthand for one text part */
struct ar_turn_input {
	struct ar_str parts; /* JSON array */
	struct ar_str preview;
	bool has_images;
};
struct ar_str ar_decide_text_parts(struct ar_decision *d, struct ar_str text); /* one text as `parts` */
enum ar_status ar_decide_input(struct ar_decision *d, struct ar_str input, struct ar_str text,
			       struct ar_turn_input *ret, struct ar_error *err);

/* decide_queue.c: the intent is a fact before anything is stopped */
void ar_decide_interrupt(struct ar_decision *d, struct ar_turn *turn, struct ar_str reason);

/* Why a turn is interrupted beside a person's wish; the metadata of the fact says so. */
enum ar_interrupt {
	AR_INTERRUPT_ASKED,
	AR_INTERRUPT_ROLLBACK, /* and the turn leaves the conversation */
	AR_INTERRUPT_OVERDUE,
	AR_INTERRUPT_SILENT,
};
/* Whether what is decided now follows from a rule: a deadline, a schedule. False: somebody asked for it. */
bool ar_decide_is_policy(const struct ar_decision *d);
void ar_decide_interrupt_for(struct ar_decision *d, struct ar_turn *turn, enum ar_interrupt why,
			     struct ar_str reason);
void ar_decide_say_interrupting(struct ar_decision *d, const struct ar_turn *turn, enum ar_interrupt why,
				struct ar_str reason);

/* decide_rollback.c: takes turns out of the conversation; `turns` in the order they ran */
struct ar_rollback {
	const struct ar_shape_rollback_target *target;
	struct ar_str reason;
	struct ar_vec turns; /* struct ar_turn */
};
void ar_decide_roll_back_turn(struct ar_decision *d,
			      struct ar_turn *turn); /* the newest, which has just ended */
struct ar_str ar_decide_roll_back(struct ar_decision *d, const struct ar_thread *t,
				  const struct ar_rollback *r); /* the ref of what survives */

/* environment.c: where the calls of a turn would run, as it is when the turn starts; a ref. */
struct ar_str ar_turn_input(struct ar_decision *d, const struct ar_turn *turn);
struct ar_str ar_turn_environment(struct ar_decision *d, const struct ar_turn *turn,
				  const struct ar_shape_turn_environment **ret_new);

/* decide_turn.c */
void ar_turn_emit(struct ar_decision *d, const struct ar_turn *turn, enum ar_event_type type,
		  const void *payload); /* a fact about the turn as it is now */
AR_MUST_USE enum ar_status ar_decide_need_thread(const struct ar_decision *d, struct ar_str id,
						 struct ar_thread **ret, struct ar_error *err);
struct ar_thread *ar_decide_thread(const struct ar_decision *d,
				   const struct ar_turn *turn); /* that it is in */
struct ar_thread *ar_decide_start_thread(struct ar_decision *d); /* a new one, idle */
void ar_decide_resume_lost(struct ar_decision *d, struct ar_turn *turn); /* that nobody works on any more */
void ar_decide_attempt(struct ar_decision *d, struct ar_turn *turn, int trigger);
void ar_decide_start(struct ar_decision *d, struct ar_turn *turn);
void ar_decide_next(struct ar_decision *d, struct ar_thread *t); /* the next queued turn, or rest */

/* A session that is made for something else than a turn: whether it may be, and then its facts, with a
 * thread. `title`: when the policy has none. */
AR_MUST_USE enum ar_status ar_decide_check_birth(const struct ar_decision *d,
						 const struct ar_shape_create_policy *policy,
						 struct ar_error *err);
void ar_decide_birth(struct ar_decision *d, const struct ar_shape_create_policy *policy, struct ar_str title,
		     struct ar_str source);

/* Whether a turn of this session could have the options. */
AR_MUST_USE enum ar_status ar_decide_check_options(struct ar_decision *d,
						   const struct ar_shape_turn_options *options,
						   struct ar_error *err);

/* A turn that is to be submitted. */
struct ar_new_turn {
	const struct ar_cmd_submit_turn_in *in;
	struct ar_turn_input input;
	struct ar_thread *thread; /* NULL: a new one */
	int busy; /* policy */
	bool is_queued; /* the thread is busy */
	struct ar_texts people; /* who gave it; absent: as its task says, or the caller */
};

/* turn.submitted, and its task. `task`: that the turn works for, or NULL. `people`: who gave it; absent:
 * nobody in particular. */
struct ar_turn *ar_decide_submit(struct ar_decision *d, const struct ar_thread *t,
				 const struct ar_new_turn *n, const struct ar_task *task,
				 struct ar_texts people);

/* A turn comes in, as submit_turn says. First whether it may: refuses as submit_turn does, and
 * emits nothing. */
AR_MUST_USE enum ar_status ar_decide_check_turn(struct ar_decision *d, const struct ar_cmd_submit_turn_in *in,
						struct ar_new_turn *ret, struct ar_error *err);
struct ar_cmd_submit_turn_out ar_decide_admit(
	struct ar_decision *d, const struct ar_new_turn *n,
	const struct ar_task *task); /* then its facts; with a task it works for that */
void ar_decide_enqueue(struct ar_decision *d, const struct ar_thread *t,
		       struct ar_turn *turn); /* behind those that wait in its thread */
void ar_decide_queue_changed(struct ar_decision *d, const struct ar_thread *t, int change,
			     const struct ar_turn *turn, const struct ar_vec *order);
struct ar_texts ar_decide_turn_ids(struct ar_decision *d, const struct ar_vec *turns);
void ar_decide_status(struct ar_decision *d, const struct ar_thread *t, int status, const char *reason,
		      const char *detail, const struct ar_turn *turn);

/* decide_end.c: every way a turn ends; the thread then goes on with its queue */
struct ar_ending {
	int status; /* of turn.failed */
	struct ar_str category, message, advice, output_ref;
	bool retryable;
};
void ar_decide_complete(struct ar_decision *d, struct ar_turn *turn, struct ar_str output_ref,
			struct ar_str stop_reason);
void ar_decide_fail(struct ar_decision *d, struct ar_turn *turn, const struct ar_ending *end);
void ar_decide_cancel(struct ar_decision *d, struct ar_turn *turn, struct ar_str reason,
		      struct ar_str output_ref);
void ar_decide_cancel_queued(struct ar_decision *d, struct ar_turn *turn, struct ar_str reason);

/* output.c */
struct ar_spill {
	int owner; /* enum of output.spilled */
	struct ar_str ref, beginning;
	int64_t size; /* of all of it, as it was made */
	bool is_cut; /* less than that is kept: its head and its tail */
	bool is_binary, is_json;
	const struct ar_masked *masked;
	struct ar_texts further; /* refs of what else is kept of it */
};

void ar_decide_masked(
	struct ar_decision *d, const struct ar_ids *owner, struct ar_str ref,
	const struct ar_masked *masked); /* says so, if anything was; `ref` is the text as it is kept */
void ar_decide_spilled(
	struct ar_decision *d, const struct ar_ids *owner,
	const struct ar_spill *s); /* says so, if it is longer than what a model reads at once */

/* tool/offer.c */
AR_MUST_USE enum ar_status ar_offers_check(struct ar_decision *d, const struct ar_shape_turn_options *options,
					   struct ar_error *err); /* options.tools, before it is taken in */
struct ar_offers ar_offers_of(struct ar_decision *d, const struct ar_turn *turn);
const struct ar_tool *ar_offers_skill_tool(
	const struct ar_decision *d,
	const struct ar_turn *turn); /* NULL: the session has no skills, or the turn does not want the tool */
const struct ar_tool *const *ar_offers_keep(struct ar_decision *d,
					    const struct ar_offers *o); /* a copy that outlives changes */
const struct ar_tool *ar_offers_find(const struct ar_offers *o, struct ar_str name);
struct ar_str ar_tool_owner_word(const struct ar_tool *tool);
void ar_decide_say_offers(struct ar_decision *d, const struct ar_turn *turn, const struct ar_offers *o);

/* tool/decide_tool.c: the calls of one model answer, until all have ended */
void ar_decide_advance(struct ar_decision *d, struct ar_turn *turn); /* whatever can go on does */
bool ar_decide_stop_calls(struct ar_decision *d, struct ar_turn *turn); /* false: none runs any more */
void ar_decide_close_calls(struct ar_decision *d, struct ar_turn *turn); /* the turn ends without them */

/* A person decided about a call that waits: it runs when its place has come, or ends. */
void ar_call_decided(struct ar_decision *d, struct ar_turn *turn, struct ar_str id, bool is_allowed,
		     struct ar_str reason);

/* A person decided about a call whose end was lost: retry, skip, mark_done. */
void ar_call_recovered(struct ar_decision *d, struct ar_turn *turn, struct ar_str id);

/* history/decide_recover.c's side of tools */
bool ar_turn_only_waits(const struct ar_session *s,
			const struct ar_turn *turn); /* for people or clients: no process carried it */
void ar_decide_recover_calls(struct ar_decision *d, struct ar_turn *turn);
void ar_decide_end_cut_calls(struct ar_decision *d, struct ar_turn *turn); /* the same; none begins yet */
/* Of an interrupted turn: calls with a process wait for its end, which is asked for again. False: none. */
bool ar_decide_stop_cut_calls(struct ar_decision *d, struct ar_turn *turn);
void ar_decide_rearm_calls(struct ar_decision *d, const struct ar_turn *turn); /* timers of what waits */

/* decide_model.c */
void ar_decide_ask_model(struct ar_decision *d, struct ar_turn *turn, int64_t attempt);
void ar_decide_ask_again(struct ar_decision *d, struct ar_turn *turn); /* after the answers to its calls */

/* Sets the money of a call aside, and its options: with an answer that is shorter if needed. Held: it is
 * not made. */
enum ar_hold ar_decide_reserve(struct ar_decision *d, struct ar_turn *turn,
			       const struct ar_shape_turn_options *options, int64_t input,
			       struct ar_effect_model_call *call);
/* One call as it goes out: its fact and its effect. */
void ar_decide_call_model(struct ar_decision *d, const struct ar_turn *turn,
			  struct ar_effect_model_call *call);
struct ar_str ar_decide_options_json(struct ar_decision *d, const struct ar_shape_turn_options *options);
struct ar_str ar_decide_model_failed(
	struct ar_decision *d, const struct ar_turn *turn, const struct ar_step_output *out,
	const struct ar_model_result *end); /* the ref of what had arrived, or absent */

typedef enum ar_status ar_decide_fn(struct ar_decision *d, struct ar_error *err);
/* One per write of the catalogue that a session decides, and one per kind of other input. */
#define AR_DECLARE_DECIDE(id, name) ar_decide_fn ar_decide_##name;
AR_SESSION_WRITES(AR_DECLARE_DECIDE)
#undef AR_DECLARE_DECIDE

ar_decide_fn ar_decide_model_done, ar_decide_retry_due, ar_decide_tool_done, ar_decide_call_due,
	ar_decide_hook_done, ar_decide_inspected, ar_decide_servers, ar_decide_checkpoint_done,
	ar_decide_recover, ar_decide_repair, ar_decide_budget_due, ar_decide_action_due, ar_decide_tool_asked,
	ar_decide_process_ready, ar_decide_process_told, ar_decide_process_over, ar_decide_silence_due,
	ar_decide_channel_followed, ar_decide_channel_gone, ar_decide_channel_due, ar_decide_channel_read,
	ar_decide_task_due, ar_decide_access, ar_decide_worker_changed, ar_decide_sent,
	ar_decide_schedule_due, ar_decide_job_due, ar_decide_contents, ar_decide_workspace_read;

#endif
