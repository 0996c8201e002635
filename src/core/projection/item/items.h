/* Items: everything that happens in a turn, as one ordered list. They follow from facts, change nothing. */
#ifndef AR_PROJECTION_ITEMS_H
#define AR_PROJECTION_ITEMS_H

#include "codec.h"
#include "json.h"

#define AR_ITEM_EVENTS_MAX 3 /* that follow from one fact */

/* What a call of this tool is to readers. */
enum ar_item_kind ar_item_kind_of(struct ar_str tool);

/* The item events that follow from a fact, which is given as it is stored; how many there are. A function
 * of the fact alone, so a reader may begin anywhere. Type, scope and payload are set. */
size_t ar_item_events(enum ar_event_type type, struct ar_json fact, struct ar_arena *a,
		      struct ar_event ret[AR_ITEM_EVENTS_MAX]);

#endif
