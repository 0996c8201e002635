/* Processes in the pure core: what is on record before one runs, that nothing is told twice, how each
 * end is said, and what is done about one when the runtime comes back. */
#include "desk.h"
#include "identity.h"
#include "process/record.h"

static const struct ar_tool shell = { .name = AR_STR("shell"),
				      .description = AR_STR("Runs."),
				      .schema = AR_STR("{\"type\":\"object\"}"),
				      .owner = AR_TOOL_LOCAL,
				      .runs_process = true,
				      .limit_ms = 600000 };
static const struct ar_tool *const tools[] = { &shell };
static const struct ar_inventory inventory = { tools, AR_ARRAY_LEN(tools), 1, true };

static struct ar_invocation *call_of(struct desk *d)
{
	return desk_active(d)->calls.at[0];
}

static struct ar_process_record *process_of(struct desk *d, size_t i)
{
	assert_true(i < d->session.processes.count);
	return d->session.processes.at[i];
}

/* Turn "a" runs, and its call of the shell has begun. */
static void begin(struct desk *d)
{
	struct ar_tool_use request = { AR_STR("call"), AR_STR("shell"), AR_STR("{}") };
	struct ar_step_output out = { .tools = &request, .tool_count = 1, .text = AR_STR("") };

	d->policy.inventory = &inventory;
	d->policy.permission_mode = AR_MODE_BYPASS;
	d->policy.process_grace_ms = 1000;
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	out.step = desk_active(d)->open_step;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_MODEL_DONE,
						       .model_done = { .output = &out,
								       .end =
									       &(struct ar_model_result){
										       .outcome = 1 } } }),
			 AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
}

static void be_ready(struct desk *d)
{
	struct ar_process_launched p = { .call = call_of(d)->id,
					 .command = AR_STR("make test"),
					 .profile = AR_SANDBOX_WORKSPACE_WRITE,
					 .has_input = true,
					 .ready = { .handle = AR_STR("h1"),
						    .cwd = AR_STR("/w"),
						    .read_roots = AR_STR("[\"/usr\"]"),
						    .write_roots = AR_STR("[\"/w\"]"),
						    .environment = AR_STR("{\"PATH\":\"/bin\"}"),
						    .limits = AR_STR("{\"pids\":64}"),
						    .boundary = AR_STR("{\"landlock\":7}") } };

	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_PROCESS_READY, .process_ready = &p }),
			 AR_OK);
}

static void run(struct desk *d)
{
	begin(d);
	be_ready(d);
	assert_int_equal(desk_effects(d, AR_EFFECT_PROCESS_GO), 1);
}

static void end_with(struct desk *d, struct ar_process_end end)
{
	struct ar_process_kept kept[] = { { AR_PROC_STDOUT, 0, AR_STR("one\n") },
					  { AR_PROC_STDERR, 0, AR_STR("two\n") } };
	struct ar_process_over over = { .process = process_of(d, 0)->id,
					.end = end,
					.kept = kept,
					.kept_count = 2,
					.written = { 0, 4, 4, 0 },
					.text = AR_STR("one\ntwo\n") };

	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_PROCESS_END, .process_end = &over }),
			 AR_OK);
}

static void end_call(struct desk *d, enum ar_tool_outcome outcome)
{
	desk_end_call(d, call_of(d)->id,
		      &(struct ar_tool_result){ .outcome = outcome, .text = AR_STR("done") });
}

static const struct ar_event *fact(struct desk *d, enum ar_event_type type)
{
	for (size_t i = 0; i < d->decision.event_count; i++) {
		if (d->decision.events[i].type == type)
			return &d->decision.events[i];
	}
	fail_msg("no such fact was decided");
	return NULL;
}

static void expect_text(struct ar_str got, const char *want)
{
	if (!ar_str_is(got, want))
		fail_msg("'%.*s' is not '%s'", AR_STR_ARG(got), want);
}

/* ---- before it runs ---- */

