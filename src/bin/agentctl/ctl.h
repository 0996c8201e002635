/* One invocation: what was asked, where the daemon is, where output goes; and the shape of a command. A
 * command is a row of a table; the table gives parsing, help and dispatch. */
#ifndef AR_CTL_CTL_H
#define AR_CTL_CTL_H

#include "arena.h"
#include "clock.h"
#include "out.h"
#include "status.h"

enum ar_exit {
	AR_EXIT_OK = 0,
	AR_EXIT_FAILED = 1,
	AR_EXIT_USAGE = 2,
	AR_EXIT_UNREACHABLE = 3,
	AR_EXIT_QUESTION = 4, /* the turn waits for a person, and nobody is here */
	AR_EXIT_TIMEOUT = 124, /* as timeout(1) */
	AR_EXIT_INTERRUPTED = 130,
};

struct ar_ctl {
	struct ar_out out, err;
	struct ar_arena arena; /* what lives as long as the invocation */
	const char *data_dir; /* absolute; NULL when the environment names none */
	const char *socket; /* absolute; NULL with a url */
	const char *url; /* of the daemon, without a slash at the end */
	const char *token; /* shown with every request; NULL = none */
	const char *cacert; /* PEM file that https is verified by; NULL = SSL_CERT_FILE or the system's */
	int signal_fd; /* Ctrl-C is to be read here; -1 = it ends the program */
	bool is_json;
	bool is_quiet;
};

#define AR_CTL_OPTIONS 20 /* most options of one command */

struct ar_ctl_option {
	const char *name;
	const char *value; /* what it takes, for the help; NULL = a flag */
	const char *doc;
};

/* What a command got: values[i] belongs to options[i] of its row (a flag has "" when set), then the words. */
struct ar_ctl_args {
	const char *values[AR_CTL_OPTIONS];
	char **words;
	int count;
};

struct ar_ctl_command {
	const char *name;
	const char *synopsis; /* the words after the name */
	const char *summary; /* half a line */
	const char *text; /* the page */
	const char *examples; /* one per line */
	int min, max; /* words; max -1 = any number */
	bool is_offline; /* needs to know no daemon */
	struct ar_ctl_option options[AR_CTL_OPTIONS];
	enum ar_exit (*run)(struct ar_ctl *c, const struct ar_ctl_args *a);
};

/* The rows, one file per family. */
extern const struct ar_ctl_command ar_cmd_run, ar_cmd_chat, ar_cmd_sessions, ar_cmd_show, ar_cmd_tail,
	ar_cmd_submit, ar_cmd_steer, ar_cmd_interrupt, ar_cmd_queue, ar_cmd_resume, ar_cmd_fork,
	ar_cmd_rollback, ar_cmd_inbox, ar_cmd_approve, ar_cmd_deny, ar_cmd_answer, ar_cmd_explain, ar_cmd_ps,
	ar_cmd_logs, ar_cmd_attach, ar_cmd_kill, ar_cmd_sandbox, ar_cmd_call, ar_cmd_verify, ar_cmd_doctor,
	ar_cmd_config, ar_cmd_node, ar_cmd_top, ar_cmd_stop, ar_cmd_version, ar_cmd_undo, ar_cmd_token,
	ar_cmd_audit, ar_cmd_diff, ar_cmd_workspace, ar_cmd_worker, ar_cmd_quota, ar_cmd_schedule,
	ar_cmd_webhook, ar_cmd_setup, ar_cmd_agent, ar_cmd_job, ar_cmd_task, ar_cmd_demo, ar_cmd_pack,
	ar_cmd_verify_pack, ar_cmd_rename, ar_cmd_archive, ar_cmd_export, ar_cmd_review, ar_cmd_transcript,
	ar_cmd_replay, ar_cmd_events, ar_cmd_usage, ar_cmd_cost, ar_cmd_acp, ar_cmd_a2a;

/* Without any word, on a terminal. */
extern const struct ar_ctl_command ar_cmd_here;

/* `agentctl: <message>` and `next: <what to do>` on standard error. next may be absent. Returns `exit`. */
enum ar_exit ar_ctl_complain(struct ar_ctl *c, enum ar_exit exit, struct ar_str next, const char *fmt, ...)
	AR_PRINTF(4, 5);

/* One line of what is going on, on standard error; not with --quiet. */
void ar_ctl_note(struct ar_ctl *c, const char *fmt, ...) AR_PRINTF(2, 3);

/* The text of a turn from the words: joined by spaces, or standard input for a single "-". At most 1 MiB. */
AR_MUST_USE enum ar_exit ar_ctl_read_text(struct ar_ctl *c, char **words, int count, struct ar_buf *ret);

/* The first letter of the next line of standard input; 0: there is none. */
char ar_ctl_read_letter(void);

/* A span of time from its text: 45s, 90m, 12h, 30d. */
bool ar_ctl_parse_span(struct ar_str text, ar_usec *ret);

/* From here on Ctrl-C does not end the program but can be read from c->signal_fd. A second call does
 * nothing. */
void ar_ctl_hold_interrupts(struct ar_ctl *c);

/* NUL-terminated, for as long as the invocation. */
const char *ar_ctl_strdup(struct ar_ctl *c, struct ar_str s);

/* What is allocated for the invocation comes from `other` until the same call gives it back. */
void ar_ctl_swap_arena(struct ar_ctl *c, struct ar_arena *other);

/* What was written into `text`, kept likewise; the buffer is freed. */
struct ar_str ar_ctl_take_buf(struct ar_ctl *c, struct ar_buf *text);

#endif
