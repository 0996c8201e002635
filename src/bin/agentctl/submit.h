/* One turn goes to the daemon, once: a key makes it safe to ask again when the connection broke before the
 * receipt came. */
#ifndef AR_CTL_SUBMIT_H
#define AR_CTL_SUBMIT_H

#include "api.h"

struct ar_submit {
	struct ar_str session, thread; /* absent session: a new one */
	struct ar_str workspace; /* of a new session, by its id; absent: the server's own folder */
	struct ar_str isolation; /* of a new session in a workspace; absent: as the workspace says */
	struct ar_str text;
	struct ar_str input; /* parts as a JSON array, instead of the text; absent: the text is all */
	struct ar_str model, mode, sandbox, effort; /* options of the turn; absent: the daemon's */
	struct ar_str tools; /* options.tools, a JSON array; absent: all of the runtime */
	struct ar_str source; /* absent: agentctl */
};

/* The receipt of submit_turn, of a turn that runs or waits behind another. Failure has been said on standard
 * error. A daemon that is gone is waited for, not started: its supervisor may be about to. `ret` always wants
 * fini. */
AR_MUST_USE enum ar_exit ar_submit_turn(struct ar_ctl *c, const struct ar_submit *what,
					struct ar_api_reply *ret);

/* The member `input` of an open object, with one part: the text. */
void ar_submit_add_input(struct ar_jw *w, struct ar_str text);

#endif
