/* The tools that the settings offer: makes their sources and puts them into one toolbox. Loop thread. */
#ifndef AR_HOST_TOOLS_H
#define AR_HOST_TOOLS_H

#include "arena.h"
#include "boundary.h"
#include "config.h"
#include "log.h"
#include "peer/delegate.h"
#include "session.h"
#include "toolbox.h"

#include <uv.h>

struct ar_tools {
	struct ar_toolbox *box;
	struct ar_policy *policy; /* whose inventory is kept as it is */
	/* set before the open: what the log says of trouble passes it; NULL: nothing is masked */
	const struct ar_redactor *redactor;
	const struct ar_log *log; /* set before the open */
	struct ar_metrics *metrics; /* the same */
	uv_loop_t *loop;
	struct ar_tool_source *http; /* until they are offered; NULL: none */
	struct ar_delegates *delegates; /* remote agents; NULL: none */
	struct ar_tool_source *files; /* on the workspaces of this machine; NULL: without a sandbox */
	struct ar_sandbox *sandbox; /* boundaries of what works on the workspace; NULL: there is none */
	size_t open_servers; /* of which something is left, a process above all */
	uint64_t shown_trouble; /* hash of what the log has said last; 0: nothing */
};

/* Fails when a setting cannot work, with the sentence for the operator. policy->workspace is set; both
 * structs stay in place until the close. */
AR_MUST_USE enum ar_status ar_tools_open(uv_loop_t *loop, const struct ar_config *c, struct ar_policy *policy,
					 struct ar_arena *a, struct ar_tools *ret, struct ar_error *err);

/* Puts all sources into the toolbox; `files` are those on workspaces of all machines. policy->inventory is
 * set, and made anew whenever a source changes. */
void ar_tools_offer(struct ar_tools *t, const struct ar_config *c, struct ar_tool_source *files);

/* Whether every source has found out what it offers, or that it cannot. */
bool ar_tools_are_ready(const struct ar_tools *t);

/* Ends the calls that are open, and runs the loop until no process of a server is left; it has to run
 * on for the rest. Fine for what was never opened. */
void ar_tools_close(struct ar_tools *t);

/* When the loop has run out, and no process is left that stands in a boundary. Fine for
 * what was never opened. */
void ar_tools_free(struct ar_tools *t);

#endif
