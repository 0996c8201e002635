/* A client of agent-init (src/launch/init_wire.h): starts it with a plan and an input and reads its messages
 * one by one. The owner watches the descriptors. Loop thread only. */
#ifndef AR_EDGE_CONTAINED_INIT_CLIENT_H
#define AR_EDGE_CONTAINED_INIT_CLIENT_H

#include "init_wire.h"
#include "json.h"
#include "plan.h"

#include <sys/types.h>

struct ar_init_client {
	pid_t pid;
	int pidfd; /* readable when it has ended; -1: none */
	int socket; /* ours, without waiting; -1: none */
	bool is_hung_up; /* the other end is closed */
	char text[AR_INIT_MESSAGE_MAX];
};

struct ar_init_client_message {
	enum ar_init_message kind;
	struct ar_json json; /* until the parser's next */
	int fds[AR_INIT_FD_COUNT];
	size_t fd_count;
};

AR_BEGIN_DECLS

/* Adds the program to the read roots of the plan, unless a root already shows it. */
void ar_init_client_add_program(struct ar_plan *p, struct ar_str program);

/* AR_E_UNAVAILABLE: agent-init is not there. On success ar_init_client_wait must be called once pidfd is
 * readable. */
AR_MUST_USE enum ar_status ar_init_client_open(struct ar_init_client *e, const char *init,
					       const struct ar_plan *plan, struct ar_str input,
					       struct ar_error *err);

/* The next message, if one is there; the caller calls ar_init_client_message_fini then. */
bool ar_init_client_read(struct ar_init_client *e, struct ar_json_parser *p,
			 struct ar_init_client_message *ret);
void ar_init_client_message_fini(
	struct ar_init_client_message *m); /* closes descriptors that were not taken */

/* The descriptor that READY hands out under this name, which is the caller's then; -1: none. */
int ar_init_client_take_fd(struct ar_init_client_message *m, const char *name);

void ar_init_client_go(struct ar_init_client *e);
void ar_init_client_close(
	struct ar_init_client *e); /* the socket: it then kills all that it started, and ends */
void ar_init_client_wait(struct ar_init_client *e); /* for the process, which has ended; closes pidfd */

AR_END_DECLS

#endif
