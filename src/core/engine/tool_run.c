/* One tool call in flight: fetch its arguments, start it at its source, stop it at its deadline, bring
 * its end back into the session's inbox, with secrets masked. Calls are counted as steps: a session
 * with one does not move to another node without waiting for it.
 *
 *   PLANNED -> LOADING -> RUNNING -> ENDED;  a cancel before RUNNING ends without a run. */
#include "definition/definition.h"
#include "engine_priv.h"
#include "fault.h"
#include "funnel.h"
#include "identity.h"
#include "process/process_run.h"
#include "process/record.h"
#include "request/delivery.h"
#include "tool/calls.h"
#include "trace/trace.h"
#include "worker/worker_watch.h"
#include "workspace/environment.h"

#include <string.h>

#define PROGRESS_PAUSE ((ar_usec)250000) /* between two frames about one call */
#define PROGRESS_MAX 4096

enum run_state {
	RUN_PLANNED = 1,
	RUN_LOADING,
	RUN_RUNNING,
	RUN_ENDED,
};

struct ar_live_call {
	struct ar_list node; /* live's calls */
	struct ar_live *live;
	struct ar_arena arena;
	enum run_state state;
	bool is_cancelled, is_late;
	bool is_plan; /* approved by a person: there is nothing more to run */
	bool is_found_again; /* by the next start: its work is not in this process */
	bool is_without_host; /* it wanted a process, and there is nobody to run one */
	struct ar_str id, tool, step;
	ar_usec told; /* monotonic: the newest progress */
	uint64_t tells;
	struct ar_hash args_hash;
	struct ar_store_blobs_get args;
	struct ar_hash skill_hash;
	struct ar_store_blobs_get skill; /* of a call that reads one */
	struct ar_tool_call call;
	struct ar_tool_source *source;
	struct ar_funnel funnel;
	struct ar_timer deadline;
	bool has_deadline; /* the timer runs */
	size_t open_questions; /* to people, who have the time meanwhile */
	ar_usec left; /* of its own time, then */
	ar_usec started; /* monotonic */
	struct ar_tool_result result; /* as it goes to the session */
	struct ar_delivery ended;
};

/* A process is found again by the next start, with what it has done meanwhile. */
static bool outlives_us(const struct ar_live_call *r)
{
	return r->is_found_again || !ar_str_empty(r->call.process_id);
}

static void run_free(struct ar_live_call *r)
{
	if (r->has_deadline)
		ar_timer_stop(&r->deadline);
	ar_process_unclaim(r->live, r->id);
	ar_list_del(&r->node);
	r->live->engine->counts.steps--;
	r->live->engine->counts.calls -= !outlives_us(r);
	r->live->engine->load[r->live->partition].steps--;
	ar_store_op_fini(&r->args.op);
	ar_store_op_fini(&r->skill.op);
	ar_funnel_fini(&r->funnel);
	ar_arena_fini(&r->arena);
	ar_free(r);
}

/* ---- the end ---- */

static void end_delivered(struct ar_delivery *d)
{
	run_free(AR_CONTAINER_OF(d, struct ar_live_call, ended));
}

static struct ar_str clean(struct ar_live_call *r, struct ar_str text)
{
	return ar_str_absent(text) ? AR_STR_NONE : ar_funnel_text(&r->funnel, text, &r->arena);
}

static struct ar_str clean_id(struct ar_live_call *r, struct ar_str id)
{
	return ar_str_empty(id) ? AR_STR_NONE : ar_funnel_id(&r->funnel, id, &r->arena);
}

static void keep_images(struct ar_live_call *r, const struct ar_tool_result *result)
{
	struct ar_tool_image *images = ar_arena_alloc(&r->arena, (result->image_count + 1) * sizeof(*images));

	for (size_t i = 0; i < result->image_count; i++)
		images[i] = (struct ar_tool_image){ ar_arena_str(&r->arena, result->images[i].mime),
						    ar_arena_str(&r->arena, result->images[i].data) };
	r->result.images = images;
	r->result.image_count = result->image_count;
}