static void boundary_and_command_are_on_record_before_it_runs(void **state)
{
	struct desk *d = *state;
	const struct ar_ev_sandbox_applied *applied;
	const struct ar_ev_process_started *started;

	run(d);
	desk_expect(d, "sandbox.applied process.started");
	applied = fact(d, AR_EV_SANDBOX_APPLIED)->payload;
	started = fact(d, AR_EV_PROCESS_STARTED)->payload;
	assert_int_equal(applied->mode, AR_SANDBOX_APPLIED_MODE_WORKSPACE_WRITE);
	assert_int_equal(applied->network, AR_SANDBOX_APPLIED_NETWORK_RESTRICTED);
	expect_text(applied->boundary, "{\"landlock\":7}");
	expect_text(started->safe_command, "make test");
	assert_true(ar_str_eq(started->sandbox_ref, fact(d, AR_EV_SANDBOX_APPLIED)->event_id));
	assert_true(ar_str_eq(started->permission_ref, call_of(d)->permission));
	assert_true(ar_process_is_running(process_of(d, 0)));
	assert_true(ar_str_eq(process_of(d, 0)->call, call_of(d)->id));
	assert_true(ar_session_is_active(&d->session));
}

static void what_is_ready_twice_starts_once(void **state)
{
	struct desk *d = *state;

	run(d);
	be_ready(d);
	assert_int_equal(d->decision.event_count, 0);
	assert_int_equal(desk_effects(d, AR_EFFECT_PROCESS_GO), 1);
	assert_int_equal(d->session.processes.count, 1);
}

static void an_interrupted_turn_lets_nothing_begin(void **state)
{
	struct desk *d = *state;

	begin(d);
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN,
				      &(struct ar_cmd_interrupt_turn_in){ .reason = AR_STR("enough") }),
			 AR_OK);
	be_ready(d);
	assert_int_equal(d->decision.event_count, 0);
	assert_int_equal(desk_effects(d, AR_EFFECT_PROCESS_GO), 0);
}

static void a_tool_says_how_long_it_may_take(void **state)
{
	struct desk *d = *state;

	begin(d);
	assert_int_equal(call_of(d)->expires - call_of(d)->started, INT64_C(600000) * 1000);
	assert_true(call_of(d)->runs_process.v);
}

/* ---- what it reports ---- */

static void tell(struct desk *d, enum ar_process_report_kind kind, uint64_t seq, const char *detail)
{
	struct ar_process_told told = { .process = process_of(d, 0)->id,
					.report = {
						.kind = kind, .seq = seq, .detail = ar_str_from(detail) } };

	assert_int_equal(desk_do(d,
				 (struct ar_input){ .kind = AR_IN_PROCESS_REPORT, .process_report = &told }),
			 AR_OK);
}

#define DENIED \
	"{\"boundary\":\"filesystem\",\"attempted\":\"write /etc/passwd\",\"effect\":\"blocked\"," \
	"\"evidence\":\"kernel-landlock\",\"errno\":\"EACCES\",\"count\":3}"

static void a_violation_is_told_once(void **state)
{
	struct desk *d = *state;
	const struct ar_ev_sandbox_violation *p;

	run(d);
	tell(d, AR_PROC_VIOLATION, 4, DENIED);
	desk_expect(d, "sandbox.violation");
	p = fact(d, AR_EV_SANDBOX_VIOLATION)->payload;
	assert_int_equal(p->boundary, AR_SANDBOX_VIOLATION_BOUNDARY_FILESYSTEM);
	expect_text(p->attempted, "write /etc/passwd");
	expect_text(p->evidence, "kernel-landlock");
	expect_text(p->errno_name, "EACCES");
	assert_int_equal(p->count.v, 3);
	assert_true(ar_str_eq(p->sandbox_ref, process_of(d, 0)->sandbox));
	tell(d, AR_PROC_VIOLATION, 4, DENIED);
	desk_expect(d, "");
	tell(d, AR_PROC_VIOLATION, 3, DENIED);
	desk_expect(d, "");
	tell(d, AR_PROC_VIOLATION, 0, "{\"boundary\":\"process\",\"attempted\":\"mount\",\"errno\":1}");
	p = fact(d, AR_EV_SANDBOX_VIOLATION)->payload;
	expect_text(p->errno_name, "EPERM");
	tell(d, AR_PROC_LIMIT, 5, "{\"kind\":\"pids\",\"count\":1}");
	desk_expect(d, "sandbox.violation");
	tell(d, AR_PROC_WAITS_FOR_INPUT, 6, "{}");
	desk_expect(d, "run.status");
	tell(d, AR_PROC_WAITS_FOR_INPUT, 6, "{}");
	desk_expect(d, "");
	tell(d, AR_PROC_VIOLATION, 0, DENIED);
	desk_expect(d, "sandbox.violation");
}

