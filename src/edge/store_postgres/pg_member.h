/* Inside of the member: its connection, and what a heartbeat works with. pg_member.c opens it,
 * pg_heartbeat.c is the transaction; queue and thread are member_threaded.h's. Everything here is the
 * member thread's once it runs. */
#ifndef AR_EDGE_STORE_PG_MEMBER_H
#define AR_EDGE_STORE_PG_MEMBER_H

#include "member_threaded.h"
#include "pg_link.h"

/* What a heartbeat reads, kept apart until its transaction is durable. */
struct ar_pg_roster {
	struct ar_member_node nodes[AR_NODES_MAX];
	size_t node_count;
	uint16_t self;
	uint16_t owner[AR_PARTITIONS];
};

struct ar_pg_member {
	struct ar_member_threaded base; /* first */
	ar_usec lease;
	struct ar_pg_target target;
	struct ar_pg link;
	struct ar_pg_array columns[3];
	struct ar_pg_roster roster;
};

AR_BEGIN_DECLS

/* Does the heartbeat and fills in what came back. AR_E_FENCED, or AR_E_IO for anything that may be
 * better next time; not much later than a lease in any case. */
void ar_pg_heartbeat(struct ar_pg_member *m, struct ar_member_beat *b);

AR_END_DECLS

#endif
