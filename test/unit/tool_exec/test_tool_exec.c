/* The tools that run commands, beside a fake of the runtime: what process they ask for, and what the model
 * reads of its end. */
#include "arena.h"
#include "cmocka_unit.h"
#include "exec_tools.h"
#include "json.h"
#include "mem.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>

/* The runtime's side of one call. */
struct bench {
	uv_loop_t loop;
	struct ar_tool_source *source;
	struct ar_tool_call call;
	struct ar_arena arena;
	int asked, acted, done; /* how often */
	struct ar_str argv[8], cwd, input, command, justification, workspace;
	size_t argc;
	struct ar_process_spec spec;
	struct ar_tool_act act;
	enum ar_tool_outcome outcome;
	struct ar_str text, structured, category, message, advice;
};

static void on_process(struct ar_tool_call *c, const struct ar_process_spec *spec)
{
	struct bench *b = AR_CONTAINER_OF(c, struct bench, call);

	b->asked++;
	b->spec = *spec;
	b->argc = spec->argc;
	for (size_t i = 0; i < spec->argc && i < AR_ARRAY_LEN(b->argv); i++)
		b->argv[i] = ar_arena_str(&b->arena, spec->argv[i]);
	b->cwd = ar_arena_str(&b->arena, spec->cwd);
	b->input = ar_arena_str(&b->arena, spec->input);
	b->command = ar_arena_str(&b->arena, spec->command);
	b->justification = ar_arena_str(&b->arena, spec->justification);
}

static void on_process_act(struct ar_tool_call *c, const struct ar_tool_act *act)
{
	struct bench *b = AR_CONTAINER_OF(c, struct bench, call);

	b->acted++;
	b->act = *act;
	b->act.process_id = ar_arena_str(&b->arena, act->process_id);
	b->act.bytes = ar_arena_str(&b->arena, act->bytes);
	b->act.signal = ar_arena_str(&b->arena, act->signal);
}

static void on_done(struct ar_tool_call *c, const struct ar_tool_result *r)
{
	struct bench *b = AR_CONTAINER_OF(c, struct bench, call);

	b->done++;
	b->outcome = r->outcome;
	b->text = ar_arena_str(&b->arena, r->text);
	b->structured = ar_arena_str(&b->arena, r->structured);
	b->category = ar_arena_str(&b->arena, r->category);
	b->message = ar_arena_str(&b->arena, r->message);
	b->advice = ar_arena_str(&b->arena, r->advice);
}

static const struct ar_tool_call_vtable callbacks = { .on_process = on_process,
						      .on_process_act = on_process_act,
						      .on_done = on_done };

static int open_bench(void **state)
{
	struct bench *b = ar_new0(sizeof(*b));

	assert_int_equal(uv_loop_init(&b->loop), 0);
	b->source =
		ar_exec_tools_new(&b->loop, &(struct ar_exec_options){ .timeout_ms = 5000, .max_ms = 60000 });
	*state = b;
	return 0;
}

static int close_bench(void **state)
{
	struct bench *b = *state;

	b->source->v->close(b->source);
	uv_run(&b->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&b->loop), 0);
	ar_arena_fini(&b->arena);
	ar_free(b);
	return 0;
}

static void start(struct bench *b, const char *tool, const char *args)
{
	b->asked = b->acted = b->done = 0;
	b->call = (struct ar_tool_call){ .v = &callbacks,
					 .args = ar_str_from(args),
					 .session_id = AR_STR("session_1"),
					 .tool_call_id = AR_STR("tool_1"),
					 .workspace = AR_STR("/work"),
					 .profile = AR_SANDBOX_READ_ONLY };
	for (size_t i = 0; i < b->source->tool_count; i++) {
		if (ar_str_is(b->source->tools[i].name, tool))
			b->call.tool = &b->source->tools[i];
	}
	assert_non_null(b->call.tool);
	b->source->v->start(b->source, &b->call);
	assert_int_equal(b->asked + b->acted + b->done, 0); /* never before it returns */
	uv_run(&b->loop, UV_RUN_NOWAIT);
}

static void end(struct bench *b, struct ar_process_end how, const char *output)
{
	b->source->v->process_ended(b->source, &b->call,
				    &(struct ar_process_result){ .process_id = AR_STR("proc_1"),
								 .end = &how,
								 .output = ar_str_from(output) });
	assert_int_equal(b->done, 1);
}

