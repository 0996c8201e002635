/* What every unit test of base includes: cmocka with the headers it wants first, and string asserts over
 * ar_str. */
#ifndef AR_TEST_UNIT_BASE_H
#define AR_TEST_UNIT_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "str.h"

/* Byte equality with a C string, printing both sides when it fails. */
#define assert_str(s, want) assert_str_at((s), (want), __FILE__, __LINE__)

static inline void assert_str_at(struct ar_str s, const char *want, const char *file, int line)
{
	if (ar_str_is(s, want))
		return;
	print_error("'%.*s' is not '%s'\n", AR_STR_ARG(s), want);
	_fail(file, line);
}

#endif
