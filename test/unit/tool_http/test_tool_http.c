/* HTTP tools: what is sent, and each way a call ends, against a server of a few lines on the same loop. */
#include "desk.h"

#include <stdio.h>

#define OK_JSON \
	"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nContent-Length: " \
	"8\r\n\r\n{\"a\": 1}"
#define SECRET "Bearer s3cret-token"

/* ---- what is sent ---- */

static void test_post(void **state AR_UNUSED)
{
	static const char *const headers[] = { "Authorization: " SECRET, "X-Extra: 1" };
	static const char args[] = "{\"city\": \"K\xc3\xb6ln\", \"n\": 2}";
	struct desk d;

	desk_init(&d, SERVER_ANSWERS, OK_JSON);
	desk_open(&d, (struct ar_tool_http){ .description = "Says.", .headers = headers, .header_count = 2 },
		  "/v1/say?x=1#y");
	desk_start(&d, args);
	desk_wait(&d);
	assert_int_equal(d.outcome, AR_TOOL_OK);
	assert_string_equal(d.text, "{\"a\": 1}");
	assert_string_equal(d.structured, "{\"a\": 1}");
	assert_ptr_equal(strstr(d.server.request, "POST /v1/say?x=1 HTTP/1.1\r\n"), d.server.request);
	assert_string_equal(strstr(d.server.request, "\r\n\r\n") + 4, args);
	for (size_t i = 0; i < 2; i++)
		assert_non_null(strstr(d.server.request, headers[i]));
	assert_non_null(strstr(d.server.request, "\r\nContent-Type: application/json\r\n"));
	assert_non_null(strstr(d.server.request, "\r\nIdempotency-Key: evt_4\r\n"));
	assert_non_null(strstr(d.server.request, "\r\nX-AgentRuntime-Session: sess_1\r\n"));
	assert_non_null(strstr(d.server.request, "\r\nX-AgentRuntime-Turn: turn_2\r\n"));
	assert_non_null(strstr(d.server.request, "\r\nX-AgentRuntime-Tool-Call: toolu_3\r\n"));
	desk_fini(&d);
}

struct sent_row {
	const char *method, *path, *args, *want; /* the first line without HTTP/1.1 */
	bool has_body;
};

static void test_addresses(void **state AR_UNUSED)
{
	static const struct sent_row rows[] = {
		{ "GET", "/w", "{}", "GET /w", false },
		{ "GET", "/w", "{\"q\":\"a b&c\",\"n\":1.5,\"on\":true,\"no\":null,\"l\":[1,\"x\"]}",
		  "GET /w?q=a%20b%26c&n=1.5&on=true&l=1&l=x", false },
		{ "GET", "/w?k=v", "{\"q\":{\"a\":1}}", "GET /w?k=v&q=%7B%22a%22%3A1%7D", false },
		{ "GET", "/u/{id}/{id}?p={p}", "{\"id\":\"a/b?c#d\",\"p\":\"\xc3\xa9\",\"z\":1}",
		  "GET /u/a%2Fb%3Fc%23d/a%2Fb%3Fc%23d?p=%C3%A9&z=1", false },
		{ "DELETE", "/u/{id}", "{\"id\":7,\"force\":false}", "DELETE /u/7?force=false", false },
		{ "PUT", "/u/{id}", "{\"id\":7}", "PUT /u/7", true },
		{ "PATCH", "/u", "{\"id\":7}", "PATCH /u", true },
		{ "GET", "/u/{id", "{}", "GET /u/{id", false },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct desk d;
		char line[256];
		const char *body;

		desk_init(&d, SERVER_ANSWERS, OK_JSON);
		desk_open(&d, (struct ar_tool_http){ .method = rows[i].method }, rows[i].path);
		desk_start(&d, rows[i].args);
		desk_wait(&d);
		snprintf(line, sizeof(line), "%s HTTP/1.1\r\n", rows[i].want);
		if (strncmp(d.server.request, line, strlen(line)) != 0)
			fail_msg("%s sent %.100s", rows[i].want, d.server.request);
		body = strstr(d.server.request, "\r\n\r\n") + 4;
		assert_string_equal(body, rows[i].has_body ? rows[i].args : "");
		desk_fini(&d);
	}
}

