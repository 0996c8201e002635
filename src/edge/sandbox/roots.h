/* What of the host is seen inside, beside the workspace: the system's programs and libraries, the part of
 * /etc that programs need, toolchains in the user's home, and what the settings add. Never the runtime's own
 * state, never a home as a whole. Looked for once, at start. */
#ifndef AR_SANDBOX_ROOTS_H
#define AR_SANDBOX_ROOTS_H

#include "path_list.h"
#include "status.h"

#define AR_ROOTS_HOME "/home/agent" /* of the process, inside */

struct ar_roots {
	struct ar_plan_paths read, write; /* parents before what is in them */
	struct ar_str path; /* PATH that finds what is there */
	struct ar_str variables[8]; /* K=V that toolchains want */
	size_t variable_count;
	struct ar_str state_dir, home; /* with links followed; absent: none */
};

struct ar_roots_options {
	struct ar_str state_dir, home, read_roots, write_roots;
};

AR_BEGIN_DECLS

/* AR_E_INVALID: a root of the settings that does not exist or would show what must stay unseen; the sentence
 * names it. */
AR_MUST_USE enum ar_status ar_roots_find(const struct ar_roots_options *o, struct ar_arena *a,
					 struct ar_roots *ret, struct ar_error *err);

/* Whether showing this folder, links followed, would show the runtime's state or a whole home: what, for a
 * sentence; NULL: no. */
const char *ar_roots_secret_in(const struct ar_roots *r, struct ar_str real);

/* Whether it is or holds a folder of the system that every command reads: the same one cannot be both
 * read-only and not. */
bool ar_roots_is_system(struct ar_str real);

AR_END_DECLS

#endif
