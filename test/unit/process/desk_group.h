/* The one desk of a test program, made anew for each of its tests. */
#ifndef AR_TEST_PROCESS_DESK_GROUP_H
#define AR_TEST_PROCESS_DESK_GROUP_H

#include "desk.h"

static struct desk d;

static int desk_setup(void **state)
{
	(void)state;
	desk_init(&d);
	return 0;
}

static int desk_teardown(void **state)
{
	(void)state;
	desk_fini(&d);
	return 0;
}

#endif
