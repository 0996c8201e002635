/* Ids: UUIDv7 shape, order and uniqueness over threads and forks, taking apart. */
#include "unit.h"
#include "id.h"
#include "base32.h"
#include "clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY 100000
#define THREADS 4

typedef char session_key_text[AR_SESSION_KEY_LEN];

static int compare_session_keys(const void *a, const void *b)
{
	return memcmp(a, b, AR_SESSION_KEY_LEN);
}

static void test_minted_ids_rise(void **state AR_UNUSED)
{
	session_key_text before, now;

	ar_id_mint(before);
	for (int i = 0; i < MANY; i++) {
		ar_id_mint(now);
		assert_true(memcmp(before, now, AR_SESSION_KEY_LEN) < 0);
		memcpy(before, now, AR_SESSION_KEY_LEN);
	}
}

static void *mint_some(void *arg)
{
	session_key_text *out = arg;

	for (int i = 0; i < MANY / THREADS; i++)
		ar_id_mint(out[i]);
	return NULL;
}

static void test_threads_mint_unique_ids(void **state AR_UNUSED)
{
	static session_key_text all[MANY];
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, mint_some, all[i * (MANY / THREADS)]), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	qsort(all, MANY, sizeof all[0], compare_session_keys);
	for (size_t i = 1; i < MANY; i++)
		assert_memory_not_equal(all[i - 1], all[i], AR_SESSION_KEY_LEN);
}

static void test_fork_does_not_repeat_the_parent(void **state AR_UNUSED)
{
	session_key_text mine, theirs;
	int fds[2];
	pid_t child;

	ar_id_mint(mine);
	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (child == 0) {
		ar_id_mint(theirs);
		_exit(write(fds[1], theirs + 12, sizeof theirs - 12) < 0);
	}
	ar_id_mint(mine);
	assert_int_equal(read(fds[0], theirs + 12, sizeof theirs - 12), sizeof theirs - 12);
	waitpid(child, NULL, 0);
	assert_memory_not_equal(mine + 12, theirs + 12, sizeof theirs - 12); /* the random part */
	close(fds[0]);
	close(fds[1]);
}

static void test_uuid_version_7(void **state AR_UNUSED)
{
	struct ar_clock *clock = ar_clock_system();
	int64_t now = clock->wall(clock) / 1000, stamp = 0;
	session_key_text session_key;
	uint8_t uuid[16];

	ar_id_mint(session_key);
	assert_true(ar_base32_decode((struct ar_str){ session_key, sizeof session_key }, uuid, sizeof uuid));
	assert_int_equal(uuid[6] >> 4, 7);
	assert_int_equal(uuid[8] >> 6, 2);
	for (int i = 0; i < 6; i++)
		stamp = stamp << 8 | uuid[i];
	assert_in_range(stamp, now, now + 10000);
}