/* What the call says it is, unless it was we who stopped it for being late. */
static enum ar_tool_outcome outcome_of(const struct ar_live_call *r, const struct ar_tool_result *result)
{
	if (r->is_without_host)
		return AR_TOOL_NOT_RUN;
	return r->is_late && result->outcome != AR_TOOL_OK ? AR_TOOL_TIMEOUT : result->outcome;
}

/* Of a tool that works in a boundary itself. */
static void keep_boundary(struct ar_live_call *r, const struct ar_tool_result *result)
{
	const struct ar_process_ready *b = result->boundary;
	struct ar_process_ready *kept;
	struct ar_str *violations;

	if (!b)
		return;
	kept = ar_arena_alloc(&r->arena, sizeof(*kept));
	*kept = (struct ar_process_ready){ .cwd = clean(r, b->cwd),
					   .read_roots = clean(r, b->read_roots),
					   .write_roots = clean(r, b->write_roots),
					   .environment = clean(r, b->environment),
					   .limits = clean(r, b->limits),
					   .boundary = clean(r, b->boundary) };
	violations = ar_arena_alloc(&r->arena, (result->violation_count + 1) * sizeof(*violations));
	for (size_t i = 0; i < result->violation_count; i++)
		violations[i] = clean(r, result->violations[i]);
	r->result.profile = result->profile;
	r->result.boundary = kept;
	r->result.violations = violations;
	r->result.violation_count = result->violation_count;
}

/* As it goes to the session: the source's memory ends with its callback, and secrets stay out. */
static void keep_result(struct ar_live_call *r, const struct ar_tool_result *result)
{
	r->result =
		(struct ar_tool_result){ .outcome = outcome_of(r, result),
					 .text = clean(r, result->text),
					 .structured = clean(r, result->structured),
					 .credential = clean(r, result->credential),
					 .changes = clean(r, result->changes),
					 .category = r->is_late ? AR_STR_NONE : clean(r, result->category),
					 .message = r->is_late ? AR_STR("it did not end in time")
							       : clean(r, result->message),
					 .advice = clean(r, result->advice),
					 .retryable = result->retryable,
					 .request_id = clean_id(r, result->request_id) };
	if (r->is_without_host)
		r->result.category = AR_STR("sandbox_unavailable");
	keep_images(r, result);
	r->result.artifacts =
		ar_funnel_artifacts(&r->funnel, result->artifacts, result->artifact_count, &r->arena);
	r->result.artifact_count = result->artifact_count;
	keep_boundary(r, result);
}

static void run_end(struct ar_live_call *r, const struct ar_tool_result *result)
{
	struct ar_live *l = r->live;
	struct ar_clock *clock = l->engine->o.clock;

	if (l->engine->is_stopping)
		return; /* the next start finds the call open and says so */
	AR_FAULT("engine.tool_end");
	if (r->has_deadline)
		ar_timer_stop(&r->deadline);
	r->has_deadline = false;
	r->state = RUN_ENDED;
	keep_result(r, result);
	r->ended.over = end_delivered;
	r->ended.request.input = (struct ar_input){
		.kind = AR_IN_TOOL_DONE,
		.tool_done = { .call = r->id,
			       .result = &r->result,
			       .masked = ar_funnel_masked(&r->funnel.counts, &r->arena),
			       .duration_ms = r->started ? (clock->mono(clock) - r->started) / 1000 : 0 }
	};
	ar_delivery_send(l, &r->ended);
}

/* ---- while it runs ---- */

/* A frame for who reads now, a few times a second; whether it is time for one. */
static bool may_tell(struct ar_live_call *r)
{
	struct ar_engine *e = r->live->engine;
	ar_usec now = e->o.clock->mono(e->o.clock);

	if (e->is_stopping || (r->tells > 0 && now - r->told < PROGRESS_PAUSE))
		return false;
	r->told = now;
	return true;
}

