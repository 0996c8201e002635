/* What the daemon and agent-shim say to each other: SOCK_SEQPACKET, one message per packet, the first byte
 * its kind. The first connection is the pair whose end is fd 3 of agent-shim; later ones come to the socket
 * `sock` in the folder of the process (same uid by SO_PEERCRED, or they are dropped). The newest connection
 * drives; an older one is closed. The shim never waits for a reader: what happened is in the journal, a
 * packet only says "look".
 *
 * Folder of one process, mode 0700: plan (launch/plan.h, removed once agent-init has it), journal, lock
 * (flock held for as long as the shim lives), sock.
 *
 * Called `agent-shim FOLDER [N]`, without environment; fd 0 goes on to agent-init (plan: stdin_is_given), and
 * so do N descriptors behind fd 3 (plan: given). Its options are the text file `shim` in the folder, lines
 * `word value`, an unknown word is refused:
 *   init PATH          agent-init
 *   timeout_ms N       0: none; counted from GO, also while nobody is connected
 *   output_bytes N     kept from the start of all streams together; after that only counted, but for the
 *                      newest 256 KiB, which are kept at the end
 *   leftovers kill|keep
 *   barrier_ms N       without GO until then it ends as spawn_failed, step barrier; so it does when the
 *                      connection that is to say GO closes and none comes back in that time
 *   cgroup PATH        repeated: the folders of the process; their cgroup.kill, or (none) the death of the
 *                      namespace's first process, ends everything */
/* Called `agent-shim FOLDER prewarmed` it supervises nothing yet: the folder has its options so far as
 * `prewarmed` (the same lines) and the plan of a prewarmed sandbox as `base` (launch/plan.h), agent-init
 * makes what does not depend on a command, and LAUNCH makes of it what FOLDER [N] is. `shim` and `plan` stand
 * in the folder by then. No connection, or a word of agent-init before that: everything of it goes, the
 * folder with it. */
#ifndef AR_JOURNAL_SHIM_WIRE_H
#define AR_JOURNAL_SHIM_WIRE_H

#include <stdint.h>

#define AR_SHIM_FD 3 /* of agent-shim */
#define AR_SHIM_PROTOCOL 1
#define AR_SHIM_INPUT_MAX 61440 /* bytes of one INPUT */
#define AR_SHIM_QUEUE_MAX 65536 /* bytes of input that wait for the process; beyond: BUSY */

enum ar_shim_message {
	/* Daemon, to a prewarmed sandbox alone, once: with what is fd 0 (plan: stdin_is_given) and what is
	 * given to the command as SCM_RIGHTS */
	AR_SHIM_LAUNCH = 'B',
	/* Shim, first on every connection, once agent-init is ready or has failed: struct ar_shim_hello; with
	 * AR_INIT_FD_PROXY as SCM_RIGHTS when there is one */
	AR_SHIM_HELLO = 'H',
	AR_SHIM_POKE = 'P', /* shim: the journal has grown; sent again only after LOOKED */
	AR_SHIM_LOOKED = 'L', /* daemon: about to read; the next growth is worth a poke */
	AR_SHIM_GO = 'G', /* daemon: run it. A second one changes nothing */
	AR_SHIM_INPUT = 'I', /* daemon: struct ar_shim_input, then the bytes */
	AR_SHIM_INPUT_RESULT = 'T', /* shim: the result of an INPUT, struct ar_shim_input_result */
	AR_SHIM_RESIZE = 'W', /* daemon: uint16_t rows, columns */
	AR_SHIM_SIGNAL = 'S', /* daemon: JSON {"signal","by","reason"} to the foreground group, once */
	/* Daemon: JSON {"by","reason","graceMs"}: SIGINT, grace, SIGTERM, grace, all killed. Repeated: the
	 * first counts, a shorter grace shortens */
	AR_SHIM_END = 'E',
};

struct ar_shim_hello {
	uint32_t protocol;
	uint32_t is_released; /* GO was taken */
	uint64_t inputs; /* number of the newest input that was taken */
};

struct ar_shim_input {
	/* One more than the newest; an older one is answered INPUT_RESULT and not written again */
	uint64_t number;
	uint32_t is_eof; /* the input is closed after these bytes */
};

enum ar_shim_input_status {
	AR_SHIM_INPUT_OK = 1,
	AR_SHIM_INPUT_REPEATED, /* this number was taken already */
	AR_SHIM_INPUT_BUSY, /* the queue is full: not taken, try again */
	AR_SHIM_INPUT_CLOSED, /* the input is closed, or the process has ended */
};

struct ar_shim_input_result {
	uint64_t number;
	uint32_t status; /* enum ar_shim_input_status */
};

#endif
