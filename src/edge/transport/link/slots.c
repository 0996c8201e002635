/* See slots.h. */
#include "link/slots.h"
#include "mem.h"

#include <string.h>

#define KEPT_SHARE 8 /* of all slots, */
#define KEPT_MAX 64 /* but not more; for each kind that has some */

struct ar_address_slots {
	uint32_t count;
	size_t len;
	unsigned char address[8];
};

void ar_slots_fini(struct ar_slots *p)
{
	ar_map_fini(&p->addresses);
}

/* Slots that are reserved for this kind and not in use. */
static uint32_t free_share(const struct ar_slots *p, enum ar_slots_kind kind)
{
	uint32_t share = p->max / KEPT_SHARE < KEPT_MAX ? p->max / KEPT_SHARE : KEPT_MAX;

	if (kind == AR_SLOTS_TCP || !p->is_served[kind] || p->count[kind] >= share)
		return 0;
	return share - p->count[kind];
}

bool ar_slots_take(struct ar_slots *p, enum ar_slots_kind kind)
{
	uint32_t used = 0;

	for (int i = 0; i < AR_SLOTS_KINDS; i++)
		used += p->count[i] + (i == (int)kind ? 0 : free_share(p, (enum ar_slots_kind)i));
	if (used >= p->max)
		return false;
	p->count[kind]++;
	return true;
}

void ar_slots_leave(struct ar_slots *p, enum ar_slots_kind kind)
{
	p->count[kind]--;
}

static struct ar_str key_of(const struct ar_address_slots *slots)
{
	return (struct ar_str){ (const char *)slots->address, slots->len };
}

static void read_address(const union ar_sockaddr *from, struct ar_address_slots *ret)
{
	if (from->any.sa_family == AF_INET6) {
		ret->len = sizeof ret->address;
		memcpy(ret->address, &from->v6.sin6_addr, ret->len);
	} else {
		ret->len = sizeof from->v4.sin_addr;
		memcpy(ret->address, &from->v4.sin_addr, ret->len);
	}
}

struct ar_address_slots *ar_slots_enter(struct ar_slots *p, const union ar_sockaddr *from)
{
	struct ar_address_slots wanted = { 0 }, *slots;

	read_address(from, &wanted);
	slots = ar_map_get(&p->addresses, key_of(&wanted));
	if (!slots) {
		slots = ar_new0(sizeof *slots);
		*slots = wanted;
		ar_map_put(&p->addresses, key_of(slots), slots);
	}
	if (p->max_each && slots->count >= p->max_each)
		return NULL;
	slots->count++;
	return slots;
}

void ar_slots_exit(struct ar_slots *p, struct ar_address_slots *slots)
{
	if (!slots || --slots->count)
		return;
	ar_map_del(&p->addresses, key_of(slots));
	ar_free(slots);
}
