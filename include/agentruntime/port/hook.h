/* The hook port: runs one handler, a command or an HTTP endpoint, with a JSON document and brings its JSON
 * answer. What the answer means is decided in the core.
 *
 * Contract: loop thread only. The caller owns the run and what it points to until on_done, which comes
 * exactly once, never before start() returns, also after cancel(). The runner ends a handler that is not done
 * by the deadline, with everything it started. */
#ifndef AR_PORT_HOOK_H
#define AR_PORT_HOOK_H

#include "clock.h"
#include "status.h"
#include "str.h"

#define AR_HOOK_OUTPUT_MAX ((size_t)256 * 1024) /* what a handler may say */
#define AR_HOOK_COUNTED_MAX ((size_t)64 * 1024 * 1024) /* one that says more is ended at once */

/* As the operator declared it. */
struct ar_hook_handler {
	struct ar_str name; /* unique; facts call it handlerRef */
	struct ar_str command; /* a shell command line; absent: url is used */
	struct ar_str url;
};

enum ar_hook_outcome {
	AR_HOOK_ANSWERED = 1, /* exit 0 or HTTP 200: `output` is what it said */
	AR_HOOK_BLOCKED, /* exit 2: the act is to be stopped; `output` is what it wrote to standard error */
	AR_HOOK_FAILED, /* any other exit or status, could not start, said too much */
	AR_HOOK_TIMEOUT,
	AR_HOOK_CANCELLED,
};

struct ar_hook_result {
	enum ar_hook_outcome outcome;
	/* lives until on_done returns; FAILED: empty, or the beginning of an output that was too
	 * long, of which `size` bytes were seen */
	struct ar_str output;
	int64_t size;
	struct ar_str message; /* FAILED: why, in words */
};

struct ar_hook_run;

struct ar_hook_run {
	const struct ar_hook_handler *handler;
	struct ar_str input; /* JSON object */
	struct ar_str trace_parent; /* W3C traceparent of the run; absent: nothing is traced */
	ar_usec deadline; /* monotonic */
	void (*on_done)(struct ar_hook_run *r, const struct ar_hook_result *result);
	void *runner_state;
};

struct ar_hook_runner;

struct ar_hook_runner_vtable {
	void (*start)(struct ar_hook_runner *h, struct ar_hook_run *r);
	void (*cancel)(struct ar_hook_runner *h, struct ar_hook_run *r);
	void (*close)(struct ar_hook_runner *h);
};

struct ar_hook_runner {
	const struct ar_hook_runner_vtable *v;
};

#endif
