/* The tool port: a source offers tools and runs calls to them. The runtime decides what may run, when, and
 * records it; a source does the work and says honestly how it ended.
 *
 * Contract: everything happens on the loop thread. The caller owns the call struct and what it points to
 * until on_done. start() never calls back before it returns. Between start and on_done any number of
 * on_progress and on_question; on_done exactly once, also after cancel(). The text that callbacks bring is
 * the source's and lives until the callback returns. */
#ifndef AR_PORT_TOOL_H
#define AR_PORT_TOOL_H

#include "clock.h"
#include "process.h"
#include "status.h"
#include "str.h"

/* Whose system does the work. */
enum ar_tool_owner {
	AR_TOOL_LOCAL = 1, /* this process */
	AR_TOOL_MCP, /* a server that speaks MCP */
	AR_TOOL_CONNECTOR, /* a service called over HTTP */
	AR_TOOL_CLIENT, /* the client that submitted the turn: the runtime waits for report_tool_result */
	AR_TOOL_SUBAGENT, /* the session itself, which has children: start() is not called */
};

/* What it touches, as bits. */
enum ar_tool_capability {
	AR_TOOL_READ = 1 << 0,
	AR_TOOL_WRITE = 1 << 1,
	AR_TOOL_FILESYSTEM = 1 << 2,
	AR_TOOL_NETWORK = 1 << 3,
	AR_TOOL_SHELL = 1 << 4,
	AR_TOOL_BROWSER = 1 << 5,
	AR_TOOL_ARTIFACT = 1 << 6,
	AR_TOOL_CUSTOM = 1 << 7,
};

#define AR_TOOL_NAME_MAX 64
#define AR_TOOL_SCHEMA_MAX 65536
#define AR_TOOL_DESCRIPTION_MAX 4096

/* Whether a model could call it so: providers refuse a whole request for one name of another form. */
static inline bool ar_tool_is_name(struct ar_str name)
{
	if (name.len == 0 || name.len > AR_TOOL_NAME_MAX)
		return false;
	for (size_t i = 0; i < name.len; i++) {
		char c = name.p[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '_' || c == '-'))
			return false;
	}
	return true;
}

struct ar_tool {
	struct ar_str name; /* [A-Za-z0-9_-]{1,64}: what the model calls; unique among all sources */
	struct ar_str description;
	struct ar_str schema; /* JSON Schema of the arguments: the text of an object */
	struct ar_str origin; /* server or connector it comes from; absent for local ones */
	struct ar_str title; /* for people; may be absent */
	struct ar_str
		annotations; /* what its source says of its behaviour, believed or not: JSON; or absent */
	enum ar_tool_owner owner;
	uint32_t capabilities; /* of enum ar_tool_capability */
	bool is_read_only;
	bool is_concurrency_safe; /* may run beside other such calls */
	bool is_destructive; /* what it does cannot be undone */
	bool is_assumed; /* with is_destructive: nobody who is believed has said so */
	bool is_idempotent; /* running it again with the same arguments changes nothing further */
	bool blocks_interrupt; /* an interruption waits for its end instead of cancelling it */
	/* All it does happens inside the boundary of the call: a profile has to be settled and available */
	bool is_confined;
	bool runs_process; /* all it does is done by the process it asks for: before that nothing happened */
	bool works_in_folder; /* of the session: one without a folder is not offered it */
	bool is_plan; /* its call asks a person to approve a plan */
	bool outlives_us; /* its work is elsewhere, and a new call of the same operation finds it again */
	bool is_of_workspace; /* of a server that the workspace itself brings: for its sessions alone */
	int64_t limit_ms; /* longest time of one call; 0: as the policy says */
};

/* The tools of all sources at one time, sorted by name (so that the same tools always make the same prompt);
 * no name twice. */
struct ar_inventory {
	const struct ar_tool *const *tools;
	size_t count;
	uint64_t version; /* another one whenever the list was made anew; 0: never made */
	bool is_ready; /* false while a source still finds out for the first time what it offers */
};

