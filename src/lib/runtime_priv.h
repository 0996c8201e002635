/* Inside the library: what a runtime consists of. runtime.c has its life, call.c its calls, stream.c its
 * streams, tool.c tools in C. Owner: the driving thread, but for what is marked. */
#ifndef AR_LIB_RUNTIME_PRIV_H
#define AR_LIB_RUNTIME_PRIV_H

#include "arena.h"
#include "auth.h"
#include "host.h"
#include "mailbox.h"
#include "setup.h"

#include <stdatomic.h>

struct ar_json_parser;
struct ar_tool;
struct ar_tool_source;

struct ar_runtime {
	uv_loop_t loop;
	struct ar_mailbox *mail; /* any thread */
	atomic_uint stops, reloads; /* any thread: how often they were asked for */
	_Atomic(const char *) stop_actor, reload_actor; /* any thread: who asked last */
	unsigned stops_done, reloads_done;
	struct ar_runtime_options options;
	struct ar_runtime_setup setup;
	struct ar_settings_args args; /* of a runtime that reads its settings itself, */
	struct ar_settings settings;
	struct ar_config config;
	struct ar_arena arena;
	bool has_settings;
	struct ar_host_start start;
	struct ar_host *host; /* NULL: stopped, or waiting to come back */
	uv_timer_t rejoin;
	struct ar_list calls; /* that were given to the host, */
	struct ar_list streams; /* and those that follow */
	struct ar_list held; /* messages that wait for a host */
	struct ar_tool_def *tools;
	struct ar_tool *offers; /* the same, as the toolbox lists them */
	size_t tool_count;
	struct ar_tool_source *source; /* of the host; NULL: there is no host */
	struct ar_json_parser *parser;
	char stop_reason[sizeof(((struct ar_error *)0)->msg)]; /* empty: it was asked to stop */
	bool is_driven; /* at least once */
	bool is_ready; /* said once, also when it comes back later */
	bool is_stopped;
	bool is_closing; /* the host is being freed: nothing is given to it */
	bool is_pipe_safe; /* SIGPIPE does not end the program */
};

/* call.c */
void ar_runtime_end_calls(struct ar_runtime *r); /* the host goes: each gets its result now */

/* stream.c */
void ar_runtime_end_streams(struct ar_runtime *r);

/* tool.c: the source that a host is opened with. */
struct ar_tool_source *ar_runtime_open_tools(void *runtime);
void ar_runtime_free_tools(struct ar_runtime *r);

/* caller.c: a copy in one block, for ar_free; NULL for the operator. */
struct ar_principal *ar_principal_of(const struct ar_caller *caller);

/* helpers.c: the folder of the sandbox's helpers; empty: beside the program. */
const char *ar_runtime_helpers(struct ar_arena *a);

/* runtime.c */
#define AR_STOPPED_JSON \
	"{\"error\":{\"code\":\"overloaded\",\"message\":\"the runtime has stopped; repeat the call with " \
	"the same key\",\"retryable\":true}}"

/* Copies the part of a caller's struct that was there when the caller was compiled. */
void ar_copy_sized(void *to, size_t room, const void *from, size_t size);

int ar_runtime_report(const struct ar_error *e, struct ar_runtime_error *ret);

#endif
