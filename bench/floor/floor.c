/* The floor of many commits: every append of a store again, so many per commit. Built once with each engine
 * behind floor_rows.h.
 *
 *   bench-floor-ENGINE SOURCE TARGET APPENDS_PER_COMMIT
 *
 * Prints {"appends","facts","seconds"}. */
#include "floor_rows.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct floor_rows *f;
	size_t batch, count;
	double total = 0;

	if (argc < 4) {
		fprintf(stderr, "usage: bench-floor-ENGINE SOURCE TARGET APPENDS_PER_COMMIT\n");
		return 2;
	}
	f = floor_open(argv[1], argv[2]);
	batch = strtoul(argv[3], NULL, 10);
	count = floor_appends(f);
	for (size_t i = 0; i < count; i += batch)
		total += floor_commit(f, i, i + batch < count ? i + batch : count);
	printf("{\"appends\":%zu,\"facts\":%lld,\"seconds\":%.6f}\n", count, floor_facts(f), total / 1e6);
	return 0;
}
