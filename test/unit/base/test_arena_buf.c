/* Arena and buffer: alignment, zeroing, reset; growth, cap, prefix guarantee, long formats. */
#include "unit.h"
#include "arena.h"
#include "buf.h"
#include "mem.h"

static void test_arena_alloc(void **state AR_UNUSED)
{
	struct ar_arena a = { 0 };
	static const char zeros[5000];

	for (int round = 0; round < 3; round++) {
		for (size_t size = 0; size < 5000; size += 97) {
			char *p = ar_arena_alloc(&a, size);

			assert_int_equal((uintptr_t)p % 16, 0);
			assert_memory_equal(p, zeros, size);
			memset(p, 0xEE, size);
		}
		assert_true(a.total >= 5000 / 97 * 2500);
		ar_arena_reset(&a);
		assert_int_equal(a.total, 0);
		assert_non_null(a.head);
	}
	ar_arena_fini(&a);
	assert_null(a.head);
	assert_non_null(ar_arena_alloc(&a, 1));
	ar_arena_fini(&a);
}

static void test_arena_gives_back_an_oversized_first_block(void **state AR_UNUSED)
{
	struct ar_arena a = { 0 };

	ar_arena_alloc(&a, 1 << 20);
	ar_arena_reset(&a);
	assert_null(a.head);
}

static void test_arena_text(void **state AR_UNUSED)
{
	struct ar_arena a AR_AUTO(ar_arena_fini) = { 0 };
	struct ar_str s = ar_arena_str(&a, AR_STR("abc"));
	char want[1001];

	assert_str(s, "abc");
	assert_int_equal(s.p[3], '\0');
	assert_true(ar_str_absent(ar_arena_str(&a, AR_STR_NONE)));
	assert_str(ar_arena_str(&a, AR_STR("")), "");
	assert_str(ar_arena_fmt(&a, "%d-%s", 7, "x"), "7-x");
	for (size_t len = 254; len < 258; len++) { /* around the small buffer */
		memset(want, 'y', len);
		want[len] = '\0';
		assert_str(ar_arena_fmt(&a, "%s", want), want);
	}
}

static void assert_excerpt(const char *text, size_t max, const char *shown)
{
	struct ar_arena a = { 0 };

	assert_true(ar_str_is(ar_arena_excerpt(&a, ar_str_from(text), max), shown));
	ar_arena_fini(&a);
}

static void test_an_excerpt_says_what_it_leaves_out(void **state AR_UNUSED)
{
	struct ar_arena a = { 0 };
	struct ar_buf text = { 0 };

	assert_excerpt("abcdef", 6, "abcdef");
	assert_excerpt("", 0, "");
	assert_true(ar_str_absent(ar_arena_excerpt(&a, AR_STR_NONE, 4)));
	assert_excerpt("abcdefg", 6, "abc[... 1 bytes not shown ...]efg");
	assert_excerpt("a\xc3\xa4\xc3\xa4\xc3\xa4z", 4, "a[... 6 bytes not shown ...]z");
	for (int i = 0; i < 1234567; i++)
		ar_buf_addc(&text, 'x');
	assert_true(ar_str_is(ar_arena_excerpt(&a, ar_buf_str(&text), 4),
			      "xx[... 1,234,563 bytes not shown ...]xx"));
	ar_buf_fini(&text);
	ar_arena_fini(&a);
}

static void test_buf_grows(void **state AR_UNUSED)
{
	struct ar_buf b = { 0 };

	assert_str(ar_buf_str(&b), "");
	for (int i = 0; i < 1000; i++) {
		ar_buf_addf(&b, "%03d", i);
		ar_buf_addc(&b, ',');
	}
	assert_int_equal(b.len, 4000);
	ar_buf_eat(&b, 4 * 998);
	assert_str(ar_buf_str(&b), "998,999,");
	ar_buf_eat(&b, 8);
	assert_str(ar_buf_str(&b), "");
	ar_buf_addz(&b, "z");
	ar_buf_adds(&b, AR_STR_NONE);
	assert_str(ar_buf_str(&b), "z");
	ar_buf_fini(&b);
	assert_null(b.p);
}

static void test_buf_cap(void **state AR_UNUSED)
{
	struct ar_buf b AR_AUTO(ar_buf_fini) = { .cap = 100 };
	char long_text[201];

	memset(long_text, 'x', 200);
	long_text[200] = '\0';
	ar_buf_add(&b, long_text, 100);
	assert_false(b.failed);
	assert_int_equal(b.room, 100);
	ar_buf_addc(&b, 'y');
	assert_true(b.failed);
	assert_int_equal(b.len, 100);
	assert_null(ar_buf_room(&b, 0));
	ar_buf_clear(&b);
	ar_buf_addf(&b, "%s", "ab");
	ar_buf_addf(&b, "%s", long_text);
	ar_buf_addc(&b, 'c'); /* would fit, but would leave a gap */
	assert_true(b.failed);
	assert_str(ar_buf_str(&b), "ab");
	ar_buf_clear(&b);
	assert_null(ar_buf_room(&b, SIZE_MAX));
}

static void test_buf_long_format(void **state AR_UNUSED)
{
	struct ar_buf b AR_AUTO(ar_buf_fini) = { 0 };

	ar_buf_addf(&b, "%0999d", 7);
	assert_int_equal(b.len, 999);
	assert_int_equal(b.p[998], '7');
	assert_non_null(ar_buf_room(&b, 5000));
	assert_int_equal(b.len, 999);
}

static void test_mem(void **state AR_UNUSED)
{
	char *copy AR_AUTO(ar_freep) = ar_str_dup(AR_STR("a\0b"));
	int *grown AR_AUTO(ar_freep) = ar_grow(NULL, 4, sizeof(int));
	char room[3], *at = room;
	struct ar_str first, second;

	assert_memory_equal(copy, "a\0b", 4);
	assert_null(ar_str_dup(AR_STR_NONE));
	first = ar_str_put(&at, AR_STR("ab"));
	assert_true(ar_str_absent(ar_str_put(&at, AR_STR_NONE)));
	second = ar_str_put(&at, AR_STR("c"));
	assert_ptr_equal(at, room + 3);
	assert_true(ar_str_is(first, "ab") && ar_str_is(second, "c"));
	grown[3] = 9;
	grown = ar_grow(grown, 4096, sizeof(int));
	assert_int_equal(grown[3], 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arena_alloc),
		cmocka_unit_test(test_arena_gives_back_an_oversized_first_block),
		cmocka_unit_test(test_arena_text),
		cmocka_unit_test(test_an_excerpt_says_what_it_leaves_out),
		cmocka_unit_test(test_buf_grows),
		cmocka_unit_test(test_buf_cap),
		cmocka_unit_test(test_buf_long_format),
		cmocka_unit_test(test_mem),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
