/* The process port: a command runs outside this process, under a boundary, and outlives it. The runtime
 * says when it may begin and records what happens; the host runs it and reports, in order and with
 * numbers, so that nothing is reported twice after a crash.
 *
 *   launch -> on_ready -> (the facts are durable) go -> on_output... on_report... -> on_end
 *   attach -> on_output... from the first byte again, on_report... from the first again -> on_end
 *
 * Contract: loop thread only. The owner keeps the struct until on_end, which comes exactly once, also after a
 * failed launch; nothing is called before launch() or attach() returns. What callbacks bring lives until they
 * return. leave() gives the struct back without an end: the process goes on. */
#ifndef AR_PORT_PROCESS_H
#define AR_PORT_PROCESS_H

#include "clock.h"
#include "sandbox.h"
#include "status.h"

/* A variable that has what stands for a secret of the settings: the path of its file, or its placeholder. */
struct ar_process_secret {
	struct ar_str variable, secret;
};

struct ar_process_spec {
	const struct ar_str *argv; /* [0]: a path, or a name for the PATH inside */
	size_t argc;
	/* K=V, beyond what the profile sets; names that steer loaders and shells are refused */
	const struct ar_str *env;
	size_t env_count;
	struct ar_str cwd; /* absolute; absent: the workspace */
	struct ar_str input; /* given at the start, then closed; absent: none */
	bool has_input; /* stays open for write(); not with `input` */
	bool tty;
	uint16_t rows, columns; /* of the terminal; 0: 24 and 80 */
	bool keeps_leftovers; /* descendants live on after the command's own end */
	int64_t timeout_ms; /* 0: none */
	enum ar_sandbox_profile profile;
	struct ar_str session_id, call_id, workspace;
	struct ar_str worker; /* wk_..., that has the workspace; absent: this machine */
	/* Of a tenant that variables of the host are not for: it gets none of them */
	bool is_apart;
	uint64_t withheld; /* secrets of the settings that are not for it, a bit for each by its place */
	/* Further names for secrets that it gets; one that it does not get leaves its variable unset */
	const struct ar_process_secret *secrets;
	size_t secret_count;
	struct ar_str command; /* for people: what the model wrote; secrets are masked by the owner */
	struct ar_str justification; /* may be absent */
};

/* The boundary as the kernel confirmed it, before anything ran. */
struct ar_process_ready {
	struct ar_str handle; /* by which attach() finds the process again, on this host; opaque */
	struct ar_str cwd;
	struct ar_str read_roots, write_roots; /* JSON arrays */
	struct ar_str environment; /* JSON object of the variables */
	struct ar_str limits; /* JSON object */
	struct ar_str boundary; /* JSON object: all that was read back, with `guarantees` */
};

enum ar_process_stream {
	AR_PROC_STDOUT = 1,
	AR_PROC_STDERR,
	AR_PROC_TTY,
};

enum ar_process_report_kind {
	AR_PROC_INPUT_WRITTEN = 1, /* `number` */
	/* `detail`: {"boundary","attempted","effect","evidence","errno","count","isLast"} */
	AR_PROC_VIOLATION,
	AR_PROC_TRUNCATED, /* `detail`: {"stream","from","to"} */
	AR_PROC_LIMIT, /* `detail`: {"kind","count"} */
	AR_PROC_WAITS_FOR_INPUT, /* a hint: its terminal is read and nothing is there */
};

struct ar_process_report {
	enum ar_process_report_kind kind;
	/* Of this process, rising; the same after attach(). 0: from outside its journal, reported at
	 * most once per life of this process */
	uint64_t seq;
	uint64_t number;
	struct ar_str detail; /* JSON object */
};

enum ar_process_outcome {
	AR_PROC_EXITED = 1, /* by itself: exit_code or signal */
	AR_PROC_NOT_STARTED, /* certainly nothing of it ran: step, message */
	AR_PROC_ENDED, /* on purpose: by, reason */
	AR_PROC_TIMED_OUT,
	AR_PROC_LIMIT_HIT, /* killed by a limit: kind in message */
	AR_PROC_SUPERVISOR_LOST, /* it is gone, proven; how it ended is not known unless exit_is_known */
	AR_PROC_UNAVAILABLE, /* not on this host, or nothing is left of it: nobody knows */
};

struct ar_process_end {
	enum ar_process_outcome outcome;
	uint64_t seq;
	bool exit_is_known;
	int exit_code; /* when it exited; 128 + number when by a signal */
	struct ar_str signal; /* SIGTERM ...; absent: by none */
	struct ar_str by; /* ENDED: user, policy, parent_cancellation, shutdown */
	struct ar_str reason, step, message;
	int64_t duration_ms;
	uint64_t stdout_bytes, stderr_bytes, tty_bytes; /* written in all, kept or not */
	uint64_t leftovers; /* descendants that were killed with it */
};

enum ar_process_write {
	AR_PROC_TOOK = 1,
	AR_PROC_BUSY, /* its queue is full: try again */
	AR_PROC_CLOSED, /* its input is closed, or it has ended */
	AR_PROC_TOO_LARGE, /* more than AR_PROC_INPUT_MAX bytes at once */
};

#define AR_PROC_INPUT_MAX 61440 /* bytes of one write() */

struct ar_process;

struct ar_process_vtable {
	void (*on_ready)(struct ar_process *p, const struct ar_process_ready *r); /* of launch() only */
	void (*on_attached)(
		struct ar_process *p,
		uint64_t inputs); /* of attach(): it lives, and has taken inputs up to this number */
	void (*on_output)(struct ar_process *p, enum ar_process_stream stream, struct ar_str bytes);
	void (*on_report)(struct ar_process *p, const struct ar_process_report *r);
	void (*on_written)(struct ar_process *p, uint64_t number, enum ar_process_write how);
	void (*on_end)(struct ar_process *p, const struct ar_process_end *e);
};

struct ar_process {
	const struct ar_process_vtable *v;
	struct ar_str id; /* proc_..., for logs; may be set after on_ready */
	void *host_state; /* the host's while it has the process */
};

struct ar_process_host;

struct ar_process_host_vtable {
	void (*launch)(struct ar_process_host *h, struct ar_process *p, const struct ar_process_spec *spec);
	void (*attach)(struct ar_process_host *h, struct ar_process *p, struct ar_str handle);
	void (*go)(struct ar_process_host *h, struct ar_process *p);
	/* Inputs are numbered from 1; the same number twice is written once. The answer is on_written. */
	void (*write)(struct ar_process_host *h, struct ar_process *p, uint64_t number, struct ar_str bytes,
		      bool is_eof);
	void (*resize)(struct ar_process_host *h, struct ar_process *p, uint16_t rows, uint16_t columns);
	void (*signal)(struct ar_process_host *h, struct ar_process *p, struct ar_str name);
	void (*end)(struct ar_process_host *h, struct ar_process *p, struct ar_str by, struct ar_str reason,
		    int64_t grace_ms);
	void (*leave)(struct ar_process_host *h, struct ar_process *p);
	void (*forget)(struct ar_process_host *h,
		       struct ar_str handle); /* its end is on record: what is kept on disk of it may go */
	void (*close)(struct ar_process_host *h); /* leaves all */
};

struct ar_process_host {
	const struct ar_process_host_vtable *v;
	const struct ar_sandbox_host *sandbox; /* what it can enforce */
};

#endif