static void tell_progress(struct ar_live_call *r, const struct ar_ev_tool_progress *said, struct ar_arena *a)
{
	struct ar_event event = { .type = AR_EV_TOOL_PROGRESS, .payload = said };

	event.event_id =
		ar_arena_fmt(a, "evt_%.*s.p%llu", AR_STR_ARG(ar_str_sub(r->id, strlen("tool_"), SIZE_MAX)),
			     (unsigned long long)++r->tells);
	event.session_id = r->call.session_id;
	event.ids[AR_SCOPE_THREAD] = r->call.thread_id;
	event.ids[AR_SCOPE_TURN] = r->call.turn_id;
	event.ids[AR_SCOPE_STEP] = r->step;
	event.ids[AR_SCOPE_TOOL_CALL] = r->id;
	ar_follow_push_frame(r->live->engine->o.follow, ar_live_session_key(r->live), &event);
}

/* Its words are masked each by itself: nothing of them is stored. */
static void on_progress(struct ar_tool_call *c, const struct ar_tool_progress *p)
{
	struct ar_live_call *r = AR_CONTAINER_OF(c, struct ar_live_call, call);
	struct ar_engine *e = r->live->engine;
	struct ar_ev_tool_progress said = { 0 };
	struct ar_redact_counts counts = { 0 };
	struct ar_arena a = { 0 };

	ar_live_reset_idle(r->live, r->call.turn_id);
	if (!may_tell(r))
		return;
	said.preview =
		ar_str_utf8_prefix(ar_redact(e->o.redactor, ar_str_absent(p->text) ? AR_STR("") : p->text, &a,
					     &counts),
				   PROGRESS_MAX);
	if (p->percent >= 0)
		said.percent = (struct ar_opt_num){ .set = true, .v = p->percent };
	tell_progress(r, &said, &a);
	ar_arena_fini(&a);
}

/* A question on its way into the session. */
struct asked {
	struct ar_live *live;
	struct ar_engine_request request;
	struct ar_arena arena;
	struct ar_str call;
	struct ar_tool_question question;
};

/* What the store could not take was not asked: the tool goes on without an answer. */
static void asked_decided(struct ar_engine_request *request)
{
	struct asked *q = AR_CONTAINER_OF(request, struct asked, request);

	if (request->status != AR_OK)
		ar_tool_answer(q->live, &(struct ar_effect_tool_answer){ .call = q->call,
									 .question = q->question.id,
									 .decision = AR_STR("cancel") });
	ar_arena_fini(&q->arena);
	ar_free(q);
}

/* The time limit of a call is suspended while it waits for a person. */
static void pause(struct ar_live_call *r)
{
	struct ar_clock *clock = r->live->engine->o.clock;

	if (r->open_questions++ > 0 || !r->has_deadline)
		return;
	ar_timer_stop(&r->deadline);
	r->has_deadline = false;
	r->left = r->deadline.due - clock->mono(clock);
}

static void resume(struct ar_live_call *r)
{
	if (r->open_questions == 0 || --r->open_questions > 0)
		return;
	r->has_deadline = true;
	ar_timer_start(r->live->engine, &r->deadline, r->left);
	r->call.deadline = r->deadline.due;
}

static void on_question(struct ar_tool_call *c, const struct ar_tool_question *question)
{
	struct ar_live_call *r = AR_CONTAINER_OF(c, struct ar_live_call, call);
	struct asked *q;

	if (r->live->engine->is_stopping || r->is_cancelled || r->is_late)
		return;
	q = ar_new0(sizeof(*q));
	q->live = r->live;
	q->call = ar_arena_str(&q->arena, r->id);
	q->question =
		(struct ar_tool_question){ .id = ar_arena_str(&q->arena, question->id),
					   .prompt = ar_arena_str(&q->arena, clean(r, question->prompt)),
					   .schema = ar_arena_str(&q->arena, clean(r, question->schema)),
					   .url = ar_arena_str(&q->arena, clean(r, question->url)) };
	q->request.done = asked_decided;
	q->request.input = (struct ar_input){ .kind = AR_IN_TOOL_ASKED,
					      .tool_asked = { .call = q->call, .question = &q->question } };
	pause(r);
	ar_inbox_push(r->live, &q->request);
}

/* The variables of the workspace; that of the trace is the last, so that it holds. */
static struct ar_texts environment_of(const struct ar_live_call *r, struct ar_arena *a)
{
	struct ar_texts given = ar_environment_texts(ar_session_environment(&r->live->state), false, a);
	struct ar_str *all;

