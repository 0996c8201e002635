/* The tables of the settings: places, units, and that every default is legal. */
#include "cmocka_unit.h"
#include "config.h"

#include <stddef.h>
#include <stdlib.h>

static const struct ar_config_key *key(const char *name)
{
	for (size_t i = 0; i < ar_config_key_count; i++)
		if (strcmp(ar_config_keys[i].name, name) == 0)
			return &ar_config_keys[i];
	fail_msg("no key %s", name);
	return NULL;
}

static void test_offsets_name_the_right_member(void **state AR_UNUSED)
{
	assert_int_equal(key("openai.api_key")->offset, offsetof(struct ar_config, openai.api_key));
	assert_true(key("openai.api_key")->secret);
	assert_false(key("model.name")->secret);
	assert_string_equal(key("openai.api_key")->env, "OPENAI_API_KEY");
	assert_null(key("queue.max_turns")->env);
	assert_string_equal(key("log.level")->values[AR_CONFIG_LOG_LEVEL_INFO], "info");
	assert_string_equal(key("model.provider")->values[AR_CONFIG_MODEL_PROVIDER_OPENAI_CHAT],
			    "openai-chat");
}

static void test_units_come_from_names_unless_declared(void **state AR_UNUSED)
{
	assert_int_equal(key("cluster.lease_ms")->unit, AR_CONFIG_UNIT_MS);
	assert_int_equal(key("auth.jwt_leeway_s")->unit, AR_CONFIG_UNIT_S);
	assert_int_equal(key("limits.ring_bytes")->unit, AR_CONFIG_UNIT_BYTES);
	assert_int_equal(key("budget.warn_percent")->unit, AR_CONFIG_UNIT_PERCENT);
	assert_int_equal(key("context.compact_at")->unit, AR_CONFIG_UNIT_PERCENT);
	assert_int_equal(key("retention.days")->unit, AR_CONFIG_UNIT_DAYS);
	assert_int_equal(key("session.cache")->unit, AR_CONFIG_UNIT_NONE);
}

static bool is_word_of(const struct ar_config_key *k)
{
	for (size_t i = 0; k->values[i]; i++)
		if (strcmp(k->values[i], k->preset) == 0)
			return true;
	return false;
}

static void test_every_default_is_legal(void **state AR_UNUSED)
{
	for (size_t i = 0; i < ar_config_key_count; i++) {
		const struct ar_config_key *k = &ar_config_keys[i];
		int64_t v = 0;

		if (k->kind == AR_CONFIG_INT) {
			v = strtoll(k->preset, NULL, 10);
			assert_true(v >= k->min && v <= k->max);
		}
		if (k->kind == AR_CONFIG_ENUM)
			assert_true(is_word_of(k));
		if (k->kind == AR_CONFIG_BOOL)
			assert_true(strcmp(k->preset, "true") == 0 || strcmp(k->preset, "false") == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offsets_name_the_right_member),
		cmocka_unit_test(test_units_come_from_names_unless_declared),
		cmocka_unit_test(test_every_default_is_legal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
