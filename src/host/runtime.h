/* The whole runtime wired together on one loop: store, follow, engine, provider, control, HTTP. The only place that knows both
 * rings. Owner: the thread that calls ar_runtime_run. */
#ifndef AR_HOST_RUNTIME_H
#define AR_HOST_RUNTIME_H

#include "config.h"
#include "status.h"

struct ar_runtime;

/* Opens the store (making the folder if need be), starts to serve, begins recovery in the background. */
AR_MUST_USE enum ar_status ar_runtime_open(const struct ar_config *config, struct ar_runtime **ret,
					   struct ar_error *err);

/* Where it serves, for the ready line. Port 0 and NULL mean: not there. */
unsigned ar_runtime_port(const struct ar_runtime *r);

/* Runs until SIGTERM or SIGINT, then drains: requests under way are answered, commits finish, streams end with their cursor.
 * Open model calls are left for the next start to take up. Returns the exit status. */
int ar_runtime_run(struct ar_runtime *r);
void ar_runtime_free(struct ar_runtime *r);

#endif
