/* One process as this host has it, and the host. Shared by the files of this module only.
 *
 * A process is begun (launch.c, attach.c), then its journal is read (follow.c) and its owner notified
 * (notify.c); it is over when the journal is sealed, or when nobody is left who could write it (ending.c).
 * Requests to it go out by shim_control.c (drive.c). proc.c holds the parts together. */
#ifndef AR_PROCESS_PROC_H
#define AR_PROCESS_PROC_H

#include "arena.h"
#include "shim_control.h"
#include "folder.h"
#include "handle.h"
#include "list.h"
#include "processes.h"
#include "prewarm/prewarm.h"
#include "journal_state.h"

#include <dirent.h>

#define AR_PROC_INPUTS_MAX 16 /* unanswered at once; beyond: busy */
#define AR_PROC_READ_BYTES ((size_t)256 * 1024) /* in one turn of the loop */

struct ar_processes { /* owner: loop thread */
	struct ar_process_host port;
	uv_loop_t *loop;
	char *folder, *shim, *init;
	uint64_t output_bytes;
	int64_t barrier_ms, grace_ms;
	struct ar_sandbox *sandbox;
	void (*on_listener)(void *context, struct ar_str name, int fd);
	void (*on_listener_gone)(void *context, struct ar_str name);
	void *context;
	struct ar_audit_reader *audit; /* NULL: none */
	struct ar_machine machine;
	struct ar_json_parser *parser;
	char *bytes; /* AR_PROC_READ_BYTES */
	struct ar_list all, children;
	struct ar_prewarm_pool prewarmed;
	struct ar_list reading; /* whose journal may have more */
	uv_idle_t awake; /* runs while there are some */
	DIR *swept; /* where the sweep stands; NULL: at the start */
	size_t open; /* handles of all of us that are not closed yet */
	bool is_closing;
};

/* An agent-shim that is our child: reaped here, whether its process is followed or not. */
struct ar_shim_child {
	struct ar_list node;
	struct ar_processes *all;
	struct ar_proc *of; /* NULL: nobody any more, or nobody yet */
	struct ar_prewarmed *prewarmed; /* NULL: it is none */
	uv_poll_t exit;
	pid_t pid;
	int fd;
};

struct ar_input_due {
	uint64_t number;
	enum ar_process_write how; /* 0: not answered yet */
};

struct ar_proc { /* owner: loop thread */
	struct ar_list node, reading;
	struct ar_processes *all;
	struct ar_process *owner; /* NULL: it has had its end, or left */
	struct ar_shim_control control;
	struct ar_shim_child *child; /* NULL: attached, or reaped */
	uv_timer_t tick; /* at the earliest of the times below */
	char *folder; /* NULL: none was made */
	char *handle; /* of attach(), until it begins */
	/* with the profile: for whom a prewarmed sandbox is made when it is over */
	char *session_id, *workspace;
	enum ar_sandbox_profile profile;
	int dir, journal; /* -1: none */
	uint64_t offset; /* of the next record */
	struct ar_journal_state state;
	struct ar_process_ready ready; /* until on_ready; its text is in `kept` */
	struct ar_str guarantees;
	struct ar_arena kept;
	struct ar_input_due *inputs; /* in the order they came */
	size_t input_count, input_room;
	char *cgroups[AR_FOLDER_CGROUPS_MAX];
	size_t cgroup_count;
	int first, command; /* pidfds, tree.h; -1: none */
	pid_t command_pid;
	bool is_launched, is_ready_reported, is_attached_reported;
	bool is_alone; /* nobody writes its journal any more */
	bool is_same_boot;
	bool is_waiting_reported; /* since the newest output */
	bool is_over; /* its end is known: nothing of it is needed any more */
	bool is_retired;
	bool has_listener; /* somebody was given its socket */
	bool is_watched, is_settling; /* by the audit */
	struct ar_audit_watcher watcher;
	enum ar_process_outcome trouble; /* known without a journal; 0: none */
	char step[16];
	struct ar_error why;
	/* Monotonic; 0: not set. */
	ar_usec begin_at, answer_at, retry_at, hello_by, force_at, conclude_at, look_at, retire_at;
	ar_usec lost_since, connected_at;
	bool is_ending;
	int retries, forced;
};