static void a_text_is_one_argument_of_a_shell(void **state)
{
	struct bench *b = *state;

	start(b, "shell",
	      "{\"command\":\"-x; echo 'a' "
	      "\\\"$b\\\"\",\"cwd\":\"sub\",\"input\":\"in\",\"justification\":\"why\"}");
	assert_int_equal(b->asked, 1);
	assert_int_equal(b->argc, 6);
	assert_string_equal(b->argv[0].p, "/bin/bash");
	assert_string_equal(b->argv[1].p, "--noprofile");
	assert_string_equal(b->argv[2].p, "--norc");
	assert_string_equal(b->argv[3].p, "-c");
	assert_string_equal(b->argv[4].p, "--");
	assert_string_equal(b->argv[5].p, "-x; echo 'a' \"$b\"");
	assert_string_equal(b->cwd.p, "/work/sub");
	assert_string_equal(b->input.p, "in");
	assert_string_equal(b->command.p, "-x; echo 'a' \"$b\"");
	assert_string_equal(b->justification.p, "why");
	assert_int_equal(b->spec.timeout_ms, 5000);
	assert_int_equal(b->spec.profile, AR_SANDBOX_READ_ONLY);
	assert_false(b->spec.tty || b->spec.has_input);
	end(b, (struct ar_process_end){ .outcome = AR_PROC_EXITED, .exit_code = 3, .duration_ms = 1234 },
	    "hello\n");
	assert_int_equal(b->outcome, AR_TOOL_OK);
	assert_string_equal(b->text.p, "exit code 3, after 1.234 s\n\nhello\n");
	assert_non_null(strstr(b->structured.p, "\"exitCode\":3"));
}

static void words_need_no_shell(void **state)
{
	struct bench *b = *state;

	start(b, "shell", "{\"argv\":[\"git\",\"log\",\"a b; $c\"],\"cwd\":\"/else\",\"timeoutMs\":999999}");
	assert_int_equal(b->argc, 3);
	assert_string_equal(b->argv[0].p, "git");
	assert_string_equal(b->argv[2].p, "a b; $c");
	assert_string_equal(b->command.p, "git log 'a b; $c'");
	assert_string_equal(b->cwd.p, "/else");
	assert_int_equal(b->spec.timeout_ms, 60000); /* no more than the host lets */
	end(b, (struct ar_process_end){ .outcome = AR_PROC_EXITED }, "");
	assert_string_equal(b->text.p, "exit code 0, after 0.000 s\n\n(no output)");
}

static void bad_arguments_run_nothing(void **state)
{
	static const char *const bad[] = {
		"{}",
		"{\"command\":\"a\",\"argv\":[\"a\"]}",
		"{\"argv\":[]}",
		"{\"argv\":[\"\"]}",
		"{\"command\":\"a\\u0000b\"}",
		"{\"argv\":[\"a\\u0000b\"]}",
		"{\"command\":\"a\",\"cwd\":\"x\\u0000y\"}",
	};
	struct bench *b = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(bad); i++) {
		start(b, "shell", bad[i]);
		if (b->done != 1 || b->asked != 0)
			fail_msg("taken: %s", bad[i]);
		assert_int_equal(b->outcome, AR_TOOL_NOT_RUN);
		assert_string_equal(b->category.p, "invalid_arguments");
	}
}

