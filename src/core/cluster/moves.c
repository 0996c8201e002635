/* Partitions on their way out. Nothing is taken from a living node: it lets go by itself, first of what
 * is idle, of a few at a time, and gives a partition only when nothing of it is in flight here, so that
 * the next owner reads a log that is complete. */
#include "cluster_priv.h"

#define MOVES_MAX 64 /* on their way out at once; a drain has no such limit */
#define POLL 20000 /* microseconds between two looks */

/* Up to `surplus` of the busy ones, or of the others; returns how many are still to go. */
static unsigned leave_some(struct ar_cluster *c, unsigned surplus, bool is_busy)
{
	unsigned room = c->state == AR_NODE_UP ? MOVES_MAX : AR_PARTITIONS;

	for (unsigned p = 0; p < AR_PARTITIONS && surplus > 0 && c->moving < room; p++) {
		struct ar_local *l = &c->local[p];

		if (l->state != AR_LOCAL_SERVED || c->o.is_busy(c->o.arg, p) != is_busy)
			continue;
		l->state = AR_LOCAL_LEAVING;
		l->until = ar_cluster_now(c) + c->o.handover;
		c->moving++;
		surplus--;
	}
	return surplus;
}

void ar_moves_begin(struct ar_cluster *c, const struct ar_shares *s)
{
	unsigned staying = 0, target = s->target[c->table.self];

	for (unsigned p = 0; p < AR_PARTITIONS; p++)
		staying += c->local[p].state == AR_LOCAL_SERVED;
	if (s->up == 0 || staying <= target)
		return;
	leave_some(c, leave_some(c, staying - target, false), true);
	c->move_at = ar_cluster_now(c);
}

static bool step_one(struct ar_cluster *c, unsigned p, ar_usec now)
{
	struct ar_local *l = &c->local[p];

	if (l->state == AR_LOCAL_LEAVING && (now >= l->until || !c->o.is_busy(c->o.arg, p))) {
		l->state = AR_LOCAL_CLOSED;
		c->served--;
		c->o.release(c->o.arg, p);
	}
	return l->state == AR_LOCAL_CLOSED && c->o.is_quiet(c->o.arg, p);
}

bool ar_moves_step(struct ar_cluster *c, ar_usec now)
{
	bool can_give = false;

	c->move_at = now + POLL;
	for (unsigned p = 0; p < AR_PARTITIONS; p++)
		can_give |= step_one(c, p, now);
	return can_give;
}

void ar_moves_handoffs(struct ar_cluster *c, struct ar_shares *s)
{
	struct ar_member_beat *b = &c->heartbeat;

	for (unsigned p = 0; p < AR_PARTITIONS; p++) {
		if (c->local[p].state != AR_LOCAL_CLOSED || b->owner[p] != b->self ||
		    !c->o.is_quiet(c->o.arg, p))
			continue;
		/* With nobody to have it, it is left free: the next node takes it, perhaps this one. */
		b->handoffs[b->handoff_count++] =
			(struct ar_member_handoff){ .partition = (uint16_t)p,
						    .to = ar_shares_receiver(s, b) };
	}
}
