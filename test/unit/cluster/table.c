/* See table.h. */
#include "table.h"

#include <stdio.h>

void table_init(struct table *t)
{
	*t = (struct table){ 0 };
	for (unsigned p = 0; p < AR_PARTITIONS; p++)
		t->owner[p].node = -1;
}

static void submit(struct ar_member *m, struct ar_member_beat *b)
{
	AR_CONTAINER_OF(m, struct member, member)->out = b;
}

static void poll_nothing(struct ar_member *m)
{
	(void)m;
}

static const struct ar_member_vtable vtable = { submit, poll_nothing, poll_nothing };

void member_open(struct member *m, struct table *t, int number)
{
	*m = (struct member){ .table = t, .number = number };
	m->member.v = &vtable;
	m->member.epoch = ++t->nodes[number].epoch;
	snprintf(m->member.id, sizeof(m->member.id), "n%d", number);
}

static bool is_owned(const struct table *t, unsigned p)
{
	return t->owner[p].node >= 0 && t->nodes[t->owner[p].node].epoch == t->owner[p].epoch;
}

static int number_at(const struct ar_member_beat *b, uint16_t place)
{
	return b->nodes[place].id[1] - '0';
}

static void end_lost(struct table *t, const struct ar_member_beat *b)
{
	for (size_t i = 0; i < b->lost_count; i++) {
		const struct ar_member_node *seen = &b->nodes[b->lost[i]];
		struct node_row *n = &t->nodes[number_at(b, b->lost[i])];

		if (n->epoch != seen->epoch || n->beat != seen->beat)
			continue;
		n->epoch++;
		n->state = AR_NODE_GONE;
	}
}

static void give(struct member *m, const struct ar_member_beat *b)
{
	struct table *t = m->table;

	for (size_t i = 0; i < b->handoff_count; i++) {
		const struct ar_member_handoff *g = &b->handoffs[i];

		if (t->owner[g->partition].node != m->number || !is_owned(t, g->partition))
			continue;
		t->owner[g->partition].node = g->to == AR_NOBODY ? -1 : number_at(b, g->to);
		t->owner[g->partition].epoch = g->to == AR_NOBODY ? 0 : b->nodes[g->to].epoch;
	}
}

static void take(struct member *m, const struct ar_member_beat *b)
{
	struct table *t = m->table;

	for (size_t i = 0; i < b->take_count; i++) {
		if (is_owned(t, b->takes[i]))
			continue;
		t->owner[b->takes[i]].node = m->number;
		t->owner[b->takes[i]].epoch = m->member.epoch;
	}
}

static void show(struct member *m, struct ar_member_beat *b)
{
	const struct table *t = m->table;
	uint16_t place[NODES];

	b->node_count = 0;
	for (int i = 0; i < NODES; i++) {
		struct ar_member_node *n = &b->nodes[b->node_count];

		place[i] = AR_NOBODY;
		if (t->nodes[i].state != AR_NODE_UP && t->nodes[i].state != AR_NODE_DRAINING)
			continue;
		snprintf(n->id, sizeof(n->id), "n%d", i);
		snprintf(n->address, sizeof(n->address), "10.0.0.%d:1", i);
		n->epoch = t->nodes[i].epoch;
		n->beat = t->nodes[i].beat;
		n->state = t->nodes[i].state;
		if (i == m->number)
			b->self = (uint16_t)b->node_count;
		place[i] = (uint16_t)b->node_count++;
	}
	for (unsigned p = 0; p < AR_PARTITIONS; p++)
		b->owner[p] = is_owned(t, p) ? place[t->owner[p].node] : AR_NOBODY;
}

static enum ar_status carry_out(struct member *m, struct ar_member_beat *b)
{
	struct node_row *own = &m->table->nodes[m->number];

	if (m->is_cut)
		return AR_E_IO;
	if (own->epoch != m->member.epoch)
		return AR_E_FENCED;
	own->beat++;
	own->state = b->state;
	end_lost(m->table, b);
	give(m, b);
	take(m, b);
	for (unsigned p = 0; b->state == AR_NODE_GONE && p < AR_PARTITIONS; p++) {
		if (m->table->owner[p].node == m->number)
			m->table->owner[p].node = -1;
	}
	show(m, b);
	return AR_OK;
}

void member_carry_out(struct member *m)
{
	if (!m->out)
		return;
	m->carried = m->out;
	m->out = NULL;
	m->carried->status = carry_out(m, m->carried);
}

void member_tell(struct member *m)
{
	struct ar_member_beat *b = m->carried;

	m->carried = NULL;
	if (b)
		b->done(b);
}
