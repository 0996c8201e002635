/* Lookups in the catalogue: by id, by name, and enum values by name. Everything returned is a constant table
 * entry, so nothing here has an owner; any thread may ask. */
#ifndef AR_CATALOG_DESCRIBE_H
#define AR_CATALOG_DESCRIBE_H

#include "catalog.h"

AR_BEGIN_DECLS

/* The entry of a type, command or code; NULL for 0 and for anything out of range. */
const struct ar_event_desc *ar_event_describe(enum ar_event_type type);
const struct ar_command_desc *ar_command_describe(enum ar_command command);
const struct ar_error_desc *ar_error_describe(int code);

/* The entry of that name ("turn.started", "submit_turn", "id_conflict"); NULL when there is none. */
const struct ar_event_desc *ar_event_find(struct ar_str name);

/* Sets the flags (AR_EV_COUNT of them) of the types that a pattern names: `turn.completed`, or `turn.*` for
 * every type that begins so. False: there is none. */
bool ar_event_types_add(struct ar_str pattern, uint8_t *flags);
const struct ar_command_desc *ar_command_find(struct ar_str name);
enum ar_error_code ar_error_find(struct ar_str name); /* AR_ERR_NONE when there is none */

/* The field of that name in either spelling (sessionId, session_id); NULL when there is none. */
const struct ar_field_desc *ar_field_find(const struct ar_struct_desc *d, struct ar_str name);

/* Whether `name` spells the camelCase `field` as it is or in snake_case. */
bool ar_field_named(const char *field, struct ar_str name);

/* The value of that name, 0 when there is none; and back, NULL for 0 and out of range. */
int ar_enum_find(const struct ar_enum_desc *d, struct ar_str name);
const char *ar_enum_name(const struct ar_enum_desc *d, int value);

AR_END_DECLS

#endif
