/* Which ids a fact introduces, which it carries that have to join, and which it lacks: catalog/scopes.cat,
 * read over the JSON of a fact. Says nothing of other facts. Constant tables only: any thread may ask. */
#ifndef AR_CATALOG_JOINS_H
#define AR_CATALOG_JOINS_H

#include "catalog.h"
#include "json.h"

AR_BEGIN_DECLS

/* An id that a fact introduces or carries. */
struct ar_join {
	enum ar_scope scope;
	struct ar_str id; /* borrowed from the document of the fact */
	bool is_ahead; /* introduced for facts of the same time alone */
};

typedef void ar_joins_fn(void *arg, const struct ar_join *j);

/* Each id that the fact introduces. */
void ar_joins_introduced(const struct ar_event_desc *d, struct ar_json fact, ar_joins_fn *fn, void *arg);

/* Each id that the fact carries and that a fact has to have introduced: one before it, or itself, as an id of
 * ar_scope_descs[scope].of. */
void ar_joins_carried(struct ar_json fact, ar_joins_fn *fn, void *arg);

/* The name of a scope id that each fact of the type carries and this one does not; NULL: it lacks none. */
const char *ar_joins_lacking(const struct ar_event_desc *d, struct ar_json fact);

AR_END_DECLS

#endif