/* The tool of that name; NULL: there is none. */
static inline const struct ar_tool *ar_inventory_find(const struct ar_inventory *inv, struct ar_str name)
{
	size_t low = 0, high = inv->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = ar_str_cmp(inv->tools[mid]->name, name);

		if (order == 0)
			return inv->tools[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

enum ar_tool_outcome {
	AR_TOOL_OK = 1,
	AR_TOOL_ERROR, /* it ran, and says that it failed */
	AR_TOOL_NOT_RUN, /* it certainly did not run: unknown tool, server not reachable, refused */
	AR_TOOL_TIMEOUT, /* it may have run in part */
	AR_TOOL_CANCELLED,
	AR_TOOL_LOST, /* the connection or process is gone after it began: nobody knows how far it came */
};

struct ar_tool_image {
	struct ar_str mime, data; /* data in base64 */
};

enum ar_tool_change {
	AR_TOOL_CREATED = 1,
	AR_TOOL_MODIFIED,
	AR_TOOL_DELETED,
};

/* A file as a call left it. */
struct ar_tool_artifact {
	struct ar_str path; /* from the workspace; the same file always has the same one */
	enum ar_tool_change change;
	struct ar_str version; /* SHA-256 of the file in hex; absent when it was deleted */
	struct ar_str content; /* its bytes; absent: they are not kept */
	struct ar_str diff; /* to what was there before, unified; absent: none */
	int64_t size; /* of the file */
};

struct ar_tool_result {
	enum ar_tool_outcome outcome;
	struct ar_str text; /* what the model reads; of an error too, when the tool said something */
	struct ar_str structured; /* JSON object; absent: none */
	const struct ar_tool_image *images;
	size_t image_count;
	/* Not OK: a word (tool_error, not_found, auth, network, timeout, cancelled, ...), a sentence, what to
	 * do next; and who refused the credential of the tool, so that nothing was done (absent: nobody). */
	struct ar_str category, message, advice, credential;
	bool retryable;
	/* Files that it changed, with what was there before: JSON array of
	 * {"path","kind","before","encoding","beforeHash","afterHash","mode"}; absent: none. */
	struct ar_str changes;
	/* The same files as they are now. */
	const struct ar_tool_artifact *artifacts;
	size_t artifact_count;
	/* The boundary of a call without a process of its own (NULL: none), and what it tried to cross. */
	const struct ar_process_ready *boundary;
	enum ar_sandbox_profile profile; /* of this boundary */
	const struct ar_str *violations; /* JSON objects, as of AR_PROC_VIOLATION */
	size_t violation_count;
	struct ar_str request_id; /* of the request that ran it, as its server knows it; absent: none */
};

struct ar_tool_progress {
	struct ar_str text; /* may be empty */
	double percent; /* 0 to 100; negative: unknown */
};

/* Asked by the tool in the middle of its work; the call goes on after answer(). */
struct ar_tool_question {
	struct ar_str id; /* the source's, returned in the answer */
	struct ar_str prompt;
	struct ar_str schema; /* JSON Schema of the answer; absent: only yes or no is wanted */
	struct ar_str url; /* page where the person answers; absent: none */
};

enum ar_tool_answer_kind {
	AR_TOOL_ANSWER_ACCEPT = 1,
	AR_TOOL_ANSWER_DECLINE,
	AR_TOOL_ANSWER_CANCEL,
};

struct ar_tool_answer {
	struct ar_str question; /* its id */
	enum ar_tool_answer_kind kind;
	struct ar_str content; /* ACCEPT: JSON object that meets the schema; may be absent */
};

/* How a process that a call asked for ended, and all that was kept of what it wrote, masked, in the order it
 * came. */
struct ar_process_result {
	struct ar_str process_id;
	const struct ar_process_end *end;
	struct ar_str output; /* all streams together */
	bool is_truncated; /* more was written than is here */
	bool is_binary;
	/* JSON objects, as of AR_PROC_VIOLATION: what it tried to cross; not all of very many */
	const struct ar_str *violations;
	size_t violation_count;
};

enum ar_tool_act_kind {
	AR_TOOL_ACT_WRITE = 1,
	AR_TOOL_ACT_READ,
	AR_TOOL_ACT_END,
};

/* What a call wants of a process of its session that is there already. */
struct ar_tool_act {
	enum ar_tool_act_kind kind;
	struct ar_str process_id;
	struct ar_str bytes; /* WRITE */
	bool is_eof; /* WRITE: the input is closed after them */
	uint64_t offset; /* READ: from this byte of its output on, all streams together, as masked */
	/* READ: answered when there is something from offset on, when it has ended, or after this time */
	int64_t wait_ms;
	struct ar_str signal, reason; /* END: without a signal it is asked to end, then killed */
};

enum ar_tool_act_standing {
	AR_TOOL_PROCESS_UNKNOWN = 1, /* no process of this session has the id */
	AR_TOOL_PROCESS_RUNNING, /* done as asked */
	AR_TOOL_PROCESS_OVER, /* it has ended */
	AR_TOOL_PROCESS_BUSY, /* WRITE: its queue is full */
	AR_TOOL_PROCESS_CLOSED, /* WRITE: its input is closed */
};

struct ar_tool_acted {
	enum ar_tool_act_standing standing;
	struct ar_str output; /* READ: what is kept from offset on, at most 64 KiB */
	uint64_t offset; /* of its first byte: later than asked for when the bytes between are not kept */
	bool is_binary;
	const struct ar_process_end *end; /* OVER; NULL: it is not known any more */
};

struct ar_tool_call;

struct ar_tool_call_vtable {
	void (*on_progress)(struct ar_tool_call *c, const struct ar_tool_progress *p);
	void (*on_question)(struct ar_tool_call *c, const struct ar_tool_question *q);
	/* It wants a process: the runtime launches it, records it, and reports its end through
	 * v->process_ended. At most one at a time. */
	void (*on_process)(struct ar_tool_call *c, const struct ar_process_spec *spec);
	/* It wants something of a process that is there: the answer is v->process_acted, never before this
	 * returns. One at a time. */
	void (*on_process_act)(struct ar_tool_call *c, const struct ar_tool_act *act);
	void (*on_done)(struct ar_tool_call *c, const struct ar_tool_result *r);
};

struct ar_tool_call {
	const struct ar_tool_call_vtable *v;
	const struct ar_tool *tool; /* as the source listed it; borrowed until on_done */
	struct ar_str args; /* JSON object, already valid against the schema */
	/* Whom it is for. */
	struct ar_str session_id, thread_id, turn_id, tool_call_id;
	struct ar_str trace_parent; /* W3C traceparent of the call; absent: nothing is traced */
	/* What the model asked for once: the same when a lost call is tried again under another id */
	struct ar_str operation_id;
	struct ar_str account, tenant; /* whose session it is; the account may be absent */
	struct ar_str workspace; /* folder that local tools work in, absolute; absent: none */
	struct ar_str worker; /* wk_..., that has the workspace; absent: this machine */
	enum ar_sandbox_profile profile; /* that it was allowed to run in; 0: none was settled */
	ar_usec deadline; /* monotonic; the caller cancels then, a source may use it to ask for less */
	bool is_released; /* set before cancel(): another process goes on with it, so it is only left */
	/* Set before start(): its process is there already, from before a restart. The source asks for none
	 * and waits for process_began and process_ended as if it had */
	struct ar_str process_id;
	void *source_state; /* the source's while the call is open */
};

struct ar_tool_source;

struct ar_tool_source_vtable {
	void (*start)(struct ar_tool_source *s, struct ar_tool_call *c);
	void (*cancel)(struct ar_tool_source *s, struct ar_tool_call *c); /* on_done follows, maybe later */
	void (*answer)(struct ar_tool_source *s, struct ar_tool_call *c, const struct ar_tool_answer *a);
	/* Of a call that asked for a process; NULL where none does. A call whose process should live on ends
	 * in process_began. */
	void (*process_began)(struct ar_tool_source *s, struct ar_tool_call *c, struct ar_str process_id);
	void (*process_ended)(struct ar_tool_source *s, struct ar_tool_call *c,
			      const struct ar_process_result *r);
	/* Of a call that wanted something of one; NULL where none does. */
	void (*process_acted)(struct ar_tool_source *s, struct ar_tool_call *c,
			      const struct ar_tool_acted *r);
	void (*close)(struct ar_tool_source *s); /* ends what is open (on_done is called), frees */
};

/* What a source shows of itself. `tools` may change between two turns of the loop: then on_changed is called
 * and earlier pointers are no longer valid, except those of calls that are open. */
struct ar_tool_source {
	const struct ar_tool_source_vtable *v;
	const char *name;
	const struct ar_tool *tools;
	size_t tool_count;
	bool is_ready; /* false while it is still finding out what it offers, for the first time */
	const char *trouble; /* why it offers less than it should; NULL: none */
	void (*on_changed)(void *arg); /* set by the owner; may be NULL */
	void *arg;
};

#endif
