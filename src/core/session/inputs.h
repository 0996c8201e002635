/* What decisions are made about: commands, the ends of what was begun, what became due. Plain
 * data; texts are borrowed until the decision is durable. */
#ifndef AR_SESSION_INPUTS_H
#define AR_SESSION_INPUTS_H

#include "catalog.h"
#include "checkpoint.h"
#include "process.h"
#include "provider.h"
#include "tool.h"
#include "worker.h"

struct ar_exported; /* evidence/evidence.h */
struct ar_job_read; /* job/job.h */
struct ar_policy;
struct ar_server_state; /* port/workspace/servers.h */
struct ar_zone; /* src/cron */
struct ar_workspace_folder; /* workspace/workspace.h */

enum ar_input_kind {
	AR_IN_COMMAND = 1,
	AR_IN_MODEL_DONE, /* a model call ended, one way or another */
	AR_IN_RETRY_DUE, /* the wait before the next attempt is over */
	AR_IN_RECOVER, /* this session was loaded with open work that no process carries */
	AR_IN_TOOL_DONE, /* a tool call ended, one way or another */
	AR_IN_CALL_DUE, /* a result that a client was to bring did not come in time */
	AR_IN_HOOK_DONE, /* a handler of a hook ended, one way or another */
	AR_IN_TOOL_ASKED, /* a tool call has a question for a person */
	AR_IN_ACTION_DUE, /* the time for an answer is over */
	AR_IN_BUDGET_DUE, /* the time of a turn is over */
	AR_IN_SILENCE_DUE, /* nothing of a turn happened for as long as it may */
	AR_IN_PROCESS_READY, /* a process that a call asked for stands at its barrier */
	AR_IN_PROCESS_REPORT, /* something happened to a process */
	AR_IN_PROCESS_END, /* a process ended, one way or another */
	AR_IN_CHANNEL_FOLLOWED, /* a stream of a channel begins */
	AR_IN_CHANNEL_GONE, /* it ended */
	AR_IN_TASK_DUE, /* a declared task may begin, is to be tried again, or its time is over */
	AR_IN_ACCESS, /* a tenant's home session is told of something */
	AR_IN_REPAIR, /* what is stored beside the log is written again, from the log */
	AR_IN_INSPECTED, /* the files of a workspace were looked at for a turn */
	AR_IN_CHECKPOINT_DONE, /* a checkpoint was made or restored, or could not be */
	AR_IN_WORKER, /* the worker of the session was connected, went silent, was lost, is drained */
	AR_IN_SENT, /* another session answered a command that was sent to it */
	AR_IN_SCHEDULE_DUE, /* a time of a schedule has come */
	AR_IN_JOB_DUE, /* the time of a job is over, or more of its items may begin */
	AR_IN_SERVERS, /* the servers of a workspace were started for a turn, or were not */
	AR_IN_CONTENTS, /* contents are stored, without a fact */
	AR_IN_CHANNEL_DUE, /* the token of a peer that is away runs out */
	AR_IN_WORKSPACE, /* the record of the session's workspace was read */
	AR_IN_CHANNEL_READ, /* the peer of a channel was given an older window of the history */
};

/* Output bytes of a step, in order: which kind, which of several, how many. */
struct ar_segment {
	uint8_t kind; /* enum ar_output_kind */
	uint32_t index;
	uint64_t len;
};

/* What was masked in a text from outside before it came here: how often, and by which rules. */
struct ar_masked {
	int64_t count;
	struct ar_texts rules; /* their names; absent: nothing was */
};

/* What a step produced, whether it ended well or not. */
struct ar_step_output {
	struct ar_str step;
	struct ar_masked masked; /* in all of it, and in how it ended */
	struct ar_str text, reasoning;
	const struct ar_segment *segments;
	size_t segment_count;
	const struct ar_tool_use *tools;
	size_t tool_count;
};

/* A process that a call asked for, before anything of it runs; the same words as port/process.h. */
struct ar_process_launched {
	struct ar_str call;
	struct ar_masked masked; /* in all of it */
	struct ar_str command, justification; /* may be absent */
	const struct ar_str *argv;
	size_t argc;
	int profile; /* enum ar_sandbox_profile */
	bool tty, has_input;
	struct ar_process_ready ready;
};

