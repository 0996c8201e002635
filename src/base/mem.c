/* The heap behind one hook: a failed fixed-size allocation ends the process with a sentence. Thread-safe
 * as malloc is. */
#include "mem.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static AR_NORETURN void out_of_memory(size_t size)
{
	dprintf(STDERR_FILENO, "out of memory: %zu bytes\n", size);
	abort();
}

void *ar_new0(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	if (!p)
		out_of_memory(size);
	return p;
}

void *ar_grow(void *old, size_t count, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(count, size, &bytes))
		out_of_memory(SIZE_MAX);
	p = realloc(old, bytes ? bytes : 1);
	if (!p)
		out_of_memory(bytes);
	return p;
}

void *ar_try_alloc(size_t size)
{
	return malloc(size ? size : 1);
}

char *ar_str_dup(struct ar_str s)
{
	char *copy;

	if (ar_str_absent(s))
		return NULL;
	copy = ar_new0(s.len + 1);
	memcpy(copy, s.p, s.len);
	return copy;
}

struct ar_str ar_str_put(char **at, struct ar_str s)
{
	struct ar_str copy = { *at, s.len };

	if (ar_str_absent(s))
		return s;
	memcpy(*at, s.p, s.len);
	*at += s.len;
	return copy;
}

void ar_free(void *p)
{
	free(p);
}

#define LARGE_BLOCK (256 * 1024)
#define SPARE_TOP (4 * 1024 * 1024)

/* The allocator would raise the first limit by itself with each large block that is freed. */
void ar_heap_begin(void)
{
	struct rlimit space;

	/* Each further arena reserves 64 MiB of address space, which is no matter unless that is limited. */
	if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
		mallopt(M_ARENA_MAX, 1);
	mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
	mallopt(M_TRIM_THRESHOLD, SPARE_TOP);
}

struct ar_heap ar_heap_look(void)
{
	struct mallinfo2 all = mallinfo2();

	return (struct ar_heap){ .used = all.uordblks + all.hblkhd, .spare = all.fordblks };
}

void ar_heap_trim(void)
{
	malloc_trim(0);
}

void ar_freep(void *p)
{
	void *inner;

	memcpy(&inner, p, sizeof inner);
	free(inner);
}