/* ---- ends ---- */

static void each_end_is_one_fact(void **state)
{
	static const struct {
		struct ar_process_end end;
		const char *facts;
		int64_t status;
	} rows[] = {
		{ { .outcome = AR_PROC_EXITED, .exit_is_known = true, .exit_code = 3 },
		  "process.completed",
		  AR_PROCESS_COMPLETED },
		{ { .outcome = AR_PROC_NOT_STARTED, .step = AR_STR("exec") },
		  "process.failed",
		  AR_PROCESS_FAILED },
		{ { .outcome = AR_PROC_NOT_STARTED, .step = AR_STR("mount") },
		  "process.failed",
		  AR_PROCESS_FAILED },
		{ { .outcome = AR_PROC_ENDED, .by = AR_STR("user"), .reason = AR_STR("enough") },
		  "process.terminated",
		  AR_PROCESS_TERMINATED },
		{ { .outcome = AR_PROC_ENDED, .by = AR_STR("policy"), .reason = AR_STR("timeout") },
		  "process.failed",
		  AR_PROCESS_FAILED },
		{ { .outcome = AR_PROC_TIMED_OUT }, "process.failed", AR_PROCESS_FAILED },
		{ { .outcome = AR_PROC_LIMIT_HIT, .message = AR_STR("memory") },
		  "process.terminated",
		  AR_PROCESS_TERMINATED },
		{ { .outcome = AR_PROC_SUPERVISOR_LOST }, "process.failed", AR_PROCESS_FAILED },
		{ { .outcome = AR_PROC_UNAVAILABLE },
		  "runtime.warning snapshot.repaired",
		  AR_PROCESS_UNAVAILABLE },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct desk *d;

		desk_close(state);
		desk_open(state);
		d = *state;
		run(d);
		end_with(d, rows[i].end);
		desk_expect(d, rows[i].facts);
		assert_int_equal(process_of(d, 0)->status, rows[i].status);
		assert_int_equal(desk_effects(d, AR_EFFECT_PROCESS_FORGET),
				 rows[i].status != AR_PROCESS_UNAVAILABLE);
		end_with(d, rows[i].end);
		desk_expect(d, "");
	}
}

static void kinds_of_failure(void **state)
{
	static const struct {
		struct ar_process_end end;
		int kind;
	} rows[] = {
		{ { .outcome = AR_PROC_NOT_STARTED, .step = AR_STR("exec") },
		  AR_PROCESS_FAILED_FAILURE_KIND_SPAWN },
		{ { .outcome = AR_PROC_NOT_STARTED, .step = AR_STR("mount") },
		  AR_PROCESS_FAILED_FAILURE_KIND_SANDBOX },
		{ { .outcome = AR_PROC_TIMED_OUT }, AR_PROCESS_FAILED_FAILURE_KIND_TIMEOUT },
		{ { .outcome = AR_PROC_SUPERVISOR_LOST }, AR_PROCESS_FAILED_FAILURE_KIND_TRANSPORT },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct desk *d;
		const struct ar_ev_process_failed *p;

		desk_close(state);
		desk_open(state);
		d = *state;
		run(d);
		end_with(d, rows[i].end);
		p = fact(d, AR_EV_PROCESS_FAILED)->payload;
		assert_int_equal(p->failure_kind, rows[i].kind);
	}
}