/* An argument that the address needs, and cannot have: nothing is sent. */
static void test_bad_arguments(void **state AR_UNUSED)
{
	static const struct {
		const char *args, *message;
	} rows[] = {
		{ "{}", "the argument 'id' is needed for the address" },
		{ "{\"id\":null}", "the argument 'id' is needed for the address" },
		{ "{\"id\":\"..\"}", "the argument 'id' must not be empty, '.' or '..'" },
		{ "{\"id\":\".\"}", "the argument 'id' must not be empty, '.' or '..'" },
		{ "{\"id\":\"\"}", "the argument 'id' must not be empty, '.' or '..'" },
		{ "[]", "the arguments must be a JSON object" },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct desk d;

		desk_init(&d, SERVER_ANSWERS, OK_JSON);
		desk_open(&d, (struct ar_tool_http){ .method = "GET" }, "/u/{id}/secret");
		desk_start(&d, rows[i].args);
		desk_wait(&d);
		assert_int_equal(d.outcome, AR_TOOL_NOT_RUN);
		assert_string_equal(d.category, "invalid_request");
		assert_string_equal(d.message, rows[i].message);
		assert_int_equal(d.server.requests, 0);
		desk_fini(&d);
	}
}

/* ---- declarations ---- */

static void test_declarations(void **state AR_UNUSED)
{
	static const char *const broken_header[] = { "X: a\r\nEvil: b" }, *const no_header[] = { "nothing" };
	static const struct ar_tool_http tools[] = {
		{ .name = "good",
		  .url = "https://api.example.com:8443/x",
		  .is_read_only = true,
		  .is_destructive = true },
		{ .name = "bad name", .url = "http://h/" },
		{ .name = "file", .url = "file:///etc/passwd" },
		{ .name = "host", .url = "http://{host}/x" },
		{ .name = "user", .url = "http://{u}@h/x" },
		{ .name = "nohost", .url = "http:///x" },
		{ .name = "method", .url = "http://h/", .method = "TRACE" },
		{ .name = "schema", .url = "http://h/", .schema = "[]" },
		{ .name = "inject", .url = "http://h/", .headers = broken_header, .header_count = 1 },
		{ .name = "header", .url = "http://h/", .headers = no_header, .header_count = 1 },
		{ .name = "space", .url = "http://h/a b" },
	};
	static const char *const reasons[] = {
		"http tool 'bad name': the name must be",
		"'file': the url must begin",
		"'host': the url may have {members} only after",
		"'user': the url may have {members} only after",
		"'nohost': the url must begin",
		"'method': the method must be GET",
		"'schema': the schema must be a JSON object",
		"'inject': header 1 must be 'Name: value'",
		"'header': header 1 must be 'Name: value'",
		"'space': the url must not have spaces",
	};
	struct ar_tool_source *s;
	uv_loop_t loop;

	assert_int_equal(uv_loop_init(&loop), 0);
	s = ar_tool_http_open(&loop, tools, AR_ARRAY_LEN(tools), &(struct ar_tool_http_options){ 0 });
	assert_true(s->is_ready);
	assert_int_equal(s->tool_count, 1);
	assert_true(ar_str_is(s->tools[0].name, "good"));
	assert_true(ar_str_is(s->tools[0].origin, "api.example.com"));
	assert_int_equal(s->tools[0].owner, AR_TOOL_CONNECTOR);
	assert_true(s->tools[0].is_read_only && s->tools[0].is_concurrency_safe &&
		    !s->tools[0].is_destructive);
	assert_true(ar_str_is(s->tools[0].schema, "{\"type\":\"object\"}"));
	for (size_t i = 0; i < AR_ARRAY_LEN(reasons); i++) {
		if (!strstr(s->trouble, reasons[i]))
			fail_msg("%s is not in %s", reasons[i], s->trouble);
	}
	s->v->close(s);
	uv_run(&loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&loop), 0);
}

