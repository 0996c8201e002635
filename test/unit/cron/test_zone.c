/* Zones: offsets around changes, far beyond the last entry of the file, local times in gaps and overlaps, and
 * bytes that are no zone. The expected values are those of Python's zoneinfo. */
#include "zones.h"

#include <string.h>

static int64_t seconds(const char *text)
{
	return time_of(text) / 1000000;
}

static void test_offsets(void **state AR_UNUSED)
{
	static const struct {
		const char *zone, *at;
		int64_t offset;
	} rows[] = {
		{ "Europe/Berlin", "2026-03-29T00:59:59Z", 3600 },
		{ "Europe/Berlin", "2026-03-29T01:00:00Z", 7200 },
		{ "Europe/Berlin", "2026-10-25T00:59:59Z", 7200 },
		{ "Europe/Berlin", "2026-10-25T01:00:00Z", 3600 },
		{ "Europe/Berlin", "2050-07-01T00:00:00Z", 7200 },
		{ "Europe/Berlin", "2051-01-01T00:00:00Z", 3600 },
		{ "Europe/Berlin", "1900-01-01T00:00:00Z", 3600 },
		{ "America/New_York", "2026-03-08T06:59:59Z", -18000 },
		{ "America/New_York", "2026-03-08T07:00:00Z", -14400 },
		{ "America/New_York", "2026-11-01T05:59:59Z", -14400 },
		{ "America/New_York", "2026-11-01T06:00:00Z", -18000 },
		{ "America/New_York", "2050-07-01T00:00:00Z", -14400 },
		{ "Australia/Lord_Howe", "2026-04-04T14:59:59Z", 39600 },
		{ "Australia/Lord_Howe", "2026-04-04T15:00:00Z", 37800 },
		{ "Australia/Lord_Howe", "2026-10-03T15:29:59Z", 37800 },
		{ "Australia/Lord_Howe", "2026-10-03T15:30:00Z", 39600 },
		{ "Australia/Lord_Howe", "2050-07-01T00:00:00Z", 37800 },
		{ "Australia/Lord_Howe", "2050-12-01T00:00:00Z", 39600 },
		{ "Etc/UTC", "2026-07-01T00:00:00Z", 0 },
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct ar_zone *z = zone_of(rows[i].zone);

		assert_int_equal(ar_zone_offset(z, seconds(rows[i].at)), rows[i].offset);
		ar_zone_free(z);
	}
	assert_int_equal(ar_zone_offset(NULL, 0), 0);
}

static void test_local(void **state AR_UNUSED)
{
	static const struct {
		const char *zone, *local, *want;
	} rows[] = {
		{ "Europe/Berlin", "2026-07-01T12:00:00Z", "2026-07-01T10:00:00Z" },
		{ "Europe/Berlin", "2026-03-29T02:30:00Z", "2026-03-29T01:00:00Z" }, /* does not occur */
		{ "Europe/Berlin", "2026-03-29T02:00:00Z", "2026-03-29T01:00:00Z" },
		{ "Europe/Berlin", "2026-03-29T03:00:00Z", "2026-03-29T01:00:00Z" },
		{ "Europe/Berlin", "2026-10-25T02:30:00Z", "2026-10-25T00:30:00Z" }, /* occurs twice */
		{ "Europe/Berlin", "2026-10-25T03:00:00Z", "2026-10-25T02:00:00Z" },
		{ "America/New_York", "2026-03-08T02:15:00Z", "2026-03-08T07:00:00Z" },
		{ "America/New_York", "2026-11-01T01:30:00Z", "2026-11-01T05:30:00Z" },
		{ "Australia/Lord_Howe", "2026-10-04T02:15:00Z", "2026-10-03T15:30:00Z" }, /* half an hour */
		{ "Australia/Lord_Howe", "2026-04-05T01:45:00Z", "2026-04-04T14:45:00Z" },
		{ "Europe/Berlin", "2050-03-27T02:30:00Z", "2050-03-27T01:00:00Z" }, /* by the rule */
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(rows); i++) {
		struct ar_zone *z = zone_of(rows[i].zone);

		assert_int_equal(ar_zone_from_local(z, seconds(rows[i].local)), seconds(rows[i].want));
		ar_zone_free(z);
	}
}

static void test_names(void **state AR_UNUSED)
{
	static const char *const good[] = { "UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires",
					    "Etc/GMT+5" };
	static const char *const bad[] = {
		"",
		"/etc/passwd",
		"..",
		"../passwd",
		"Europe/../x",
		"Europe//Berlin",
		"Europe/",
		"a.b",
		"Europe/Ber lin",
		"A\nB",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	};

	for (size_t i = 0; i < AR_ARRAY_LEN(good); i++)
		assert_true(ar_zone_is_name(ar_str_from(good[i])));
	for (size_t i = 0; i < AR_ARRAY_LEN(bad); i++)
		assert_false(ar_zone_is_name(ar_str_from(bad[i])));
	assert_false(ar_zone_is_name((struct ar_str){ "UTC\0x", 5 }));
}

/* Every beginning of a file is refused, and so is each header with a count that the file does not hold. */
static void test_bytes_that_are_none(void **state AR_UNUSED)
{
	char bytes[4096], changed[4096];
	struct ar_zone *z = NULL;
	struct ar_error err;
	FILE *f = fopen("/usr/share/zoneinfo/Australia/Lord_Howe", "rb");
	size_t len;

	assert_non_null(f);
	len = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	for (size_t i = 0; i < len; i++)
		assert_int_equal(ar_zone_parse((struct ar_str){ bytes, i }, &z, &err), AR_E_INVALID);
	for (size_t i = 0; i < 44; i++) {
		memcpy(changed, bytes, len);
		changed[i] = (char)0xFF;
		if (i >= 4 && i < 20)
			continue; /* version and reserved bytes */
		assert_int_equal(ar_zone_parse((struct ar_str){ changed, len }, &z, &err), AR_E_INVALID);
	}
	assert_null(z);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offsets),
		cmocka_unit_test(test_local),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_bytes_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
