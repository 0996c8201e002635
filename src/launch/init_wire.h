/* The messages between agent-init and its parent (agent-shim, or the daemon for a short helper), over a
 * SOCK_SEQPACKET pair whose end is fd 3 of agent-init: one message per packet, the first byte its kind,
 * then JSON text or nothing.
 *
 *   us    PLAN                to a prewarmed sandbox alone (plan.h), which has made what does not depend on
 *                             the command and waits: the whole plan, as SCM_RIGHTS: its file, what is fd 0
 *                             when stdin_is_given, those that are given. It must agree with the first;
 *                             nothing but closing was said before
 *   init  READY  {"..."}      everything is in force, nothing of the command has run. JSON: what the kernel
 *                             says of it, see below. Descriptors as SCM_RIGHTS, in the order of enum
 *                             ar_init_fd, those that the plan asked for.
 *   init  FAILED {"step","errno","message"}   could not; agent-init exits. Nothing of the command ran.
 *   us    GO                  run it
 *   init  RUNS   {"pid"}      execve succeeded (pid inside the namespace)
 *   init  FAILED {"step":"exec",...}
 *   init  EXIT   {"code": 0... | "signal": "SIGKILL"..., "userMs","systemMs","maxRssKb"} the command itself
 *                             ended; agent-init stays as reaper until it is killed or the last descendant is
 *                             gone, then exits 0
 *   init  EMPTY               no descendant is left
 *   us    SIGNAL {"signal": "SIGTERM"... or a number} to the command's process group; the other end closed =
 *         kill everything
 *
 * When the barrier is passed agent-init holds no descriptor but this one.
 * PR_SET_PDEATHSIG ties it to its parent. */
#ifndef AR_LAUNCH_INIT_WIRE_H
#define AR_LAUNCH_INIT_WIRE_H

#define AR_INIT_FD 3 /* of agent-init: this socket */
#define AR_INIT_PLAN_FD 4 /* of agent-init: the plan, a file */
#define AR_INIT_GIVEN_FD \
	40 /* of the command: the first of plan.given; agent-init gets them behind AR_INIT_PLAN_FD */
#define AR_INIT_MESSAGE_MAX 65536
#define AR_INIT_PLAN_FDS_MAX 18 /* with PLAN: the file, fd 0, AR_PLAN_GIVEN_MAX */

enum ar_init_message {
	AR_INIT_PLAN = 'P',
	AR_INIT_READY = 'R',
	AR_INIT_FAILED = 'F',
	AR_INIT_GO = 'G',
	AR_INIT_RUNS = 'X',
	AR_INIT_EXIT = 'E',
	AR_INIT_EMPTY = 'Z',
	AR_INIT_SIGNAL = 'S',
};

enum ar_init_fd {
	AR_INIT_FD_STDIN, /* writing end, with keeps_stdin */
	AR_INIT_FD_STDOUT, /* reading ends; of a terminal only TTY is there */
	AR_INIT_FD_STDERR,
	AR_INIT_FD_TTY, /* master */
	AR_INIT_FD_NOTIFY, /* seccomp listener */
	AR_INIT_FD_PROXY, /* listening socket inside the network namespace */
	AR_INIT_FD_PID, /* pidfd of the namespace's first process, seen from outside */
	AR_INIT_FD_COUNT,
};

/* Members of READY's JSON (the fact sandbox.applied is made of them): pid (of the namespace's first process,
 * seen from outside), mode, network, backend, uid, noNewPrivs, seccomp (filters in force), capabilities
 * (effective, hex), landlock {abi, isEnforced, domain}, namespaces {pid, net, mnt, ipc, uts, user: inode or
 * null}, readRoots, writeRoots, protected, protectedTargets (protected paths that are links: what they lead
 * to is read-only, the link itself could be replaced), skipped (protected paths that do not exist), session
 * (audit session id or null), fds (names of what is handed out, in order: stdin stdout stderr tty notify
 * proxy pid). */

#endif
