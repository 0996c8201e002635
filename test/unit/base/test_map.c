/* The hash map against a plain array as its model, under random puts and deletes. */
#include "unit.h"
#include "map.h"

#include <stdio.h>

#define KEYS 2000
#define STEPS 100000

struct entry {
	char key[16];
	bool in;
};

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static void check_against(const struct ar_map *m, struct entry *model, size_t count)
{
	size_t cursor = 0, walked = 0;

	assert_int_equal(m->count, count);
	for (size_t i = 0; i < KEYS; i++)
		assert_ptr_equal(ar_map_get(m, ar_str_from(model[i].key)), model[i].in ? &model[i] : NULL);
	for (struct entry *e; (e = ar_map_next(m, &cursor)); walked++)
		assert_true(e->in);
	assert_int_equal(walked, count);
}

static void test_random_against_model(void **state AR_UNUSED)
{
	static struct entry model[KEYS];
	struct ar_map m = { 0 };
	uint64_t seed = 7;
	size_t count = 0;

	for (size_t i = 0; i < KEYS; i++)
		snprintf(model[i].key, sizeof model[i].key, "key-%zu", i);
	for (int step = 0; step < STEPS; step++) {
		struct entry *e = &model[next_random(&seed) % KEYS];
		bool put =
			next_random(&seed) % 100 < (step / 10000 % 2 ? 30 : 70); /* grow, shrink, grow ... */

		if (put)
			ar_map_put(&m, ar_str_from(e->key), e);
		else
			assert_ptr_equal(ar_map_del(&m, ar_str_from(e->key)), e->in ? e : NULL);
		count = count + (put && !e->in) - (!put && e->in);
		e->in = put;
		if (step % 5000 == 0)
			check_against(&m, model, count);
	}
	check_against(&m, model, count);
	ar_map_fini(&m);
}

static void test_put_replaces_key_and_value(void **state AR_UNUSED)
{
	struct ar_map m = { 0 };
	char old_key[] = "k", new_key[] = "k";
	int a, b;

	ar_map_put(&m, ar_str_from(old_key), &a);
	ar_map_put(&m, ar_str_from(new_key), &b);
	old_key[0] = '!';
	assert_int_equal(m.count, 1);
	assert_ptr_equal(ar_map_get(&m, AR_STR("k")), &b);
	ar_map_fini(&m);
}

static void test_empty_map_and_odd_keys(void **state AR_UNUSED)
{
	struct ar_map m = { 0 };
	size_t cursor = 0;
	int a, b;

	assert_null(ar_map_get(&m, AR_STR("x")));
	assert_null(ar_map_del(&m, AR_STR("x")));
	assert_null(ar_map_next(&m, &cursor));
	ar_map_put(&m, AR_STR(""), &a);
	ar_map_put(&m, AR_STR("a\0b"), &b);
	assert_ptr_equal(ar_map_get(&m, AR_STR("")), &a);
	assert_ptr_equal(ar_map_get(&m, AR_STR("a\0b")), &b);
	assert_null(ar_map_get(&m, AR_STR("a")));
	assert_null(ar_map_get(&m, AR_STR_NONE));
	ar_map_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_against_model),
		cmocka_unit_test(test_put_replaces_key_and_value),
		cmocka_unit_test(test_empty_map_and_odd_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
