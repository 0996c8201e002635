/* A journal that was cut or damaged anywhere gives the records before that place, unchanged, and never a
 * wrong one. */
#include "cmocka_unit.h"
#include "compiler.h"
#include "journal.h"

#include <string.h>

#define RECORDS 5

struct sample {
	char bytes[1024];
	size_t len;
	size_t ends[RECORDS]; /* behind each record */
};

static const struct {
	enum ar_record_type type;
	enum ar_record_stream stream;
	const char *payload;
} samples[RECORDS] = {
	{ AR_RECORD_SPAWNED, AR_STREAM_NONE, "{\"shimPid\":7}" },
	{ AR_RECORD_RELEASED, AR_STREAM_NONE, "" },
	{ AR_RECORD_OUTPUT, AR_STREAM_STDOUT, "one line\n" },
	{ AR_RECORD_EXIT, AR_STREAM_NONE, "{\"code\":0}" },
	{ AR_RECORD_SEALED, AR_STREAM_NONE, "{}" },
};

static void make(struct sample *s)
{
	s->len = 0;
	for (size_t i = 0; i < RECORDS; i++) {
		struct ar_record_head head = {
			.len = (uint32_t)strlen(samples[i].payload),
			.type = (uint16_t)samples[i].type,
			.stream = (uint16_t)samples[i].stream,
			.seq = i + 1,
			.at = 1700000000000000u + i,
		};

		ar_record_close(&head, samples[i].payload);
		memcpy(s->bytes + s->len, &head, sizeof(head));
		memcpy(s->bytes + s->len + sizeof(head), samples[i].payload, head.len);
		s->len += sizeof(head) + head.len;
		s->ends[i] = s->len;
	}
}

/* How many records can be read; each has to be the one that was written. */
static size_t read_all(const char *bytes, size_t len, bool *ret_is_broken)
{
	struct ar_record r;
	size_t at = 0, count = 0, n;

	while ((n = ar_record_read(bytes + at, len - at, &r, ret_is_broken)) > 0) {
		assert_true(count < RECORDS);
		assert_int_equal(r.head.seq, count + 1);
		assert_int_equal(r.head.type, samples[count].type);
		assert_int_equal(r.head.stream, samples[count].stream);
		assert_int_equal(r.head.at, 1700000000000000u + count);
		assert_int_equal(r.head.len, strlen(samples[count].payload));
		assert_memory_equal(r.payload, samples[count].payload, r.head.len);
		count++;
		at += n;
	}
	return count;
}

static size_t whole_before(const struct sample *s, size_t at)
{
	size_t count = 0;

	while (count < RECORDS && s->ends[count] <= at)
		count++;
	return count;
}

static void test_every_cut(void **state AR_UNUSED)
{
	struct sample s;
	bool is_broken;

	make(&s);
	for (size_t len = 0; len <= s.len; len++) {
		assert_int_equal(read_all(s.bytes, len, &is_broken), whole_before(&s, len));
		assert_false(is_broken);
	}
}

static void test_every_flipped_bit(void **state AR_UNUSED)
{
	struct sample s;
	bool is_broken;

	make(&s);
	for (size_t bit = 0; bit < s.len * 8; bit++) {
		s.bytes[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(read_all(s.bytes, s.len, &is_broken), whole_before(&s, bit / 8));
		s.bytes[bit / 8] ^= (char)(1 << bit % 8);
	}
}

/* The number is under the checksum: what was taken out of the middle, or stands twice, shows. */
static void test_numbers_show_what_is_missing(void **state AR_UNUSED)
{
	struct sample s;
	struct ar_record r;
	bool is_broken;

	make(&s);
	for (size_t i = 1; i < RECORDS; i++) {
		assert_true(ar_record_read(s.bytes + s.ends[i - 1], s.len - s.ends[i - 1], &r, &is_broken) >
			    0);
		assert_int_equal(r.head.seq, i + 1);
	}
	s.bytes[offsetof(struct ar_record_head, seq)] = 2;
	assert_int_equal(ar_record_read(s.bytes, s.len, &r, &is_broken), 0);
	assert_true(is_broken);
}

static void test_a_head_that_cannot_be(void **state AR_UNUSED)
{
	static const struct ar_record_head wrong[] = {
		{ .len = AR_JOURNAL_PAYLOAD_MAX + 1, .type = AR_RECORD_OUTPUT, .stream = 1, .seq = 1 },
		{ .type = 0, .seq = 1 },
		{ .type = AR_RECORD_TYPE_COUNT, .seq = 1 },
		{ .type = AR_RECORD_OUTPUT, .stream = AR_STREAM_TTY + 1, .seq = 1 },
		{ .type = AR_RECORD_EXIT, .seq = 0 },
	};
	static char payload[AR_JOURNAL_PAYLOAD_MAX + 1];
	struct ar_record r;
	bool is_broken;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct ar_record_head head = wrong[i];

		ar_record_close(&head, payload);
		assert_int_equal(ar_record_read((const char *)&head, sizeof(head), &r, &is_broken), 0);
		assert_true(is_broken);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_cut),
		cmocka_unit_test(test_every_flipped_bit),
		cmocka_unit_test(test_numbers_show_what_is_missing),
		cmocka_unit_test(test_a_head_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