	if (!r->live->engine->o.policy->traces_commands || ar_str_absent(r->call.trace_parent))
		return given;
	all = ar_arena_alloc(a, (given.count + 1) * sizeof(*all));
	for (size_t i = 0; i < given.count; i++)
		all[i] = given.at[i];
	all[given.count] = ar_arena_fmt(a, "TRACEPARENT=%.*s", AR_STR_ARG(r->call.trace_parent));
	return (struct ar_texts){ all, given.count + 1 };
}

/* A call that is to stop begins nothing: its source was notified, and ends it. */
static void on_process(struct ar_tool_call *c, const struct ar_process_spec *wanted)
{
	struct ar_live_call *r = AR_CONTAINER_OF(c, struct ar_live_call, call);
	struct ar_process_spec spec = *wanted;
	struct ar_texts variables;
	struct ar_arena a = { 0 };

	if (r->live->engine->is_stopping || r->is_cancelled || r->is_late)
		return;
	variables = environment_of(r, &a);
	spec.env = variables.at; /* no tool names any of its own */
	spec.env_count = variables.count;
	spec.secrets = ar_session_secret_variables(&r->live->state, &a, &spec.secret_count);
	spec.session_id = c->session_id;
	spec.call_id = c->tool_call_id;
	spec.workspace = c->workspace;
	spec.worker = c->worker;
	spec.is_apart = ar_session_is_apart(&r->live->state, r->live->engine->o.policy);
	spec.withheld = ar_session_withheld(&r->live->state, r->live->engine->o.policy);
	r->is_without_host = !r->live->engine->o.processes;
	ar_process_launch(r->live, r->id, &spec);
	ar_arena_fini(&a);
}

static void on_process_act(struct ar_tool_call *c, const struct ar_tool_act *asked)
{
	struct ar_live_call *r = AR_CONTAINER_OF(c, struct ar_live_call, call);

	if (!r->live->engine->is_stopping)
		ar_process_act(r->live, r->id, asked);
}

static void on_done(struct ar_tool_call *c, const struct ar_tool_result *result)
{
	run_end(AR_CONTAINER_OF(c, struct ar_live_call, call), result);
}

static const struct ar_tool_call_vtable callbacks = {
	.on_progress = on_progress,
	.on_question = on_question,
	.on_process = on_process,
	.on_process_act = on_process_act,
	.on_done = on_done,
};

static void on_deadline(struct ar_timer *t)
{
	struct ar_live_call *r = AR_CONTAINER_OF(t, struct ar_live_call, deadline);

	r->has_deadline = false;
	r->is_late = true;
	if (r->state == RUN_RUNNING &&
	    !ar_process_end_of(r->live, r->id, AR_STR("policy"), AR_STR(AR_PROCESS_TIMEOUT)))
		r->source->v->cancel(r->source, &r->call);
}

static void no_deadline(struct ar_timer *t)
{
	AR_CONTAINER_OF(t, struct ar_live_call, deadline)->has_deadline = false;
}

/* ---- the beginning ---- */

static void end_unbegun(struct ar_live_call *r)
{
	run_end(r, &(struct ar_tool_result){ .outcome = AR_TOOL_CANCELLED,
					     .message = AR_STR("stopped before it began") });
}

/* Its process is there from before: it hears of it as if it had just asked. The call may be
 * over, and gone, after each word. */
static void claim_process(struct ar_live_call *r)
{
	struct ar_live *l = r->live;
	struct ar_arena a = { 0 };
	struct ar_str call = ar_arena_str(&a, r->id);

	ar_tool_process_began(l, call, r->call.process_id);
	ar_process_claim(l, call);
	ar_arena_fini(&a);
}

