/* The plan for agent-init: one process and its sandbox, settled in every detail before anything
 * runs. The daemon writes it, agent-init reads it; neither guesses. No memory of its own: a plan that was
 * read points into the text it was read from.
 *
 * The text is lines `word value`, bytes outside 0x21 to 0x7e and the backslash written as \xHH, the last line
 * `end`. Unknown words, a word twice that may stand once, a missing end: refused. Depends on libc alone, so
 * that a static helper can carry it. */
#ifndef AR_LAUNCH_PLAN_H
#define AR_LAUNCH_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AR_PLAN_TEXT_MAX ((size_t)1 << 20)
#define AR_PLAN_ARGS_MAX 4096
#define AR_PLAN_ENV_MAX 1024
#define AR_PLAN_PATHS_MAX 512
#define AR_PLAN_GIVEN_MAX 16

enum ar_plan_mode {
	AR_PLAN_READ_ONLY = 1,
	AR_PLAN_WORKSPACE_WRITE,
	AR_PLAN_DANGER, /* the host's own view; only tracking, limits and a fresh environment */
};

enum ar_plan_network {
	AR_PLAN_NET_NONE = 1, /* a namespace of its own with nothing but loopback */
	/* The same, and a listening socket on 127.0.0.1:3128 that is handed out before the barrier */
	AR_PLAN_NET_PROXY,
	AR_PLAN_NET_HOST,
};

/* How privilege is given up. */
enum ar_plan_backend {
	AR_PLAN_ROOT = 1, /* started by root: a real uid of its own, no user namespace */
	AR_PLAN_USERNS, /* started by anybody: a user namespace with one id */
};

struct ar_plan_paths {
	const char *at[AR_PLAN_PATHS_MAX];
	size_t count;
};

struct ar_plan_limits {
	uint64_t processes; /* 0: none, here and below */
	uint64_t memory_bytes;
	uint64_t file_bytes; /* RLIMIT_FSIZE */
	uint64_t open_files;
	uint64_t tmp_bytes; /* of /tmp and of the home */
	uint64_t cpu_percent; /* of one CPU; a control group has it, the text of a plan does not */
};

struct ar_plan {
	/* Made before its command is known: nothing of a command is in it, and a second plan brings that */
	bool is_prewarmed;
	enum ar_plan_mode mode;
	enum ar_plan_network network;
	enum ar_plan_backend backend;
	uint32_t uid, gid; /* ROOT: what it becomes, never 0; USERNS: what it calls itself inside */
	/* Absolute, without a link in it, as write roots; NULL: none. Seen inside under the same name */
	const char *workspace;
	bool reads_workspace; /* it is read-only, also where write roots are written */
	/* its owner: the mount maps it to uid and gid when they differ */
	uint32_t workspace_uid, workspace_gid;
	const char *cwd; /* as seen inside */
	/* Seen inside under their own names, read-only; a link is repeated, what does not exist is left
	 * out */
	struct ar_plan_paths read_roots;
	struct ar_plan_paths write_roots; /* beside the workspace */
	/* Inside the workspace, relative to it: read-only, their parents pinned; those that do not exist are
	 * skipped */
	struct ar_plan_paths protected_paths;
	/* Absolute, outside of all roots; empty files that nobody may read: touching one is a violation,
	 * which Landlock proves outside of /tmp and the home */
	struct ar_plan_paths decoys;
	struct ar_plan_paths cgroups; /* folders to join, one per hierarchy; empty: none */
	const char *filter; /* seccomp program in hex, struct sock_filter by struct sock_filter; NULL: none */
	bool notifies; /* the filter has USER_NOTIF: its listener is handed out before the barrier */
	bool uses_landlock;
	bool tty;
	uint16_t rows, columns;
	/* Of a pipe: open for input; otherwise /dev/null, or what fd 0 is when stdin_is_given */
	bool keeps_stdin;
	bool stdin_is_given;
	/* Descriptors that the command finds at AR_INIT_GIVEN_FD and after: they came behind the plan's
	 * own */
	uint32_t given;
	struct ar_plan_limits limits;
	const char *argv[AR_PLAN_ARGS_MAX +
			 1]; /* NULL at the end; [0] is looked up in the PATH of env when it has no slash */
	size_t argc;
	const char *env[AR_PLAN_ENV_MAX + 1];
	size_t env_count;
};

/* The text of a plan, with its end; the size it needs when `room` is too small (nothing is written then), 0
 * when it cannot be said at all. */
size_t ar_plan_write(const struct ar_plan *p, char *out, size_t room);

/* Changes `text` in place and points into it. False: *ret_wrong says what is wrong, for people. */
bool ar_plan_read(char *text, size_t len, struct ar_plan *ret, const char **ret_wrong);

/* What of a plan does not depend on its command, as the plan of a prewarmed sandbox. Points to where `p`
 * does. */
void ar_plan_strip(const struct ar_plan *p, struct ar_plan *ret);

/* NULL: what was made for the prewarmed sandbox is what this plan asks for; otherwise the first word that is
 * not the same. */
const char *ar_plan_differs(const struct ar_plan *prewarmed, const struct ar_plan *p);

#endif
