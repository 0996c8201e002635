/* Two files of commands through the judgement of mode on_request: of the bypass lines none runs unasked; of
 * the ordinary ones each asks or runs as its line says, and few ask that did not ask before expansions were
 * judged. */
#include "decide.h"
#include "desk.h"

#include <stdio.h>
#include <string.h>

#define FILE_MAX (256 * 1024)
#define NEW_ASKS_PER_CENT 3

static const struct ar_tool shell = { .name = AR_STR("shell"),
				      .schema = AR_STR("{\"type\":\"object\"}"),
				      .owner = AR_TOOL_LOCAL,
				      .capabilities = AR_TOOL_SHELL | AR_TOOL_WRITE | AR_TOOL_FILESYSTEM,
				      .runs_process = true,
				      .is_confined = true };
static const struct ar_tool *const tools[] = { &shell };
static const struct ar_inventory inventory = { tools, 1, 1, true };
static const struct ar_sandbox_host sandbox = { .profiles = { [AR_SANDBOX_WORKSPACE_WRITE] = {
								      .is_available = true } } };

#define RULE(n, v, c) \
	{ \
		.name = AR_STR(n), .tool = AR_STR("shell"), .command = AR_STR(c), .verdict = v, \
		.reach = AR_REACH_HOST \
	}

static const struct ar_permission_rule rules[] = { RULE("no-push", AR_DENY, "git push"),
						   RULE("ask-npm", AR_ASK, "npm install"),
						   RULE("no-key", AR_DENY, "cat secrets/key") };

static int open_desk(void **state)
{
	struct desk *d;

	desk_open(state);
	d = *state;
	d->policy.sandbox = &sandbox;
	d->policy.inventory = &inventory;
	d->policy.rules = rules;
	d->policy.permission_mode = AR_MODE_ON_REQUEST;
	d->policy.workspace = AR_STR("/work/space");
	return 0;
}

static int close_desk(void **state)
{
	struct desk *d = *state;

	ar_buf_fini(&d->decision.scratch);
	return desk_close(state);
}

static enum ar_verdict verdict_of(struct desk *d, struct ar_str command)
{
	struct ar_input in = { .now = d->now, .policy = &d->policy };
	struct ar_turn turn = { .id = AR_STR("turn_1"), .thread = AR_STR("thread_1") };
	struct ar_buf args = { 0 };
	struct ar_jw w = ar_jw(&args);
	enum ar_verdict verdict;

	ar_jw_open(&w);
	ar_jw_mstr(&w, "command", command);
	ar_jw_close(&w);
	ar_buf_fini(&d->decision.scratch);
	ar_arena_reset(&d->arena);
	d->decision = (struct ar_decision){
		.arena = &d->arena, .session = &d->session, .input = &in, .json = d->decide_json
	};
	verdict = ar_permission_judge(&d->decision, &turn,
				      &(struct ar_act){
					      .tool = &shell, .name = shell.name, .args = ar_buf_str(&args) })
			  .verdict;
	ar_buf_fini(&args);
	return verdict;
}

/* ---- the files ---- */

struct lines {
	char bytes[FILE_MAX];
	struct ar_str rest;
};

static void open_lines(struct lines *l, const char *path)
{
	FILE *f = fopen(path, "rb");

	assert_non_null(f);
	l->rest = (struct ar_str){ l->bytes, fread(l->bytes, 1, sizeof(l->bytes), f) };
	assert_true(l->rest.len > 0 && l->rest.len < sizeof(l->bytes));
	fclose(f);
}

static bool next_line(struct lines *l, struct ar_str *ret)
{
	while (!ar_str_absent(l->rest)) {
		l->rest = ar_str_split(l->rest, '\n', ret);
		if (ret->len > 0 && !ar_str_starts(*ret, AR_STR("# ")))
			return true;
	}
	return false;
}

/* The signs for bytes that a line cannot hold. */
static struct ar_str decode(struct ar_str line, char *out)
{
	static const struct {
		struct ar_str sign;
		char byte;
	} signs[] = { { AR_STR("\u23ce"), '\n' }, { AR_STR("\u240d"), '\r' }, { AR_STR("\u2400"), 0 } };
	size_t len = 0;

	for (size_t at = 0; at < line.len;) {
		struct ar_str rest = ar_str_sub(line, at, line.len);
		size_t i = 0;

		while (i < AR_ARRAY_LEN(signs) && !ar_str_starts(rest, signs[i].sign))
			i++;
		out[len++] = i < AR_ARRAY_LEN(signs) ? signs[i].byte : line.p[at];
		at += i < AR_ARRAY_LEN(signs) ? signs[i].sign.len : 1;
	}
	return (struct ar_str){ out, len };
}

static bool runs(struct desk *d, struct ar_str line)
{
	static char text[FILE_MAX];
	enum ar_verdict verdict = verdict_of(d, decode(line, text));

	return verdict != AR_ASK && verdict != AR_DENY;
}

/* ---- what must hold ---- */

static void no_bypass_runs_unasked(void **state)
{
	static struct lines l;
	struct ar_str line;
	size_t count = 0, ran = 0;

	((struct desk *)*state)->policy.rule_count = AR_ARRAY_LEN(rules);
	for (open_lines(&l, AR_COMMANDS "/bypass_commands.txt"); next_line(&l, &line); count++) {
		if (!runs(*state, line))
			continue;
		print_error("runs unasked: %.*s\n", AR_STR_ARG(line));
		ran++;
	}
	assert_true(count >= 60);
	assert_int_equal(ran, 0);
}

/* A line is: what it did before, what it does now (run or ask), the command. */
static void few_ordinary_commands_ask(void **state)
{
	static struct lines l;
	struct ar_str line, before, now;
	size_t count = 0, wrong = 0, new_asks = 0;

	((struct desk *)*state)->policy.rule_count =
		2; /* a rule about one file would ask for each `cat "$x"` */
	for (open_lines(&l, AR_COMMANDS "/ordinary_commands.txt"); next_line(&l, &line); count++) {
		line = ar_str_split(line, ' ', &before);
		line = ar_str_split(line, ' ', &now);
		new_asks += ar_str_is(before, "run") && ar_str_is(now, "ask");
		if (runs(*state, line) == ar_str_is(now, "run"))
			continue;
		print_error("does not %.*s: %.*s\n", AR_STR_ARG(now), AR_STR_ARG(line));
		wrong++;
	}
	assert_int_equal(wrong, 0);
	assert_true(count >= 300);
	assert_true(new_asks * 100 <= count * NEW_ASKS_PER_CENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_bypass_runs_unasked, open_desk, close_desk),
		cmocka_unit_test_setup_teardown(few_ordinary_commands_ask, open_desk, close_desk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
