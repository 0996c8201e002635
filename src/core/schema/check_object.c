/* Rules about the members of an object. */
#include "schema_priv.h"

#define SHOWN 100 /* bytes of a name in a sentence */

const struct ar_named_node *ar_members_find(const struct ar_members *m, struct ar_str name)
{
	size_t low = 0, high = m->known_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = ar_str_cmp(name, m->known[mid].name);

		if (order == 0)
			return &m->known[mid];
		if (order < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return NULL;
}

static bool check_member(struct ar_check *c, const struct ar_members *m, const struct ar_spot *member)
{
	const struct ar_named_node *known = ar_members_find(m, member->name);
	bool is_known = known != NULL;

	if (known && !ar_check_node(c, known->node, member))
		return false;
	for (size_t i = 0; i < m->pattern_count; i++) {
		if (!ar_check_search(c, m->patterns[i].pattern, member->name))
			continue;
		is_known = true;
		if (!ar_check_node(c, m->patterns[i].node, member))
			return false;
	}
	if (is_known || !m->other)
		return !c->gave_up;
	if (m->other->refuses_all)
		return ar_fault_unknown(c, member, m);
	return ar_check_node(c, m->other, member);
}

bool ar_check_members(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	for (struct ar_json_iter it = ar_json_iter(at->value); ar_json_next(&it);) {
		struct ar_spot member = ar_spot_member(at, &it);

		if (!ar_check_spend(c, 1) || !check_member(c, &r->u.members, &member))
			return false;
	}
	return true;
}

static bool has(struct ar_check *c, const struct ar_spot *at, struct ar_str name)
{
	return ar_check_spend(c, 1 + ar_json_len(at->value) / 8) && ar_member(at->value, name).doc;
}

bool ar_check_required(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	struct ar_str when = r->u.names.when, shown;

	if (!ar_str_absent(when) && !has(c, at, when))
		return !c->gave_up;
	for (size_t i = 0; i < r->u.names.count; i++) {
		if (has(c, at, r->u.names.list[i]))
			continue;
		shown = ar_str_utf8_prefix(r->u.names.list[i], SHOWN);
		when = ar_str_utf8_prefix(when, SHOWN);
		return ar_fault(c, at, "must have the member '%.*s'%s%.*s%s", AR_STR_ARG(shown),
				when.p ? " because it has '" : "", (int)when.len, when.p ? when.p : "",
				when.p ? "'" : "");
	}
	return true;
}

bool ar_check_names(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	for (struct ar_json_iter it = ar_json_iter(at->value); ar_json_next(&it);) {
		struct ar_spot name = ar_spot_member(at, &it);
		struct ar_str shown = ar_str_utf8_prefix(it.name, SHOWN);

		name.value = ar_json_name(&it);
		name.types = AR_IS_STRING;
		if (!ar_check_spend(c, 1))
			return false;
		if (!ar_check_probe(c, r->u.node, &name))
			return ar_fault(c, at, "must not have a member named '%.*s'", AR_STR_ARG(shown));
	}
	return true;
}

bool ar_check_dependent(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	if (!has(c, at, r->u.dependent.name))
		return !c->gave_up;
	return ar_check_node(c, r->u.dependent.node, at);
}

bool ar_check_rest_members(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at)
{
	for (struct ar_json_iter it = ar_json_iter(at->value); ar_json_next(&it);) {
		struct ar_spot member = ar_spot_member(at, &it);

		if (!ar_check_spend(c, 1))
			return false;
		if (ar_is_evaluated(c, r->u.rest.of, r, &member))
			continue;
		if (r->u.rest.node->refuses_all)
			return ar_fault_unknown(c, &member, NULL);
		if (!ar_check_node(c, r->u.rest.node, &member))
			return false;
	}
	return true;
}
