/* The membership port: which nodes there are, and which of them owns which sessions. A session belongs to a
 * partition (ar_id_partition), a partition to one node in one epoch of it. Whatever keeps these rows also
 * keeps the log, and every append checks the writer's epoch in its own transaction: membership decides who
 * *should* write, the fence decides who *can*.
 *
 * One operation, repeated: a heartbeat says that we are alive, does what we decided after the last one,
 * and brings the whole table back. No wall clock takes part: a node is alive while its `beat` number
 * moves, by the watching node's own monotonic clock.
 *
 * submit() never blocks and never calls back before it returns; done() comes exactly once, from poll(),
 * on the thread that calls poll(). One heartbeat at a time. wake() (given at open) is called from any
 * thread when poll() has something to do. */
#ifndef AR_PORT_MEMBER_H
#define AR_PORT_MEMBER_H

#include "id.h"
#include "status.h"

#define AR_NODES_MAX 64
#define AR_NOBODY UINT16_MAX
#define AR_MEMBER_KEY 64 /* hexadecimal characters */
#define AR_ADDRESS_MAX 127

struct ar_member;
struct ar_member_beat;

enum ar_node_state {
	AR_NODE_UP = 1,
	AR_NODE_DRAINING, /* gives its partitions away and takes none */
	AR_NODE_GONE, /* left, or was declared lost; not in the table that a heartbeat brings */
};

struct ar_member_node {
	char id[AR_ID_MAX + 1];
	char address[AR_ADDRESS_MAX +
		     1]; /* where its peers reach it: "10.0.0.1:7718"; empty when it serves none */
	uint64_t epoch;
	uint64_t beat;
	enum ar_node_state state;
};

/* A partition of ours that another node is to have: `to` is its place in the table of the last heartbeat, or
 * AR_NOBODY to leave it free. Given only when nothing of it is in flight here. */
struct ar_member_handoff {
	uint16_t partition;
	uint16_t to;
};

/* Caller-owned, zeroed before the first use and reused: the table of the last heartbeat is what the
 * indexes of the next one mean. */
struct ar_member_beat {
	void (*done)(struct ar_member_beat *b);

	/* what we say and do; all of it in one transaction, or none */
	enum ar_node_state state;
	/* Places of nodes whose heartbeat has not moved for a lease: their epoch is ended, unless
	 * they have sent one since */
	uint16_t lost[AR_NODES_MAX];
	size_t lost_count;
	struct ar_member_handoff handoffs[AR_PARTITIONS];
	size_t handoff_count;
	uint16_t takes[AR_PARTITIONS]; /* partitions to have, if no living epoch owns them at that moment */
	size_t take_count;

	/* what came back; valid when status is AR_OK. AR_E_FENCED: our epoch was ended by another node, or
	 * our id was taken by another process. AR_E_IO: an outage; the table is the old one. */
	enum ar_status status;
	struct ar_error err;
	/* those that are up or draining, in order of id; we are among them */
	struct ar_member_node nodes[AR_NODES_MAX];
	size_t node_count;
	uint16_t self;
	uint16_t owner[AR_PARTITIONS]; /* place of the owner of each partition; AR_NOBODY = free for anyone */
};

struct ar_member_vtable {
	void (*submit)(struct ar_member *m, struct ar_member_beat *b);
	void (*poll)(struct ar_member *m);
	/* waits for a heartbeat under way (its done() is called), then frees it */
	void (*close)(struct ar_member *m);
};

struct ar_member {
	const struct ar_member_vtable *v;
	char id[AR_ID_MAX + 1];
	char address[AR_ADDRESS_MAX +
		     1]; /* the owner's to set: what the others see from the next heartbeat on */
	uint64_t epoch; /* the same that the store's appends check */
	char key[AR_MEMBER_KEY + 1]; /* shared by all nodes of this store: how they know each other */
};

#endif
