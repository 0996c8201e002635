/* Which members and items a schema looked at, asked for one child at a time instead of being collected
 * during the check: nothing has to be kept, and a schema without unevaluatedProperties and
 * unevaluatedItems pays nothing. Branches that do not fit the value do not count, so they are tried
 * again; the steps of the check bound that. */
#include "schema_priv.h"

static bool by_members(struct ar_check *c, const struct ar_members *m, const struct ar_spot *child)
{
	if (m->other || ar_members_find(m, child->name))
		return true;
	for (size_t i = 0; i < m->pattern_count; i++) {
		if (ar_check_search(c, m->patterns[i].pattern, child->name))
			return true;
	}
	return false;
}

static bool by_branches(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *child)
{
	for (size_t i = 0; i < r->u.branches.count; i++) {
		const struct ar_node *n = r->u.branches.nodes[i];

		if (r->kind == AR_RULE_ANY && !ar_check_probe(c, n, child->up))
			continue;
		if (ar_is_evaluated(c, n, NULL, child))
			return true;
	}
	return false;
}

static bool by_if(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *child)
{
	const struct ar_node *then = r->u.cond.then, *otherwise = r->u.cond.otherwise;

	if (!ar_check_probe(c, r->u.cond.test, child->up))
		return otherwise && ar_is_evaluated(c, otherwise, NULL, child);
	return ar_is_evaluated(c, r->u.cond.test, NULL, child) ||
	       (then && ar_is_evaluated(c, then, NULL, child));
}

static bool by_rule(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *child)
{
	switch (r->kind) {
	case AR_RULE_REF:
		return ar_is_evaluated(c, r->u.node, NULL, child);
	case AR_RULE_ALL:
	case AR_RULE_ANY:
		return by_branches(c, r, child);
	case AR_RULE_IF:
		return by_if(c, r, child);
	case AR_RULE_DEPENDENT:
		return ar_check_spend(c, 1 + ar_json_len(child->up->value) / 8) &&
		       ar_member(child->up->value, r->u.dependent.name).doc &&
		       ar_is_evaluated(c, r->u.dependent.node, NULL, child);
	case AR_RULE_MEMBERS:
		return by_members(c, &r->u.members, child);
	case AR_RULE_ITEMS:
		return r->u.items.rest || child->index < r->u.items.count;
	case AR_RULE_CONTAINS:
		return ar_check_probe(c, r->u.contains.node, child);
	case AR_RULE_UNEVALUATED:
		return true;
	case AR_RULE_PLAIN:
		break;
	}
	return false;
}

bool ar_is_evaluated(struct ar_check *c, const struct ar_node *n, const struct ar_rule *self,
		     const struct ar_spot *child)
{
	for (const struct ar_rule *r = n->rules; r; r = r->next) {
		if (r == self || !(r->types & child->up->types))
			continue;
		if (!ar_check_spend(c, 1))
			return false;
		if (by_rule(c, r, child))
			return true;
	}
	return false;
}
