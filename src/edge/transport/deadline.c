/* The deadline lists. Setting, clearing and finding the next one cost the same for one connection as for ten
 * thousand. Owner: the loop thread. */
#include "deadline.h"

void ar_deadlines_init(struct ar_deadlines *all)
{
	for (int kind = 0; kind < AR_DEADLINE_COUNT; kind++)
		ar_list_init(&all->lists[kind]);
}

void ar_deadline_init(struct ar_deadline *d, ar_expired_fn *expired)
{
	ar_list_init(&d->node);
	d->expired = expired;
}

void ar_deadline_set(struct ar_deadlines *all, struct ar_deadline *d, enum ar_deadline_kind kind,
		     uint64_t now)
{
	ar_list_del(&d->node);
	d->kind = kind;
	d->at = now + all->length[kind];
	ar_list_push(&all->lists[kind], &d->node);
}

void ar_deadline_clear(struct ar_deadline *d)
{
	ar_list_del(&d->node);
}

struct ar_deadline *ar_deadline_pop(struct ar_deadlines *all, uint64_t now)
{
	for (int kind = 0; kind < AR_DEADLINE_COUNT; kind++) {
		struct ar_list *first = all->lists[kind].next;
		struct ar_deadline *d = AR_CONTAINER_OF(first, struct ar_deadline, node);

		if (first == &all->lists[kind] || d->at > now)
			continue;
		ar_list_del(first);
		return d;
	}
	return NULL;
}
