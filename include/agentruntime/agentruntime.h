/* libagentruntime: the runtime of agentd inside your program. Commands and events are the JSON that agentd
 * serves (docs/reference/commands.md, docs/reference/events.md), so everything that agentd can do can be
 * done here.
 *
 * Threads: one thread at a time drives a runtime, with ar_runtime_run or with ar_runtime_step from a loop
 * of your own. It gets every callback, and none before the function that caused it has returned. Functions
 * marked "any thread" may be called from every thread and from inside callbacks, the others from the
 * driving thread alone.
 *
 * The library installs no signal handler, sets no umask, changes no signal's disposition and writes to no
 * descriptor of yours. While it works SIGPIPE is blocked in the driving thread. A disk that fails in the
 * middle of a commit ends the process, before anyone is told that the commit is durable.
 *
 * C99 and C++. Structs with a `size` member grow at their end: set it to sizeof of the struct that you
 * compiled with. */
#ifndef AGENTRUNTIME_H
#define AGENTRUNTIME_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AR_API __attribute__((visibility("default")))

struct ar_runtime;
struct ar_stream;
struct ar_tool_run;

/* What a function that may fail returns. */
enum ar_runtime_status {
	AR_RUNTIME_OK = 0,
	AR_RUNTIME_INVALID, /* an argument or a setting is wrong */
	AR_RUNTIME_IN_USE, /* another process has the data folder, the address or the node id */
	AR_RUNTIME_FAILED, /* the disk, the network or the database */
};

/* The sentence for people. Every `err` may be NULL. */
struct ar_runtime_error {
	char message[256];
};

/* ---- life ---- */

struct ar_runtime_options {
	size_t size;
	/* YAML as agentd's; NULL: none. The environment is read as agentd reads it. */
	const char *config_file;
	const char *const *overrides; /* "data_dir=/var/lib/x", ... ended by NULL; they win. NULL: none. */
	int listen; /* 0: no listener unless an override names one; 1: as the settings say */
	/* One line of the log, a JSON object. level: error, warning, info, debug. The only callback that
	 * may come from another thread, and then only as the last one before the process ends. NULL:
	 * nothing is logged. */
	void (*log)(void *arg, const char *level, const char *json, size_t len);
	/* Once: sessions can be made and reached. {"ready":true}, with `listen` and `socket` where it
	 * listens. May be NULL. */
	void (*ready)(void *arg, const char *json, size_t len);
	void (*stopping)(void *arg); /* once: it drains. May be NULL. */
	void *arg;
};

/* Reads the settings, opens the store and the listeners. Nothing is recovered before it is driven, so
 * tools can be added first. */
AR_API int ar_runtime_new(const struct ar_runtime_options *options, struct ar_runtime **ret,
			  struct ar_runtime_error *err);

/* Drives it until it has stopped. */
AR_API void ar_runtime_run(struct ar_runtime *r);

/* Any thread, and signal handlers. Work under way gets the time of the settings to end, what is left is
 * taken up at the next start. A second call stops at once. `actor` is who asks, for the audit trail;
 * static text, NULL: "embedder". */
AR_API void ar_runtime_stop(struct ar_runtime *r, const char *actor);

/* Any thread, and signal handlers. Reads certificates and settings again, asks again for secrets. `actor`
 * as above. */
AR_API void ar_runtime_reload(struct ar_runtime *r, const char *actor);

/* Calls without a result get one, as an error; streams end. One that has not stopped stops at once. NULL
 * is fine. */
AR_API void ar_runtime_free(struct ar_runtime *r);

/* ---- your own loop ---- */

/* Poll this descriptor for reading, at most as long as ar_runtime_timeout_ms says (-1: any time), then
 * step. The descriptor stays the same; the time holds until the next step, whatever other threads call
 * meanwhile. */
AR_API int ar_runtime_fd(const struct ar_runtime *r);
AR_API int ar_runtime_timeout_ms(struct ar_runtime *r);
AR_API void ar_runtime_step(struct ar_runtime *r); /* does what is due; waits for no event */
AR_API int ar_runtime_is_stopped(const struct ar_runtime *r);

/* Why it has stopped without being asked to: another process has its node id, folder or address. NULL: it
 * was asked to, or has not stopped. Lives as long as the runtime. */
AR_API const char *ar_runtime_stop_reason(const struct ar_runtime *r);

/* ---- commands ---- */

enum ar_scope {
	AR_SCOPE_READ = 1 << 0,
	AR_SCOPE_SUBMIT = 1 << 1,
	AR_SCOPE_DECIDE = 1 << 2,
	AR_SCOPE_WORKER = 1 << 3,
	AR_SCOPE_ADMIN = 1 << 4, /* and all others */
};