/* ---- proc.c ---- */

/* A new one for the owner; ends by itself with `trouble` when that is set before the loop turns. */
struct ar_proc *ar_proc_new(struct ar_processes *all, struct ar_process *owner);
void ar_proc_arm(struct ar_proc *p); /* after a time has changed */
ar_usec ar_proc_now(void);

/* It cannot be begun or reached: on_end comes in the loop's next turn. */
void ar_proc_fail(struct ar_proc *p, enum ar_process_outcome outcome, const char *step,
		  const struct ar_error *why);

/* Its shim is gone, which is certain: reads the rest and concludes. */
void ar_proc_alone(struct ar_proc *p);

/* No more notifications; the folder stays. */
void ar_proc_leave(struct ar_proc *p);

/* Reports the end. What is left of it here goes when the shim has, or soon. */
void ar_proc_finish(struct ar_proc *p, const struct ar_process_end *e);

/* ---- launch.c, attach.c ---- */
void ar_proc_launch(struct ar_proc *p, const struct ar_process_spec *spec);
void ar_proc_begin_attach(struct ar_proc *p);
void ar_proc_retry(struct ar_proc *p); /* the connection went: reconnects, soon or later */
void ar_proc_reconnect(struct ar_proc *p);
void ar_proc_copy_cgroups(struct ar_proc *p, const struct ar_plan_paths *cgroups);

/* ---- follow.c ---- */
void ar_proc_follow(struct ar_proc *p); /* reads in the next turns */
void ar_proc_unfollow(struct ar_proc *p);
void ar_processes_read(uv_idle_t *awake);

/* ---- listener.c ---- */
void ar_proc_open_listener(struct ar_proc *p, int fd); /* -1: there is none */
void ar_proc_drop_listener(struct ar_proc *p);

/* ---- notify.c ---- */
void ar_proc_look(struct ar_proc *p); /* whether a silent terminal waits for input */

/* One record, taken already. The owner may leave in it: look at p->owner afterwards. */
void ar_proc_notify(struct ar_proc *p, const struct ar_record *r);

/* ---- refusals.c ---- */
void ar_proc_watch(struct ar_proc *p); /* its boundary is known */
void ar_proc_unwatch(struct ar_proc *p);
bool ar_proc_is_settled(struct ar_proc *p); /* false: ar_proc_conclude() is called again when it is */

/* ---- ending.c ---- */

/* The journal is read to its end and nobody continues it, or it is sealed. Calls on_end, or waits a moment
 * for the kernel to say more. */
void ar_proc_conclude(struct ar_proc *p);

/* It does not end as it should: kills what there is of it. */
void ar_proc_force(struct ar_proc *p);

/* ---- drive.c ---- */
void ar_proc_answer(struct ar_proc *p, uint64_t number, enum ar_process_write how);
void ar_proc_answer_all(struct ar_proc *p, enum ar_process_write how);
void ar_proc_report_answers(struct ar_proc *p);
void ar_proc_write(struct ar_proc *p, uint64_t number, struct ar_str bytes, bool is_eof);
void ar_proc_end(struct ar_proc *p, struct ar_str by, struct ar_str reason, int64_t grace_ms);

/* ---- children.c ---- */

/* Starts agent-shim with these arguments and descriptors; NULL: it cannot be started, or not be watched. */
struct ar_shim_child *ar_shim_child_start(struct ar_processes *all, char *const *argv, const int *fds,
					  size_t count, struct ar_error *err);
void ar_shim_children_close(struct ar_processes *all);

/* ---- host.c ---- */
void ar_processes_closed(struct ar_processes *all); /* one handle less */

#endif
