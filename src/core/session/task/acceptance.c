/* Criteria that the runtime checks itself when a run has ended well: a command in the sandbox of the
 * session, or a person. They are checked one after another in a turn of their own (command.c), the run
 * being open meanwhile; the first that does not hold ends it. What is found is a fact (the member `checked`
 * of task.progress), which nobody's word replaces. Pure. */
#include "action/action.h"
#include "checkpoint/checkpoints.h"
#include "task/task.h"

#define NAME_MAX 256 /* bytes of the name of a criterion that is checked */
#define TIME_MAX_MS INT64_C(86400000)
#define KEY_MAX 64 /* bytes of a name as a key of the coverage */
#define REASON_MAX 4096
#define QUOTED_MAX 65536 /* bytes of an answer that a person is shown */

/* ---- criteria ---- */

struct ar_str ar_criterion_name(const struct ar_shape_criterion *c)
{
	struct ar_str name = ar_texts_first(AR_TEXTS(c->text_, c->criterion, c->id, c->name, c->description));

	if (!ar_str_absent(name))
		return name;
	name = ar_texts_first(AR_TEXTS(c->command, c->artifact));
	return ar_str_absent(name) ? name : ar_str_utf8_prefix(name, NAME_MAX);
}

bool ar_criterion_is_checked(const struct ar_shape_criterion *c)
{
	return !ar_str_absent(c->command) || c->person.v;
}

static const char *fault_of(const struct ar_shape_criterion *c)
{
	struct ar_str name = ar_criterion_name(c);

	if (!ar_str_absent(c->command) + c->person.v + !ar_str_absent(c->artifact) + (c->evidence != 0) > 1)
		return "has a command, a person, an artifact or evidence, only one of them";
	if (!ar_str_absent(c->artifact) && ar_str_empty(c->artifact))
		return "has an artifact without a name";
	if (!ar_str_absent(c->command) && ar_str_empty(c->command))
		return "has an empty command";
	if (ar_str_empty(name) || name.len > NAME_MAX)
		return "needs a name (criterion) of 1 to 256 bytes";
	if (c->timeout_ms.set && (c->timeout_ms.v < 1 || c->timeout_ms.v > TIME_MAX_MS))
		return "has a timeoutMs that is not between 1 and 86400000";
	return NULL;
}

static bool is_repeated(struct ar_shape_criterion_list criteria, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		if (ar_str_eq(ar_criterion_name(&criteria.at[i]), ar_criterion_name(&criteria.at[at])))
			return true;
	}
	return false;
}

enum ar_status ar_criteria_check(struct ar_shape_criterion_list criteria, enum ar_error_code code,
				 struct ar_error *err)
{
	size_t checked = 0;

	for (size_t i = 0; i < criteria.count; i++) {
		const char *fault;

		if (!ar_criterion_is_checked(&criteria.at[i]) && !ar_criterion_is_shown(&criteria.at[i]))
			continue;
		fault = fault_of(&criteria.at[i]);
		if (!fault && is_repeated(criteria, i))
			fault = "has the name of another one";
		if (fault)
			return ar_refuse(err, (uint16_t)code, "acceptance: criterion %zu %s", i + 1, fault);
		checked += ar_criterion_is_checked(&criteria.at[i]);
	}
	if (checked > AR_CHECKS_MAX)
		return ar_refuse(err, (uint16_t)code,
				 "acceptance: %zu criteria have a command or a person; at most %d may",
				 checked, AR_CHECKS_MAX);
	return AR_OK;
}

/* ---- what was found so far ---- */

static const struct ar_shape_criterion *check_of(const struct ar_task *task, struct ar_str name)
{
	for (size_t i = 0; i < task->sheet->checks.count; i++) {
		if (ar_str_eq(task->sheet->checks.at[i].criterion, name))
			return &task->sheet->checks.at[i];
	}
	return NULL;
}

/* That is being checked; NULL: none is. */
static const struct ar_shape_criterion *open_check(const struct ar_task *task)
{
	for (size_t i = 0; i < task->sheet->checks.count; i++) {
		if (!task->sheet->checks.at[i].satisfied.set)
			return &task->sheet->checks.at[i];
	}
	return NULL;
}