static void every_end_is_told_honestly(void **state)
{
	static const struct {
		struct ar_process_end end;
		enum ar_tool_outcome outcome;
		const char *begins;
	} rows[] = {
		{ { .outcome = AR_PROC_EXITED, .exit_code = 137, .signal = AR_STR("SIGKILL") },
		  AR_TOOL_OK,
		  "ended by SIGKILL" },
		{ { .outcome = AR_PROC_NOT_STARTED, .message = AR_STR("no such program") },
		  AR_TOOL_NOT_RUN,
		  "not started: no such program" },
		{ { .outcome = AR_PROC_TIMED_OUT, .duration_ms = 5000 },
		  AR_TOOL_TIMEOUT,
		  "stopped because its time limit passed, after 5.000 s" },
		{ { .outcome = AR_PROC_ENDED, .by = AR_STR("policy"), .reason = AR_STR("timeout") },
		  AR_TOOL_TIMEOUT,
		  "stopped because its time limit passed" },
		{ { .outcome = AR_PROC_ENDED, .by = AR_STR("user"), .reason = AR_STR("enough") },
		  AR_TOOL_ERROR,
		  "stopped on purpose: enough" },
		{ { .outcome = AR_PROC_ENDED, .by = AR_STR("parent_cancellation") },
		  AR_TOOL_CANCELLED,
		  "stopped on purpose" },
		{ { .outcome = AR_PROC_LIMIT_HIT, .message = AR_STR("memory") },
		  AR_TOOL_ERROR,
		  "killed by a limit: memory" },
		{ { .outcome = AR_PROC_SUPERVISOR_LOST }, AR_TOOL_LOST, "lost; how it ended is not known" },
		{ { .outcome = AR_PROC_UNAVAILABLE }, AR_TOOL_LOST, "lost; how it ended is not known" },
	};
	struct bench *b = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		start(b, "shell", "{\"command\":\"x\"}");
		end(b, rows[i].end, "some output");
		assert_int_equal(b->outcome, rows[i].outcome);
		assert_memory_equal(b->text.p, rows[i].begins, strlen(rows[i].begins));
		assert_int_equal(strstr(b->text.p, "some output") != NULL,
				 rows[i].end.outcome != AR_PROC_NOT_STARTED);
		assert_int_equal(b->advice.len > 0, rows[i].outcome != AR_TOOL_OK);
	}
}

static void long_output_has_head_and_tail(void **state)
{
	size_t len = 200000;
	char *output = malloc(len + 1);
	struct bench *b = *state;

	for (size_t i = 0; i < len; i += 2)
		memcpy(output + i, "\xc3\xa9", 2);
	output[0] = 'H';
	output[1] = '!';
	output[len] = 0;
	start(b, "shell", "{\"command\":\"x\"}");
	end(b, (struct ar_process_end){ .outcome = AR_PROC_EXITED }, output);
	assert_true(b->text.len < 65536);
	assert_true(ar_str_is_utf8(b->text));
	assert_non_null(strstr(b->text.p,
			       "135488 bytes are left out here; process_read shows them from offset 32768"));
	assert_non_null(strstr(b->text.p, "\n\nH!"));
	free(output);
}

static void binary_output_is_shown_in_hexadecimal(void **state)
{
	struct ar_process_end how = { .outcome = AR_PROC_EXITED };
	struct bench *b = *state;

	start(b, "shell", "{\"command\":\"x\"}");
	b->source->v->process_ended(b->source, &b->call,
				    &(struct ar_process_result){
					    .end = &how, .output = { "\0\1ELF\xff", 6 }, .is_binary = true });
	assert_non_null(strstr(b->text.p, "binary output, 6 bytes"));
	assert_non_null(strstr(b->text.p, "000000  00 01 45 4c 46 ff  ..ELF."));
}

static void violations_are_summarised(void **state)
{
	static const struct ar_str violations[] = {
		AR_STR("{\"boundary\":\"filesystem\",\"attempted\":\"write /etc/x\",\"count\":1}"),
		AR_STR("{\"boundary\":\"filesystem\",\"attempted\":\"write /etc/x\",\"count\":3}"),
		AR_STR("{\"boundary\":\"network\",\"attempted\":\"connect\"}"),
	};
	struct ar_process_end how = { .outcome = AR_PROC_EXITED, .exit_code = 1 };
	struct bench *b = *state;

	start(b, "shell", "{\"command\":\"x\"}");
	b->source->v->process_ended(b->source, &b->call,
				    &(struct ar_process_result){
					    .end = &how, .violations = violations, .violation_count = 3 });
	assert_non_null(strstr(b->text.p,
			       "the sandbox blocked: write /etc/x (3 times), connect; if the task needs "
			       "it, ask for more with sandbox=... and a justification"));
	assert_int_equal(b->outcome, AR_TOOL_ERROR);
}