static void an_exit_code_is_a_result(void **state)
{
	struct desk *d = *state;
	const struct ar_ev_process_completed *p;

	run(d);
	end_with(d, (struct ar_process_end){ .outcome = AR_PROC_EXITED,
					     .exit_is_known = true,
					     .exit_code = 3,
					     .duration_ms = 12 });
	p = fact(d, AR_EV_PROCESS_COMPLETED)->payload;
	assert_int_equal(p->exit_code, 3);
	assert_int_equal(p->duration_ms, 12);
	assert_int_equal(p->output_refs.count, 2);
	desk_expect_payload(d, AR_EV_PROCESS_COMPLETED,
			    "\"outputs\":[{\"stream\":\"stdout\",\"offset\":0,\"length\":");
	desk_expect_payload(
		d, AR_EV_PROCESS_COMPLETED,
		"\"end\":{\"outcome\":\"exited\",\"exitCode\":3,\"durationMs\":12,\"stdoutBytes\":");
	assert_int_equal(d->decision.content_count, 3); /* both streams, and the text of both */
	assert_int_equal(process_of(d, 0)->exit_code.v, 3);
	assert_false(ar_str_absent(process_of(d, 0)->output_ref));
	end_call(d, AR_TOOL_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 1);
}

static void what_was_left_out_is_said(void **state)
{
	struct desk *d = *state;
	struct ar_process_kept kept[] = { { AR_PROC_STDOUT, 0, AR_STR("head") },
					  { AR_PROC_STDOUT, 96, AR_STR("tail") } };
	struct ar_process_over over = { .kept = kept,
					.kept_count = 2,
					.written = { 0, 100, 0, 0 },
					.text = AR_STR("head...tail"),
					.is_truncated = true,
					.end = { .outcome = AR_PROC_EXITED } };
	const struct ar_ev_output_truncated *p;

	run(d);
	over.process = process_of(d, 0)->id;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_PROCESS_END, .process_end = &over }),
			 AR_OK);
	desk_expect(d, "output.truncated process.completed");
	p = fact(d, AR_EV_OUTPUT_TRUNCATED)->payload;
	assert_int_equal(p->original_size, 100);
	assert_int_equal(p->kept_size, 8);
}

/* ---- commands ---- */

static enum ar_status write_in(struct desk *d, const char *text, bool eof, struct ar_process_standing s)
{
	struct ar_cmd_write_process_stdin_in in = { .process_id = process_of(d, 0)->id,
						    .input = ar_str_from(text),
						    .eof = AR_OPT_BOOL(eof) };

	return desk_do(d, (struct ar_input){
				  .kind = AR_IN_COMMAND,
				  .command = { .id = AR_CMD_WRITE_PROCESS_STDIN, .args = &in, .standing = s },
				  .account = AR_STR("me") });
}

static void input_is_on_record_before_it_is_written(void **state)
{
	struct desk *d = *state;
	struct ar_process_standing here = { .is_reached = true };

	run(d);
	assert_int_equal(write_in(d, "yes\n", false, here), AR_OK);
	desk_expect(d, "process.input");
	assert_int_equal(desk_effects(d, AR_EFFECT_PROCESS_WRITE), 1);
	desk_expect_reply(d, "\"bytesWritten\":4");
	desk_expect_refusal(d, write_in(d, "x", false, (struct ar_process_standing){ 0 }),
			    AR_ERR_BACKPRESSURE);
	for (int i = 1; i < AR_PROCESS_INPUTS; i++)
		assert_int_equal(write_in(d, "x", false, here), AR_OK);
	desk_expect_refusal(d, write_in(d, "x", false, here), AR_ERR_BACKPRESSURE);
	here.taken = 10;
	assert_int_equal(write_in(d, "", true, here), AR_OK);
	desk_expect_refusal(d, write_in(d, "x", false, here), AR_ERR_STDIN_CLOSED);
	assert_int_equal(process_of(d, 0)->inputs, AR_PROCESS_INPUTS + 1);
	end_with(d, (struct ar_process_end){ .outcome = AR_PROC_EXITED });
	desk_expect_refusal(d, write_in(d, "x", false, here), AR_ERR_EXITED);
}