static const struct ar_shape_criterion *unmet_check(const struct ar_task *task)
{
	for (size_t i = 0; i < task->sheet->checks.count; i++) {
		const struct ar_shape_criterion *c = &task->sheet->checks.at[i];

		if (c->satisfied.set && !c->satisfied.v)
			return c;
	}
	return NULL;
}

static const struct ar_shape_criterion *declared(const struct ar_task *task, struct ar_str name)
{
	for (size_t i = 0; i < task->sheet->acceptance.count; i++) {
		const struct ar_shape_criterion *c = &task->sheet->acceptance.at[i];

		if ((ar_criterion_is_checked(c) || ar_criterion_is_shown(c)) &&
		    ar_str_eq(ar_criterion_name(c), name))
			return c;
	}
	return NULL;
}

/* The next that was not looked at. */
static const struct ar_shape_criterion *next_criterion(const struct ar_task *task)
{
	for (size_t i = 0; i < task->sheet->acceptance.count; i++) {
		const struct ar_shape_criterion *c = &task->sheet->acceptance.at[i];

		if (ar_criterion_is_checked(c) && !check_of(task, ar_criterion_name(c)))
			return c;
	}
	return NULL;
}

bool ar_acceptance_holds(const struct ar_task *task, const struct ar_shape_criterion *c)
{
	const struct ar_shape_criterion *check = check_of(task, ar_criterion_name(c));

	return check && check->satisfied.v;
}

bool ar_acceptance_is_due(const struct ar_task *task)
{
	return !unmet_check(task) && next_criterion(task);
}

bool ar_acceptance_is_confirmed(const struct ar_session *s, const struct ar_task *task)
{
	for (size_t i = 0; i < task->sheet->acceptance.count; i++) {
		const struct ar_shape_criterion *c = &task->sheet->acceptance.at[i];

		if (ar_criterion_is_shown(c)) {
			/* Evidence is recorded after the run: it is waited for, nobody confirms it. */
			if (!c->evidence && ar_str_absent(ar_required_ref(s, task, c)))
				return false;
		} else if (!ar_criterion_is_checked(c) || !ar_acceptance_holds(task, c)) {
			return false;
		}
	}
	return true;
}

/* Those that a fact shows, each with the id of what does. */
static size_t add_shown(const struct ar_session *s, const struct ar_task *task, struct ar_shape_criterion *at)
{
	size_t n = 0;

	for (size_t i = 0; i < task->sheet->acceptance.count; i++) {
		const struct ar_shape_criterion *c = &task->sheet->acceptance.at[i];
		struct ar_str ref = ar_criterion_is_shown(c) ? ar_required_ref(s, task, c) : AR_STR_NONE;

		if (!ar_str_absent(ref))
			at[n++] = (struct ar_shape_criterion){ .criterion = ar_criterion_name(c),
							       .satisfied = AR_OPT_BOOL(true),
							       .ref = ref };
	}
	return n;
}

struct ar_shape_criterion_list ar_acceptance_joined(struct ar_decision *d, const struct ar_task *task,
						    struct ar_shape_criterion_list given)
{
	const struct ar_shape_criterion_list *checks = &task->sheet->checks;
	struct ar_shape_criterion *at =
		ar_arena_alloc(d->arena, (given.count + checks->count + task->sheet->acceptance.count + 1) *
						 sizeof(*at));
	size_t n = 0;

	for (size_t i = 0; i < given.count; i++) {
		if (!declared(task, ar_criterion_name(&given.at[i])))
			at[n++] = given.at[i];
	}
	for (size_t i = 0; i < checks->count; i++)
		at[n++] = checks->at[i];
	n += add_shown(d->session, task, at + n);
	return (struct ar_shape_criterion_list){ at, n };
}

/* ---- facts ---- */

static struct ar_str coverage_of(struct ar_decision *d, const struct ar_task *task,
				 const struct ar_shape_criterion *newest)
{
	struct ar_jw w = ar_decide_json(d);

	ar_jw_open(&w);
	for (size_t i = 0; i < task->sheet->acceptance.count; i++) {
		struct ar_str name = ar_criterion_name(&task->sheet->acceptance.at[i]);
		const struct ar_shape_criterion *c =
			ar_str_eq(name, newest->criterion) ? newest : check_of(task, name);

		if (!c || !c->satisfied.set)
			continue;
		ar_jw_str(&w, ar_str_utf8_prefix(name, KEY_MAX));
		ar_buf_addc(w.out, ':');
		ar_buf_addz(w.out, c->satisfied.v ? "true" : "false");
	}
	ar_jw_close(&w);
	return ar_decide_json_end(d);
}

