/* Objects and lists inside a struct: strict for input from outside, lenient for stored facts,
 * copied whole. */
#include "codec_fixture.h"

#include <string.h>

#define FAILED_EVENT \
	"{\"type\":\"turn.failed\",\"eventId\":\"e\",\"runtimeId\":\"r\",\"sessionId\":\"s\",\"payload\":{" \
	"\"status\":\"failed\",\"error\":%s}}"

static struct ar_event failed_with(struct fixture *f, const char *error)
{
	struct ar_str text = ar_arena_fmt(&f->arena, FAILED_EVENT, error);
	struct ar_event e = { 0 };

	if (ar_event_decode(parse(f, text), &f->arena, &e, &f->err) != AR_OK)
		fail_msg("%s: %s", error, f->err.msg);
	return e;
}

static void test_members_become_a_struct(void **state)
{
	struct fixture *f = *state;
	struct ar_event e = failed_with(f, "{\"retryable\":false,\"message\":\"m\",\"category\":\"c\"}");
	const struct ar_shape_failure *error = ((const struct ar_ev_turn_failed *)e.payload)->error;

	assert_text(error->category, "c");
	assert_text(error->message, "m");
	assert_true(error->retryable.set && !error->retryable.v);
	assert_true(ar_str_absent(error->recovery_advice));
	assert_true(ar_str_absent(error->extra_));
}

/* A log of another version: the members that do not fit the shape are written back as they were. */
static void test_stored_misfits_are_kept(void **state)
{
	struct fixture *f = *state;
	struct ar_event e =
		failed_with(f, "{\"category\":5,\"message\":\"m\",\"retryable\":null,\"code\":[1]}");
	const struct ar_ev_turn_failed *p = e.payload;

	assert_true(ar_str_absent(p->error->category));
	assert_text(p->error->message, "m");
	assert_false(p->error->retryable.set);
	assert_text(p->error->extra_, "\"category\":5,\"code\":[1]");
	assert_text(encoded(f, &ar_shape_failure_desc, p->error, p->error->extra_),
		    "{\"message\":\"m\",\"category\":5,\"code\":[1]}");
}

static void test_input_is_refused_by_its_member(void **state)
{
	static const struct {
		const char *error, *message;
	} cases[] = {
		{ "{\"category\":5,\"message\":\"m\"}", "'error.category' must be a string" },
		{ "[]", "'error' must be an object" },
		{ "{\"category\":\"c\",\"message\":\"m\",\"retryable\":\"no\"}",
		  "'error.retryable' must be true or false" },
	};
	const struct ar_command_desc *c = &ar_command_descs[AR_CMD_FAIL_TASK];
	struct fixture *f = *state;

	for (size_t i = 0; i < AR_ARRAY_LEN(cases); i++) {
		struct ar_cmd_fail_task_in in = { 0 };
		struct ar_str text =
			ar_arena_fmt(&f->arena, "{\"taskId\":\"t\",\"error\":%s}", cases[i].error);

		f->err = (struct ar_error){ 0 };
		assert_int_equal(ar_input_decode(c, parse(f, text), &f->arena, &in, &f->err), AR_E_INVALID);
		assert_string_equal(f->err.msg, cases[i].message);
	}
}

static void test_size_of_an_object_is_that_of_its_json(void **state)
{
	struct fixture *f = *state;
	struct ar_str text =
		ar_arena_fmt(&f->arena,
			     "{\"taskId\":\"t\",\"error\":{\"category\":\"c\",\"message\":\"%016500d\"}}", 0);
	struct ar_cmd_fail_task_in in = { 0 };

	assert_int_equal(ar_input_decode(&ar_command_descs[AR_CMD_FAIL_TASK], parse(f, text), &f->arena, &in,
					 &f->err),
			 AR_E_INVALID);
	assert_non_null(strstr(f->err.msg, "'error' has "));
}

static void test_copy_holds_all_of_it(void **state)
{
	struct fixture *f = *state;
	const struct ar_struct_desc *d = &ar_event_descs[AR_EV_TURN_FAILED].payload;
	char category[] = "c", other[] = "\"k\":1";
	struct ar_shape_failure error = { .category = { category, 1 }, .extra_ = { other, 5 } };
	struct ar_ev_turn_failed p = { .status = AR_TURN_FAILED_STATUS_LOST, .error = &error };
	const struct ar_ev_turn_failed *copy = ar_struct_copy(d, &p, AR_COPY_TEXT, &f->arena);

	error = (struct ar_shape_failure){ 0 };
	category[0] = other[1] = '?';
	assert_text(encoded(f, d, copy, AR_STR_NONE),
		    "{\"status\":\"lost\",\"error\":{\"category\":\"c\",\"k\":1}}");
}