/* ---- answers ---- */

static void test_answers(void **state AR_UNUSED)
{
	static const struct {
		const char *answer, *text, *structured;
	} rows[] = {
		{ "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\n{\"\"}", "{\"\"}",
		  NULL },
		{ "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n[1]", "[1]",
		  NULL },
		{ "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 3\r\n\r\n{a}", "{a}",
		  NULL },
		{ "HTTP/1.1 201 C\r\nContent-Type: application/hal+json\r\nContent-Length: 2\r\n\r\n{}", "{}",
		  "{}" },
		{ "HTTP/1.1 204 No Content\r\n\r\n", "done (status 204, no content)", NULL },
		{ "HTTP/1.1 200 OK\r\nContent-Type: application/x\r\nContent-Length: 2\r\n\r\n\xff\xfe",
		  "2 bytes that are no text (application/x)", NULL },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n",
		  "abc", NULL },
		{ "HTTP/1.1 103 E\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: "
		  "chunked\r\nTrailer: T\r\n\r\n1\r\na\r\n0\r\nT: 1\r\n\r\n",
		  "a", NULL },
		{ "HTTP/1.1 200 OK\nContent-Length: 1\n\na", "a", NULL },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct desk d;

		desk_call(&d, SERVER_ANSWERS, rows[i].answer, (struct ar_tool_http){ 0 });
		assert_int_equal(d.outcome, AR_TOOL_OK);
		assert_string_equal(d.text, rows[i].text);
		assert_int_equal(d.structured != NULL, rows[i].structured != NULL);
		if (d.structured)
			assert_string_equal(d.structured, rows[i].structured);
		desk_fini(&d);
	}
}

static void test_image(void **state AR_UNUSED)
{
	struct desk d;

	desk_call(&d, SERVER_ANSWERS,
		  "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 3\r\n\r\n\x89PN",
		  (struct ar_tool_http){ .method = "GET" });
	assert_int_equal(d.outcome, AR_TOOL_OK);
	assert_string_equal(d.mime, "image/png");
	assert_string_equal(d.image, "iVBO");
	assert_string_equal(d.text, "an image (image/png, 3 bytes)");
	desk_fini(&d);
}

static void test_statuses(void **state AR_UNUSED)
{
	static const struct {
		int status;
		const char *category;
		bool is_retryable, is_retryable_when_idempotent;
	} rows[] = {
		{ 400, "invalid_request", false, false },
		{ 401, "auth", false, false },
		{ 403, "auth", false, false },
		{ 404, "not_found", false, false },
		{ 409, "conflict", false, false },
		{ 410, "not_found", false, false },
		{ 408, "timeout", true, true },
		{ 413, "too_large", false, false },
		{ 422, "invalid_request", false, false },
		{ 429, "rate_limited", true, true },
		{ 500, "service_error", false, true },
		{ 503, "service_error", false, true },
		{ 304, "redirected", false, false },
	};

	for (size_t i = 0; i < 2 * AR_ARRAY_LEN(rows); i++) {
		bool is_idempotent = i >= AR_ARRAY_LEN(rows);
		size_t row = i % AR_ARRAY_LEN(rows);
		char answer[256], want[64];
		struct desk d;

		snprintf(answer, sizeof(answer),
			 "HTTP/1.1 %d X\r\nRetry-After: 7\r\nContent-Length: %d\r\n\r\n%s", rows[row].status,
			 rows[row].status == 304 ? 0 : 3, rows[row].status == 304 ? "" : "why");
		desk_call(&d, SERVER_ANSWERS, answer,
			  (struct ar_tool_http){ .is_idempotent = is_idempotent });
		assert_int_equal(d.outcome, AR_TOOL_ERROR);
		assert_string_equal(d.category, rows[row].category);
		assert_int_equal(d.retryable, is_idempotent ? rows[row].is_retryable_when_idempotent
							    : rows[row].is_retryable);
		snprintf(want, sizeof(want), "127.0.0.1 answered with status %d; retry after 7",
			 rows[row].status);
		assert_string_equal(d.message, want);
		snprintf(want + strlen(want), sizeof(want) - strlen(want), ":\nwhy");
		if (rows[row].status == 304)
			assert_null(d.text);
		else
			assert_string_equal(d.text, want);
		assert_true(d.advice[0] != '\0');
		desk_fini(&d);
	}
}

