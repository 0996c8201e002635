/* A worker: a process without a store or an API that carries out calls for a daemon elsewhere. It enrols
 * once, connects outward, connects again when the link is lost, and ends when it is asked to: calls under way
 * get some time, processes go on under their supervisors. Loop thread. */
#ifndef AR_HOST_WORKER_WORKER_H
#define AR_HOST_WORKER_WORKER_H

#include "config.h"
#include "log.h"
#include "status.h"

#include <uv.h>

/* Folders that workspaces may be made of: names and absolute paths, in the same order. */
struct ar_worker_roots {
	struct ar_texts names, paths;
};

/* Borrowed until ar_worker_host_free. */
struct ar_worker_start {
	const struct ar_config *config; /* data_dir and workspaces.dir are not looked at */
	const char *dir; /* of this worker: made, mode 0700 */
	const char *workspaces; /* directory of workspaces: is there; NULL: one below dir */
	const char *url; /* of the daemon */
	const char *token_file; /* the token of create_worker; NULL: this worker has enrolled before */
	const char *ca_file; /* NULL: the system's */
	const char *name; /* of this machine, for people */
	struct ar_str labels; /* JSON object; absent: none */
	struct ar_worker_roots roots;
	const struct ar_log *log;
	/* The daemon knows this worker and has greeted it: the first time. */
	void (*on_ready)(void *arg, struct ar_str worker_id);
	void (*on_stopping)(void *arg);
	void *arg;
};

struct ar_worker_host;

/* Fails with the sentence for the operator. The loop is the caller's and has to run; it is stopped when the
 * worker is over. */
AR_MUST_USE enum ar_status ar_worker_host_open(uv_loop_t *loop, const struct ar_worker_start *start,
					       struct ar_worker_host **ret, struct ar_error *err);

/* Takes no new calls, waits for those under way, at most shutdown.grace_ms. Again: ends at once. */
void ar_worker_host_stop(struct ar_worker_host *w);

/* Why it ended without being asked to; NULL: it was asked. As long as the worker lives. */
const char *ar_worker_host_reason(const struct ar_worker_host *w);

/* Runs the loop until nothing is left. */
void ar_worker_host_free(struct ar_worker_host *w);

#endif
