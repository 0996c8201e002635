/* Rules about the items of an array. */
#include "schema_priv.h"

#include "mem.h"

#include <stdlib.h>

#define SORT_STEPS 12 /* for each item that is sorted */

bool ar_check_items(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	size_t index = 0;

	for (struct ar_json_iter it = ar_json_iter(at->value); ar_json_next(&it); index++) {
		struct ar_spot item = ar_spot_item(at, &it, index);
		const struct ar_node *n =
			index < r->u.items.count ? r->u.items.first[index] : r->u.items.rest;

		if (!n)
			return true;
		if (n == r->u.items.rest && n->refuses_all)
			return ar_fault(c, at, "must have at most %zu items, not %zu", r->u.items.count,
					ar_json_len(at->value));
		if (!ar_check_node(c, n, &item))
			return false;
	}
	return true;
}

bool ar_check_contains(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	uint64_t count = 0;
	size_t index = 0;

	for (struct ar_json_iter it = ar_json_iter(at->value); ar_json_next(&it); index++) {
		struct ar_spot item = ar_spot_item(at, &it, index);

		count += ar_check_probe(c, r->u.contains.node, &item);
	}
	if (c->gave_up)
		return false;
	if (count < r->u.contains.min)
		return ar_fault(c, at,
				"must have at least %llu items of the wanted form (contains), not %llu",
				(unsigned long long)r->u.contains.min, (unsigned long long)count);
	if (count > r->u.contains.max)
		return ar_fault(c, at, "must have at most %llu items of that form (contains), not %llu",
				(unsigned long long)r->u.contains.max, (unsigned long long)count);
	return true;
}

struct hashed {
	uint64_t hash;
	struct ar_json value;
	size_t index;
};

static int by_hash(const void *a, const void *b)
{
	uint64_t x = ((const struct hashed *)a)->hash, y = ((const struct hashed *)b)->hash;

	return x < y ? -1 : x > y;
}

/* Sorted by hash: equal ones are neighbours. */
static bool find_twins(struct ar_check *c, const struct hashed *all, size_t count, size_t ret[2])
{
	for (size_t i = 0; i < count; i++) {
		for (size_t j = i + 1; j < count && all[j].hash == all[i].hash; j++) {
			if (!ar_equal(c, all[i].value, all[j].value))
				continue;
			ret[0] = all[i].index < all[j].index ? all[i].index : all[j].index;
			ret[1] = all[i].index < all[j].index ? all[j].index : all[i].index;
			return true;
		}
	}
	return false;
}

/* One comparison of all pairs would be cheaper to write and is quadratic, in a number
 * that the caller chooses. */
bool ar_check_unique(struct ar_check *c, const struct ar_rule *r AR_UNUSED, const struct ar_spot *at)
{
	size_t count = ar_json_len(at->value), n = 0, twins[2];
	AR_AUTO(ar_freep) struct hashed *all = NULL;

	if (count < 2)
		return true;
	if (!ar_check_spend(c, count * SORT_STEPS))
		return false;
	all = ar_grow(NULL, count, sizeof(*all));
	for (struct ar_json_iter it = ar_json_iter(at->value); ar_json_next(&it); n++)
		all[n] = (struct hashed){ ar_equal_hash(c, it.value), it.value, n };
	if (c->gave_up)
		return false;
	qsort(all, n, sizeof(*all), by_hash);
	if (!find_twins(c, all, n, twins))
		return !c->gave_up;
	return ar_fault(c, at, "must have no item twice; items %zu and %zu are equal", twins[0], twins[1]);
}

bool ar_check_rest_items(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	size_t index = 0;

	for (struct ar_json_iter it = ar_json_iter(at->value); ar_json_next(&it); index++) {
		struct ar_spot item = ar_spot_item(at, &it, index);

		if (!ar_check_spend(c, 1))
			return false;
		if (ar_is_evaluated(c, r->u.rest.of, r, &item))
			continue;
		if (!ar_check_node(c, r->u.rest.node, &item))
			return false;
	}
	return true;
}