static enum ar_status terminate(struct desk *d, const char *id)
{
	return desk_command(d, AR_CMD_TERMINATE_PROCESS,
			    &(struct ar_cmd_terminate_process_in){ .process_id = ar_str_from(id),
								   .reason = AR_STR("enough") });
}

static void a_process_is_ended_once(void **state)
{
	struct desk *d = *state;

	run(d);
	desk_expect_refusal(d, terminate(d, "4711"), AR_ERR_PROCESS_NOT_FOUND);
	assert_int_equal(terminate(d, process_of(d, 0)->id.p), AR_OK);
	desk_expect(d, "run.status");
	desk_expect_reply(d, "\"status\":\"terminating\"");
	assert_int_equal(terminate(d, process_of(d, 0)->id.p), AR_OK);
	desk_expect(d, "");
	assert_int_equal(desk_effects(d, AR_EFFECT_PROCESS_END), 1);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_PROCESS_ATTACH), 1);
	assert_int_equal(desk_effects(d, AR_EFFECT_PROCESS_END), 1); /* after a crash it is still wanted */
	end_with(d, (struct ar_process_end){ .outcome = AR_PROC_ENDED, .by = AR_STR("user") });
	assert_int_equal(terminate(d, process_of(d, 0)->id.p), AR_OK);
	desk_expect_reply(d, "\"status\":\"terminated\"");
	assert_int_equal(desk_effects(d, AR_EFFECT_PROCESS_END), 0);
}

static void what_cannot_be_reached_is_unavailable(void **state)
{
	struct desk *d = *state;

	run(d);
	end_with(d, (struct ar_process_end){ .outcome = AR_PROC_UNAVAILABLE });
	desk_expect_refusal(d, write_in(d, "x", false, (struct ar_process_standing){ .is_reached = true }),
			    AR_ERR_UNAVAILABLE);
	desk_expect_refusal(d, terminate(d, process_of(d, 0)->id.p), AR_ERR_UNAVAILABLE);
}

/* ---- its call ---- */

static void a_process_outlives_a_call_that_ends_well(void **state)
{
	struct desk *d = *state;

	run(d);
	end_call(d, AR_TOOL_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_PROCESS_END), 0);
	assert_true(process_of(d, 0)->is_background);
	assert_int_equal(desk_answer(d, "bye"), AR_OK);
	assert_true(ar_str_absent(desk_thread(d, 0)->active_turn));
	assert_true(ar_session_is_active(&d->session));
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_PROCESS_ATTACH), 1);
	end_with(d, (struct ar_process_end){ .outcome = AR_PROC_EXITED });
	desk_expect(d, "process.completed");
	assert_false(ar_session_is_active(&d->session));
}

static void a_process_ends_with_a_call_that_fails(void **state)
{
	struct desk *d = *state;

	run(d);
	end_call(d, AR_TOOL_ERROR);
	assert_int_equal(desk_effects(d, AR_EFFECT_PROCESS_END), 1);
}

/* A tool that works in a boundary without a process of its own. */
static void a_call_in_a_boundary_says_so(void **state)
{
	static const struct ar_process_ready ready = { .cwd = AR_STR("/w"),
						       .read_roots = AR_STR("[]"),
						       .write_roots = AR_STR("[]"),
						       .boundary = AR_STR("{}") };
	static const struct ar_str violations[] = { { DENIED, sizeof(DENIED) - 1 } };
	struct desk *d = *state;
	struct ar_tool_result result = { .outcome = AR_TOOL_OK,
					 .text = AR_STR("done"),
					 .profile = AR_SANDBOX_READ_ONLY,
					 .boundary = &ready,
					 .violations = violations,
					 .violation_count = 1 };
	const struct ar_ev_tool_result *p;

	begin(d);
	desk_end_call(d, call_of(d)->id, &result);
	p = fact(d, AR_EV_TOOL_RESULT)->payload;
	assert_true(ar_str_eq(p->sandbox_ref, fact(d, AR_EV_SANDBOX_APPLIED)->event_id));
	assert_true(fact(d, AR_EV_SANDBOX_VIOLATION)->sequence < fact(d, AR_EV_TOOL_RESULT)->sequence);
}

