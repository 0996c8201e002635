/* What a pack holds in memory while it is made, whatever the length of the log; which texts of a fact are
 * contents of the session; what is said of those that are gone. */
#include "cmocka_unit.h"
#include "identity.h"
#include "pack.h"

#include <string.h>

#define KEY "01m7q17e48fmfr5gpwtne3ds06"
#define FACTS 60000
#define LINE 100

static void begin(struct ar_pack *p, enum ar_pack_kind kind)
{
	ar_pack_init(p, &(struct ar_pack_request){ .kind = kind }, AR_STR(KEY), AR_STR("rt_x"));
}

static void add(struct ar_pack *p, uint64_t sequence, struct ar_str line)
{
	const struct ar_event e = {
		.type = AR_EV_THREAD_UPDATED, .sequence = sequence, .event_id = AR_STR("evt_x"), .time = 1
	};

	ar_pack_fact(p, &e, line);
}

/* As the engine does after each page; the largest pending file. */
static size_t drain(struct ar_pack *p, bool is_closed, size_t *ret_parts)
{
	size_t largest = 0;

	for (size_t i = 0; i < AR_PACK_FILES; i++) {
		struct ar_str part;

		if (p->files[i].pending.len > largest)
			largest = p->files[i].pending.len;
		while (!ar_str_absent(part = ar_pack_file_part(&p->files[i], is_closed))) {
			assert_in_range(part.len, 1, AR_PACK_PART);
			if (!is_closed)
				assert_int_equal(part.p[part.len - 1], '\n');
			ar_pack_file_drop(&p->files[i], part);
			*ret_parts += 1;
		}
	}
	return largest;
}

static void test_memory_does_not_grow(void **state AR_UNUSED)
{
	static char line[LINE];
	struct ar_session s;
	struct ar_error err;
	struct ar_pack p;
	size_t largest = 0, parts = 0;

	memset(line, 'x', sizeof(line));
	ar_session_init(&s, AR_STR(KEY), NULL);
	begin(&p, AR_PACK_REPLAY);
	for (uint64_t i = 1; i <= FACTS; i++) {
		add(&p, i, (struct ar_str){ line, sizeof(line) });
		if (i % 500 == 0) {
			size_t now = drain(&p, false, &parts);

			largest = now > largest ? now : largest;
		}
	}
	assert_in_range(parts, 5, 20);
	assert_in_range(largest, 1, 2 * AR_PACK_PART);
	assert_int_equal(p.files[AR_PACK_EVENTS].size, FACTS * (LINE + 1));
	assert_int_equal(p.tree.size, FACTS);
	assert_int_equal(ar_pack_close(&p, &s, NULL, &err), AR_E_REFUSED); /* no turn: nothing to replay */
	assert_int_equal(err.code, AR_ERR_INPUT_UNAVAILABLE);
	ar_pack_fini(&p);
	ar_session_fini(&s);
}

static struct ar_str ref_of(struct ar_arena *a, const char *text)
{
	struct ar_hash hash = ar_hash_of(ar_str_from(text));

	return ar_ref_make(a, AR_STR(KEY), &hash);
}

/* Wherever it stands; but what a model wrote is text, and contents of other sessions are not ours. */
static void test_contents(void **state AR_UNUSED)
{
	struct ar_arena a = { 0 };
	struct ar_str one = ref_of(&a, "one"), two = ref_of(&a, "two"), said = ref_of(&a, "said");
	struct ar_str line =
		ar_arena_fmt(&a,
			     "{\"ref\":\"%.*s\",\"list\":[{\"deep\":\"%.*s\"},\"%.*s\"],\"text\":\"it said "
			     "\\\"%.*s\","
			     "\"other\":\"blob_01m7q17e48fmfr5gpwtne3ds07_%.*s\",\"odd\":\"blob_\"}",
			     AR_STR_ARG(one), AR_STR_ARG(two), AR_STR_ARG(one), AR_STR_ARG(said),
			     AR_STR_ARG(ar_str_sub(one, 32, 52)));
	const struct ar_str found[] = { AR_STR("one"), AR_STR_NONE };
	struct ar_pack p;

	begin(&p, AR_PACK_EVIDENCE);
	add(&p, 1, line);
	add(&p, 2, line);
	assert_int_equal(p.content_count, 2);
	assert_int_equal(p.contents[0].sequence, 1);
	ar_pack_found(&p, 0, found, 2);
	assert_int_equal(p.present, 1);
	assert_int_equal(p.gap_count, 1);
	assert_true(ar_str_eq(p.gaps[0].part, two));
	ar_pack_fini(&p);
	ar_arena_fini(&a);
}

