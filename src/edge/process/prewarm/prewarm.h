/* Prewarmed sandboxes: boundaries that are made before the command is known, so that a session's next
 * command does not wait for namespaces and mounts. Each is an agent-shim with an agent-init that waits
 * (journal/shim_wire.h), becomes one process or none, and is given away only when what it was made of
 * is still what the command would get. Loop thread only. */
#ifndef AR_PROCESS_PREWARM_H
#define AR_PROCESS_PREWARM_H

#include "boundary.h"
#include "list.h"

#include <uv.h>

struct ar_processes;
struct ar_shim_child;

struct ar_prewarm_pool { /* owner: loop thread */
	char *folder; /* beside that of the processes: nothing in it is one yet */
	struct ar_list all; /* the oldest first */
	size_t count, most;
	ar_usec wait;
	uv_timer_t tick; /* when the oldest has waited long enough */
	int mounts; /* fingerprint.h */
	uint64_t used, unused; /* that were, since the start */
};

struct ar_prewarmed {
	struct ar_list node;
	struct ar_processes *host;
	struct ar_arena arena; /* of all below */
	struct ar_plan *plan; /* as agent-init has it */
	struct ar_str session_id, folder;
	enum ar_sandbox_profile profile;
	struct ar_shim_child *child;
	int dir, control;
	uint64_t fingerprint;
	ar_usec until;
};

/* Removes what an earlier life left of them; `most` 0: makes none. */
void ar_prewarm_open(struct ar_processes *host, size_t most, ar_usec wait);
void ar_prewarm_close(struct ar_processes *host);

/* One for the next command like this, unless there is one. What hinders it is said by that command. */
void ar_prewarm_add(struct ar_processes *host, const struct ar_process_spec *like);

/* The one that was made for a command like this, out of the list, its folder among those of the
 * processes, and with the plan of the command; NULL: none fits. */
struct ar_prewarmed *ar_prewarm_take(struct ar_processes *host, const struct ar_process_spec *spec,
				     struct ar_arena *a, struct ar_launch *ret);

/* The caller that took it sets what it supervises: the files are in its folder. False
 * and errno: it is gone. */
bool ar_prewarmed_launch(struct ar_prewarmed *s, int *fds, size_t count);

/* Gives back what is known of it here; its descriptors and its child are somebody else's by now. */
void ar_prewarmed_free(struct ar_prewarmed *s);

/* Its shim has ended, for any reason. */
void ar_prewarmed_lost(struct ar_prewarmed *s);

#endif
