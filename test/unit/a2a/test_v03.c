/* A2A 0.3 in terms of 1.0 and back, with the worked messages of both versions. */
#include "v03.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef void translate_fn(struct ar_str method, struct ar_json v, struct ar_buf *out);

static void assert_text(translate_fn *fn, const char *method, const char *text, const char *want)
{
	struct ar_json_parser *json = ar_json_parser_new();
	struct ar_buf out = { 0 };
	struct ar_json v;

	assert_int_equal(ar_json_parse(json, ar_str_from(text), &v, NULL), AR_OK);
	fn(ar_str_from(method), v, &out);
	ar_buf_addc(&out, 0);
	assert_string_equal(out.p, want);
	ar_buf_fini(&out);
	ar_json_parser_free(json);
}

static void versions(void **state AR_UNUSED)
{
	assert_int_equal(ar_a2a_version_of(AR_STR_NONE), AR_A2A_0_3);
	assert_int_equal(ar_a2a_version_of(AR_STR("")), AR_A2A_0_3);
	assert_int_equal(ar_a2a_version_of(AR_STR("0.3")), AR_A2A_0_3);
	assert_int_equal(ar_a2a_version_of(AR_STR("1.0")), AR_A2A_1_0);
	assert_int_equal(ar_a2a_version_of(AR_STR("0.2")), AR_A2A_UNKNOWN);
	assert_int_equal(ar_a2a_version_of(AR_STR("1.1")), AR_A2A_UNKNOWN);
	assert_int_equal(ar_a2a_version_of(AR_STR("99.0")), AR_A2A_UNKNOWN);
}

static void methods(void **state AR_UNUSED)
{
	assert_true(ar_str_is(ar_a2a_v03_method(AR_STR("message/send")), "SendMessage"));
	assert_true(ar_str_is(ar_a2a_v03_method(AR_STR("tasks/pushNotificationConfig/set")),
			      "CreateTaskPushNotificationConfig"));
	assert_true(ar_str_absent(ar_a2a_v03_method(AR_STR("SendMessage"))));
	assert_true(ar_str_absent(ar_a2a_v03_method(AR_STR("tasks/list"))));
	assert_true(ar_str_is(ar_a2a_v03_method_back(AR_STR("SubscribeToTask")), "tasks/resubscribe"));
	assert_true(ar_str_absent(ar_a2a_v03_method_back(AR_STR("ListTasks"))));
}

#define OLD_SEND \
	"{\"message\":{\"messageId\":\"m1\",\"contextId\":\"C\",\"role\":\"user\",\"parts\":[" \
	"{\"kind\":\"text\",\"text\":\"deploy\",\"metadata\":{\"a\":1}}," \
	"{\"kind\":\"file\",\"file\":{\"bytes\":\"aGk=\",\"name\":\"a.txt\",\"mimeType\":\"text/plain\"}}," \
	"{\"kind\":\"file\",\"file\":{\"uri\":\"https://x.example/a\"}}," \
	"{\"kind\":\"data\",\"data\":{\"k\":[1,2.5]}}],\"referenceTaskIds\":[\"T0\"],\"kind\":\"message\"}," \
	"\"configuration\":{\"acceptedOutputModes\":[\"text/plain\"],\"historyLength\":2,\"blocking\":true," \
	"\"pushNotificationConfig\":{\"url\":\"https://" \
	"h.example\",\"authentication\":{\"schemes\":[\"Bearer\"]," \
	"\"credentials\":\"s\"}}},\"metadata\":{\"m\":true}}"

#define NEW_SEND \
	"{\"message\":{\"messageId\":\"m1\",\"contextId\":\"C\",\"role\":\"ROLE_USER\",\"parts\":[" \
	"{\"text\":\"deploy\",\"metadata\":{\"a\":1}}," \
	"{\"raw\":\"aGk=\",\"filename\":\"a.txt\",\"mediaType\":\"text/plain\"}," \
	"{\"url\":\"https://x.example/a\"}," \
	"{\"data\":{\"k\":[1,2.5]}}],\"referenceTaskIds\":[\"T0\"]}," \
	"\"configuration\":{\"acceptedOutputModes\":[\"text/plain\"],\"historyLength\":2," \
	"\"returnImmediately\":false," \
	"\"taskPushNotificationConfig\":{\"url\":\"https://" \
	"h.example\",\"authentication\":{\"scheme\":\"Bearer\"," \
	"\"credentials\":\"s\"}}},\"metadata\":{\"m\":true}}"

