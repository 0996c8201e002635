/* See gauge.h. The level of a bucket is in millionths of a request: one microsecond adds `rate` of
 * them, and nothing is lost to rounding. */
#include "gauge.h"
#include "catalog.h"
#include "mem.h"

#define ONE INT64_C(1000000)
#define FULL_RETRY_MS 250 /* when as many are open as may be: nobody knows when one ends */

struct gauge {
	struct ar_str name; /* owned */
	int64_t level;
	ar_usec at; /* when the level was that; monotonic */
	uint32_t open[2];
};

void ar_gauges_init(struct ar_gauges *g, const char *whose, const struct ar_access_limit *limit)
{
	*g = (struct ar_gauges){ .limit = *limit, .whose = whose };
	if (!g->limit.burst)
		g->limit.burst = g->limit.rate;
}

static void gauge_free(struct gauge *one)
{
	ar_free((void *)one->name.p);
	ar_free(one);
}

void ar_gauges_fini(struct ar_gauges *g)
{
	struct gauge *one;

	for (size_t i = 0; (one = ar_map_next(&g->map, &i));)
		gauge_free(one);
	ar_map_fini(&g->map);
}

static struct gauge *find_gauge(struct ar_gauges *g, struct ar_str name, ar_usec now)
{
	struct gauge *one = ar_map_get(&g->map, name);

	if (one)
		return one;
	one = ar_new0(sizeof(*one));
	one->name = (struct ar_str){ ar_str_dup(name), name.len };
	one->level = (int64_t)g->limit.burst * ONE;
	one->at = now;
	ar_map_put(&g->map, one->name, one);
	return one;
}

static void fill(const struct ar_gauges *g, struct gauge *one, ar_usec now)
{
	int64_t most = (int64_t)g->limit.burst * ONE, missing = most - one->level;
	ar_usec passed = now - one->at;

	one->at = now;
	if (!g->limit.rate || passed >= missing / g->limit.rate + 1)
		one->level = most;
	else
		one->level += passed * g->limit.rate;
}

enum ar_status ar_gauges_check(struct ar_gauges *g, struct ar_str name, enum ar_auth_slot slot, ar_usec now,
			       uint32_t *ret_retry_ms, struct ar_error *err)
{
	static const char *const things[] = { "commands", "streams" };
	struct gauge *one = find_gauge(g, name, now);
	uint32_t most = g->limit.open[slot];

	fill(g, one, now);
	if (g->limit.rate && one->level < ONE) {
		*ret_retry_ms = (uint32_t)((ONE - one->level) / g->limit.rate / 1000 + 1);
		return ar_refuse(err, AR_ERR_RATE_LIMITED, "this %s may send %u requests a second", g->whose,
				 g->limit.rate);
	}
	if (most && one->open[slot] >= most) {
		*ret_retry_ms = FULL_RETRY_MS;
		return ar_refuse(err, AR_ERR_RATE_LIMITED, "this %s may have %u %s open at once", g->whose,
				 most, things[slot]);
	}
	return AR_OK;
}

void ar_gauges_acquire(struct ar_gauges *g, struct ar_str name, enum ar_auth_slot slot)
{
	struct gauge *one = ar_map_get(&g->map, name);

	if (g->limit.rate)
		one->level -= ONE;
	one->open[slot]++;
}

void ar_gauges_release(struct ar_gauges *g, struct ar_str name, enum ar_auth_slot slot)
{
	struct gauge *one = ar_map_get(&g->map, name);

	AR_ASSERT(one && one->open[slot] > 0);
	one->open[slot]--;
}

static struct gauge *find_idle(struct ar_gauges *g, ar_usec now, size_t *cursor)
{
	struct gauge *one;

	while ((one = ar_map_next(&g->map, cursor))) {
		fill(g, one, now);
		if (!one->open[0] && !one->open[1] && one->level >= (int64_t)g->limit.burst * ONE)
			return one;
	}
	return NULL;
}

/* Nothing may be taken out during a walk: those at rest are collected first. */
void ar_gauges_sweep(struct ar_gauges *g, ar_usec now)
{
	struct gauge **idle = ar_grow(NULL, g->map.count + 1, sizeof(struct gauge *)), *one;
	size_t count = 0, cursor = 0;

	while ((one = find_idle(g, now, &cursor)))
		idle[count++] = one;
	for (size_t i = 0; i < count; i++) {
		ar_map_del(&g->map, idle[i]->name);
		gauge_free(idle[i]);
	}
	ar_free(idle);
}
