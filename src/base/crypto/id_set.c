/* See id_set.h. */
#include "crypto/id_set.h"
#include "mem.h"

#include <string.h>

static uint8_t *slot_of(uint8_t (*at)[16], size_t room, const uint8_t *key)
{
	static const uint8_t none[16];
	uint64_t i;

	memcpy(&i, key, sizeof(i));
	while (memcmp(at[i & (room - 1)], key, 16) != 0 && memcmp(at[i & (room - 1)], none, 16) != 0)
		i++;
	return at[i & (room - 1)];
}

static void make_room(struct ar_id_set *s)
{
	size_t room = s->room ? s->room * 2 : 1024;
	uint8_t(*bigger)[16];

	if (s->room && s->count * 4 < s->room * 3)
		return;
	bigger = ar_new0(room * sizeof(*bigger));
	for (size_t i = 0; i < s->room; i++)
		memcpy(slot_of(bigger, room, s->at[i]), s->at[i], 16);
	ar_free(s->at);
	s->at = bigger;
	s->room = room;
}

bool ar_id_set_has(const struct ar_id_set *s, const struct ar_hash *h)
{
	return s->room && memcmp(slot_of(s->at, s->room, h->b), h->b, 16) == 0;
}

enum ar_id_added ar_id_set_add(struct ar_id_set *s, const struct ar_hash *h, size_t max)
{
	if (ar_id_set_has(s, h))
		return AR_ID_KNOWN;
	if (s->count >= max)
		return AR_ID_FULL;
	make_room(s);
	memcpy(slot_of(s->at, s->room, h->b), h->b, 16);
	s->count++;
	return AR_ID_NEW;
}

void ar_id_set_fini(struct ar_id_set *s)
{
	ar_free(s->at);
}
