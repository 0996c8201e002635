/* See desk.h. */
#include "desk.h"
#include "describe.h"
#include "limits/route.h"
#include "mem.h"

#define CORE "0123456789abcdefghjkmnpqrs"

static const struct ar_model_entry one_model[] = {
	{ .name = AR_STR("fake-1"),
	  .provider = AR_STR("fake"),
	  .model = AR_STR("fake-1"),
	  .price = { -1, -1, -1, -1 },
	  .capabilities = AR_CAN_ALL,
	  .has_credentials = true,
	  .takes_any = true },
};

int desk_open(void **state)
{
	struct desk *d = ar_new0(sizeof(*d));

	d->json = ar_json_parser_new();
	d->decide_json = ar_json_parser_new();
	d->now = INT64_C(1767225600000000);
	d->policy = (struct ar_policy){ .runtime_id = AR_STR("rt_" CORE),
					.models = one_model,
					.model_count = 1,
					.may_fall_back = true,
					.max_attempts = 2,
					.backoff_ms = 100,
					.max_rounds = 3,
					.tool_ms = 120000,
					.tool_parallel = 8,
					.tool_result_bytes = 65536,
					.max_restarts = 1,
					.queue_max = 2,
					.context_max = 100,
					.context_bytes = 100000,
					.queue_by_default = true,
					.auto_resume = true };
	ar_session_init(&d->session, AR_STR(CORE), d->json);
	*state = d;
	return 0;
}

int desk_close(void **state)
{
	struct desk *d = *state;

	ar_session_fini(&d->session);
	ar_arena_fini(&d->arena);
	ar_json_parser_free(d->json);
	ar_json_parser_free(d->decide_json);
	ar_free(d);
	return 0;
}

static void validate_all(struct desk *d)
{
	for (size_t i = 0; i < d->decision.event_count; i++) {
		if (ar_event_validate(&d->decision.events[i], &d->err) != AR_OK)
			fail_msg("fact %zu: %s", i, d->err.msg);
	}
}

enum ar_status desk_do(struct desk *d, struct ar_input in)
{
	enum ar_status rc;

	ar_arena_reset(&d->arena);
	in.now = d->now += 1000000;
	in.policy = &d->policy;
	in.worker = d->worker;
	rc = ar_session_decide(&d->session, &in, d->decide_json, &d->arena, &d->decision, &d->err);
	if (rc == AR_E_CORRUPT)
		fail_msg("%s", d->err.msg);
	if (rc == AR_OK)
		validate_all(d);
	return rc;
}

void desk_end_call(struct desk *d, struct ar_str call, const struct ar_tool_result *result)
{
	struct ar_input in = { .kind = AR_IN_TOOL_DONE, .tool_done = { .call = call, .result = result } };

	assert_int_equal(desk_do(d, in), AR_OK);
}

void desk_begin(struct desk *d)
{
	assert_int_equal(desk_submit(d, "a"), AR_OK);
	assert_int_equal(desk_end_step(d, (struct ar_model_result){ .outcome = 4,
								    .category = AR_STR("network"),
								    .message = AR_STR("cut"),
								    .retryable = true }),
			 AR_OK);
}

struct ar_str desk_ask(struct desk *d, struct ar_ask ask)
{
	struct ar_input in = { .now = d->now += 1000000, .policy = &d->policy };
	struct ar_str id;

	ar_arena_reset(&d->arena);
	d->decision = (struct ar_decision){ .arena = &d->arena,
					    .session = &d->session,
					    .input = &in,
					    .json = d->decide_json,
					    .head = d->session.head,
					    .updated = d->session.updated,
					    .counters = d->session.counters };
	id = ar_decide_ask(&d->decision, desk_active(d), &ask);
	assert_int_equal(d->decision.fault, AR_OK);
	validate_all(d);
	ar_buf_fini(&d->decision.scratch);
	return ar_session_action(&d->session, id)->id;
}

const char *desk_payload(struct desk *d, enum ar_event_type type)
{
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	const char *text;

	for (size_t i = 0; i < d->decision.event_count && out.len == 0; i++) {
		const struct ar_event *e = &d->decision.events[i];

		if (e->type == type)
			ar_struct_encode(&ar_event_describe(type)->payload, e->payload, e->payload_extra, &w);
	}
	assert_true(out.len > 0);
	text = ar_arena_str(&d->arena, ar_buf_str(&out)).p;
	ar_buf_fini(&out);
	return text;
}

void desk_expect_payload(struct desk *d, enum ar_event_type type, const char *part)
{
	const char *text = desk_payload(d, type);

	if (!strstr(text, part))
		fail_msg("'%s' is not in %s", part, text);
}

void desk_fold(struct desk *d, const char *type, const char *payload)
{
	struct ar_str text =
		ar_arena_fmt(&d->arena,
			     "{\"type\":\"%s\",\"sequence\":%llu,\"timestamp\":\"2026-01-01T00:00:00Z\","
			     "\"threadId\":\"%.*s\",\"turnId\":\"%.*s\",\"payload\":%s}",
			     type, (unsigned long long)d->session.head + 1, AR_STR_ARG(desk_thread(d, 0)->id),
			     AR_STR_ARG(desk_active(d)->id), payload);
	struct ar_event e = { 0 };
	struct ar_json v;

	assert_int_equal(ar_json_parse(d->decide_json, text, &v, &d->err), AR_OK);
	if (ar_event_decode(v, &d->arena, &e, &d->err) != AR_OK ||
	    ar_session_apply(&d->session, &e, &d->err) != AR_OK)
		fail_msg("%s", d->err.msg);
}