static void test_encode(void **state AR_UNUSED)
{
	static const uint8_t zero[16],
		counting[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
	uint8_t ones[16], back[16];
	session_key_text session_key;

	memset(ones, 0xFF, sizeof ones);
	ar_id_encode(zero, session_key);
	assert_memory_equal(session_key, "00000000000000000000000000", AR_SESSION_KEY_LEN);
	ar_id_encode(ones, session_key);
	assert_memory_equal(session_key, "7zzzzzzzzzzzzzzzzzzzzzzzzz", AR_SESSION_KEY_LEN);
	ar_id_encode(counting, session_key);
	assert_memory_equal(session_key, "01081g81860w40j2gb1g6gw3rg", AR_SESSION_KEY_LEN);
	assert_true(ar_base32_decode((struct ar_str){ session_key, sizeof session_key }, back, sizeof back));
	assert_memory_equal(back, counting, sizeof back);
}

/* Every byte that is no digit, at every place. */
static void test_decode_takes_digits_only(void **state AR_UNUSED)
{
	static const char digits[] = "0123456789abcdefghjkmnpqrstvwxyz";
	char text[52];
	uint8_t back[32];

	memset(text, '0', sizeof text);
	for (size_t at = 1; at < sizeof text; at++) { /* the first one has bits to spare */
		for (int c = 0; c < 256; c++) {
			bool is_digit = c && strchr(digits, c);

			text[at] = (char)c;
			assert_int_equal(ar_base32_decode((struct ar_str){ text, sizeof text }, back, 32),
					 is_digit);
		}
		text[at] = '0';
	}
	text[0] = '2'; /* more than 256 bits */
	assert_false(ar_base32_decode((struct ar_str){ text, sizeof text }, back, 32));
}

#define CORE "01kabcdefghjkmnpqrstvwxyz7"

static const struct {
	const char *id;
	bool session_key, counter;
	uint64_t n;
} parts[] = {
	{ "sess_" CORE, true, false, 0 },
	{ "turn_" CORE "_0", true, true, 0 },
	{ "turn_" CORE "_41", true, true, 41 },
	{ "x_" CORE "_18446744073709551615", true, true, UINT64_MAX },
	{ "turn_" CORE "_18446744073709551616", false, false, 0 },
	{ "turn_" CORE "_01", false, false, 0 },
	{ "turn_" CORE "_", false, false, 0 },
	{ "turn_" CORE "_1_2", false, false, 0 },
	{ "turn_" CORE "_1x", false, false, 0 },
	{ CORE, false, false, 0 },
	{ "_" CORE, false, false, 0 },
	{ "Sess_" CORE, false, false, 0 },
	{ "sess_" CORE "0", false, false, 0 },
	{ "sess_81kabcdefghjkmnpqrstvwxyz7", false, false, 0 }, /* more than 128 bits */
	{ "sess_01KABCDEFGHJKMNPQRSTVWXYZ7", false, false, 0 },
	{ "sess_01kabcdefghjkmnpqrstvwxyzu", false, false, 0 },
	{ "sess_", false, false, 0 },
	{ "sess", false, false, 0 },
	{ "", false, false, 0 },
};

static void test_taking_apart(void **state AR_UNUSED)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(parts); i++) {
		struct ar_str id = ar_str_from(parts[i].id);
		uint64_t n = 77;

		assert_int_equal(ar_str_is(ar_id_session_key(id), CORE), parts[i].session_key);
		assert_int_equal(ar_str_absent(ar_id_session_key(id)), !parts[i].session_key);
		assert_int_equal(ar_id_counter(id, &n), parts[i].counter);
		assert_true(n == (parts[i].counter ? parts[i].n : 77));
	}
	assert_true(ar_str_absent(ar_id_session_key(AR_STR_NONE)));
}

static void test_putting_together(void **state AR_UNUSED)
{
	struct ar_arena a AR_AUTO(ar_arena_fini) = { 0 };

	assert_str(ar_id_root(&a, "sess", AR_STR(CORE)), "sess_" CORE);
	assert_str(ar_id_inner(&a, "step", AR_STR(CORE), UINT64_MAX), "step_" CORE "_18446744073709551615");
}

static void test_acceptable(void **state AR_UNUSED)
{
	char text[AR_ID_MAX + 1];

	memset(text, 'a', sizeof text);
	assert_true(ar_id_acceptable((struct ar_str){ text, AR_ID_MAX }));
	assert_false(ar_id_acceptable((struct ar_str){ text, AR_ID_MAX + 1 }));
	assert_true(ar_id_acceptable(AR_STR("My-Turn.1:b")));
	assert_true(ar_id_acceptable(AR_STR("turn_" CORE "_1")));
	assert_false(ar_id_acceptable(AR_STR("")));
	assert_false(ar_id_acceptable(AR_STR("a b")));
	assert_false(ar_id_acceptable(AR_STR("a/b")));
	assert_false(ar_id_acceptable(AR_STR("a\0b")));
	assert_false(ar_id_acceptable(AR_STR("\xC3\xA9")));
}

/* The number is stored with sessions, so it must never change. */
static void partitions_stay_as_they_are_and_spread(void **state)
{
	unsigned seen[AR_PARTITIONS] = { 0 };
	char session_key[AR_SESSION_KEY_LEN];

	(void)state;
	assert_int_equal(ar_id_partition(AR_STR("00000000000000000000000000")), 221);
	for (unsigned i = 0; i < 64 * AR_PARTITIONS; i++) {
		ar_id_mint(session_key);
		seen[ar_id_partition((struct ar_str){ session_key, AR_SESSION_KEY_LEN })]++;
	}
	for (unsigned i = 0; i < AR_PARTITIONS; i++)
		assert_in_range(seen[i], 16, 160);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_minted_ids_rise),
		cmocka_unit_test(test_threads_mint_unique_ids),
		cmocka_unit_test(test_fork_does_not_repeat_the_parent),
		cmocka_unit_test(test_uuid_version_7),
		cmocka_unit_test(test_encode),
		cmocka_unit_test(test_decode_takes_digits_only),
		cmocka_unit_test(test_taking_apart),
		cmocka_unit_test(test_putting_together),
		cmocka_unit_test(test_acceptable),
		cmocka_unit_test(partitions_stay_as_they_are_and_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