static void sends(void **state AR_UNUSED)
{
	assert_text(ar_a2a_v03_params, "SendMessage", OLD_SEND, NEW_SEND);
	assert_text(ar_a2a_v03_params_back, "SendStreamingMessage", NEW_SEND, OLD_SEND);
	/* a configuration without the word waits for nothing; without one the default of 1.0 counts */
	assert_text(ar_a2a_v03_params, "SendMessage", "{\"configuration\":{}}",
		    "{\"configuration\":{\"returnImmediately\":true}}");
	assert_text(ar_a2a_v03_params, "SendMessage", "{\"message\":{\"role\":\"user\"}}",
		    "{\"message\":{\"role\":\"ROLE_USER\"}}");
}

#define OLD_TASK \
	"{\"id\":\"T\",\"contextId\":\"C\",\"status\":{\"state\":\"input-required\",\"message\":{" \
	"\"messageId\":" \
	"\"a1\",\"role\":\"agent\",\"parts\":[{\"kind\":\"text\",\"text\":\"which?\"}],\"kind\":" \
	"\"message\"}," \
	"\"timestamp\":\"2026-11-14T22:47:54.296Z\"},\"artifacts\":[{\"artifactId\":\"a\",\"parts\":[{" \
	"\"kind\":" \
	"\"text\",\"text\":\"ok\"}]}],\"history\":[{\"messageId\":\"m1\",\"role\":\"user\",\"parts\":[{" \
	"\"kind\":" \
	"\"text\",\"text\":\"go\"}],\"kind\":\"message\"}],\"kind\":\"task\"}"

#define NEW_TASK \
	"{\"id\":\"T\",\"contextId\":\"C\",\"status\":{\"state\":\"TASK_STATE_INPUT_REQUIRED\",\"message\":" \
	"{" \
	"\"messageId\":\"a1\",\"role\":\"ROLE_AGENT\",\"parts\":[{\"text\":\"which?\"}]}," \
	"\"timestamp\":\"2026-11-14T22:47:54.296Z\"},\"artifacts\":[{\"artifactId\":\"a\",\"parts\":[{" \
	"\"text\":" \
	"\"ok\"}]}],\"history\":[{\"messageId\":\"m1\",\"role\":\"ROLE_USER\",\"parts\":[{\"text\":\"go\"}]" \
	"}]}"

static void answers(void **state AR_UNUSED)
{
	assert_text(ar_a2a_v03_result, "SendMessage", "{\"task\":" NEW_TASK "}", OLD_TASK);
	assert_text(ar_a2a_v03_result_back, "SendMessage", OLD_TASK, "{\"task\":" NEW_TASK "}");
	assert_text(ar_a2a_v03_result, "GetTask", NEW_TASK, OLD_TASK);
	assert_text(ar_a2a_v03_result_back, "CancelTask", OLD_TASK, NEW_TASK);
	assert_text(ar_a2a_v03_result, "SendMessage",
		    "{\"message\":{\"messageId\":\"x\",\"role\":\"ROLE_AGENT\",\"parts\":[{\"data\":[1]}]}}",
		    "{\"messageId\":\"x\",\"role\":\"agent\",\"parts\":[{\"kind\":\"data\",\"data\":{"
		    "\"value\":[1]}}],"
		    "\"kind\":\"message\"}");
}

static void assert_update(const char *old, const char *new, const char *final)
{
	char was[200], is[200];

	snprintf(was, sizeof was,
		 "{\"statusUpdate\":{\"taskId\":\"T\",\"contextId\":\"C\",\"status\":{\"state\":\"%s\"}}}",
		 new);
	snprintf(is, sizeof is,
		 "{\"taskId\":\"T\",\"contextId\":\"C\",\"status\":{\"state\":\"%s\"},\"kind\":\"status-"
		 "update\","
		 "\"final\":%s}",
		 old, final);
	assert_text(ar_a2a_v03_result, "SendStreamingMessage", was, is);
	assert_text(ar_a2a_v03_result_back, "SubscribeToTask", is, was);
}

