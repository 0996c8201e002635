/* From method and path to what answers, by the command table of the catalogue: POST /v1/<name> for every
 * command, the GET routes that the catalogue gives to reads, and the few routes about the server itself. Pure functions. */
#ifndef AR_TRANSPORT_ROUTER_H
#define AR_TRANSPORT_ROUTER_H

#include "catalog.h"
#include "status.h"

#define AR_ROUTE_PARAMS 4

struct ar_route_param {
	struct ar_str name; /* of the input member */
	struct ar_str value; /* still percent-encoded */
};

struct ar_route {
	const struct ar_command_desc *command; /* NULL: `name` says what answers */
	enum ar_route_name name;
	struct ar_route_param params[AR_ROUTE_PARAMS];
	size_t param_count;
	bool is_get; /* the input comes from path and query instead of the body */
	const char *allow; /* after method_not_allowed: the methods of this path */
};

struct ar_command_table {
	const struct ar_command_desc *rows; /* a row without a name is skipped */
	size_t count;
};

/* Parts of a request target; authority is absent in origin form, query when there is none. */
struct ar_target {
	struct ar_str authority;
	struct ar_str path;
	struct ar_str query;
};

/* Takes `/path?query` and `http://authority/path?query`; false for every other form. */
bool ar_target_parse(struct ar_str text, struct ar_target *ret);

/* Whether nobody who asks for it has to show who it is. */
bool ar_route_is_public(struct ar_str path);

/* Refuses with not_found or method_not_allowed (ret->allow is set then). The route borrows from path and
 * table. */
AR_MUST_USE enum ar_status ar_route_find(const struct ar_command_table *table, struct ar_str method,
					 struct ar_str path, struct ar_route *ret, struct ar_error *err);

#endif