static void run_now(struct ar_live_call *r)
{
	struct ar_engine *e = r->live->engine;
	const struct ar_inventory *inv = ar_live_inventory(e, &r->live->state);

	r->call.tool = inv ? ar_inventory_find(inv, r->tool) : NULL;
	/* A call from before the workspace was configured, or shared no longer, is not run in it. */
	if (!r->call.tool || !ar_session_may_use(&r->live->state, e->o.policy, r->call.tool)) {
		run_end(r, &(struct ar_tool_result){ .outcome = AR_TOOL_NOT_RUN,
						     .message = AR_STR("the tool is no longer available") });
		return;
	}
	r->source = ar_toolbox_source_of(e->o.toolbox, r->call.tool);
	r->call.args = r->args.bytes[0];
	r->started = e->o.clock->mono(e->o.clock);
	r->state = RUN_RUNNING;
	AR_FAULT("engine.before_tool");
	if (r->call.tool->owner == AR_TOOL_SUBAGENT) { /* the session does it, with these arguments */
		run_end(r, &(struct ar_tool_result){ .outcome = AR_TOOL_OK, .text = r->call.args });
		return;
	}
	r->source->v->start(r->source, &r->call);
	if (!ar_str_absent(r->call.process_id))
		claim_process(r);
}

/* ---- a skill that is read ---- */

static void on_skill(struct ar_store_op *op)
{
	struct ar_live_call *r = AR_CONTAINER_OF(op, struct ar_live_call, skill.op);

	r->live->busy--;
	if (r->live->engine->is_stopping)
		return;
	if (r->is_cancelled || r->is_late)
		end_unbegun(r);
	else if (op->status != AR_OK || ar_str_absent(r->skill.bytes[0]))
		run_end(r, &(struct ar_tool_result){ .outcome = AR_TOOL_NOT_RUN,
						     .category = AR_STR("content_unavailable"),
						     .message = AR_STR("the skill cannot be read"),
						     .retryable = op->status != AR_OK &&
								  op->status != AR_E_CORRUPT });
	else
		run_end(r, &(struct ar_tool_result){ .outcome = AR_TOOL_OK, .text = r->skill.bytes[0] });
}

static struct ar_str wanted_skill(const struct ar_live_call *r)
{
	struct ar_str name = AR_STR_NONE;
	struct ar_json v;

	if (ar_json_parse(r->live->engine->json, r->args.bytes[0], &v, NULL) == AR_OK)
		ar_json_str(ar_json_get(v, "name"), &name);
	return name;
}

/* The text was stored with the fact that names the skill, or is one of the settings. */
static void read_skill(struct ar_live_call *r)
{
	struct ar_engine *e = r->live->engine;
	struct ar_str name = wanted_skill(r), session_key;
	struct ar_skill skill;

	r->started = e->o.clock->mono(e->o.clock);
	if (!ar_session_skill(&r->live->state, e->o.policy, name, &skill)) {
		run_end(r, &(struct ar_tool_result){
				   .outcome = AR_TOOL_ERROR,
				   .category = AR_STR("not_found"),
				   .message = ar_arena_fmt(&r->arena, "there is no skill '%.*s'",
							   AR_STR_ARG(ar_str_utf8_prefix(name, 64))),
				   .advice = AR_STR("use the name of a skill that is listed") });
		return;
	}
	if (ar_str_absent(skill.ref)) {
		run_end(r, &(struct ar_tool_result){ .outcome = AR_TOOL_OK, .text = skill.text });
		return;
	}
	ar_ref_parse(skill.ref, &session_key, &r->skill_hash);
	r->skill = (struct ar_store_blobs_get){ .op = { .kind = AR_STORE_BLOBS, .done = on_skill },
						.hashes = &r->skill_hash,
						.count = 1 };
	r->live->busy++;
	ar_store_submit(e->o.store, &r->skill.op);
}

static bool is_read_skill(const struct ar_live_call *r)
{
	const struct ar_tool *tool = ar_session_skill_tool(&r->live->state, r->live->engine->o.policy);

	return tool && ar_str_eq(tool->name, r->tool);
}