/* For whom something is done. Who that is was checked by you. */
struct ar_caller {
	size_t size;
	const char *tenant; /* NULL: "local" */
	const char *actor; /* named by every fact that it causes; NULL: "local" */
	const char *person; /* who stands behind it; NULL: not known */
	unsigned scopes; /* of enum ar_scope */
};

/* is_ok: `json` is the result; otherwise {"error":{code,message,retryable,...}}. Valid until the callback
 * returns. */
typedef void ar_call_fn(void *arg, int is_ok, const char *json, size_t len);

/* Any thread. Exactly one result for each call. The result of a write says that it is durable. An error
 * that is `retryable` may come after the write: repeat it with the same idempotency key. json: the
 * command's input, an object; NULL: {}. caller NULL: the operator. Text is copied. */
AR_API void ar_runtime_call(struct ar_runtime *r, const char *command, const char *json,
			    const struct ar_caller *caller, ar_call_fn *done, void *arg);

/* ---- events ---- */

struct ar_stream_callbacks {
	size_t size;
	/* One event. `cursor` is where a stream goes on that is opened with {"after":cursor}: nothing is
	 * missed and nothing repeated. */
	void (*event)(void *arg, const char *cursor, const char *json, size_t len);
	/* The last one: {"error":{...}}, or NULL where it ended as asked. The stream is gone when this
	 * returns. May be NULL. */
	void (*end)(void *arg, const char *json, size_t len);
	void *arg;
};

/* Opens a stream of events. json: the input of subscribe_events. What is refused comes as its end. */
AR_API int ar_stream_open(struct ar_runtime *r, const char *json, const struct ar_caller *caller,
			  const struct ar_stream_callbacks *callbacks, struct ar_stream **ret,
			  struct ar_runtime_error *err);

/* While it is paused nothing is read for it but what was on its way, a few events. A stream that stays
 * behind too long ends, and goes on after its cursor. */
AR_API void ar_stream_pause(struct ar_stream *s, int is_paused);

/* No callback comes any more; also from inside one. */
AR_API void ar_stream_close(struct ar_stream *s);

/* ---- tools in C ---- */

enum ar_tool_flag {
	AR_TOOL_FLAG_READ_ONLY = 1 << 0, /* changes nothing */
	AR_TOOL_FLAG_IDEMPOTENT = 1 << 1, /* once more with the same arguments changes nothing further */
	AR_TOOL_FLAG_DESTRUCTIVE = 1 << 2, /* cannot be undone */
	AR_TOOL_FLAG_PARALLEL = 1 << 3, /* may run beside other such calls */
};

struct ar_tool_def {
	size_t size;
	const char *name; /* [A-Za-z0-9_-]{1,64} */
	const char *description; /* for the model */
	const char *schema; /* JSON Schema of the arguments, an object */
	unsigned
		/* of enum ar_tool_flag; after a crash a call with READ_ONLY or IDEMPOTENT is run again,
		 * about others a person is asked */
		flags;
	/* Begins the work; the arguments, valid against the schema, live until it returns. ar_tool_finish
	 * follows, from any thread. */
	void (*run)(void *arg, struct ar_tool_run *run, const char *args, size_t len);
	/* Nobody waits for the call any more. ar_tool_finish is still owed. NULL: nothing can be cut
	 * short. */
	void (*cancel)(void *arg, struct ar_tool_run *run);
	void *arg;
};

enum ar_tool_end {
	AR_TOOL_END_OK = 0,
	AR_TOOL_END_ERROR, /* it ran, and failed */
	AR_TOOL_END_NOT_RUN, /* it certainly changed nothing */
};

/* Offers a tool to every model. Before the runtime is driven. Text is copied. */
AR_API int ar_runtime_add_tool(struct ar_runtime *r, const struct ar_tool_def *def,
			       struct ar_runtime_error *err);

/* Names what the model asked for: the same when the call is run again after a crash. Lives until
 * ar_tool_finish. */
AR_API const char *ar_tool_run_id(const struct ar_tool_run *run);

/* Any thread. percent: 0 to 100, negative: not known. */
AR_API void ar_tool_progress(struct ar_tool_run *run, const char *text, double percent);

/* Any thread, exactly once per run, also after ar_runtime_free. text: what the model reads. */
AR_API void ar_tool_finish(struct ar_tool_run *run, enum ar_tool_end end, const char *text);

#ifdef __cplusplus
}
#endif

#endif
