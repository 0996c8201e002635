/* Links of workers for transport-probe: callers that are whoever their bearer names, and an owner of links
 * that does what a message says: `close` closes it, `revoke` ends its credentials, `flood N` sends N messages
 * of 256 KiB, everything else is sent back. What became of links are notices on stdout. */
#ifndef FAKE_WORKERS_H
#define FAKE_WORKERS_H

#include "auth.h"
#include "transport.h"

/* `worker:ID` is that worker, `enrol:ID` may only enrol as it, `user` has every right and is none. */
struct ar_auth *fake_workers_auth(void);
struct ar_http_workers fake_workers(void);

#endif