static void on_args(struct ar_store_op *op)
{
	struct ar_live_call *r = AR_CONTAINER_OF(op, struct ar_live_call, args.op);

	r->live->busy--;
	if (r->live->engine->is_stopping)
		return;
	if (r->is_cancelled || r->is_late)
		end_unbegun(r);
	else if (op->status != AR_OK || ar_str_absent(r->args.bytes[0]))
		run_end(r, &(struct ar_tool_result){ .outcome = AR_TOOL_NOT_RUN,
						     .category = AR_STR("content_unavailable"),
						     .message = AR_STR("its arguments cannot be read"),
						     .retryable = op->status != AR_OK &&
								  op->status != AR_E_CORRUPT });
	else if (r->is_plan)
		run_end(r, &(struct ar_tool_result){
				   .outcome = AR_TOOL_OK,
				   .text = AR_STR("A person approved the plan. Carry it out.") });
	else if (is_read_skill(r))
		read_skill(r);
	else
		run_now(r);
}

static bool finds_again(struct ar_live *l, struct ar_str name)
{
	const struct ar_inventory *inv = ar_live_inventory(l->engine, &l->state);
	const struct ar_tool *tool = inv ? ar_inventory_find(inv, name) : NULL;

	return tool && tool->outlives_us;
}

void ar_tool_plan(struct ar_live *l, const struct ar_effect *effect)
{
	const struct ar_turn *turn = effect->tool_call.turn;
	const struct ar_invocation *call = effect->tool_call.call;
	const struct ar_process_record *process = effect->tool_call.process;
	struct ar_live_call *r = ar_new0(sizeof(*r));
	struct ar_arena *a = &r->arena;
	struct ar_engine *e = l->engine;
	ar_usec left = call->expires - l->commit.request->input.now;
	struct ar_str session_key;

	r->live = l;
	r->state = RUN_PLANNED;
	r->funnel.redactor = e->o.redactor;
	r->id = ar_arena_str(a, call->id);
	r->tool = ar_arena_str(a, call->name);
	r->step = ar_arena_str(a, call->step);
	r->is_plan = ar_turn_plans(turn) && ar_str_is(call->name, AR_PROPOSE_PLAN);
	ar_ref_parse(call->args_ref, &session_key, &r->args_hash);
	r->args = (struct ar_store_blobs_get){ .op = { .kind = AR_STORE_BLOBS, .done = on_args },
					       .hashes = &r->args_hash,
					       .count = 1 };
	r->call = (struct ar_tool_call){
		.v = &callbacks,
		.deadline = e->o.clock->mono(e->o.clock) + left,
		.session_id = ar_arena_str(a, l->state.id),
		.thread_id = ar_arena_str(a, turn->thread),
		.turn_id = ar_arena_str(a, turn->id),
		.tool_call_id = r->id,
		.worker = ar_arena_str(a, ar_worker_for(e, &l->state)),
		.operation_id = ar_arena_str(a, call->permission),
		.account = ar_arena_str(a, l->state.account),
		.tenant = ar_arena_str(a, ar_session_tenant(&l->state)),
		.workspace = ar_arena_str(a, ar_session_folder_in(&l->state, e->o.policy, turn->thread)),
		.profile = (enum ar_sandbox_profile)call->profile.v,
		.process_id = process ? ar_arena_str(a, process->id) : AR_STR_NONE
	};
	r->is_found_again = finds_again(l, r->tool);
	if (e->o.policy->is_traced)
		r->call.trace_parent = ar_trace_parent(&l->state, a, r->call.turn_id, r->id);
	ar_list_push(&l->calls, &r->node);
	e->counts.steps++;
	e->counts.calls += !outlives_us(r);
	e->load[l->partition].steps++;
	r->deadline = (struct ar_timer){ .live = l, .fire = on_deadline, .drop = no_deadline };
	r->has_deadline = true;
	ar_timer_start(e, &r->deadline, left);
	if (process && !ar_process_is_running(process))
		ar_process_recall(l, process);
}

void ar_tools_begin(struct ar_live *l)
{
	AR_LIST_FOR_SAFE (it, &l->calls) {
		struct ar_live_call *r = AR_CONTAINER_OF(it, struct ar_live_call, node);

		if (r->state != RUN_PLANNED)
			continue;
		r->state = RUN_LOADING;
		l->busy++;
		ar_store_submit(l->engine->o.store, &r->args.op);
	}
}

