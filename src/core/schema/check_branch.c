/* Rules that apply other schemas to the same value: $ref, allOf, anyOf, oneOf, not, if. */
#include "schema_priv.h"

#include "mem.h"

bool ar_check_ref(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	return ar_check_node(c, r->u.node, at);
}

bool ar_check_all(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	for (size_t i = 0; i < r->u.branches.count; i++) {
		if (!ar_check_node(c, r->u.branches.nodes[i], at))
			return false;
	}
	return true;
}

/* What is wrong by the branch that got furthest into the value: most likely the one that was meant. */
static void explain_nearest(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at,
			    struct ar_schema_fault *ret)
{
	AR_AUTO(ar_freep) struct ar_schema_fault *tried = ar_new0(sizeof(*tried));
	struct ar_schema_fault *outer = c->fault;
	size_t best = 0;

	for (size_t i = 0; i < r->u.branches.count; i++) {
		*tried = (struct ar_schema_fault){ 0 };
		c->fault = tried;
		c->fault_depth = 0;
		(void)ar_check_node(c, r->u.branches.nodes[i], at);
		if (tried->message[0] && (c->fault_depth > best || !ret->message[0])) {
			*ret = *tried;
			best = c->fault_depth;
		}
	}
	c->fault = outer;
}

/* No branch fits. One that is near enough to be inside the value says it best alone; else the sentence
 * says that there were several. */
static bool fault_none(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	AR_AUTO(ar_freep) struct ar_schema_fault *nearest = NULL;

	if (!c->fault || c->gave_up)
		return false;
	nearest = ar_new0(sizeof(*nearest));
	explain_nearest(c, r, at, nearest);
	if (!nearest->message[0])
		return ar_fault(c, at, "fits none of the %zu forms it may have", r->u.branches.count);
	if (r->u.branches.count == 1) {
		*c->fault = *nearest;
		return false;
	}
	return ar_fault(c, at, "fits none of the %zu forms it may have; by the nearest: %s",
			r->u.branches.count, nearest->message);
}

bool ar_check_any(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	for (size_t i = 0; i < r->u.branches.count; i++) {
		if (ar_check_probe(c, r->u.branches.nodes[i], at))
			return true;
	}
	return fault_none(c, r, at);
}

bool ar_check_one(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	size_t fits = 0;

	for (size_t i = 0; i < r->u.branches.count && fits < 2; i++)
		fits += ar_check_probe(c, r->u.branches.nodes[i], at);
	if (c->gave_up)
		return false;
	if (fits > 1)
		return ar_fault(c, at, "fits more than one of the forms of which it may have only one");
	return fits == 1 || fault_none(c, r, at);
}

bool ar_check_not(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	return !ar_check_probe(c, r->u.node, at) || ar_fault(c, at, "has a form that it must not have (not)");
}

bool ar_check_if(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	bool fits = ar_check_probe(c, r->u.cond.test, at);
	const struct ar_node *next = fits ? r->u.cond.then : r->u.cond.otherwise;

	return !next || ar_check_node(c, next, at);
}
