/* What the file `shim` in the folder of the process says; journal/shim_wire.h describes its lines. */
#ifndef AR_SHIM_OPTIONS_H
#define AR_SHIM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AR_SHIM_OPTIONS_MAX 16384 /* bytes of the file */
#define AR_SHIM_CGROUPS_MAX 8

struct ar_shim_options {
	const char *init;
	uint64_t timeout_ms;
	uint64_t output_bytes;
	uint64_t barrier_ms;
	bool keeps_leftovers;
	const char *cgroups[AR_SHIM_CGROUPS_MAX];
	size_t cgroup_count;
	char text[AR_SHIM_OPTIONS_MAX + 1]; /* what the others point into */
};

/* Reads the file. False: *ret_wrong says what is wrong, for people. */
bool ar_shim_options_read(struct ar_shim_options *o, const char *path, const char **ret_wrong);

#endif