/* What was only seen afterwards was refused by nobody, and a command that ended well did not fail. */
static void only_a_denial_fails_a_call(void **state)
{
	static const struct ar_str seen[] = {
		AR_STR("{\"attempted\":\"create .envrc\",\"effect\":\"logged\",\"count\":1}"),
	};
	static const struct ar_str blocked[] = {
		AR_STR("{\"attempted\":\"mount\",\"effect\":\"blocked\",\"count\":1}"),
	};
	struct ar_process_end failed = { .outcome = AR_PROC_EXITED, .exit_code = 1 };
	struct ar_process_end well = { .outcome = AR_PROC_EXITED };
	struct bench *b = *state;

	start(b, "shell", "{\"command\":\"x\"}");
	b->source->v->process_ended(b->source, &b->call,
				    &(struct ar_process_result){
					    .end = &failed, .violations = seen, .violation_count = 1 });
	assert_int_equal(b->outcome, AR_TOOL_OK);
	start(b, "shell", "{\"command\":\"x\"}");
	b->source->v->process_ended(b->source, &b->call,
				    &(struct ar_process_result){
					    .end = &well, .violations = blocked, .violation_count = 1 });
	assert_int_equal(b->outcome, AR_TOOL_OK);
}

static void what_lives_on_ends_its_call_at_the_start(void **state)
{
	struct bench *b = *state;

	start(b, "shell", "{\"command\":\"sleep 9\",\"background\":true}");
	assert_true(b->spec.has_input);
	assert_int_equal(b->spec.timeout_ms, 60000);
	b->source->v->process_began(b->source, &b->call, AR_STR("proc_7"));
	assert_int_equal(b->done, 1);
	assert_int_equal(b->outcome, AR_TOOL_OK);
	assert_non_null(strstr(b->text.p, "proc_7"));
	start(b, "shell", "{\"command\":\"sleep 9\"}");
	b->source->v->process_began(b->source, &b->call, AR_STR("proc_8"));
	assert_int_equal(b->done, 0); /* this one waits for its end */
	b->source->v->cancel(b->source, &b->call);
	assert_int_equal(b->done, 1);
	assert_int_equal(b->outcome, AR_TOOL_CANCELLED);
}

static void a_terminal_shows_its_first_output(void **state)
{
	struct bench *b = *state;

	start(b, "terminal_open", "{\"rows\":10,\"columns\":40}");
	assert_true(b->spec.tty && b->spec.has_input && b->spec.rows == 10 && b->spec.columns == 40);
	assert_int_equal(b->argc, 3);
	b->source->v->process_began(b->source, &b->call, AR_STR("proc_9"));
	assert_int_equal(b->done, 0);
	assert_int_equal(b->acted, 1);
	assert_int_equal(b->act.kind, AR_TOOL_ACT_READ);
	assert_string_equal(b->act.process_id.p, "proc_9");
	b->source->v->process_acted(b->source, &b->call,
				    &(struct ar_tool_acted){ .standing = AR_TOOL_PROCESS_RUNNING,
							     .output = AR_STR("$ ") });
	assert_string_equal(b->text.p, "proc_9 runs; bytes 0 to 2 of its output:\n\n$ ");
}

static void a_process_of_before_is_not_asked_for_again(void **state)
{
	struct bench *b = *state;

	b->call = (struct ar_tool_call){ 0 };
	start(b, "shell", "{\"command\":\"make\"}");
	assert_int_equal(b->asked, 1);
	end(b, (struct ar_process_end){ .outcome = AR_PROC_EXITED }, "");
	b->asked = b->done = 0;
	b->call.process_id = AR_STR("proc_1");
	b->source->v->start(b->source, &b->call);
	b->source->v->process_began(b->source, &b->call, AR_STR("proc_1")); /* before the loop comes round */
	uv_run(&b->loop, UV_RUN_NOWAIT);
	assert_int_equal(b->asked, 0);
	end(b, (struct ar_process_end){ .outcome = AR_PROC_EXITED, .exit_code = 2 }, "x");
	assert_non_null(strstr(b->text.p, "exit code 2"));
}

