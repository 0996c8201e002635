/* The heartbeat of a node and what follows from it. See cluster.h for the contract.
 *
 * Sessions belong to partitions, partitions belong to nodes. The table of both is in PostgreSQL. Each node
 * writes a heartbeat several times per lease; the same operation reads the table and carries what the node
 * wants to change: nodes it declares lost, partitions it takes, partitions it hands off.
 *
 * Either a heartbeat is on its way, or the next one is due at a time. When a table arrives, the node works
 * out what it has gained, who has been silent for a whole lease (watch.c), and what its share is (share.c).
 * Changes travel with the next heartbeat, which is sent soon when there are any.
 *
 * Nothing here protects data. Two nodes may both believe that they own a partition; each append checks the
 * epoch of its writer inside the transaction, so only one of them can write. A wrong judgement costs a
 * takeover.
 *
 * How a partition leaves a node is in moves.c: its open work is given some time, then its sessions are
 * released, and when nothing of it is in flight the handoff travels with a heartbeat. Owner: the loop
 * thread. */
#include "cluster_priv.h"
#include "mem.h"

#include <string.h>

#define BEATS_PER_LEASE 5
#define URGENT 10000 /* microseconds to the next heartbeat when it has something to do */
#define FREE_LOOKS 3 /* that a partition may be free before anyone takes it, whatever its share */

static void on_heartbeat(struct ar_member_beat *b);

struct ar_cluster *ar_cluster_new(const struct ar_cluster_options *o)
{
	struct ar_cluster *c = ar_new0(sizeof(*c));

	c->o = *o;
	c->state = AR_NODE_UP;
	c->heartbeat.done = on_heartbeat;
	c->next_at = ar_cluster_now(c);
	return c;
}

void ar_cluster_free(struct ar_cluster *c)
{
	ar_free(c);
}

ar_usec ar_cluster_now(const struct ar_cluster *c)
{
	return c->o.clock->mono(c->o.clock);
}

static ar_usec interval(const struct ar_cluster *c)
{
	return c->o.lease / BEATS_PER_LEASE;
}

/* ---- a table comes in ---- */

/* Partitions change hands only by our handoff or with our epoch, so one that is gone without either is
 * dropped as if it had been given. */
static void drop_partition(struct ar_cluster *c, unsigned partition)
{
	struct ar_local *l = &c->local[partition];

	if (l->state != AR_LOCAL_CLOSED) {
		c->served--;
		c->o.release(c->o.arg, partition);
	}
	c->moving -= l->state != AR_LOCAL_SERVED;
	l->state = AR_LOCAL_AWAY;
}

static void apply_table(struct ar_cluster *c)
{
	const struct ar_member_beat *t = &c->table;
	struct ar_partition_set gained = { 0 };

	for (unsigned p = 0; p < AR_PARTITIONS; p++) {
		struct ar_local *l = &c->local[p];
		bool is_ours = t->owner[p] == t->self;

		if (t->owner[p] != AR_NOBODY)
			l->free_for = 0;
		else if (l->free_for < UINT8_MAX)
			l->free_for++;
		if (is_ours && l->state == AR_LOCAL_AWAY) {
			l->state = AR_LOCAL_SERVED;
			c->served++;
			ar_partition_add(&gained, p);
		} else if (!is_ours && l->state != AR_LOCAL_AWAY) {
			drop_partition(c, p);
		}
	}
	if (ar_partition_any(&gained))
		c->o.gained(c->o.arg, &gained);
}

/* Each node begins at another place, so that two that take at once seldom want the same. */
static void plan_takes(struct ar_cluster *c, const struct ar_shares *s)
{
	struct ar_member_beat *b = &c->heartbeat;
	unsigned want = s->target[b->self] > s->has[b->self] ? s->target[b->self] - s->has[b->self] : 0;

	b->take_count = 0;
	for (unsigned i = 0; c->state == AR_NODE_UP && i < AR_PARTITIONS; i++) {
		unsigned p = (b->self * AR_PARTITIONS / s->up + i) % AR_PARTITIONS;

		if (b->owner[p] != AR_NOBODY || (want == 0 && c->local[p].free_for < FREE_LOOKS))
			continue;
		b->takes[b->take_count++] = (uint16_t)p;
		want -= want > 0;
	}
}

static void plan(struct ar_cluster *c)
{
	struct ar_member_beat *b = &c->heartbeat;
	struct ar_shares shares;

	b->state = c->state;
	b->lost_count = b->handoff_count = b->take_count = 0;
	if (!c->has_table)
		return;
	memcpy(b->nodes, c->table.nodes, sizeof(b->nodes));
	memcpy(b->owner, c->table.owner, sizeof(b->owner));
	b->node_count = c->table.node_count;
	b->self = c->table.self;
	ar_shares_of(b, &shares);
	b->lost_count = ar_watch_lost(&c->watch, b, c->o.lease, b->lost);
	plan_takes(c, &shares);
	ar_moves_handoffs(c, &shares);
}

/* ---- heartbeats ---- */

static void send(struct ar_cluster *c, ar_usec now)
{
	plan(c);
	c->is_out = true;
	c->sent_at = now;
	c->o.member->v->submit(c->o.member, &c->heartbeat);
}

static bool is_in(const struct ar_member_beat *b, const struct ar_member_node *n)
{
	for (size_t i = 0; i < b->node_count; i++) {
		if (b->nodes[i].epoch == n->epoch && strcmp(b->nodes[i].id, n->id) == 0)
			return true;
	}
	return false;
}

