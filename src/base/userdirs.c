/* See the header. Reads the environment and nothing else; whether the folders exist is the caller's
 * affair. */
#include "userdirs.h"

#include <stdlib.h>

/* Set and not empty. */
static struct ar_str variable(const char *name)
{
	struct ar_str value = ar_str_from(getenv(name));

	return ar_str_empty(value) ? AR_STR_NONE : value;
}

bool ar_user_data_dir(struct ar_buf *ret)
{
	struct ar_str own = variable("AGENTD_DATA_DIR");
	struct ar_str state = variable("XDG_STATE_HOME");
	struct ar_str home = variable("HOME");

	if (!ar_str_absent(own)) {
		ar_buf_adds(ret, own);
		return true;
	}
	if (ar_str_starts(state, AR_STR("/"))) {
		ar_buf_adds(ret, state);
		ar_buf_addz(ret, "/agentd");
		return true;
	}
	if (ar_str_absent(home))
		return false;
	ar_buf_adds(ret, home);
	ar_buf_addz(ret, "/.local/state/agentd");
	return true;
}

void ar_user_socket(struct ar_str data_dir, struct ar_buf *ret)
{
	struct ar_str own = variable("AGENTD_SOCKET");

	if (!ar_str_absent(own)) {
		ar_buf_adds(ret, own);
		return;
	}
	ar_buf_adds(ret, data_dir);
	ar_buf_addz(ret, "/agentd.sock");
}
