/* Equality as JSON Schema means it: 1 is 1.0, members have no order, true is not 1. And numbers, which
 * are compared exactly even where a double could not tell two integers apart. */
#include "schema_priv.h"

#include "hash.h"

#include <math.h>

#define TWO_63 9223372036854775808.0

struct ar_number ar_number_of(struct ar_json v)
{
	struct ar_number n = { 0 };

	n.is_int = ar_json_i64(v, &n.i);
	(void)ar_json_num(v, &n.d);
	return n;
}

bool ar_number_is_integral(struct ar_number n)
{
	return n.is_int || n.d == floor(n.d);
}

/* An integer against a double: the double is cut to an integer first, so that nothing is lost. */
static int cmp_mixed(int64_t i, double d)
{
	int64_t whole;

	if (d >= TWO_63)
		return -1;
	if (d < -TWO_63)
		return 1;
	whole = (int64_t)d;
	if (i != whole)
		return i < whole ? -1 : 1;
	return (double)whole < d ? -1 : (double)whole > d;
}

int ar_number_cmp(struct ar_number a, struct ar_number b)
{
	if (a.is_int && b.is_int)
		return a.i < b.i ? -1 : a.i > b.i;
	if (a.is_int)
		return cmp_mixed(a.i, b.d);
	if (b.is_int)
		return -cmp_mixed(b.i, a.d);
	return a.d < b.d ? -1 : a.d > b.d;
}

static bool is_number(enum ar_json_type t)
{
	return t == AR_JSON_INT || t == AR_JSON_NUM;
}

static bool equal_texts(struct ar_check *c, struct ar_str a, struct ar_str b)
{
	return a.len == b.len && ar_check_spend(c, a.len / 256) && ar_str_eq(a, b);
}

static bool equal_scalars(struct ar_check *c, struct ar_json a, struct ar_json b, enum ar_json_type type)
{
	struct ar_str text_a, text_b;
	bool truth_a, truth_b;

	if (ar_json_str(a, &text_a) && ar_json_str(b, &text_b))
		return equal_texts(c, text_a, text_b);
	if (ar_json_bool(a, &truth_a) && ar_json_bool(b, &truth_b))
		return truth_a == truth_b;
	return type == AR_JSON_NULL;
}

static bool equal_arrays(struct ar_check *c, struct ar_json a, struct ar_json b)
{
	struct ar_json_iter x = ar_json_iter(a), y = ar_json_iter(b);

	while (ar_json_next(&x) && ar_json_next(&y)) {
		if (!ar_equal(c, x.value, y.value))
			return false;
	}
	return true;
}

static bool equal_objects(struct ar_check *c, struct ar_json a, struct ar_json b)
{
	for (struct ar_json_iter x = ar_json_iter(a); ar_json_next(&x);) {
		struct ar_json other;

		if (!ar_check_spend(c, 1 + ar_json_len(b) / 8))
			return false;
		other = ar_member(b, x.name);
		if (!other.doc || !ar_equal(c, x.value, other))
			return false;
	}
	return true;
}

/* Recursion is bounded by the depth that the parser allows. */
bool ar_equal(struct ar_check *c, struct ar_json a, struct ar_json b)
{
	enum ar_json_type type = ar_json_type(a), other = ar_json_type(b);

	if (!ar_check_spend(c, 1))
		return false;
	if (is_number(type) && is_number(other))
		return ar_number_cmp(ar_number_of(a), ar_number_of(b)) == 0;
	if (type != other)
		return false;
	if (type != AR_JSON_ARRAY && type != AR_JSON_OBJECT)
		return equal_scalars(c, a, b, type);
	if (ar_json_len(a) != ar_json_len(b))
		return false;
	return type == AR_JSON_ARRAY ? equal_arrays(c, a, b) : equal_objects(c, a, b);
}

bool ar_equal_literal(struct ar_check *c, const struct ar_literal *l, struct ar_json v)
{
	enum ar_json_type type = ar_json_type(v);
	struct ar_str text;
	bool truth;

	if (l->container.doc)
		return ar_equal(c, l->container, v);
	if (is_number(l->type) && is_number(type))
		return ar_number_cmp(l->num, ar_number_of(v)) == 0;
	if (type != l->type)
		return false;
	if (ar_json_str(v, &text))
		return equal_texts(c, text, l->text);
	return !ar_json_bool(v, &truth) || truth == l->truth;
}

static uint64_t hash_number(struct ar_json v)
{
	double d = ar_number_of(v).d + 0.0; /* -0 is 0 */

	return ar_hash_key((struct ar_str){ (const char *)&d, sizeof(d) });
}

static uint64_t hash_pair(uint64_t a, uint64_t b)
{
	uint64_t both[2] = { a, b };

	return ar_hash_key((struct ar_str){ (const char *)both, sizeof(both) });
}

/* Members are added up, because they have no order; items are chained, because they have one. */
static uint64_t hash_container(struct ar_check *c, struct ar_json v)
{
	uint64_t hash = ar_json_len(v), one;

	for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);) {
		one = ar_equal_hash(c, it.value);
		hash = it.object ? hash + hash_pair(ar_hash_key(it.name), one) : hash_pair(hash, one);
	}
	return hash;
}

uint64_t ar_equal_hash(struct ar_check *c, struct ar_json v)
{
	enum ar_json_type type = ar_json_type(v);
	struct ar_str text;
	bool truth;

	if (!ar_check_spend(c, 1))
		return 0;
	if (is_number(type))
		return hash_number(v);
	if (ar_json_str(v, &text))
		return ar_check_spend(c, text.len / 32) ? ar_hash_key(text) : 0;
	if (ar_json_bool(v, &truth))
		return truth ? 2 : 1;
	return type == AR_JSON_NULL ? 3 : hash_container(c, v);
}
