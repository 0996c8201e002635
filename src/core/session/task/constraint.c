/* Constraints and profile of a task in the turn that executes it: as options of the turn, and as refs
 * that a decision cites when it applies one. Pure. */
#include "describe.h"
#include "limits/limits.h"
#include "schema.h"
#include "task/task.h"

/* ---- citing ---- */

const struct ar_task *ar_task_executed_by(const struct ar_decision *d, const struct ar_turn *turn)
{
	const struct ar_task *task =
		turn && turn->task ? ar_session_declared(d->session, turn->task->parent) : NULL;
	const struct ar_run *run = task ? ar_task_open_run(task) : NULL;

	return run && ar_str_eq(run->turn, turn->id) ? task : NULL;
}

struct ar_str ar_task_constraint_ref(const struct ar_decision *d, const struct ar_turn *turn,
				     const char *member)
{
	const struct ar_task *task = ar_task_executed_by(d, turn);

	return task ? ar_arena_fmt(d->arena, "%.*s/constraints.%s", AR_STR_ARG(task->id), member)
		    : AR_STR_NONE;
}

struct ar_str ar_task_cite(const struct ar_decision *d, const struct ar_turn *turn, const char *member)
{
	struct ar_str ref = ar_task_constraint_ref(d, turn, member);

	return ar_str_absent(ref) ? AR_STR("") : ar_arena_fmt(d->arena, " (%.*s)", AR_STR_ARG(ref));
}

/* ---- as options ---- */

static enum ar_status no_such(struct ar_error *err, const struct ar_task *task, const char *name,
			      struct ar_str word)
{
	return ar_refuse(err, AR_ERR_INVALID_INPUT,
			 "task %.*s: there is no %s '%.*s'; change it with update_task", AR_STR_ARG(task->id),
			 name, AR_STR_ARG(ar_str_utf8_prefix(word, 64)));
}

/* Its time is the time of its turn. */
static const struct ar_shape_turn_budget *budget_of(struct ar_decision *d,
						    const struct ar_shape_task_constraints *c)
{
	int64_t ms = ar_task_limit(c->time_ms);
	struct ar_shape_turn_budget *budget;

	if (ms == 0)
		return c->budget;
	budget = ar_arena_alloc(d->arena, sizeof(*budget));
	if (c->budget)
		*budget = *c->budget;
	budget->ms = AR_OPT_INT(ms);
	return budget;
}

/* A word of an option; false: there is no such word. An absent one is none. */
static bool read_word(const struct ar_enum_desc *words, struct ar_str word, int *ret)
{
	*ret = ar_enum_find(words, word);
	return *ret || ar_str_absent(word);
}

static enum ar_status add_profile(struct ar_decision *d, const struct ar_task *task,
				  struct ar_shape_turn_options *o, struct ar_error *err)
{
	static const struct ar_shape_task_profile none;
	const struct ar_shape_task_profile *p = task->sheet->profile ? task->sheet->profile : &none;
	struct ar_str one = p->capability;

	o->capabilities = ar_texts_joined(d->arena, p->required_capabilities,
					  (struct ar_texts){ &one, !ar_str_absent(one) }, SIZE_MAX);
	for (size_t i = 0; i < o->capabilities.count; i++) {
		if (!ar_routing_capability(o->capabilities.at[i]))
			return no_such(err, task, "capability", o->capabilities.at[i]);
	}
	if (!read_word(&ar_turn_options_latency_desc, p->latency_target, &o->latency))
		return no_such(err, task, "latency target", p->latency_target);
	if (!read_word(&ar_turn_options_budget_class_desc, p->budget_class, &o->budget_class))
		return no_such(err, task, "budget class", p->budget_class);
	if (!read_word(&ar_turn_options_fallback_desc, p->fallback_policy, &o->fallback))
		return no_such(err, task, "fallback policy", p->fallback_policy);
	return AR_OK;
}

