/* A signed token taken apart, and nothing believed yet. Pure functions. */
#ifndef AR_OIDC_JWT_H
#define AR_OIDC_JWT_H

#include "json.h"

#define AR_JWT_MAX 8192 /* bytes of a whole token */

enum ar_jwt_alg {
	AR_JWT_NONE, /* unknown, or one that is never taken */
	AR_JWT_RS256,
	AR_JWT_ES256,
	AR_JWT_EDDSA,
};

struct ar_jwt {
	enum ar_jwt_alg alg;
	struct ar_str kid; /* absent: not said */
	struct ar_str input; /* what is signed: header.claims */
	struct ar_str signature; /* bytes */
	struct ar_str claims; /* JSON text of an object; not parsed here */
};

/* By its name; AR_JWT_NONE for every other. */
enum ar_jwt_alg ar_jwt_alg_parse(struct ar_str name);

/* False, with a sentence, for what is no token that could be taken. Text lives in the arena or is borrowed
 * from `text`. The parser's document is used up. */
bool ar_jwt_parse(struct ar_json_parser *parser, struct ar_str text, struct ar_arena *a, struct ar_jwt *ret,
		  const char **ret_why);

#endif