struct ar_process_told {
	struct ar_str process;
	struct ar_process_report report;
};

/* A range of one stream, as it is kept. */
struct ar_process_kept {
	enum ar_process_stream stream;
	uint64_t offset;
	struct ar_str bytes;
};

struct ar_process_over {
	struct ar_str process;
	struct ar_masked masked; /* in all that it wrote */
	struct ar_process_end end;
	const struct ar_process_kept *kept; /* by stream and offset */
	size_t kept_count;
	uint64_t written[AR_PROC_TTY + 1]; /* in all, by stream, as it is after masking */
	struct ar_str text; /* all streams in the order they came: what its call reads */
	bool is_truncated, is_binary;
};

/* Of the process that a command is about, as the engine has it; all false: it does not. */
struct ar_process_standing {
	bool is_reached; /* it is in hand, and takes inputs */
	bool is_closed; /* its input is */
	uint64_t taken; /* number of the newest input that it has */
	int stream; /* enum ar_process_stream: where it answers */
	uint64_t written; /* bytes of that so far */
};

/* A stored content that the engine has read for a decision. */
struct ar_text {
	struct ar_str ref, bytes;
};

/* How a handler ended; the same words as port/hook.h. */
struct ar_hook_end {
	struct ar_str run; /* eventId of its hook.started */
	struct ar_masked masked; /* in all of it */
	int outcome; /* enum ar_hook_outcome */
	struct ar_str output, message;
	/* FAILED: of an output that was too long, of which `output` is the beginning; 0: it was not */
	int64_t size;
	int64_t duration_ms;
	const struct ar_text *texts; /* contents that were put into its document */
	size_t text_count;
};

/* How a checkpoint ended; the same words as port/checkpoint.h. */
struct ar_checkpoint_end {
	enum ar_checkpoint_kind kind;
	struct ar_str id; /* as of the effect */
	enum ar_status status;
	struct ar_masked masked; /* in all of it */
	struct ar_str message, tree, changes, base, conflicts;
	int64_t files, bytes, left_out, changed;
	bool is_cut, is_shared;
	const struct ar_tool_artifact *artifacts;
	size_t artifact_count;
	int64_t used;
	bool is_measured, is_partial;
};

/* How the start of the servers of a workspace went; the same words as port/workspace/servers.h. */
struct ar_servers_end {
	struct ar_str turn; /* that waits for it */
	const struct ar_server_state *states;
	size_t count;
};

/* What a verification found to be otherwise than the log says; JSON arrays as text. */
struct ar_repair {
	uint64_t from, to; /* facts that were replayed, or are lost */
	bool is_loss; /* the end of the log is lost, and somebody said to go on without it */
	struct ar_texts fields; /* of the read models, that are written again */
	struct ar_texts unavailable; /* refs of content that is gone */
};

/* What was looked for when the session came back: refs of its conversations whose contents are gone. */
struct ar_missing {
	const struct ar_str *refs;
	size_t count;
	bool is_known; /* false: nobody looked */
};

/* The tokens of a channel's command, as refs: "token:" and a hash. */
struct ar_channel_token {
	struct ar_str shown; /* by the caller; absent: none */
	struct ar_str given; /* that it gets */
};

/* The feed of all sessions of a tenant: how far what was removed of it reached, as a cursor, and
 * a position that none was given above. */
struct ar_feed_bounds {
	struct ar_str floor;
	int64_t limit;
};

struct ar_audit;

struct ar_input_command {
	enum ar_command id;
	const void *args; /* struct ar_cmd_<name>_in */
	struct ar_masked masked; /* in the args */
	struct ar_str call; /* the tool call that asks for it; absent: a client does */
	struct ar_channel_token token; /* connect_channel, reconnect_channel */
	const struct ar_feed_bounds *feed; /* ack_events, reconnect_channel in the home of a tenant */
	struct ar_process_standing standing; /* about a process; the engine's to fill */
	/* Makes a session: the workspace that it is to have; NULL: none of ours is named */
	const struct ar_shape_workspace_record *workspace;
	struct ar_str
		own_folder; /* and the folder that it is to have for itself; absent: that of the workspace */
	const struct ar_workspace_folder *folder; /* create_workspace: looked at or made before */
	struct ar_str items_digest; /* update_workspace with trust: of the items as they are now */
	struct ar_str sealed, address; /* set_task_push: what is secret, encrypted, and what is not */
	struct ar_str servers_digest; /* and of .mcp.json among them; absent: there is none */
};

