/* One audit record as the kernel writes it: `audit(time:serial): name=value ...`. Text that others chose is
 * quoted when it is harmless and hexadecimal when it is not, so that no name in it can be taken for a field.
 * Pure. */
#ifndef AR_AUDIT_RECORD_H
#define AR_AUDIT_RECORD_H

#include "arena.h"

AR_BEGIN_DECLS

/* The number that all records of one event share; false: this is no record. */
bool ar_record_serial(struct ar_str text, uint64_t *ret);

/* The value of a field, without its quotes; absent when there is none. */
struct ar_str ar_record_field(struct ar_str text, const char *name);

/* A field of decimal digits, with a sign or not; false: there is none. */
bool ar_record_number(struct ar_str text, const char *name, int64_t *ret);

/* A field that holds text of others, decoded; absent when there is none. */
struct ar_str ar_record_text(struct ar_str text, const char *name, struct ar_arena *a);

AR_END_DECLS

#endif
