/* What a service manager such as systemd gives to a program and wants to hear from it, without its
 * library: sockets that listen already, and a socket for news (ready, alive, stopping). A program that
 * was started by hand has none of it, and every call does nothing. */
#ifndef AR_BIN_AGENTD_SERVICE_H
#define AR_BIN_AGENTD_SERVICE_H

#include "arena.h"
#include "config.h"
#include "status.h"

struct ar_service {
	int tcp, local; /* listening sockets; 0 = none */
	const char *news; /* path of the socket for news; NULL = nobody listens */
	ar_usec watchdog; /* the manager wants to hear that often that we are alive; 0 = not */
};

/* Reads LISTEN_FDS, NOTIFY_SOCKET and WATCHDOG_USEC and takes them out of the environment, so that no
 * child of ours answers in our name. The settings are changed to say where the given sockets listen.
 * Before any thread. AR_E_INVALID: a socket that cannot be served. */
AR_MUST_USE enum ar_status ar_service_read(struct ar_arena *a, struct ar_config *config,
					   struct ar_service *ret, struct ar_error *err);

/* One or more lines such as READY=1. What cannot be sent is lost. */
void ar_service_tell(const struct ar_service *s, const char *lines);

#endif
