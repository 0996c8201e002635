/* Between JSON and the structs of the catalogue: one interpreter over the field tables, no code
 * per type. Checks that depend on state (does the thread exist?) are left to the core. No state
 * of its own: any thread may call it.
 *
 * JSON goes out in camelCase and comes in as camelCase or snake_case. Members that the catalogue
 * does not know are kept as raw text (`"k":v,"k2":v2`) and written back where they were found,
 * after the known ones. */
#ifndef AR_CATALOG_CODEC_H
#define AR_CATALOG_CODEC_H

#include "catalog.h"
#include "json.h"

#define AR_SCHEMA_VERSION "lime-profile-0.4.0"

/* The list of a shape, whatever the shape: struct ar_shape_<name>_list. */
struct ar_items {
	const void *at; /* NULL: absent */
	size_t count;
};

/* One event in memory. Strings are borrowed: from the arena that decoding filled, or from
 * the code that built it. */
struct ar_event {
	enum ar_event_type type;
	uint64_t sequence;
	ar_usec time;
	struct ar_str event_id;
	struct ar_str runtime_id;
	struct ar_str session_id;
	struct ar_str ids[AR_SCOPE_COUNT];
	const void *payload; /* struct ar_ev_<type> */
	struct ar_str payload_extra;
	struct ar_str extra;
};

AR_BEGIN_DECLS

/* Writes the struct as one JSON object. Absent members are left out, nullable required ones go
 * out as null. What it writes is only as valid as the struct: run the validator where the
 * content comes from outside. */
void ar_struct_encode(const struct ar_struct_desc *d, const void *s, struct ar_str extra, struct ar_jw *w);

/* The same as a member of the object that is open; nothing for NULL. */
void ar_shape_write(struct ar_jw *w, const char *name, const struct ar_struct_desc *d, const void *s);

/* Writes a list, a struct ar_shape_<name>_list of the shape d, as one JSON array. */
void ar_list_encode(const struct ar_struct_desc *d, const void *list, struct ar_jw *w);

/* Fills the struct (d->size zeroed bytes at ret) from a JSON object; text is copied to the
 * arena. Refuses members of the wrong type, unknown enum words, and one member given in both
 * spellings with different values. A missing required member is no error here: it stays zero,
 * and validation says so. ret_extra may be NULL: unknown members are then dropped. What the
 * member of a shape cannot hold is kept among the other members of the shape, because logs and
 * snapshots of older versions stay readable. err->code is AR_ERR_INVALID_INPUT when it refuses. */
AR_MUST_USE enum ar_status ar_struct_decode(const struct ar_struct_desc *d, struct ar_json v,
					    struct ar_arena *a, void *ret, struct ar_str *ret_extra,
					    struct ar_error *err);

/* The same for what comes from outside: refuses what a shape cannot hold, other members of a
 * closed shape, and required members that are missing in a shape. */
AR_MUST_USE enum ar_status ar_struct_decode_strict(const struct ar_struct_desc *d, struct ar_json v,
						   struct ar_arena *a, void *ret, struct ar_str *ret_extra,
						   struct ar_error *err);

/* How a struct is copied. */
enum ar_struct_copy {
	AR_COPY_BORROW, /* texts stay where they are */
	AR_COPY_TEXT, /* texts are copied too */
	AR_COPY_FILL, /* borrows; required lists and objects that are absent become empty ones */
};

/* The struct with all that it points to, in the arena. */
void *ar_struct_copy(const struct ar_struct_desc *d, const void *s, enum ar_struct_copy how,
		     struct ar_arena *a);

/* Whether both are written as the same JSON. */
bool ar_struct_equal(const struct ar_struct_desc *d, const void *a, const void *b);

/* The same for two lists, each a struct ar_shape_<name>_list of the shape d; an absent one is empty. */
bool ar_list_equal(const struct ar_struct_desc *d, const void *a, const void *b);

/* Leaves in both structs those members that `now` has, and has other than `before`; false: none are. For
 * shapes that have texts, objects and lists only. */
bool ar_struct_keep_changes(const struct ar_struct_desc *d, void *now, void *before);

/* The name of the first of other members that a shape or a decoder kept; absent: there are none. */
struct ar_str ar_extra_name(struct ar_str extra);

/* The same for a list, a struct ar_shape_<name>_list of the shape d; absent stays absent. */
void ar_list_copy(const struct ar_struct_desc *d, const void *list, enum ar_struct_copy how,
		  struct ar_arena *a, void *ret_list);

/* Adds copies of the entries of `more` to a list of the same shape (struct
 * ar_shape_<name>_list); the newest `max` stay. */
void ar_shapes_add(const struct ar_struct_desc *d, void *list, const void *more, size_t max,
		   struct ar_arena *a);

/* Whether required members are there, sizes and values in range and every oneof rule holds;
 * names the first fault. A required int, num or bool has no absent value, so one that was
 * missing in the JSON passes as 0 or false. */
AR_MUST_USE enum ar_status ar_struct_validate(const struct ar_struct_desc *d, const void *s,
					      struct ar_error *err);

/* The input of a command from outside: decodes, refuses members that the command does not have,
 * required ones that are missing (numbers and flags too), and what nests deeper than
 * AR_JSON_LEVELS, and validates. `ret` holds c->in.size zeroed bytes. */
AR_MUST_USE enum ar_status ar_input_decode(const struct ar_command_desc *c, struct ar_json v,
					   struct ar_arena *a, void *ret, struct ar_error *err);

/* Appends the event as one JSON object without a line end, in a fixed member order: type eventId
 * timestamp schemaVersion runtimeId sessionId, the scope ids present, sequence, payload, extra. */
void ar_event_encode(const struct ar_event *e, struct ar_buf *out);

/* The reverse; the payload struct is made in the arena. Refuses types that the catalogue does not have. */
AR_MUST_USE enum ar_status ar_event_decode(struct ar_json v, struct ar_arena *a, struct ar_event *ret,
					   struct ar_error *err);

/* Envelope ids, the scope ids that the type requires, and the payload. */
AR_MUST_USE enum ar_status ar_event_validate(const struct ar_event *e, struct ar_error *err);

AR_END_DECLS

#endif