static void events(void **state AR_UNUSED)
{
	assert_update("submitted", "TASK_STATE_SUBMITTED", "false");
	assert_update("working", "TASK_STATE_WORKING", "false");
	assert_update("auth-required", "TASK_STATE_AUTH_REQUIRED", "false");
	assert_update("input-required", "TASK_STATE_INPUT_REQUIRED", "true");
	assert_update("completed", "TASK_STATE_COMPLETED", "true");
	assert_update("failed", "TASK_STATE_FAILED", "true");
	assert_update("canceled", "TASK_STATE_CANCELED", "true");
	assert_update("rejected", "TASK_STATE_REJECTED", "true");
	assert_text(ar_a2a_v03_result, "SubscribeToTask",
		    "{\"artifactUpdate\":{\"taskId\":\"T\",\"contextId\":\"C\",\"artifact\":{\"artifactId\":"
		    "\"a\","
		    "\"parts\":[]},\"append\":false,\"lastChunk\":true}}",
		    "{\"taskId\":\"T\",\"contextId\":\"C\",\"artifact\":{\"artifactId\":\"a\",\"parts\":[]},"
		    "\"append\":false,\"lastChunk\":true,\"kind\":\"artifact-update\"}");
}

static void pushes(void **state AR_UNUSED)
{
	const char *new = "{\"taskId\":\"T\",\"id\":\"c\",\"url\":\"https://h.example\",\"token\":\"t\"}";
	const char *old =
		"{\"taskId\":\"T\",\"pushNotificationConfig\":{\"id\":\"c\",\"url\":\"https://h.example\","
		"\"token\":\"t\"}}";

	assert_text(ar_a2a_v03_params, "CreateTaskPushNotificationConfig", old, new);
	assert_text(ar_a2a_v03_result, "CreateTaskPushNotificationConfig", new, old);
	assert_text(ar_a2a_v03_params, "GetTaskPushNotificationConfig",
		    "{\"id\":\"T\",\"pushNotificationConfigId\":\"c\"}", "{\"taskId\":\"T\",\"id\":\"c\"}");
	assert_text(ar_a2a_v03_params, "DeleteTaskPushNotificationConfig",
		    "{\"id\":\"T\",\"pushNotificationConfigId\":\"c\"}", "{\"taskId\":\"T\",\"id\":\"c\"}");
	assert_text(ar_a2a_v03_params, "ListTaskPushNotificationConfigs", "{\"id\":\"T\"}",
		    "{\"taskId\":\"T\"}");
	assert_text(ar_a2a_v03_result, "ListTaskPushNotificationConfigs",
		    "{\"configs\":[{\"taskId\":\"T\",\"url\":\"u\"}]}",
		    "[{\"taskId\":\"T\",\"pushNotificationConfig\":{\"url\":\"u\"}}]");
	assert_text(ar_a2a_v03_result_back, "ListTaskPushNotificationConfigs",
		    "[{\"taskId\":\"T\",\"pushNotificationConfig\":{\"url\":\"u\"}}]",
		    "{\"configs\":[{\"taskId\":\"T\",\"url\":\"u\"}]}");
}

/* Nothing is invented for what is not as the version says: the reader of 1.0 misses it. */
static void nonsense(void **state AR_UNUSED)
{
	assert_text(ar_a2a_v03_params, "SendMessage", "[1]", "{}");
	assert_text(ar_a2a_v03_params, "SendMessage", "{\"message\":7}", "{\"message\":{}}");
	assert_text(ar_a2a_v03_params, "SendMessage",
		    "{\"message\":{\"role\":\"boss\",\"parts\":[{\"kind\":\"video\",\"text\":\"x\"},3,{"
		    "\"text\":\"y\"}]}}",
		    "{\"message\":{\"role\":\"boss\",\"parts\":[{},{},{}]}}");
	assert_text(ar_a2a_v03_params, "SendMessage", "{\"message\":{\"parts\":{}}}",
		    "{\"message\":{\"parts\":[]}}");
	assert_text(ar_a2a_v03_result_back, "SendMessage", "{\"kind\":\"other\",\"id\":\"T\"}", "{}");
	assert_text(ar_a2a_v03_result_back, "GetTask", "null", "{}");
	assert_text(ar_a2a_v03_result, "DeleteTaskPushNotificationConfig", "null", "null");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions), cmocka_unit_test(methods), cmocka_unit_test(sends),
		cmocka_unit_test(answers),  cmocka_unit_test(events),  cmocka_unit_test(pushes),
		cmocka_unit_test(nonsense),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
