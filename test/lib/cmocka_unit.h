/* cmocka with the headers that it wants before it. */
#ifndef AR_TEST_CMOCKA_UNIT_H
#define AR_TEST_CMOCKA_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#endif
