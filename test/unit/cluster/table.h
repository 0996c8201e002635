/* A membership of several nodes in one process: the rows that a database would hold, and a member per node
 * whose beats can be cut off or come late. Virtual time. */
#ifndef TEST_CLUSTER_TABLE_H
#define TEST_CLUSTER_TABLE_H

#include "cluster.h"

#define NODES 4

struct node_row {
	uint64_t epoch, beat;
	enum ar_node_state state; /* 0: never seen */
};

struct table {
	struct node_row nodes[NODES];
	struct {
		int node; /* -1: free */
		uint64_t epoch;
	} owner[AR_PARTITIONS];
};

struct member {
	struct ar_member member;
	struct table *table;
	int number;
	struct ar_member_beat *out, *carried; /* submitted; done in the table, its sender not told yet */
	bool is_cut; /* the database cannot be reached */
};

void table_init(struct table *t);

/* A process comes up as this node: the next epoch. */
void member_open(struct member *m, struct table *t, int number);

/* The beat that is out is carried out; its sender is told. Nothing when there is none. */
void member_carry_out(struct member *m);
void member_tell(struct member *m);

#endif
