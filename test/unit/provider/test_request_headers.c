/* Headers of a request: the key only when there is one, and no way to smuggle another header in. */
#include "unit.h"

#include "buf.h"
#include "request_headers.h"

static void assert_headers(const struct ar_model_request *r, struct ar_str key, const char *want)
{
	struct curl_slist *list =
		ar_request_headers(ar_wire_find(AR_STR("openai-chat")), r, key, AR_STR_NONE);
	struct ar_buf out = { 0 };

	for (struct curl_slist *at = list; at; at = at->next) {
		if (strncmp(at->data, "X-", 2) == 0 || strncmp(at->data, "Auth", 4) == 0)
			ar_buf_addf(&out, "%s;", at->data);
	}
	assert_str(ar_buf_str(&out), want);
	ar_buf_fini(&out);
	curl_slist_free_all(list);
}

static void test_ids_and_key(void **state AR_UNUSED)
{
	const struct ar_model_request r = { .session_id = AR_STR("s"),
					    .turn_id = AR_STR("t"),
					    .step_id = AR_STR("p"),
					    .model_request_id = AR_STR("m") };

	assert_headers(
		&r, AR_STR("key"),
		"Authorization: Bearer key;X-Request-Id: m;X-AR-Session: s;X-AR-Turn: t;X-AR-Step: p;");
	assert_headers(&r, AR_STR_NONE, "X-Request-Id: m;X-AR-Session: s;X-AR-Turn: t;X-AR-Step: p;");
}

static void test_no_smuggling(void **state AR_UNUSED)
{
	const struct ar_model_request r = { .turn_id = AR_STR("t\r\nX-Evil: 1"), .step_id = AR_STR("p\n") };

	assert_headers(&r, AR_STR("a\nb"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids_and_key),
		cmocka_unit_test(test_no_smuggling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