/* Neither across hosts nor within one: what a redirect means for a request that writes is for the operator to
 * say. */
static void test_redirect(void **state AR_UNUSED)
{
	struct server other;
	char answer[256] = "";
	struct desk d;

	desk_init(&d, SERVER_ANSWERS, answer);
	server_start(&other, &d.loop, SERVER_ANSWERS, OK_JSON);
	snprintf(answer, sizeof(answer),
		 "HTTP/1.1 307 X\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n", other.port);
	desk_open(&d, (struct ar_tool_http){ .is_idempotent = true }, "/do");
	desk_start(&d, "{}");
	desk_wait(&d);
	assert_int_equal(d.outcome, AR_TOOL_ERROR);
	assert_string_equal(d.category, "redirected");
	assert_false(d.retryable);
	assert_int_equal(d.server.requests, 1);
	assert_int_equal(other.requests, 0);
	server_stop(&other);
	desk_fini(&d);
}

/* ---- no answer ---- */

static void test_unreachable(void **state AR_UNUSED)
{
	static const char *const urls[] = { "http://127.0.0.1:1/x", "http://nowhere.invalid/x" };

	for (size_t i = 0; i < AR_ARRAY_LEN(urls); i++) {
		struct desk d;

		desk_call(&d, SERVER_IS_SILENT, NULL, (struct ar_tool_http){ .url = urls[i] });
		assert_int_equal(d.outcome, AR_TOOL_NOT_RUN);
		assert_string_equal(d.category, "network");
		assert_true(d.retryable);
		desk_fini(&d);
	}
}

static void test_cut(void **state AR_UNUSED)
{
	static const struct {
		struct ar_tool_http tool;
		enum ar_tool_outcome outcome;
	} rows[] = {
		{ { 0 }, AR_TOOL_LOST },
		{ { .is_destructive = true }, AR_TOOL_LOST },
		{ { .is_read_only = true }, AR_TOOL_ERROR },
		{ { .is_idempotent = true }, AR_TOOL_ERROR },
	};
	static const char *const answers[] = { NULL, "HTTP/1.1 200 OK\r\nContent-Le",
					       "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234" };

	for (size_t i = 0; i < AR_ARRAY_LEN(rows) * AR_ARRAY_LEN(answers); i++) {
		const char *answer = answers[i % AR_ARRAY_LEN(answers)];
		size_t row = i / AR_ARRAY_LEN(answers);
		struct desk d;

		desk_call(&d, answer ? SERVER_ANSWERS : SERVER_HANGS_UP, answer, rows[row].tool);
		assert_int_equal(d.outcome, rows[row].outcome);
		assert_string_equal(d.category, "network");
		assert_int_equal(d.retryable, rows[row].outcome == AR_TOOL_ERROR);
		assert_int_equal(d.server.requests, 1);
		desk_fini(&d);
	}
}

static void test_timeout(void **state AR_UNUSED)
{
	for (int i = 0; i < 2; i++) {
		struct desk d;

		desk_call(&d, SERVER_IS_SILENT, NULL,
			  (struct ar_tool_http){ .timeout_ms = 100, .is_read_only = i == 1 });
		assert_int_equal(d.outcome, AR_TOOL_TIMEOUT);
		assert_string_equal(d.category, "timeout");
		assert_int_equal(d.retryable, i == 1);
		assert_int_equal(d.server.requests, 1);
		desk_fini(&d);
	}
}