void ar_tool_cancel(struct ar_live *l, struct ar_str id)
{
	AR_LIST_FOR_SAFE (it, &l->calls) {
		struct ar_live_call *r = AR_CONTAINER_OF(it, struct ar_live_call, node);

		if (!ar_str_eq(r->id, id))
			continue;
		r->is_cancelled = true;
		if (r->state == RUN_RUNNING && !ar_process_end_of(l, id, AR_STR("parent_cancellation"),
								  AR_STR("its tool call was cancelled")))
			r->source->v->cancel(r->source, &r->call);
	}
}

static struct ar_live_call *run_find(struct ar_live *l, struct ar_str id)
{
	AR_LIST_FOR (it, &l->calls) {
		struct ar_live_call *r = AR_CONTAINER_OF(it, struct ar_live_call, node);

		if (ar_str_eq(r->id, id))
			return r;
	}
	return NULL;
}

bool ar_tool_partial(struct ar_live *l, struct ar_str call, const struct ar_partial_output *partial)
{
	struct ar_live_call *r = run_find(l, call);
	struct ar_ev_tool_progress said = { .output_offset = AR_OPT_INT((int64_t)partial->offset) };
	struct ar_arena a = { 0 };

	if (!r || r->state != RUN_RUNNING || !may_tell(r))
		return false;
	said.partial_output_ref = ar_process_ref_make(&a, partial->process, partial->stream);
	tell_progress(r, &said, &a);
	ar_arena_fini(&a);
	return true;
}

void ar_tool_process_began(struct ar_live *l, struct ar_str call, struct ar_str process)
{
	struct ar_live_call *r = run_find(l, call);

	if (r && r->state == RUN_RUNNING && r->source->v->process_began)
		r->source->v->process_began(r->source, &r->call, process);
}

bool ar_tool_process_ended(struct ar_live *l, struct ar_str call, const struct ar_process_result *result)
{
	struct ar_live_call *r = run_find(l, call);

	if (!r || r->state == RUN_ENDED)
		return true;
	if (r->state != RUN_RUNNING)
		return false;
	r->source->v->process_ended(r->source, &r->call, result);
	return true;
}

/* The call may be over meanwhile: then nobody wants to know. */
void ar_tool_process_acted(struct ar_live *l, struct ar_str call, const struct ar_tool_acted *acted)
{
	struct ar_live_call *r = run_find(l, call);

	if (r && r->state == RUN_RUNNING && !l->engine->is_stopping)
		r->source->v->process_acted(r->source, &r->call, acted);
}

void ar_tool_answer(struct ar_live *l, const struct ar_effect_tool_answer *effect)
{
	enum ar_tool_answer_kind kind =
		ar_str_is(effect->decision, "accept") || ar_str_is(effect->decision, "allow")
			? AR_TOOL_ANSWER_ACCEPT
		: ar_str_is(effect->decision, "decline") || ar_str_is(effect->decision, "deny")
			? AR_TOOL_ANSWER_DECLINE
			: AR_TOOL_ANSWER_CANCEL;

	AR_LIST_FOR_SAFE (it, &l->calls) {
		struct ar_live_call *r = AR_CONTAINER_OF(it, struct ar_live_call, node);

		if (!ar_str_eq(r->id, effect->call) || r->state != RUN_RUNNING)
			continue;
		resume(r);
		r->source->v->answer(r->source, &r->call,
				     &(struct ar_tool_answer){ .question = effect->question,
							       .kind = kind,
							       .content = effect->content });
	}
}

void ar_tools_release(struct ar_live *l)
{
	AR_LIST_FOR_SAFE (it, &l->calls) {
		struct ar_live_call *r = AR_CONTAINER_OF(it, struct ar_live_call, node);

		r->is_cancelled = r->call.is_released = true;
		if (r->state == RUN_PLANNED)
			run_free(r);
		else if (r->state == RUN_RUNNING)
			r->source->v->cancel(r->source, &r->call);
	}
}

void ar_tools_drop(struct ar_live *l)
{
	while (!ar_list_empty(&l->calls))
		run_free(AR_CONTAINER_OF(l->calls.next, struct ar_live_call, node));
}