enum ar_status ar_task_options(struct ar_decision *d, const struct ar_task *task, struct ar_str model,
			       const struct ar_shape_turn_options **ret, struct ar_error *err)
{
	const struct ar_shape_task_constraints *c = ar_task_constraints(task);
	struct ar_shape_turn_options *o = ar_arena_alloc(d->arena, sizeof(*o));

	*o = (struct ar_shape_turn_options){ .model = ar_str_absent(model) ? c->model : model,
					     .tools = c->tools,
					     .output_schema = c->output_schema,
					     .budget = budget_of(d, c) };
	if (!read_word(&ar_turn_options_mode_desc, c->mode, &o->mode))
		return no_such(err, task, "mode", c->mode);
	if (!read_word(&ar_turn_options_sandbox_desc, c->sandbox, &o->sandbox))
		return no_such(err, task, "sandbox", c->sandbox);
	if (!read_word(&ar_turn_options_network_desc, c->network, &o->network))
		return no_such(err, task, "network rule", c->network);
	if (add_profile(d, task, o, err) != AR_OK)
		return AR_E_REFUSED;
	*ret = o;
	return ar_struct_validate(&ar_shape_turn_options_desc, o, err);
}

/* ---- the answer ---- */

/* What is wrong with the answer, in words; absent: nothing. A schema that cannot be used lets no
 * answer pass: whether one fits would be a guess. */
static struct ar_str fault_of(struct ar_decision *d, struct ar_str schema_text, struct ar_str answer)
{
	struct ar_schema *schema = NULL;
	struct ar_schema_fault fault = { 0 };
	struct ar_error err = { 0 };
	struct ar_json v;
	bool is_good;

	if (ar_schema_compile(schema_text, d->json, &d->schema_steps, &schema, &err) != AR_OK)
		return ar_arena_fmt(d->arena, "the schema cannot be used: %s", err.msg);
	if (ar_json_parse(d->json, answer, &v, NULL) != AR_OK) {
		ar_schema_free(schema);
		return AR_STR("the answer is not JSON");
	}
	is_good = ar_schema_check(schema, v, &d->schema_steps, &fault);
	ar_schema_free(schema);
	return is_good ? AR_STR_NONE : ar_arena_str(d->arena, ar_str_from(fault.message));
}

bool ar_task_refuses_answer(struct ar_decision *d, struct ar_turn *turn, struct ar_str answer)
{
	struct ar_str schema = ar_turn_options(turn)->output_schema, fault;

	if (!ar_task_executed_by(d, turn) || ar_str_empty(schema) || turn->is_interrupted)
		return false;
	fault = fault_of(d, schema, answer);
	if (ar_str_absent(fault))
		return false;
	ar_decide_fail(d, turn,
		       &(struct ar_ending){
			       .status = AR_TURN_FAILED_STATUS_FAILED,
			       .category = AR_STR("output_invalid"),
			       .message = ar_arena_fmt(
				       d->arena, "the answer does not fit the schema of its task%.*s: %.*s",
				       AR_STR_ARG(ar_task_cite(d, turn, "outputSchema")),
				       AR_STR_ARG(ar_str_utf8_prefix(fault, 512))),
			       .output_ref = ar_decide_content(d, answer),
			       .advice = AR_STR("retry the task, or change constraints.outputSchema"),
			       .retryable = true });
	return true;
}

/* ---- progress ---- */

void ar_task_note_progress(struct ar_decision *d, const struct ar_turn *turn, struct ar_str step,
			   struct ar_str output_ref)
{
	const struct ar_task *task = ar_task_executed_by(d, turn);
	int64_t ms = d->input->policy->progress_ms;
	struct ar_ids ids;
	struct ar_jw w;

	if (!task || ms <= 0 || turn->is_interrupted ||
	    ar_decide_since(d, task->sheet->alive) < ms * INT64_C(1000))
		return;
	w = ar_decide_json(d);
	ar_jw_open(&w);
	ar_jw_mint(&w, "modelSteps", turn->rounds);
	ar_jw_mint(&w, "toolCalls", turn->calls_started.v);
	ar_jw_mint(&w, "inputTokens", turn->input_tokens);
	ar_jw_mint(&w, "outputTokens", turn->output_tokens);
	ar_jw_close(&w);
	ids = ar_task_ids(task, ar_task_open_run(task));
	ar_decide_emit(d, AR_EV_TASK_PROGRESS, &ids,
		       &(struct ar_ev_task_progress){
			       .phase = AR_TASK_PROGRESS_PHASE_WORKING,
			       .current_step = ar_str_utf8_prefix(step, 256),
			       .counters = ar_decide_json_end(d),
			       .output_refs = { &output_ref, !ar_str_absent(output_ref) } });
}