static void test_gaps_are_bounded(void **state AR_UNUSED)
{
	struct ar_pack p;

	begin(&p, AR_PACK_EVIDENCE);
	for (size_t i = 0; i < AR_PACK_GAPS + 7; i++)
		ar_pack_gap(&p, AR_STR("x"), "gone");
	assert_int_equal(p.gap_count, AR_PACK_GAPS);
	assert_int_equal(p.more_gaps, 7);
	ar_pack_fini(&p);
}

/* Texts come before their fact is written; foreign refs are not asked for; what is too long is said. */
static void test_case_has_limits(void **state AR_UNUSED)
{
	struct ar_arena a = { 0 };
	struct ar_str input = ref_of(&a, "[{\"type\":\"text\",\"text\":\"hi\"}]"), bytes, line;
	struct ar_case_writer *c = ar_case_new(AR_STR(KEY));
	struct ar_hash hashes[4];
	struct ar_buf out = { 0 };
	static char filler[AR_CASE_FULL];

	assert_true(ar_case_admit(c, AR_STR("t1")));
	line = ar_arena_fmt(
		&a,
		"{\"type\":\"turn.submitted\",\"eventId\":\"e1\",\"threadId\":\"th\",\"turnId\":\"t1\","
		"\"sessionId\":\"sess_x\",\"payload\":{\"inputRef\":\"%.*s\"}}",
		AR_STR_ARG(input));
	ar_case_fact(c, AR_STR("t1"), line);
	ar_case_fact(c, AR_STR("t2"), line); /* of a turn that is not in the case */
	ar_case_fact(c, AR_STR_NONE,
		     AR_STR("{\"type\":\"turn.submitted\",\"threadId\":\"other\","
			    "\"payload\":{\"inputRef\":\"blob_of_nobody\"}}"));
	ar_case_fact(
		c, AR_STR("t1"),
		AR_STR("{\"type\":\"turn.started\",\"threadId\":\"th\",\"turnId\":\"t1\",\"payload\":{}}"));
	assert_int_equal(ar_case_wanted(c, hashes, 4), 1);
	bytes = AR_STR("[{\"type\":\"text\",\"text\":\"hi\"}]");
	ar_case_bring(c, &bytes, 1);
	assert_int_equal(ar_case_wanted(c, hashes, 4), 0);
	assert_false(ar_case_is_empty(c));
	ar_case_write(c, AR_STR("\"more\":1"), &out);
	ar_buf_addc(&out, '\0');
	assert_non_null(strstr(out.p, "\"turnId\":\"t1\",\"eventId\":\"e1\",\"input\":\"hi\""));
	assert_non_null(strstr(out.p, "],\"more\":1}"));
	memset(filler, 'x', sizeof(filler));
	for (size_t i = 0; i < AR_CASE_MAX / AR_CASE_FULL; i++) {
		assert_false(ar_case_is_too_long(c));
		ar_case_fact(c, AR_STR("t1"), (struct ar_str){ filler, sizeof(filler) });
		assert_int_equal(ar_case_wanted(c, hashes, 4), 0);
		assert_false(ar_case_admit(c, AR_STR("t3")));
	}
	assert_true(ar_case_is_too_long(c));
	ar_case_free(c);
	ar_buf_fini(&out);
	ar_arena_fini(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory_does_not_grow),
		cmocka_unit_test(test_contents),
		cmocka_unit_test(test_gaps_are_bounded),
		cmocka_unit_test(test_case_has_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
