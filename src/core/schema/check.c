/* Checking: walks the rules of a node over a value. First only the verdict is asked for, which renders
 * nothing; a value that is refused is walked again to say why. Both walks together are bounded in
 * steps, each in depth; what runs into a bound is refused and the fault says so, because an answer of
 * "valid" that was not worked out would be wrong. */
#include "schema_priv.h"

static unsigned types_of(struct ar_json v)
{
	static const unsigned bits[] = {
		[AR_JSON_NULL] = AR_IS_NULL,
		[AR_JSON_BOOL] = AR_IS_BOOL,
		[AR_JSON_INT] = AR_IS_INTEGER | AR_IS_NUMBER,
		[AR_JSON_NUM] = AR_IS_NUMBER,
		[AR_JSON_STR] = AR_IS_STRING,
		[AR_JSON_ARRAY] = AR_IS_ARRAY,
		[AR_JSON_OBJECT] = AR_IS_OBJECT,
	};
	enum ar_json_type type = ar_json_type(v);

	if (type == AR_JSON_NUM && ar_number_is_integral(ar_number_of(v)))
		return AR_IS_INTEGER | AR_IS_NUMBER;
	return bits[type];
}

struct ar_spot ar_spot_member(const struct ar_spot *up, const struct ar_json_iter *it)
{
	return (struct ar_spot){ it->value, types_of(it->value), up, it->name, 0 };
}

struct ar_spot ar_spot_item(const struct ar_spot *up, const struct ar_json_iter *it, size_t index)
{
	return (struct ar_spot){ it->value, types_of(it->value), up, AR_STR_NONE, index };
}

bool ar_check_spend(struct ar_check *c, uint64_t steps)
{
	if (c->gave_up || steps > c->steps) {
		c->gave_up = true;
		return false;
	}
	c->steps -= steps;
	return true;
}

bool ar_check_search(struct ar_check *c, const struct ar_regex *r, struct ar_str text)
{
	enum ar_regex_found found;

	if (!ar_check_spend(c, 1))
		return false;
	found = ar_regex_search(r, text, &c->steps);
	if (found == AR_REGEX_GAVE_UP)
		c->gave_up = true;
	return found == AR_REGEX_YES;
}

static bool check_rules(struct ar_check *c, const struct ar_node *n, const struct ar_spot *at)
{
	if (n->refuses_all)
		return ar_fault(c, at, "is not allowed here");
	for (const struct ar_rule *r = n->rules; r; r = r->next) {
		if (!(r->types & at->types))
			continue;
		if (!ar_check_spend(c, 1) || !r->check(c, r, at))
			return false;
	}
	/* Here for all rules: `not` and `if` take a probe that gave up for a no. */
	return !c->gave_up;
}

bool ar_check_node(struct ar_check *c, const struct ar_node *n, const struct ar_spot *at)
{
	bool is_valid;

	if (!ar_check_spend(c, 1))
		return false;
	if (c->depth >= AR_SCHEMA_DEPTH_MAX) {
		c->gave_up = true;
		return false;
	}
	c->depth++;
	is_valid = check_rules(c, n, at);
	c->depth--;
	return is_valid;
}

bool ar_check_probe(struct ar_check *c, const struct ar_node *n, const struct ar_spot *at)
{
	struct ar_schema_fault *fault = c->fault;
	bool is_valid;

	c->fault = NULL;
	is_valid = ar_check_node(c, n, at);
	c->fault = fault;
	return is_valid;
}

/* The second walk may run out of steps: then the sentence is a general one. Returns the
 * steps that are left. */
static uint64_t explain(const struct ar_schema *s, const struct ar_spot *top, const struct ar_check *first,
			struct ar_schema_fault *fault)
{
	struct ar_check again = { .fault = fault, .steps = first->steps };
	struct ar_check last = { .fault = fault, .steps = AR_FAULT_STEPS };

	*fault = (struct ar_schema_fault){ .gave_up = first->gave_up };
	if (first->gave_up)
		(void)ar_fault(
			&last, top,
			"takes too long to check against its schema; send less, or simplify the schema");
	else
		(void)ar_check_node(&again, s->root, top);
	if (!fault->message[0])
		(void)ar_fault(&last, top, "does not meet its schema");
	return again.steps;
}

bool ar_schema_check(const struct ar_schema *s, struct ar_json value, uint64_t *steps,
		     struct ar_schema_fault *ret_fault)
{
	struct ar_spot top = { .value = value, .types = types_of(value) };
	struct ar_check c = { .steps = steps ? *steps : AR_SCHEMA_STEPS_MAX };
	bool is_valid = ar_check_node(&c, s->root, &top);

	if (!is_valid && ret_fault)
		c.steps = explain(s, &top, &c, ret_fault);
	if (steps)
		*steps = c.gave_up ? 0 : c.steps;
	return is_valid;
}
