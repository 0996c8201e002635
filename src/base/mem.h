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
void ar_free(void *p);

/* For AR_AUTO: frees *(void **)p. */
void ar_freep(void *p);

AR_END_DECLS

#endif