static void the_result_of_a_call_names_the_boundary_of_its_process(void **state)
{
	struct desk *d = *state;
	const struct ar_ev_tool_result *p;

	run(d);
	end_with(d, (struct ar_process_end){ .outcome = AR_PROC_EXITED });
	end_call(d, AR_TOOL_OK);
	p = fact(d, AR_EV_TOOL_RESULT)->payload;
	assert_true(ar_str_eq(p->sandbox_ref, process_of(d, 0)->sandbox));
}

static void an_interruption_names_what_it_ends(void **state)
{
	struct desk *d = *state;

	run(d);
	assert_int_equal(desk_command(d, AR_CMD_INTERRUPT_TURN,
				      &(struct ar_cmd_interrupt_turn_in){ .reason = AR_STR("enough") }),
			 AR_OK);
	desk_expect_reply(d, "\"processes\":[\"proc_");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CANCEL), 1);
}

/* ---- after a crash ---- */

static void a_running_process_is_found_again(void **state)
{
	struct desk *d = *state;
	struct ar_str call;

	run(d);
	call = call_of(d)->id;
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	desk_expect(d, "");
	assert_int_equal(desk_effects(d, AR_EFFECT_PROCESS_ATTACH), 1);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
	assert_int_equal(call_of(d)->stage, AR_CALL_RUNNING);
	assert_true(ar_str_eq(call_of(d)->id, call));
	assert_int_equal(desk_active(d)->restarts, 0);
}

static void what_had_not_begun_begins_again(void **state)
{
	struct desk *d = *state;

	begin(d);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
	assert_int_equal(d->session.actions.count, 0);
	assert_int_equal(call_of(d)->stage, AR_CALL_RUNNING);
	assert_int_equal(call_of(d)->attempt, 2);
}

static void what_nobody_let_go_begins_again(void **state)
{
	struct desk *d = *state;

	run(d);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	end_with(d, (struct ar_process_end){ .outcome = AR_PROC_NOT_STARTED, .step = AR_STR("barrier") });
	desk_expect(d, "process.failed tool.failed tool.started");
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CANCEL), 1);
	assert_int_equal(desk_effects(d, AR_EFFECT_PROCESS_END), 0); /* it has ended */
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 1);
	assert_int_equal(call_of(d)->attempt, 2);
	be_ready(d);
	assert_int_equal(d->session.processes.count, 2);
	end_call(d, AR_TOOL_LOST); /* of one that ran nobody knows: in this mode the model is told so */
	assert_int_equal(desk_effects(d, AR_EFFECT_TOOL_CALL), 0);
	assert_int_equal(desk_effects(d, AR_EFFECT_MODEL_CALL), 1);
}

static void an_end_on_record_is_told_to_the_call(void **state)
{
	struct desk *d = *state;
	const struct ar_effect *effect = NULL;

	run(d);
	end_with(d,
		 (struct ar_process_end){ .outcome = AR_PROC_EXITED, .exit_is_known = true, .exit_code = 7 });
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	desk_expect(d, "");
	assert_int_equal(desk_effects(d, AR_EFFECT_PROCESS_ATTACH), 0);
	for (size_t i = 0; i < d->decision.effect_count; i++)
		effect =
			d->decision.effects[i].kind == AR_EFFECT_TOOL_CALL ? &d->decision.effects[i] : effect;
	assert_non_null(effect);
	{
		struct ar_process_end end = ar_process_end_told(effect->tool_call.process->end);

		assert_int_equal(end.outcome, AR_PROC_EXITED);
		assert_int_equal(end.exit_code, 7);
		assert_false(ar_str_absent(effect->tool_call.process->end->text_ref));
	}
}