static void say_check(struct ar_decision *d, const struct ar_task *task, const struct ar_shape_criterion *c,
		      struct ar_str output)
{
	struct ar_str state = !c->satisfied.set ? AR_STR("running")
			      : !c->satisfied.v ? AR_STR("failed")
						: AR_STR("passed");
	struct ar_ids ids = ar_task_ids(task, ar_task_open_run(task));

	ar_decide_emit(d, AR_EV_TASK_PROGRESS, &ids,
		       &(struct ar_ev_task_progress){ .phase = AR_TASK_PROGRESS_PHASE_VERIFYING,
						      .current_step = c->criterion,
						      .counters = AR_STR("{}"),
						      .output_refs = { &output, !ar_str_absent(output) },
						      .validation_state = state,
						      .acceptance_coverage = coverage_of(d, task, c),
						      .checked = c });
}

void ar_acceptance_note_result(struct ar_decision *d, const struct ar_task *task, struct ar_texts outputs)
{
	struct ar_ids ids = ar_task_ids(task, ar_task_open_run(task));

	ar_decide_emit(d, AR_EV_TASK_PROGRESS, &ids,
		       &(struct ar_ev_task_progress){ .phase = AR_TASK_PROGRESS_PHASE_VERIFYING,
						      .counters = AR_STR("{}"),
						      .output_refs = outputs,
						      .validation_state = AR_STR("running") });
}

/* ---- one check ---- */

/* The answer of the run; absent: it has none, or somebody outside has it. */
static struct ar_str result_ref(const struct ar_decision *d, const struct ar_task *task)
{
	const struct ar_run *run = ar_task_open_run(task);
	struct ar_thread *t;
	const struct ar_turn *turn = run ? ar_session_turn(d->session, run->turn, &t) : NULL;

	return turn ? turn->output_ref : AR_STR_NONE;
}

/* The person sees what is asked for and what came of it. */
static void ask_person(struct ar_decision *d, const struct ar_turn *turn, const struct ar_task *task,
		       const struct ar_shape_criterion *c)
{
	struct ar_str ref = result_ref(d, task), answer = ar_decide_text(d, ref);

	if (ar_str_absent(answer))
		answer = ar_str_absent(ref) ? AR_STR("(none)")
					    : ar_arena_fmt(d->arena, "(stored as %.*s)", AR_STR_ARG(ref));
	ar_decide_ask(
		d, turn,
		&(struct ar_ask){
			.type = AR_ACTION_ACCEPTANCE,
			.input_ref = ref,
			.prompt = ar_arena_fmt(
				d->arena,
				"Does this hold: %.*s\n\nTask %.*s: %.*s\n\nThe answer of its run:\n%.*s",
				AR_STR_ARG(ar_criterion_name(c)), AR_STR_ARG(task->id),
				AR_STR_ARG(task->objective),
				AR_STR_ARG(ar_str_utf8_prefix(answer, QUOTED_MAX))) });
}

static void begin_check(struct ar_decision *d, struct ar_turn *turn, const struct ar_task *task,
			const struct ar_shape_criterion *c)
{
	say_check(d, task, &(struct ar_shape_criterion){ .criterion = ar_criterion_name(c) }, AR_STR_NONE);
	if (ar_str_absent(c->command))
		ask_person(d, turn, task, c);
	else
		ar_task_run_command(d, turn, c->command, ar_task_limit(c->timeout_ms));
}

static void command_checked(struct ar_decision *d, const struct ar_task *task, struct ar_str name,
			    const struct ar_command_end *end)
{
	struct ar_str output =
		ar_str_absent(end->call->output_ref) ? end->call->answer_ref : end->call->output_ref;

	say_check(d, task,
		  &(struct ar_shape_criterion){
			  .criterion = name,
			  .satisfied = AR_OPT_BOOL(end->is_good),
			  .ref = output,
			  .exit_code = end->exit_code,
			  .reason = end->is_good ? AR_STR_NONE : ar_str_utf8_prefix(end->why, REASON_MAX) },
		  output);
}

