/* The object port: large values kept beside the store, by name. A store that is given one puts a value there
 * before it commits the row that names it, and removes it after that row is gone. Values are opaque; a name
 * is never used twice.
 *
 * Calls block, with deadlines of their own, and may come from several threads at once: they are made on the
 * store's threads. */
#ifndef AR_PORT_OBJECTS_H
#define AR_PORT_OBJECTS_H

#include "arena.h"
#include "status.h"

struct ar_objects;

struct ar_objects_vtable {
	/* AR_OK: it is durable there. AR_E_IO: it may be there or not. */
	enum ar_status (*put)(struct ar_objects *o, struct ar_str name, struct ar_str bytes,
			      struct ar_error *err);
	/* AR_E_NOT_FOUND; AR_E_LIMIT: it has more than `max` bytes; AR_E_IO. */
	enum ar_status (*get)(struct ar_objects *o, struct ar_str name, size_t max, struct ar_arena *a,
			      struct ar_str *ret, struct ar_error *err);
	/* AR_OK also when it is not there. */
	enum ar_status (*remove)(struct ar_objects *o, struct ar_str name, struct ar_error *err);
	void (*close)(struct ar_objects *o); /* after the store that uses it */
};

struct ar_objects {
	const struct ar_objects_vtable *v;
};

#endif
