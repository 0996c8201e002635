/* Zones of the system, for tests. */
#ifndef AR_TEST_ZONES_H
#define AR_TEST_ZONES_H

#include "cmocka_unit.h"
#include "zone.h"

#include "clock.h"

#include <stdio.h>

static inline struct ar_zone *zone_of(const char *name)
{
	static char bytes[AR_ZONE_FILE_MAX];
	struct ar_zone *z = NULL;
	char path[256];
	size_t len;
	FILE *f;

	snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", name);
	f = fopen(path, "rb");
	assert_non_null(f);
	len = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	assert_int_equal(ar_zone_parse((struct ar_str){ bytes, len }, &z, NULL), AR_OK);
	return z;
}

static inline ar_usec time_of(const char *text)
{
	ar_usec t = 0;

	assert_true(ar_time_parse(ar_str_from(text), &t));
	return t;
}

#endif
