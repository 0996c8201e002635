/* Messages for formats that know two sides only and want them in turn: consecutive messages of one side
 * become one, with a list of blocks. Pure. */
#ifndef AR_PROVIDER_WIRE_TURNS_H
#define AR_PROVIDER_WIRE_TURNS_H

#include "json.h"

struct ar_turns {
	struct ar_jw *w;
	const char *list; /* name of the member with the blocks */
	const char *role; /* of the open message; NULL: none is open */
};

AR_BEGIN_DECLS

/* The next block belongs to this role: continues the open message or begins another. */
void ar_turns_role(struct ar_turns *t, const char *role);

/* Closes the open message. */
void ar_turns_end(struct ar_turns *t);

AR_END_DECLS

#endif
