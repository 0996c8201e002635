/* What agentd needs beyond the public header: it reads the settings itself, to report every problem and
 * warning before it starts, and passes on the sockets of a service manager and the pipes of one client. An
 * embedder has no use for these, and the types of the settings change with every version. */
#ifndef AR_LIB_SETUP_H
#define AR_LIB_SETUP_H

#include "agentruntime.h"
#include "settings/settings_read.h"

struct ar_runtime_setup {
	struct ar_settings *settings; /* read and resolved; what get_settings shows */
	const struct ar_settings_args *args; /* they were read with */
	struct ar_config
		*config; /* a copy of them that is in force; a port that was chosen is written into it */
	int listen_fd, socket_fd; /* that listen already; 0: none. Copied. */
	int rpc_in,
		/* of one peer of JSON-RPC, whose end stops the runtime; both 0: none. The runtime's. */
		rpc_out;
};

/* options: only the callbacks are looked at. All of the setup must outlive the runtime. A runtime with a
 * peer stops where another would come back after it was fenced: the peer knows nothing of a second one. */
AR_MUST_USE enum ar_status ar_runtime_open(const struct ar_runtime_options *options,
					   const struct ar_runtime_setup *setup, struct ar_runtime **ret,
					   struct ar_error *err);

#endif
