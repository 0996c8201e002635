/* Formats of sessions by facts that no daemon would write: members that are missing or of another type, ends
 * without a beginning, threads that know no parent, texts that cannot be read. Each format writes a whole
 * document, and a trajectory stays JSON. */
#include "unit.h"

#include "session_export.h"

#define STREAMS 8

static const char *const names[] = { "atif", "html", "markdown", "otlp", "replay" };

/* Streams from the highest on share the last place. */
struct output {
	struct ar_buf streams[STREAMS];
};

static struct ar_buf *stream_of(struct output *o, size_t stream)
{
	return &o->streams[stream < STREAMS - 1 ? stream : STREAMS - 1];
}

static void on_write(void *arg, size_t stream, struct ar_str bytes)
{
	ar_buf_adds(stream_of(arg, stream), bytes);
}

static void on_copy(void *arg, size_t stream)
{
	ar_buf_adds(stream_of(arg, 0), ar_buf_str(stream_of(arg, stream)));
}

static void feed(struct ar_export *x, struct ar_json_parser *parser, const char *text, struct ar_str stored)
{
	struct ar_arena a = { 0 };
	struct ar_export_part *parts;
	struct ar_json fact;
	size_t count;

	assert_int_equal(ar_json_parse(parser, ar_str_from(text), &fact, NULL), AR_OK);
	count = ar_export_parts(x, fact, &a, &parts);
	for (size_t i = 0; i < count; i++) {
		parts[i].text = stored;
		parts[i].why = AR_STR("expired");
		parts[i].size = (int64_t)stored.len;
	}
	ar_export_fact(x, fact, parts, count);
	ar_arena_fini(&a);
}

/* The document; the caller frees it. */
static struct ar_buf write_all(const char *format, const char *const *facts, struct ar_str stored)
{
	struct output o = { 0 };
	struct ar_export_sink sink = { on_write, on_copy, &o };
	struct ar_export *x = ar_export_new(ar_str_from(format), &sink);
	struct ar_json_parser *parser = ar_json_parser_new();

	assert_non_null(x);
	for (; *facts; facts++)
		feed(x, parser, *facts, stored);
	ar_export_end(x);
	ar_export_free(x);
	ar_json_parser_free(parser);
	for (size_t i = 1; i < STREAMS; i++)
		ar_buf_fini(&o.streams[i]);
	return o.streams[0];
}

static bool has(const struct ar_buf *text, const char *part)
{
	return memmem(text->p ? text->p : "", text->len, part, strlen(part));
}

#define FACT(type, rest) \
	"{\"type\":\"" type "\",\"eventId\":\"e\",\"timestamp\":\"2026-01-01T00:00:00Z\"," rest "}"
#define IN(type, rest) FACT(type, "\"sessionId\":\"s\",\"threadId\":\"t\",\"turnId\":\"u\"," rest)

static const char *const odd[] = {
	"{}",
	"{\"type\":7,\"payload\":[]}",
	IN("tool.result", "\"payload\":{}"),
	IN("tool.failed", "\"toolCallId\":\"c\",\"payload\":{\"status\":3}"),
	IN("turn.completed", "\"payload\":{\"usage\":\"no\"}"),
	IN("turn.started", "\"payload\":{}"),
	IN("thread.started", "\"payload\":{\"parentThreadId\":\"t\"}"),
	IN("turn.submitted", "\"payload\":{\"inputRef\":\"r\"}"),
	IN("turn.submitted", "\"payload\":{}"),
	IN("model.requested", "\"payload\":{}"),
	IN("model.completed",
	   "\"payload\":{\"outputRef\":\"r\",\"toolCalls\":[{},7,{\"toolCallId\":\"c\",\"ref\":\"r\"}]}"),
	IN("tool.started", "\"toolCallId\":\"d\",\"payload\":{\"retryOf\":\"c\",\"inputRef\":\"r\"}"),
	IN("tool.result", "\"toolCallId\":\"unknown\",\"payload\":{\"outputRef\":\"r\"}"),
	IN("subagent.spawned", "\"payload\":{\"toolCallId\":\"c\"}"),
	IN("cost.recorded",
	   "\"payload\":{\"amount\":\"1e999\",\"currency\":\"a currency that is too long\"}"),
	IN("action.resolved", "\"payload\":{\"responseRef\":\"r\",\"actor\":{\"a\":[1,2.5,null]}}"),
	IN("artifact.changed", "\"payload\":{\"diffRef\":\"r\",\"change\":\"produced\"}"),
	IN("hook.failed", "\"payload\":{\"hookRunRef\":\"h\",\"durationMs\":9223372036854775807}"),
	FACT("evidence.changed", "\"evidenceId\":\"v\",\"payload\":{\"durationMs\":-5}"),
	IN("tool.catalog.resolved", "\"payload\":{\"catalogRef\":\"r\"}"),
	IN("model.failed", "\"payload\":{\"error\":7}"),
	IN("turn.failed", "\"payload\":{\"error\":[]}"),
	IN("context.compaction.completed", "\"payload\":{}"),
	FACT("thread.started", "\"threadId\":\"orphan\",\"payload\":{\"parentThreadId\":\"nobody\"}"),
	FACT("turn.failed", "\"threadId\":\"orphan\",\"payload\":{}"),
	NULL,
};

