/* See published.h. Pure functions, any thread. */
#include "published.h"

const struct ar_a2a_agent *ar_a2a_agent_find(const struct ar_a2a_published *p, struct ar_str name)
{
	for (size_t i = 0; i < p->count; i++) {
		if (ar_str_eq(p->agents[i].name, name))
			return &p->agents[i];
	}
	return NULL;
}

bool ar_a2a_agent_is_for(const struct ar_a2a_agent *g, struct ar_str tenant)
{
	return ar_texts_have(g->tenants, AR_STR("*")) || ar_texts_have(g->tenants, tenant);
}
