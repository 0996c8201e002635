/* Fault points armed by AGENTD_FAULT (see fault.h). The table is filled once at start, before threads;
 * afterwards only its counters move, atomically. */
#include "fault.h"
#include "status.h"
#include "str.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define MAX_POINTS 8

struct fault_point {
	struct ar_str name; /* inside the environment text */
	uint64_t due; /* passings left */
	bool error;
};

bool ar_fault_armed;
static struct fault_point points[MAX_POINTS];
static size_t point_count;

static bool read_point(struct ar_str text, struct fault_point *ret)
{
	struct ar_str count, kind = ar_str_split(ar_str_split(text, ':', &ret->name), ':', &count);

	ret->error = ar_str_is(kind, "error");
	return ret->name.len > 0 && ar_str_to_u64(count, &ret->due) && ret->due > 0 &&
	       (ret->error || ar_str_absent(kind));
}

void ar_fault_init(void)
{
	struct ar_str one, rest = ar_str_from(getenv("AGENTD_FAULT"));

	point_count = 0;
	for (; !ar_str_empty(rest); point_count++) {
		rest = ar_str_split(rest, ',', &one);
		if (point_count == MAX_POINTS || !read_point(one, &points[point_count]))
			ar_assert_failed("AGENTD_FAULT is name:N[:error], at most 8 by commas", __FILE__,
					 __LINE__);
	}
	ar_fault_armed = point_count > 0;
}

/* Counts a passing of every matching point; true when an `error` one falls due. Does not return from the
 * others. */
bool ar_fault_error(const char *name)
{
	bool error = false;

	for (size_t i = 0; i < point_count; i++) {
		struct fault_point *point = &points[i];

		if (!ar_str_is(point->name, name) ||
		    __atomic_sub_fetch(&point->due, 1, __ATOMIC_RELAXED) != 0)
			continue;
		if (!point->error)
			kill(getpid(), SIGKILL);
		error = true;
	}
	return error;
}

void ar_fault_hit(const char *name)
{
	ar_fault_error(name);
}
