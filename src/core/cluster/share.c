/* See share.h. */
#include "share.h"

void ar_shares_of(const struct ar_member_beat *b, struct ar_shares *ret)
{
	unsigned turn = 0;

	*ret = (struct ar_shares){ 0 };
	for (size_t i = 0; i < b->node_count; i++)
		ret->up += b->nodes[i].state == AR_NODE_UP;
	for (size_t i = 0; i < b->node_count; i++) {
		if (b->nodes[i].state == AR_NODE_UP)
			ret->target[i] = AR_PARTITIONS / ret->up + (turn++ < AR_PARTITIONS % ret->up);
	}
	for (unsigned p = 0; p < AR_PARTITIONS; p++) {
		if (b->owner[p] != AR_NOBODY)
			ret->has[b->owner[p]]++;
	}
}

uint16_t ar_shares_receiver(struct ar_shares *s, const struct ar_member_beat *b)
{
	uint16_t best = AR_NOBODY;
	unsigned lack = 0;

	for (size_t i = 0; i < b->node_count; i++) {
		unsigned its = s->target[i] > s->has[i] ? s->target[i] - s->has[i] : 0;

		if (i == b->self || its <= lack)
			continue;
		lack = its;
		best = (uint16_t)i;
	}
	if (best != AR_NOBODY)
		s->has[best]++;
	return best;
}