static void acts_are_answered(void **state)
{
	static const struct ar_process_end over = { .outcome = AR_PROC_EXITED, .exit_code = 4 };
	static const struct {
		const char *tool, *args;
		struct ar_tool_acted acted;
		enum ar_tool_outcome outcome;
		const char *part;
	} rows[] = {
		{ "process_write",
		  "{\"processId\":\"proc_1\",\"input\":\"ls\\n\"}",
		  { .standing = AR_TOOL_PROCESS_RUNNING },
		  AR_TOOL_OK,
		  "written to proc_1" },
		{ "process_write",
		  "{\"processId\":\"proc_1\",\"eof\":true}",
		  { .standing = AR_TOOL_PROCESS_CLOSED },
		  AR_TOOL_NOT_RUN,
		  "closed" },
		{ "process_write",
		  "{\"processId\":\"proc_1\",\"input\":\"x\"}",
		  { .standing = AR_TOOL_PROCESS_BUSY },
		  AR_TOOL_NOT_RUN,
		  "write again" },
		{ "process_write",
		  "{\"processId\":\"proc_1\",\"input\":\"x\"}",
		  { .standing = AR_TOOL_PROCESS_OVER, .end = &over },
		  AR_TOOL_NOT_RUN,
		  "exit code 4" },
		{ "process_read",
		  "{\"processId\":\"proc_1\",\"offset\":5,\"waitMs\":99999}",
		  { .standing = AR_TOOL_PROCESS_RUNNING, .output = AR_STR("abc"), .offset = 5 },
		  AR_TOOL_OK,
		  "bytes 5 to 8 of its output:\n\nabc" },
		{ "process_read",
		  "{\"processId\":\"proc_1\"}",
		  { .standing = AR_TOOL_PROCESS_OVER, .end = &over, .output = AR_STR("abc") },
		  AR_TOOL_OK,
		  "proc_1 is over: exit code 4" },
		{ "process_stop",
		  "{\"processId\":\"proc_1\",\"signal\":\"SIGINT\"}",
		  { .standing = AR_TOOL_PROCESS_RUNNING },
		  AR_TOOL_OK,
		  "proc_1 is being stopped" },
		{ "process_stop",
		  "{\"processId\":\"proc_1\"}",
		  { .standing = AR_TOOL_PROCESS_UNKNOWN },
		  AR_TOOL_NOT_RUN,
		  "No process of this session" },
	};
	struct bench *b = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		start(b, rows[i].tool, rows[i].args);
		assert_int_equal(b->acted, 1);
		assert_int_equal(b->done, 0);
		assert_string_equal(b->act.process_id.p, "proc_1");
		assert_true(b->act.wait_ms <= 30000);
		b->source->v->process_acted(b->source, &b->call, &rows[i].acted);
		assert_int_equal(b->done, 1);
		assert_int_equal(b->outcome, rows[i].outcome);
		if (!strstr(b->text.p, rows[i].part))
			fail_msg("'%s' is not in '%s'", rows[i].part, b->text.p);
	}
}

static void the_flags_say_what_they_touch(void **state)
{
	struct ar_json_parser *json = ar_json_parser_new();
	struct bench *b = *state;

	for (size_t i = 0; i < b->source->tool_count; i++) {
		const struct ar_tool *tool = &b->source->tools[i];
		struct ar_json schema;
		bool is_read = ar_str_is(tool->name, "process_read");
		bool runs = ar_str_is(tool->name, "shell") || ar_str_is(tool->name, "terminal_open");

		assert_true(ar_tool_is_name(tool->name));
		assert_int_equal(ar_json_parse(json, tool->schema, &schema, NULL), AR_OK);
		assert_int_equal(tool->is_read_only, is_read);
		assert_int_equal(tool->is_confined, !is_read);
		assert_int_equal(tool->runs_process, runs);
		assert_int_equal(tool->limit_ms, runs ? 60000 : 0);
		assert_int_equal(!!(tool->capabilities & AR_TOOL_SHELL),
				 runs || ar_str_is(tool->name, "process_write"));
	}
	ar_json_parser_free(json);
}

static void closing_ends_what_is_open(void **state)
{
	struct bench *b = *state;

	start(b, "shell", "{\"command\":\"x\"}");
	assert_int_equal(close_bench(state), 0);
	(void)b;
	open_bench(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_bench, close_bench)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_text_is_one_argument_of_a_shell),
		TEST(words_need_no_shell),
		TEST(bad_arguments_run_nothing),
		TEST(every_end_is_told_honestly),
		TEST(long_output_has_head_and_tail),
		TEST(binary_output_is_shown_in_hexadecimal),
		TEST(violations_are_summarised),
		TEST(only_a_denial_fails_a_call),
		TEST(what_lives_on_ends_its_call_at_the_start),
		TEST(a_terminal_shows_its_first_output),
		TEST(a_process_of_before_is_not_asked_for_again),
		TEST(acts_are_answered),
		TEST(the_flags_say_what_they_touch),
		TEST(closing_ends_what_is_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