static void test_too_large(void **state AR_UNUSED)
{
	struct desk d;

	desk_call(&d, SERVER_FLOODS, "HTTP/1.1 200 OK\r\n\r\n",
		  (struct ar_tool_http){ .is_read_only = true });
	assert_int_equal(d.outcome, AR_TOOL_ERROR);
	assert_string_equal(d.category, "too_large");
	assert_false(d.retryable);
	desk_fini(&d);
}

static void test_not_http(void **state AR_UNUSED)
{
	struct desk d;

	desk_call(&d, SERVER_ANSWERS, "220 smtp ready\r\n", (struct ar_tool_http){ 0 });
	assert_int_equal(d.outcome, AR_TOOL_ERROR);
	assert_string_equal(d.category, "protocol");
	desk_fini(&d);
}

static void test_cancel(void **state AR_UNUSED)
{
	struct desk d;

	/* before it left, and while the service is silent */
	for (int i = 0; i < 2; i++) {
		desk_init(&d, SERVER_IS_SILENT, NULL);
		desk_open(&d, (struct ar_tool_http){ 0 }, "/do");
		desk_start(&d, "{}");
		while (i == 1 && d.server.requests == 0)
			uv_run(&d.loop, UV_RUN_ONCE);
		d.source->v->cancel(d.source, &d.call);
		assert_false(d.is_done);
		desk_wait(&d);
		assert_int_equal(d.outcome, AR_TOOL_CANCELLED);
		assert_string_equal(d.category, "cancelled");
		assert_int_equal(d.server.requests, (size_t)i);
		desk_fini(&d);
	}
}

static void test_close_ends_calls(void **state AR_UNUSED)
{
	struct desk d;

	desk_init(&d, SERVER_IS_SILENT, NULL);
	desk_open(&d, (struct ar_tool_http){ 0 }, "/do");
	desk_start(&d, "{}");
	while (d.server.requests == 0)
		uv_run(&d.loop, UV_RUN_ONCE);
	d.source->v->close(d.source);
	d.source = NULL;
	assert_true(d.is_done);
	assert_int_equal(d.outcome, AR_TOOL_CANCELLED);
	desk_fini(&d);
}

/* Neither the declared headers nor user and password of the address get into what is recorded of an end. */
static void test_secrets(void **state AR_UNUSED)
{
	static const char *const headers[] = { "Authorization: " SECRET };
	static const struct {
		enum server_way way;
		const char *answer;
	} rows[] = {
		{ SERVER_HANGS_UP, NULL },
		{ SERVER_IS_SILENT, NULL },
		{ SERVER_FLOODS, "HTTP/1.1 200 OK\r\n\r\n" },
		{ SERVER_ANSWERS, "junk\r\n" },
		{ SERVER_ANSWERS, "HTTP/1.1 401 X\r\nContent-Length: 0\r\n\r\n" },
		{ SERVER_ANSWERS, "HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n" },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct desk d;
		char all[1024];

		desk_call(&d, rows[i].way, rows[i].answer,
			  (struct ar_tool_http){ .headers = headers, .header_count = 1, .timeout_ms = 200 });
		assert_int_not_equal(d.outcome, AR_TOOL_OK);
		assert_non_null(strstr(d.server.request, SECRET));
		snprintf(all, sizeof(all), "%s %s %s", d.category, d.message, d.advice);
		assert_null(strstr(all, "s3cret"));
		assert_null(strstr(all, "pass"));
		desk_fini(&d);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_post),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_bad_arguments),
		cmocka_unit_test(test_declarations),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_image),
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_redirect),
		cmocka_unit_test(test_unreachable),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_not_http),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_close_ends_calls),
		cmocka_unit_test(test_secrets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