/* What the tenant of the session uses of its quotas, for those that it has; the engine's to fill. */
struct ar_tenant_usage {
	int64_t turns, processes; /* at work on this node, those of the session included */
	int64_t day; /* that is counted now, in days since 1970-01-01 (UTC) */
	int64_t other_tokens, other_cost; /* of that day, by all other sessions of the tenant */
	bool is_work_unread,
		is_day_unread; /* not all of it could be read: what is counted may be too little */
};

/* How another session answered. */
struct ar_sent {
	struct ar_str subject; /* as it was sent */
	uint16_t code; /* error of the catalogue; 0: none */
	struct ar_str reply; /* JSON text, of the error, too */
};

struct ar_input {
	enum ar_input_kind kind;
	ar_usec now;
	ar_usec step; /* that the wall clock was set back since the decision before, below 0; 0: it was not */
	const struct ar_policy *policy;
	struct ar_missing missing; /* read by RECOVER and COMMAND resume_thread */
	struct ar_str account; /* who asks, the actor that facts name; absent: the runtime */
	struct ar_str person; /* who stands behind it (port/auth.h); absent: not known */
	struct ar_str tenant; /* whose session it would be; absent: AR_TENANT_LOCAL */
	bool is_runtime; /* a command that another session sent */
	struct ar_str trace_parent; /* W3C traceparent of the request, checked; absent: none */
	/* Of a schedule: the zone that it has or is to have; NULL: UTC, or one that is not known here */
	const struct ar_zone *zone;
	bool is_zone_unknown;
	/* The worker that has the session's workspace, as it is now; state 0: none, or not known */
	struct ar_worker_status worker;
	const struct ar_exported *exported; /* of COMMAND export_...: what it came to; NULL: nothing yet */
	const struct ar_job_read *read; /* what ar_job_needs() asked for; NULL: nothing */
	struct ar_tenant_usage usage; /* of that tenant, or of the one whose session it is */
	union { /* by kind */
		struct ar_input_command command;
		struct {
			const struct ar_step_output *output;
			const struct ar_model_result *end; /* without secrets */
		} model_done;
		struct ar_str due; /* *_DUE: the turn of a retry, the call, the question, else the task */
		struct {
			const struct ar_step_output *outputs; /* what was saved of each open step */
			size_t output_count;
			/* the process is known to have died while it worked on another session */
			bool is_bystander;
			/* of the session; NULL: it has none, or it says nothing new */
			const struct ar_shape_workspace_record *workspace;
		} recover;
		struct {
			struct ar_str call;
			const struct ar_tool_result *result; /* without secrets */
			struct ar_masked masked; /* in all of it */
			int64_t duration_ms;
		} tool_done;
		const struct ar_hook_end *hook_done;
		struct {
			struct ar_str call;
			const struct ar_tool_question *question; /* without secrets */
		} tool_asked;
		const struct ar_process_launched *process_ready;
		const struct ar_process_told *process_report;
		const struct ar_process_over *process_end;
		struct {
			struct ar_str id;
			int reason; /* GONE: of channel.disconnected */
			int64_t from, to; /* READ: sequences of the first and the last fact of it */
		} channel; /* CHANNEL_* */
		const struct ar_audit *access; /* port/auth.h */
		const struct ar_repair *repair;
		struct {
			struct ar_str turn;
			const struct ar_inspected *found; /* port/inspect.h */
		} inspected;
		const struct ar_servers_end *servers;
		const struct ar_shape_workspace_record *workspace;
		const struct ar_checkpoint_end *checkpoint_done;
		const struct ar_sent *sent;
		struct ar_texts contents;
	};
};

#endif