/* False: its command runs, or its question is open. One that was taken from the task meanwhile holds
 * nothing up. */
static bool settle_check(struct ar_decision *d, struct ar_turn *turn, const struct ar_task *task,
			 struct ar_str name)
{
	const struct ar_shape_criterion *c = declared(task, name);
	struct ar_command_end end;

	if (c && c->person.v) {
		if (!ar_turn_is_waiting(d->session, turn))
			ask_person(d, turn, task, c); /* the question was lost with its turn */
		return false;
	}
	if (!ar_task_command_ended(d, turn, &end))
		return false;
	command_checked(d, task, name, &end);
	return true;
}

void ar_acceptance_answered(struct ar_decision *d, struct ar_turn *turn,
			    const struct ar_shape_criterion *answer)
{
	const struct ar_task *task = ar_session_declared(d->session, turn->task->parent);
	const struct ar_shape_criterion *open = task ? open_check(task) : NULL;
	struct ar_shape_criterion check = *answer;

	if (open && ar_task_open_run(task) && ar_acceptance_checks(turn, ar_task_open_run(task))) {
		check.criterion = open->criterion;
		say_check(d, task, &check, AR_STR_NONE);
	}
	if (!turn->is_lost && !turn->is_interrupted)
		ar_task_go_on(d, turn);
}

/* ---- all of them ---- */

bool ar_acceptance_checks(const struct ar_turn *turn, const struct ar_run *run)
{
	return ar_turn_is_modelless(turn) &&
	       ar_turn_options(turn)->purpose == AR_TURN_OPTIONS_PURPOSE_ACCEPTANCE &&
	       run->started <= turn->submitted; /* otherwise another run took its place */
}

void ar_acceptance_go_on(struct ar_decision *d, struct ar_turn *turn, const struct ar_task *task)
{
	bool is_current = ar_acceptance_checks(turn, ar_task_open_run(task));
	const struct ar_shape_criterion *c = is_current ? open_check(task) : NULL;

	if (c && !settle_check(d, turn, task, c->criterion))
		return;
	c = is_current && !unmet_check(task) ? next_criterion(task) : NULL;
	if (c)
		begin_check(d, turn, task, c);
	else if (ar_checkpoint_before_end(d, turn) == AR_GO_ON)
		ar_decide_complete(d, turn, AR_STR_NONE, AR_STR("checked"));
}

static struct ar_str sentence(struct ar_decision *d, const struct ar_shape_criterion *c)
{
	return ar_arena_fmt(d->arena, "The criterion '%.*s' is not met: %.*s", AR_STR_ARG(c->criterion),
			    AR_STR_ARG(c->reason));
}

bool ar_acceptance_is_unmet(struct ar_decision *d, const struct ar_task *task, struct ar_ending *ret)
{
	const struct ar_shape_criterion *c = unmet_check(task);

	if (!c)
		return false;
	*ret = (struct ar_ending){ .status = AR_TURN_FAILED_STATUS_FAILED,
				   .category = AR_STR(AR_CATEGORY_UNMET),
				   .message = sentence(d, c),
				   .retryable = true };
	return true;
}

/* A check that cannot begin has found nothing: the criterion does not hold. */
static void cannot_begin(struct ar_decision *d, const struct ar_task *task, struct ar_str why)
{
	struct ar_shape_criterion check = { .criterion = ar_criterion_name(next_criterion(task)),
					    .satisfied = AR_OPT_BOOL(false),
					    .reason = why };
	struct ar_task_failure f = { .status = AR_TASK_ATTEMPT_FAILED_STATUS_FAILED,
				     .category = AR_STR("check_unavailable"),
				     .message = sentence(d, &check) };

	say_check(d, task, &check, AR_STR_NONE);
	ar_task_run_failed(d, task, &f);
	ar_task_fail(d, task, &f);
}

void ar_acceptance_begin(struct ar_decision *d, const struct ar_task *task)
{
	struct ar_new_turn turn;
	struct ar_error err = { 0 };

	if (ar_task_own_turn(d, task, AR_TURN_OPTIONS_PURPOSE_ACCEPTANCE, &turn, &err) == AR_OK)
		ar_decide_admit(d, &turn, task);
	else
		cannot_begin(d, task, ar_arena_str(d->arena, ar_str_from(err.msg)));
}
