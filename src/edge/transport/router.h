/* From method and path to what answers, by the command table of the catalogue: POST /v1/<name> for
 * every command, the GET routes that the catalogue gives to reads, and the few routes about the
 * server itself. Pure functions. */
#ifndef AR_TRANSPORT_ROUTER_H
#define AR_TRANSPORT_ROUTER_H

#include "catalog.h"
#include "status.h"

#define AR_ROUTE_PARAMS 4

struct ar_route_param {
	struct ar_str name; /* of the input member */
	struct ar_str value; /* still percent-encoded */
};

/* What a request asks for. */
struct ar_http_route {
	const struct ar_command_desc *command; /* NULL: `name` says what answers */
	enum ar_route_name name;
	enum ar_route_access access; /* who is answered; the right to a command is checked by core/control */
	uint16_t code; /* 0: found; else not_found or method_not_allowed */
	const char *allow; /* with method_not_allowed: the methods of this path */
	struct ar_route_param params[AR_ROUTE_PARAMS];
	size_t param_count;
	bool is_get; /* the input comes from path and query instead of the body */
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

/* The one lookup of a request. Borrows from path and table. What is not found has an access as well, so
 * that a caller without credentials does not learn what there is. */
void ar_http_route_find(const struct ar_command_table *table, struct ar_str method, struct ar_str path,
			struct ar_http_route *ret);

/* The sentence for a route that was not found. */
void ar_http_route_explain(const struct ar_http_route *r, struct ar_str path, struct ar_error *err);

#endif