/* An ending in words that this version does not know is one that nobody knows. */
static void an_odd_ending_of_an_old_fact(void **state)
{
	struct desk *d = *state;
	struct ar_json v;
	struct ar_event e;

	run(d);
	assert_int_equal(
		ar_json_parse(
			d->decide_json,
			ar_arena_fmt(&d->arena,
				     "{\"type\":\"process.failed\",\"sequence\":%llu,\"timestamp\":"
				     "\"2026-01-01T00:00:00Z\",\"processId\":\"%.*s\",\"payload\":{"
				     "\"failureKind\":\"transport\",\"error\":{},\"outputs\":[{\"stream\":"
				     "\"stdout\",\"offset\":\"0\",\"ref\":\"r\"}],\"end\":{\"outcome\":"
				     "\"vanished\",\"exitCode\":3,\"host\":\"h\"}}}",
				     (unsigned long long)d->session.head + 1,
				     AR_STR_ARG(process_of(d, 0)->id)),
			&v, NULL),
		AR_OK);
	assert_int_equal(ar_event_decode(v, &d->arena, &e, &d->err), AR_OK);
	assert_int_equal(ar_session_apply(&d->session, &e, &d->err), AR_OK);
	assert_int_equal(ar_process_end_told(process_of(d, 0)->end).outcome, AR_PROC_UNAVAILABLE);
	assert_int_equal(process_of(d, 0)->exit_code.v, 3);
	assert_true(ar_str_is(process_of(d, 0)->outputs.at[0].ref, "r"));
}

static void a_snapshot_keeps_it(void **state)
{
	struct desk *d = *state;
	struct ar_buf first = { 0 }, second = { 0 };
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_session restored;
	struct ar_json v;

	run(d);
	tell(d, AR_PROC_VIOLATION, 4, DENIED);
	assert_int_equal(write_in(d, "yes\n", true, (struct ar_process_standing){ .is_reached = true }),
			 AR_OK);
	assert_int_equal(terminate(d, process_of(d, 0)->id.p), AR_OK);
	ar_session_snapshot(&d->session, &first);
	ar_session_init(&restored, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(json, ar_buf_str(&first), &v, NULL), AR_OK);
	assert_int_equal(ar_session_restore(&restored, v, &d->err), AR_OK);
	ar_session_snapshot(&restored, &second);
	assert_true(ar_str_eq(ar_buf_str(&first), ar_buf_str(&second)));
	assert_int_equal(restored.processes.count, 1);
	assert_int_equal(((struct ar_process_record *)restored.processes.at[0])->written.count, 1);
	assert_int_equal(restored.counters.process.v, 1);
	ar_session_fini(&restored);
	ar_json_parser_free(json);
	ar_buf_fini(&first);
	ar_buf_fini(&second);
}

/* Which of them are sent again is known only when the process is found: until its end the newest are
 * kept, as many as can be on their way. */
static void expect_written(struct ar_session *s, size_t count, int64_t first, bool last_is_eof)
{
	const struct ar_process_record *r = s->processes.at[0];

	assert_int_equal(r->written.count, count);
	for (size_t i = 0; i < count; i++) {
		const struct ar_process_input *in = r->written.at[i];
		struct ar_str session_key;
		struct ar_hash hash;

		assert_int_equal(in->number, first + (int64_t)i);
		assert_true(ar_ref_parse(in->ref, &session_key, &hash));
		assert_int_equal(in->is_eof, last_is_eof && i + 1 == count);
	}
}

static void restore_from(struct desk *d, struct ar_session *ret)
{
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_buf text = { 0 };
	struct ar_json v;

	ar_session_snapshot(&d->session, &text);
	ar_session_init(ret, d->session.session_key, d->json);
	assert_int_equal(ar_json_parse(json, ar_buf_str(&text), &v, NULL), AR_OK);
	assert_int_equal(ar_session_restore(ret, v, &d->err), AR_OK);
	ar_json_parser_free(json);
	ar_buf_fini(&text);
}