/* What a decision leaves out is empty; what an event from outside leaves out stays absent. */
static void test_fill_makes_required_ones_empty(void **state)
{
	struct fixture *f = *state;
	const struct ar_struct_desc *d = &ar_event_descs[AR_EV_TURN_FAILED].payload;
	struct ar_ev_turn_failed p = { .status = AR_TURN_FAILED_STATUS_LOST };

	assert_text(encoded(f, d, ar_struct_copy(d, &p, AR_COPY_FILL, &f->arena), AR_STR_NONE),
		    "{\"status\":\"lost\",\"error\":{}}");
	assert_text(encoded(f, d, ar_struct_copy(d, &p, AR_COPY_BORROW, &f->arena), AR_STR_NONE),
		    "{\"status\":\"lost\"}");
}

/* Both stay readable: a member in two spellings, and a list with an entry that is no object. */
static void test_stored_oddities_are_kept(void **state)
{
	struct fixture *f = *state;
	struct ar_event e = failed_with(f, "{\"recoveryAdvice\":\"a\",\"recovery_advice\":\"b\"}");
	const struct ar_ev_turn_failed *p = e.payload;
	const char *blocked = "{\"type\":\"task.blocked\",\"payload\":{\"blockers\":[\"odd\"]}}";

	assert_text(p->error->recovery_advice, "a");
	assert_text(p->error->extra_, "\"recovery_advice\":\"b\"");
	assert_int_equal(ar_event_decode(parse(f, ar_str_from(blocked)), &f->arena, &e, &f->err), AR_OK);
	assert_text(e.payload_extra, "\"blockers\":[\"odd\"]");
}

/* Every member of every shape that a fact may hold, with every kind of value: another version may
 * have written it. It can be read, and an open shape loses nothing of it. */
static const char *const odd_values[] = { "7", "\"odd\"", "true", "{\"odd\":1}", "[[7],\"odd\"]", "-1.5" };

static void expect_kept(struct fixture *f, enum ar_event_type type, const struct ar_field_desc *field,
			const struct ar_field_desc *member, const char *value)
{
	bool is_open = field->of->extra && member->kind < AR_F_ARRAY && (!member->of || member->of->extra);
	bool is_list = field->kind == AR_F_ARRAY;
	struct ar_str text = ar_arena_fmt(&f->arena, "{\"type\":\"%s\",\"payload\":{\"%s\":%s{\"%s\":%s}%s}}",
					  ar_event_describe(type)->name, field->name, is_list ? "[" : "",
					  member->name, value, is_list ? "]" : "");
	struct ar_event e = { 0 };
	struct ar_str again, part;

	if (ar_event_decode(parse(f, text), &f->arena, &e, &f->err) != AR_OK)
		fail_msg("%.*s: %s", AR_STR_ARG(text), f->err.msg);
	again = encoded_event(f, &e);
	part = ar_arena_fmt(&f->arena, "\"%s\":%s", member->name, value);
	if (is_open && !memmem(again.p, again.len, part.p, part.len))
		fail_msg("%.*s became %.*s", AR_STR_ARG(text), AR_STR_ARG(again));
}

static void test_every_member_of_a_stored_shape_may_be_odd(void **state)
{
	struct fixture *f = *state;
	size_t cases = 0;

	for (int type = 1; type < AR_EV_COUNT; type++) {
		const struct ar_struct_desc *d = &ar_event_describe((enum ar_event_type)type)->payload;

		for (size_t i = 0; i < d->count; i++) {
			for (size_t k = 0; d->fields[i].of && k < d->fields[i].of->count; k++) {
				for (size_t v = 0; v < AR_ARRAY_LEN(odd_values); v++, cases++)
					expect_kept(f, (enum ar_event_type)type, &d->fields[i],
						    &d->fields[i].of->fields[k], odd_values[v]);
			}
		}
	}
	assert_true(cases > 1000);
}

/* Refused before memory is taken for the entries. */
static void test_many_entries_are_refused_early(void **state)
{
	const struct ar_command_desc *c = &ar_command_descs[AR_CMD_CREATE_TASK];
	struct fixture *f = *state;
	struct ar_buf text = { 0 };
	struct ar_cmd_create_task_in in = { 0 };
	size_t before;

	ar_buf_adds(&text, AR_STR("{\"objective\":\"o\",\"acceptance\":[{}"));
	for (int i = 0; i < 300000; i++)
		ar_buf_adds(&text, AR_STR(",{}"));
	ar_buf_adds(&text, AR_STR("]}"));
	before = f->arena.total;
	assert_int_equal(ar_input_decode(c, parse(f, ar_buf_str(&text)), &f->arena, &in, &f->err),
			 AR_E_INVALID);
	assert_string_equal(f->err.msg, "'acceptance' has 300001 entries and may have at most 65536 bytes");
	assert_true(f->arena.total - before < 4096);
	ar_buf_fini(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		codec_test(test_members_become_a_struct),
		codec_test(test_stored_misfits_are_kept),
		codec_test(test_input_is_refused_by_its_member),
		codec_test(test_size_of_an_object_is_that_of_its_json),
		codec_test(test_copy_holds_all_of_it),
		codec_test(test_fill_makes_required_ones_empty),
		codec_test(test_stored_oddities_are_kept),
		codec_test(test_every_member_of_a_stored_shape_may_be_odd),
		codec_test(test_many_entries_are_refused_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
