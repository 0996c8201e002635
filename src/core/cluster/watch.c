/* See watch.h. */
#include "watch.h"

#include <string.h>

static const struct ar_watched *find_watched(const struct ar_watch *w, const char *id)
{
	for (size_t i = 0; i < w->count; i++) {
		if (strcmp(w->nodes[i].id, id) == 0)
			return &w->nodes[i];
	}
	return NULL;
}

void ar_watch_look(struct ar_watch *w, const struct ar_member_beat *b, ar_usec now, ar_usec step)
{
	ar_usec passed = w->looked_at ? now - w->looked_at : 0;
	struct ar_watch before = *w;

	w->looked_at = now;
	w->count = b->node_count;
	for (size_t i = 0; i < b->node_count; i++) {
		const struct ar_member_node *n = &b->nodes[i];
		const struct ar_watched *old = find_watched(&before, n->id);
		bool has_moved = !old || old->epoch != n->epoch || old->beat != n->beat;
		struct ar_watched *new = &w->nodes[i];

		memcpy(new->id, n->id, sizeof(new->id));
		new->epoch = n->epoch;
		new->beat = n->beat;
		new->silent = has_moved ? 0 : old->silent + (passed < step ? passed : step);
	}
}

size_t ar_watch_lost(const struct ar_watch *w, const struct ar_member_beat *b, ar_usec lease,
		     uint16_t ret[AR_NODES_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < w->count; i++) {
		if (i != b->self && w->nodes[i].silent >= lease)
			ret[n++] = (uint16_t)i;
	}
	return n;
}
