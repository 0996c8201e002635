/* See places.h. Reads bytes that clients choose: fuzzed by fuzz/fuzz_cursor.c. */
#include "places.h"
#include "catalog.h"
#include "mem.h"

#include <string.h>

void ar_places_fini(struct ar_places *p)
{
	ar_free(p->lanes);
	*p = (struct ar_places){ 0 };
}

static struct ar_store_place *find_lane(const struct ar_places *p, uint64_t lane)
{
	for (size_t i = 0; i < p->count; i++) {
		if (p->lanes[i].lane == lane)
			return &p->lanes[i];
	}
	return NULL;
}

bool ar_places_move(struct ar_places *p, struct ar_store_place to, uint64_t sequence)
{
	struct ar_store_place *known = find_lane(p, to.lane);

	if (!known && p->count == AR_FEED_LANES)
		return false;
	if (!p->lanes)
		p->lanes = ar_grow(NULL, AR_FEED_LANES, sizeof *p->lanes);
	if (!known)
		known = &p->lanes[p->count++];
	*known = to;
	if (sequence || p->part_lane == to.lane) {
		p->part_lane = sequence ? to.lane : 0;
		p->part_sequence = sequence;
	}
	return true;
}

bool ar_places_raise(struct ar_places *p, const struct ar_store_place *to, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (to[i].position > ar_store_place_of(p->lanes, p->count, to[i].lane) &&
		    !ar_places_move(p, to[i], 0))
			return false;
	}
	return true;
}

static bool parse_number(struct ar_str text, uint64_t *ret)
{
	return ar_str_to_u64(text, ret) && *ret > 0 && *ret <= INT64_MAX;
}

/* One lane; at most one of all has a sequence. */
static bool parse_place(struct ar_str text, struct ar_places *p)
{
	struct ar_str lane, position, rest = ar_str_split(text, ':', &lane);
	struct ar_store_place at;
	uint64_t sequence = 0;

	if (ar_str_absent(rest))
		return false;
	rest = ar_str_split(rest, '.', &position);
	if (!parse_number(lane, &at.lane) || !parse_number(position, &at.position) || find_lane(p, at.lane))
		return false;
	if (!ar_str_absent(rest) && (p->part_lane || !parse_number(rest, &sequence)))
		return false;
	return ar_places_move(p, at, sequence);
}

enum ar_status ar_places_parse(struct ar_str text, struct ar_places *ret, struct ar_error *err)
{
	struct ar_str rest, part;

	*ret = (struct ar_places){ 0 };
	if (ar_str_empty(text))
		return AR_OK;
	if (text.p[0] != 't')
		goto invalid;
	rest = ar_str_sub(text, 1, text.len);
	while (!ar_str_absent(rest)) {
		rest = ar_str_split(rest, ',', &part);
		if (!parse_place(part, ret))
			goto invalid;
	}
	return AR_OK;
invalid:
	ar_places_fini(ret);
	return ar_refuse(err, AR_ERR_INVALID_CURSOR,
			 "a cursor of all sessions is t and lane:position[.sequence],..., as the id of an "
			 "event gives it");
}

void ar_places_print(const struct ar_places *p, struct ar_buf *out)
{
	for (size_t i = 0; i < p->count; i++) {
		const struct ar_store_place *at = &p->lanes[i];

		ar_buf_addf(out, "%c%llu:%llu", i ? ',' : 't', (unsigned long long)at->lane,
			    (unsigned long long)at->position);
		if (p->part_lane == at->lane)
			ar_buf_addf(out, ".%llu", (unsigned long long)p->part_sequence);
	}
}

bool ar_places_have(const struct ar_places *p, struct ar_store_place at, uint64_t sequence)
{
	const struct ar_store_place *known = find_lane(p, at.lane);

	if (!known || known->position != at.position)
		return known && known->position > at.position;
	return p->part_lane != at.lane || sequence <= p->part_sequence;
}

bool ar_places_cover(const struct ar_places *p, const struct ar_places *other)
{
	for (size_t i = 0; i < other->count; i++) {
		const struct ar_store_place *known = find_lane(p, other->lanes[i].lane);

		if (!known || known->position < other->lanes[i].position)
			return false;
	}
	return true;
}

/* How much was seen of the append at a lane's place. */
static uint64_t part_of(const struct ar_places *p, uint64_t lane)
{
	return p->part_lane == lane ? p->part_sequence : UINT64_MAX;
}

bool ar_places_beyond(const struct ar_places *p, const struct ar_places *other)
{
	for (size_t i = 0; i < p->count; i++) {
		struct ar_store_place at = p->lanes[i];
		uint64_t known = ar_store_place_of(other->lanes, other->count, at.lane);

		if (at.position > known ||
		    (at.position == known && part_of(p, at.lane) > part_of(other, at.lane)))
			return true;
	}
	return false;
}

uint64_t ar_places_reach(const struct ar_places *p)
{
	uint64_t furthest = 0;

	for (size_t i = 0; i < p->count; i++)
		furthest = p->lanes[i].position > furthest ? p->lanes[i].position : furthest;
	return furthest;
}

size_t ar_places_after(const struct ar_places *p, struct ar_store_place ret[AR_FEED_LANES])
{
	for (size_t i = 0; i < p->count; i++) {
		ret[i] = p->lanes[i];
		ret[i].position -= p->part_lane == ret[i].lane;
	}
	return p->count;
}
