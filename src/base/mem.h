/* Heap memory. Fixed sizes die on exhaustion through one hook (recovery is replay); sizes that a peer
 * chooses use the try_ variant and a cap. The only file beside arena.c and buf.c that calls malloc. */
#ifndef AR_BASE_MEM_H
#define AR_BASE_MEM_H

#include "str.h"

AR_BEGIN_DECLS

void *ar_new0(size_t size); /* zeroed, never NULL */
void *ar_grow(void *old, size_t count, size_t size); /* realloc of count * size with overflow check */
void *ar_try_alloc(size_t size); /* may return NULL */
char *ar_str_dup(struct ar_str s); /* NUL-terminated copy; NULL for an absent string */

/* Copies s to *at, which has room for it, and moves *at behind the copy; an absent string stays absent. */
struct ar_str ar_str_put(char **at, struct ar_str s);

void ar_free(void *p);

/* What the allocator has: bytes handed out and not freed, and bytes that it keeps for later. Walks the free
 * ones: not for every request. Zero where the allocator does not say (sanitizers). */
struct ar_heap {
	size_t used, spare;
};

/* Once, before the first thread of a process that lives long: large blocks are the system's again as soon as
 * they are freed, whatever was freed before, so that one burst of them does not leave a heap full of
 * holes. */
void ar_heap_begin(void);

struct ar_heap ar_heap_look(void);
void ar_heap_trim(void); /* gives whole pages that are free back to the system; milliseconds */

/* For AR_AUTO: frees *(void **)p. */
void ar_freep(void *p);

AR_END_DECLS

#endif