/* A node that stands still keeps its connections: only the table tells that nothing
 * comes from it any more. */
static void report_gone(struct ar_cluster *c)
{
	for (size_t i = 0; i < c->table.node_count; i++) {
		if (!is_in(&c->heartbeat, &c->table.nodes[i]))
			c->o.gone(c->o.arg, ar_str_from(c->table.nodes[i].address));
	}
}

static void on_heartbeat_ok(struct ar_cluster *c)
{
	struct ar_shares shares;

	if (c->heartbeat.state == AR_NODE_GONE) {
		c->has_left = c->is_over = true;
		return;
	}
	report_gone(c);
	c->table = c->heartbeat;
	c->has_table = true;
	/* A tenth less than others wait: clocks of two machines do not run alike. */
	c->valid_until = c->sent_at + c->o.lease - c->o.lease / 10;
	ar_watch_look(&c->watch, &c->table, ar_cluster_now(c), 2 * interval(c));
	apply_table(c);
	ar_shares_of(&c->table, &shares);
	ar_moves_begin(c, &shares);
	plan(c);
	if (c->heartbeat.lost_count + c->heartbeat.take_count + c->heartbeat.handoff_count > 0)
		c->next_at = ar_cluster_now(c) + URGENT;
}

static void on_heartbeat(struct ar_member_beat *b)
{
	struct ar_cluster *c = AR_CONTAINER_OF(b, struct ar_cluster, heartbeat);

	c->is_out = false;
	if (c->is_over)
		return;
	c->next_at = c->sent_at + interval(c);
	if (b->status == AR_OK) {
		on_heartbeat_ok(c);
	} else if (b->status == AR_E_FENCED) {
		c->is_over = true;
		c->valid_until = 0;
		c->o.fenced(c->o.arg);
	}
}

ar_usec ar_cluster_deadline(const struct ar_cluster *c)
{
	ar_usec due = c->is_out || c->is_over ? 0 : c->next_at;

	if (c->moving > 0 && !c->is_over && (!due || c->move_at < due))
		due = c->move_at;
	return due;
}

void ar_cluster_tick(struct ar_cluster *c)
{
	ar_usec now = ar_cluster_now(c);

	if (c->is_over)
		return;
	if (c->moving > 0 && now >= c->move_at && ar_moves_step(c, now))
		c->next_at = now;
	if (!c->is_out && now >= c->next_at)
		send(c, now);
}

/* ---- questions ---- */

bool ar_cluster_is_settled(const struct ar_cluster *c)
{
	return c->has_table && !c->is_over && ar_cluster_now(c) < c->valid_until;
}

static enum ar_place peer(const struct ar_cluster *c, uint16_t node, struct ar_str *ret_address)
{
	*ret_address = ar_str_from(c->table.nodes[node].address);
	return ar_str_empty(*ret_address) ? AR_PLACE_UNSETTLED : AR_PLACE_PEER;
}

/* Any peer that has some will make it one of its own. */
static enum ar_place find_new(const struct ar_cluster *c, struct ar_str *ret_address)
{
	if (c->served > 0)
		return AR_PLACE_HERE;
	for (unsigned p = 0; p < AR_PARTITIONS; p++) {
		if (c->table.owner[p] != AR_NOBODY && c->table.owner[p] != c->table.self)
			return peer(c, c->table.owner[p], ret_address);
	}
	return AR_PLACE_UNSETTLED;
}

enum ar_place ar_cluster_find(const struct ar_cluster *c, struct ar_str session_key,
			      struct ar_str *ret_address)
{
	unsigned p;

	if (!ar_cluster_is_settled(c))
		return AR_PLACE_UNSETTLED;
	if (ar_str_absent(session_key))
		return find_new(c, ret_address);
	p = ar_id_partition(session_key);
	if (c->local[p].state == AR_LOCAL_SERVED || c->local[p].state == AR_LOCAL_LEAVING)
		return AR_PLACE_HERE;
	if (c->local[p].state == AR_LOCAL_CLOSED || c->table.owner[p] == AR_NOBODY)
		return AR_PLACE_UNSETTLED;
	return peer(c, c->table.owner[p], ret_address);
}

const struct ar_member_beat *ar_cluster_table(const struct ar_cluster *c)
{
	return c->has_table ? &c->table : NULL;
}

/* ---- the end ---- */

void ar_cluster_drain(struct ar_cluster *c)
{
	if (c->state != AR_NODE_UP)
		return;
	c->state = AR_NODE_DRAINING;
	c->next_at = ar_cluster_now(c);
}

/* The others see that we drain before we expect them to take over. */
bool ar_cluster_is_drained(const struct ar_cluster *c)
{
	struct ar_shares shares;

	if (c->is_over)
		return true;
	if (c->state == AR_NODE_UP || !c->has_table || c->table.state == AR_NODE_UP)
		return false;
	ar_shares_of(&c->table, &shares);
	return shares.up == 0 || (c->served == 0 && c->moving == 0);
}

void ar_cluster_leave(struct ar_cluster *c)
{
	if (c->state == AR_NODE_GONE)
		return;
	c->state = AR_NODE_GONE;
	c->next_at = ar_cluster_now(c);
}

bool ar_cluster_has_left(const struct ar_cluster *c)
{
	return c->has_left || c->is_over;
}