size_t desk_effects(struct desk *d, enum ar_effect_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < d->decision.effect_count; i++)
		n += d->decision.effects[i].kind == kind;
	return n;
}

enum ar_status desk_command(struct desk *d, enum ar_command command, const void *args)
{
	return desk_do(d, (struct ar_input){ .kind = AR_IN_COMMAND,
					     .command = { .id = command, .args = args },
					     .account = AR_STR("me") });
}

enum ar_status desk_submit(struct desk *d, const char *turn)
{
	return desk_command(d, AR_CMD_SUBMIT_TURN,
			    &(struct ar_cmd_submit_turn_in){ .text = AR_STR("hello"),
							     .turn_id = ar_str_from(turn),
							     .busy_policy =
								     AR_SUBMIT_TURN_BUSY_POLICY_QUEUE });
}

const void *desk_read(struct desk *d, const struct ar_struct_desc *shape, const char *json)
{
	void *made = ar_arena_alloc(&d->session.arena, shape->size);
	struct ar_json v;

	assert_int_equal(ar_json_parse(d->decide_json, ar_str_from(json), &v, &d->err), AR_OK);
	if (ar_struct_decode_strict(shape, v, &d->session.arena, made, NULL, &d->err) != AR_OK ||
	    ar_struct_validate(shape, made, &d->err) != AR_OK)
		return NULL;
	return made;
}

enum ar_status desk_submit_with(struct desk *d, const char *turn, const char *options)
{
	const struct ar_shape_turn_options *read = desk_read(d, &ar_shape_turn_options_desc, options);

	if (!read)
		return AR_E_REFUSED;
	return desk_command(d, AR_CMD_SUBMIT_TURN,
			    &(struct ar_cmd_submit_turn_in){
				    .text = AR_STR("hello"), .turn_id = ar_str_from(turn), .options = read });
}

static enum ar_status end_with(struct desk *d, const char *text, struct ar_model_result end)
{
	struct ar_segment segment = { 1, 0, text ? strlen(text) : 0 };
	struct ar_step_output out = { .step = desk_active(d)->open_step,
				      .text = ar_str_from(text),
				      .segments = &segment,
				      .segment_count = text ? 1 : 0 };

	return desk_do(d, (struct ar_input){ .kind = AR_IN_MODEL_DONE, .model_done = { &out, &end } });
}

enum ar_status desk_answer(struct desk *d, const char *text)
{
	return end_with(d, text,
			(struct ar_model_result){
				.outcome = 1, .stop_reason = AR_STR("stop"), .output_tokens = 5 });
}

enum ar_status desk_end_step(struct desk *d, struct ar_model_result end)
{
	return end_with(d, NULL, end);
}

static bool is_explanation(enum ar_event_type type)
{
	static const enum ar_event_type explanations[] = { AR_EV_TASK_PROFILE_RESOLVED,
							   AR_EV_ROUTING_CANDIDATES_RESOLVED,
							   AR_EV_ROUTING_SINGLE_CANDIDATE,
							   AR_EV_COST_ESTIMATED, AR_EV_COST_RECORDED };

	for (size_t i = 0; i < AR_ARRAY_LEN(explanations); i++) {
		if (type == explanations[i])
			return true;
	}
	return false;
}

static void expect(struct desk *d, const char *types, bool with_explanations)
{
	struct ar_buf got = { 0 };

	for (size_t i = 0; i < d->decision.event_count; i++) {
		enum ar_event_type type = d->decision.events[i].type;

		if (with_explanations || !is_explanation(type))
			ar_buf_addf(&got, "%s%s", got.len ? " " : "", ar_event_describe(type)->name);
	}
	ar_buf_addc(&got, 0);
	assert_string_equal(got.p, types);
	ar_buf_fini(&got);
}

void desk_expect(struct desk *d, const char *types)
{
	expect(d, types, false);
}

void desk_expect_all(struct desk *d, const char *types)
{
	expect(d, types, true);
}

void desk_expect_refusal(struct desk *d, enum ar_status rc, uint16_t code)
{
	assert_int_equal(rc, AR_E_REFUSED);
	assert_string_equal(ar_error_describe(d->err.code)->name, ar_error_describe(code)->name);
}

void desk_expect_reply(struct desk *d, const char *part)
{
	if (!d->decision.reply.p || !strstr(d->decision.reply.p, part))
		fail_msg("'%s' is not in the reply %s", part, d->decision.reply.p);
}

struct ar_thread *desk_thread(struct desk *d, size_t index)
{
	assert_true(index < d->session.threads.count);
	return d->session.threads.at[index];
}

struct ar_turn *desk_active(struct desk *d)
{
	struct ar_turn *turn = ar_thread_active(desk_thread(d, 0));

	assert_non_null(turn);
	return turn;
}
