/* The directories of a user's runtime, so that the daemon and its clients find each other without settings:
 * the data folder and the unix socket. Reads the environment, touches no file. */
#ifndef AR_BASE_USERDIRS_H
#define AR_BASE_USERDIRS_H

#include "buf.h"

AR_BEGIN_DECLS

/* Appends (no NUL) the data folder: $AGENTD_DATA_DIR, else $XDG_STATE_HOME/agentd, else
 * $HOME/.local/state/agentd. An empty variable counts as unset, and so does an XDG_STATE_HOME that is not
 * absolute. False when none of them is set. */
bool ar_user_data_dir(struct ar_buf *ret);

/* Appends (no NUL) the socket of that data folder: $AGENTD_SOCKET, else <data_dir>/agentd.sock. */
void ar_user_socket(struct ar_str data_dir, struct ar_buf *ret);

AR_END_DECLS

#endif
