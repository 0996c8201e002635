/* Processes in flight, of one session: launched for a tool call or found again after a restart, let go
 * once they are on record, written to, ended, left. Each meets the port (port/process.h) on one side
 * and the session's inbox on the other. Owner: the loop thread. */
#ifndef AR_ENGINE_PROCESS_RUN_H
#define AR_ENGINE_PROCESS_RUN_H

#include "engine_priv.h"

/* The call wants one. Its end comes to ar_tool_process_ended(), also when nothing could be launched. */
void ar_process_launch(struct ar_live *l, struct ar_str call, const struct ar_process_spec *spec);

/* The call wants something of a process of its session. The answer comes to
 * ar_tool_process_acted(), after this has returned. */
void ar_process_act(struct ar_live *l, struct ar_str call, const struct ar_tool_act *asked);

/* Effects */
void ar_process_go(struct ar_live *l, const struct ar_effect_process_go *effect);
void ar_process_attach(struct ar_live *l, const struct ar_process_record *record);
void ar_process_write(struct ar_live *l, const struct ar_effect_process_write *effect);
void ar_process_end(struct ar_live *l, const struct ar_effect_process_end *effect);
void ar_process_forget(struct ar_live *l, struct ar_str handle);

/* A call begins whose process has ended before: its end is delivered again, from the log. */
void ar_process_recall(struct ar_live *l, const struct ar_process_record *ended);

/* The process of a call is to end with it. False: it has none that runs. */
bool ar_process_end_of(struct ar_live *l, struct ar_str call, struct ar_str by, struct ar_str reason);

/* The call runs now: an end that waits for it is delivered. Or: it is over, and nothing
 * needs to wait for it. */
void ar_process_claim(struct ar_live *l, struct ar_str call);
void ar_process_unclaim(struct ar_live *l, struct ar_str call);

/* For decisions about a command. */
struct ar_process_standing ar_process_standing(struct ar_live *l, struct ar_str id);

/* tool_run.c: readers of a call that waits for its process are told what this wrote: that there is more from
 * a byte on. False: the call has ended, or was told of a moment ago. */
struct ar_partial_output {
	struct ar_str process;
	int stream; /* enum ar_process_stream */
	uint64_t offset;
};
bool ar_tool_partial(struct ar_live *l, struct ar_str call, const struct ar_partial_output *partial);

/* Its last fact is durable and about to be published. */
void ar_process_close(struct ar_live *l, struct ar_str id);

/* Processes go on without us: the session moves, or this runtime stops. And: what is
 * left is freed, at the end. */
void ar_processes_release(struct ar_live *l);
void ar_processes_leave(struct ar_live *l);
void ar_processes_drop(struct ar_live *l);

/* tool_run.c: the result for the call that asked for it. False: the call has not begun
 * yet, and will claim it. */
void ar_tool_process_began(struct ar_live *l, struct ar_str call, struct ar_str process);
bool ar_tool_process_ended(struct ar_live *l, struct ar_str call, const struct ar_process_result *r);
void ar_tool_process_acted(struct ar_live *l, struct ar_str call, const struct ar_tool_acted *acted);

#endif