static void odd_facts_make_whole_documents(void **state AR_UNUSED)
{
	static const struct ar_str stored[] = {
		{ NULL, 0 }, { "", 0 }, { "{\"a\":1}", 7 }, { "<b>`````</b>", 12 }, { "[7,{\"text\":3}]", 14 }
	};
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json doc;

	for (size_t i = 0; i < AR_ARRAY_LEN(names) * AR_ARRAY_LEN(stored); i++) {
		const char *name = names[i % AR_ARRAY_LEN(names)];
		struct ar_buf text = write_all(name, odd, stored[i / AR_ARRAY_LEN(names)]);

		assert_true(text.len > 0 || strcmp(name, "replay") == 0);
		if (text.len && strcmp(name, "html") != 0 && strcmp(name, "markdown") != 0)
			assert_int_equal(ar_json_parse(parser, ar_buf_str(&text), &doc, NULL), AR_OK);
		if (strcmp(name, "html") == 0)
			assert_true(has(&text, "</main></body></html>\n") && !has(&text, "<b>`"));
		ar_buf_fini(&text);
	}
	ar_json_parser_free(parser);
}

/* The child begins before its parent's call ends, and both work at the same time. */
static const char *const nested[] = {
	IN("thread.started", "\"payload\":{\"reason\":\"new\"}"),
	IN("model.completed", "\"payload\":{\"outputRef\":\"r\",\"toolCalls\":[{\"toolCallId\":\"c\","
			      "\"name\":\"go\",\"ref\":\"r\"}]}"),
	FACT("thread.started",
	     "\"threadId\":\"k\",\"payload\":{\"reason\":\"delegate\",\"parentThreadId\":\"t\"}"),
	IN("subagent.spawned", "\"payload\":{\"toolCallId\":\"c\",\"childThreadId\":\"k\"}"),
	FACT("model.completed", "\"threadId\":\"k\",\"turnId\":\"v\",\"payload\":{\"outputRef\":\"r\"}"),
	IN("tool.result", "\"toolCallId\":\"c\",\"payload\":{\"status\":\"ok\",\"outputRef\":\"r\"}"),
	FACT("turn.completed", "\"threadId\":\"k\",\"turnId\":\"v\",\"payload\":{}"),
	IN("turn.completed", "\"payload\":{}"),
	NULL,
};

static void a_child_is_inside_its_parent(void **state AR_UNUSED)
{
	struct ar_buf text = write_all("atif", nested, AR_STR("{\"x\":\"y\"}"));
	struct ar_json_parser *parser = ar_json_parser_new();
	struct ar_json doc, steps, child;
	struct ar_str id = AR_STR_NONE;

	assert_int_equal(ar_json_parse(parser, ar_buf_str(&text), &doc, NULL), AR_OK);
	steps = ar_json_get(doc, "steps");
	child = ar_json_at(ar_json_get(doc, "subagent_trajectories"), 0);
	assert_int_equal(ar_json_len(steps), 1);
	assert_int_equal(ar_json_len(ar_json_get(child, "steps")), 1);
	ar_json_str(ar_json_get(child, "trajectory_id"), &id);
	assert_str(id, "k");
	assert_true(has(&text, "\"source_call_id\":\"c\"") && has(&text, "\"arguments\":{\"x\":\"y\"}"));
	ar_json_parser_free(parser);
	ar_buf_fini(&text);
}

static void another_format_is_none(void **state AR_UNUSED)
{
	struct ar_export_sink sink = { 0 };

	assert_null(ar_export_new(AR_STR("pdf"), &sink));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(odd_facts_make_whole_documents),
		cmocka_unit_test(a_child_is_inside_its_parent),
		cmocka_unit_test(another_format_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
