/* agent-init --probe: what of a boundary works on this host, found out by doing it and attacking it. Each
 * question runs in a process of its own; what it writes into struct ar_probe comes back through shared
 * memory. */
#ifndef AR_INIT_PROBE_H
#define AR_INIT_PROBE_H

#include "init.h"

#include <linux/limits.h>

#define AR_PROBE_UID 65533 /* whom the attacks run as when root asks */
#define AR_PROBE_OWNER 65532 /* who owns the workspace in the question about id maps */

struct ar_probe {
	/* Folder of our own where files can be made: `secret`, and `ws` with a/b/guarded; "": there is
	 * none */
	char scratch[PATH_MAX];
	bool is_working;
	int number; /* errno; 0: not that kind of failure */
	char detail[256];
};

/* agent-init's main when its first argument is --probe; prints one JSON array. */
int ar_probe_main(int argc, char **argv);

/* Not working, because of `why` and errno; returns false. */
bool ar_probe_fails(struct ar_probe *p, const char *why);

/* Whether an attack was refused with this errno; otherwise says so. */
bool ar_probe_refused(struct ar_probe *p, long result, int wanted, const char *attack);

/* An agent-init of the backend that we are, with the least of a plan; its workspace is for the question to
 * say. */
void ar_probe_prepare(struct ar_init *ret);

/* Runs `attack` as the first process of these namespaces (those of a user are added where they are needed).
 * Whether it said true. */
bool ar_probe_inside(struct ar_probe *p, struct ar_init *in, uint64_t namespaces,
		     bool (*attack)(struct ar_probe *p, struct ar_init *in));

/* The questions. True: it works. */
bool ar_probe_landlock(struct ar_probe *p);
bool ar_probe_mount_view(struct ar_probe *p);
bool ar_probe_pins(struct ar_probe *p);
bool ar_probe_idmap(struct ar_probe *p);
bool ar_probe_pty(struct ar_probe *p);
bool ar_probe_pid_namespace(struct ar_probe *p);
bool ar_probe_network_namespace(struct ar_probe *p);
bool ar_probe_ipc_namespace(struct ar_probe *p);
bool ar_probe_user_namespace(struct ar_probe *p);
bool ar_probe_seccomp(struct ar_probe *p);
bool ar_probe_seccomp_notify(struct ar_probe *p);
bool ar_probe_capabilities(struct ar_probe *p);
bool ar_probe_fd_hygiene(struct ar_probe *p);
bool ar_probe_cgroup_kill(struct ar_probe *p);
bool ar_probe_cgroup_pids(struct ar_probe *p);
bool ar_probe_cgroup_memory(struct ar_probe *p);

#endif
