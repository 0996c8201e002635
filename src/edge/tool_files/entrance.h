/* agent-init as a process of ours and the socket to it (src/launch/init_wire.h): started with a plan and an input, its messages read one by one. Watching
 * the descriptors is left to the owner. Loop thread only. */
#ifndef AR_TOOL_FILES_ENTRANCE_H
#define AR_TOOL_FILES_ENTRANCE_H

#include "init_wire.h"
#include "json.h"
#include "plan.h"

#include <sys/types.h>

struct ar_entrance {
	pid_t pid;
	int pidfd; /* readable when it has ended; -1: none */
	int socket; /* ours, without waiting; -1: none */
	bool is_hung_up; /* the other end is closed */
	char text[AR_INIT_MESSAGE_MAX];
};

struct ar_entrance_message {
	enum ar_init_message kind;
	struct ar_json json; /* until the parser's next */
	int fds[AR_INIT_FD_COUNT];
	size_t fd_count;
};

AR_BEGIN_DECLS

/* Adds the program to what is seen inside, unless a root already shows it. */
void ar_entrance_show(struct ar_plan *p, struct ar_str program);

/* AR_E_UNAVAILABLE: agent-init is not there. On success ar_entrance_wait is due once pidfd is readable. */
AR_MUST_USE enum ar_status ar_entrance_open(struct ar_entrance *e, const char *init,
					    const struct ar_plan *plan, struct ar_str input,
					    struct ar_error *err);

/* The next message, if one is there; ar_entrance_message_fini is due then. */
bool ar_entrance_read(struct ar_entrance *e, struct ar_json_parser *p, struct ar_entrance_message *ret);
void ar_entrance_message_fini(struct ar_entrance_message *m); /* closes descriptors that were not taken */

/* The descriptor that READY hands out under this name, which is the caller's then; -1: none. */
int ar_entrance_take(struct ar_entrance_message *m, const char *name);

void ar_entrance_go(struct ar_entrance *e);
void ar_entrance_close(struct ar_entrance *e); /* the socket: it then kills all that it started, and ends */
void ar_entrance_wait(struct ar_entrance *e); /* for the process, which has ended; closes pidfd */

AR_END_DECLS

#endif