static void inputs_that_may_be_sent_again_are_kept(void **state)
{
	struct desk *d = *state;
	struct ar_process_standing here = { .is_reached = true };
	const struct ar_process_input *a, *b;
	struct ar_session restored;

	run(d);
	assert_int_equal(write_in(d, "one\n", false, here), AR_OK);
	assert_int_equal(write_in(d, "two\n", false, here), AR_OK);
	expect_written(&d->session, 2, 1, false);
	for (here.taken = 2; here.taken < AR_PROCESS_INPUTS + 3; here.taken++)
		assert_int_equal(write_in(d, "more\n", false, here), AR_OK);
	assert_int_equal(write_in(d, "", true, here), AR_OK);
	expect_written(&d->session, AR_PROCESS_INPUTS, 5, true);
	restore_from(d, &restored);
	expect_written(&restored, AR_PROCESS_INPUTS, 5, true);
	a = process_of(d, 0)->written.at[0];
	b = ((const struct ar_process_record *)restored.processes.at[0])->written.at[0];
	assert_true(ar_str_eq(a->ref, b->ref));
	ar_session_fini(&restored);
	assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_RECOVER }), AR_OK);
	for (size_t i = 0; i < d->decision.effect_count; i++) {
		if (d->decision.effects[i].kind == AR_EFFECT_PROCESS_ATTACH)
			assert_int_equal(d->decision.effects[i].process_attach->written.count,
					 AR_PROCESS_INPUTS);
	}
	assert_int_equal(desk_effects(d, AR_EFFECT_PROCESS_ATTACH), 1);
	end_with(d, (struct ar_process_end){ .outcome = AR_PROC_EXITED });
	expect_written(&d->session, 0, 0, false);
}

static void ended_ones_leave_after_a_window(void **state)
{
	struct desk *d = *state;

	run(d);
	for (int i = 0; i < AR_WINDOW_PROCESSES + 5; i++) {
		struct ar_process_over over = { .end = { .outcome = AR_PROC_EXITED } };

		over.process = process_of(d, d->session.processes.count - 1)->id;
		assert_int_equal(desk_do(d, (struct ar_input){ .kind = AR_IN_PROCESS_END,
							       .process_end = &over }),
				 AR_OK);
		process_of(d, d->session.processes.count - 1)->handle = AR_STR("earlier");
		be_ready(d);
	}
	assert_int_equal(d->session.processes.count, AR_WINDOW_PROCESSES + 1);
	assert_true(ar_process_is_running(process_of(d, AR_WINDOW_PROCESSES)));
}

#define DESK(test) cmocka_unit_test_setup_teardown(test, desk_open, desk_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		DESK(boundary_and_command_are_on_record_before_it_runs),
		DESK(what_is_ready_twice_starts_once),
		DESK(an_interrupted_turn_lets_nothing_begin),
		DESK(a_tool_says_how_long_it_may_take),
		DESK(a_violation_is_told_once),
		DESK(each_end_is_one_fact),
		DESK(kinds_of_failure),
		DESK(an_exit_code_is_a_result),
		DESK(what_was_left_out_is_said),
		DESK(input_is_on_record_before_it_is_written),
		DESK(a_process_is_ended_once),
		DESK(what_cannot_be_reached_is_unavailable),
		DESK(a_process_outlives_a_call_that_ends_well),
		DESK(a_process_ends_with_a_call_that_fails),
		DESK(a_call_in_a_boundary_says_so),
		DESK(the_result_of_a_call_names_the_boundary_of_its_process),
		DESK(an_interruption_names_what_it_ends),
		DESK(a_running_process_is_found_again),
		DESK(what_had_not_begun_begins_again),
		DESK(what_nobody_let_go_begins_again),
		DESK(an_end_on_record_is_told_to_the_call),
		DESK(an_odd_ending_of_an_old_fact),
		DESK(a_snapshot_keeps_it),
		DESK(inputs_that_may_be_sent_again_are_kept),
		DESK(ended_ones_leave_after_a_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
