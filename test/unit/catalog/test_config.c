/* The tables of the settings: what the file schema reads, what it refuses, and that every default is legal. */
#include "cmocka_unit.h"
#include "config.h"

#include <cyaml/cyaml.h>
#include <stdlib.h>

static cyaml_err_t load(const char *text, struct ar_config_file **ret)
{
	static const cyaml_config_t config = { .log_fn = NULL, .mem_fn = cyaml_mem };

	return cyaml_load_data((const uint8_t *)text, strlen(text), &config, &ar_config_file_schema,
			       (cyaml_data_t **)ret, NULL);
}

static void unload(struct ar_config_file *file)
{
	static const cyaml_config_t config = { .log_fn = NULL, .mem_fn = cyaml_mem };

	cyaml_free(&config, &ar_config_file_schema, file, 0);
}

static const struct ar_config_key *key(const char *name)
{
	for (size_t i = 0; i < ar_config_key_count; i++)
		if (strcmp(ar_config_keys[i].name, name) == 0)
			return &ar_config_keys[i];
	fail_msg("no key %s", name);
	return NULL;
}

static void test_file_sets_only_what_it_names(void **state AR_UNUSED)
{
	struct ar_config_file *file = NULL;

	assert_int_equal(
		load("listen: off\nmodel:\n  name: m\n  max_attempts: 5\nrecovery:\n  auto_resume: false\n"
		     "queue:\n  default_policy: reject\n",
		     &file),
		CYAML_OK);
	assert_string_equal(file->listen, "off");
	assert_string_equal(file->model.name, "m");
	assert_int_equal(*file->model.max_attempts, 5);
	assert_false(*file->recovery.auto_resume);
	assert_string_equal(file->queue.default_policy, "reject");
	assert_null(file->data_dir);
	assert_null(file->model.backoff_ms);
	assert_null(file->log.level);
	unload(file);
}

static void test_unknown_keys_and_wrong_types_are_errors(void **state AR_UNUSED)
{
	struct ar_config_file *file = NULL;

	assert_int_not_equal(load("lisen: off\n", &file), CYAML_OK);
	assert_int_not_equal(load("model:\n  nam: m\n", &file), CYAML_OK);
	assert_int_not_equal(load("model:\n  max_attempts: many\n", &file), CYAML_OK);
	assert_null(file);
}

static void test_offsets_name_the_right_member(void **state AR_UNUSED)
{
	assert_int_equal(key("openai.api_key")->offset, offsetof(struct ar_config, openai.api_key));
	assert_int_equal(key("openai.api_key")->file_offset, offsetof(struct ar_config_file, openai.api_key));
	assert_true(key("openai.api_key")->secret);
	assert_false(key("model.name")->secret);
	assert_string_equal(key("openai.api_key")->env, "OPENAI_API_KEY");
	assert_null(key("queue.max_turns")->env);
	assert_string_equal(key("log.level")->values[AR_CONFIG_LOG_LEVEL_INFO], "info");
	assert_string_equal(key("model.provider")->values[AR_CONFIG_MODEL_PROVIDER_OPENAI_CHAT],
			    "openai-chat");
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
		cmocka_unit_test(test_file_sets_only_what_it_names),
		cmocka_unit_test(test_unknown_keys_and_wrong_types_are_errors),
		cmocka_unit_test(test_offsets_name_the_right_member),
		cmocka_unit_test(test_every_default_is_legal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
