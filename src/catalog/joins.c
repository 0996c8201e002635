/* See joins.h. */
#include "joins.h"

/* One row of a scope's table, and who gets the ids that it leads to. */
struct walk {
	const struct ar_join_desc *join;
	enum ar_scope scope;
	ar_joins_fn *fn;
	void *arg;
};

static void report_id(const struct walk *w, struct ar_json v)
{
	struct ar_str id;

	if (ar_json_str(v, &id) && (!w->join->begins || ar_str_starts(id, ar_str_from(w->join->begins))))
		w->fn(w->arg, &(struct ar_join){ w->scope, id, w->join->is_ahead });
}

/* Of an array: along each of its entries. */
static void walk_path(const struct walk *w, struct ar_json v, const char *const *at)
{
	if (ar_json_type(v) == AR_JSON_ARRAY)
		for (struct ar_json_iter it = ar_json_iter(v); ar_json_next(&it);)
			walk_path(w, it.value, at);
	else if (*at)
		walk_path(w, ar_json_get(v, *at), at + 1);
	else
		report_id(w, v);
}

static void introduce(const struct walk *w, struct ar_json fact)
{
	const struct ar_join_desc *j = w->join;
	struct ar_json payload = ar_json_get(fact, "payload");

	if (j->when && ar_json_type(ar_json_get(payload, j->when)) == AR_JSON_NONE)
		return;
	if (j->at[0])
		walk_path(w, payload, j->at);
	else
		report_id(w, ar_json_get(fact, ar_scope_names[w->scope]));
}

void ar_joins_introduced(const struct ar_event_desc *d, struct ar_json fact, ar_joins_fn *fn, void *arg)
{
	struct walk w = { .fn = fn, .arg = arg };

	for (int scope = 0; scope < AR_SCOPE_COUNT; scope++) {
		w.scope = (enum ar_scope)scope;
		for (size_t i = 0; i < ar_scope_descs[scope].join_count; i++) {
			w.join = &ar_scope_descs[scope].joins[i];
			if (w.join->event == d->type)
				introduce(&w, fact);
		}
	}
}

void ar_joins_carried(struct ar_json fact, ar_joins_fn *fn, void *arg)
{
	struct ar_str id;

	for (int scope = 0; scope < AR_SCOPE_COUNT; scope++) {
		if (ar_scope_descs[ar_scope_descs[scope].of].join_count > 0 &&
		    ar_json_str(ar_json_get(fact, ar_scope_names[scope]), &id))
			fn(arg, &(struct ar_join){ (enum ar_scope)scope, id, false });
	}
}

const char *ar_joins_lacking(const struct ar_event_desc *d, struct ar_json fact)
{
	uint32_t present = 0;

	for (int scope = 0; scope < AR_SCOPE_COUNT; scope++) {
		struct ar_str id = AR_STR_NONE;

		ar_json_str(ar_json_get(fact, ar_scope_names[scope]), &id);
		if (!ar_str_empty(id))
			present |= 1u << scope;
		else if (d->scope_required >> scope & 1)
			return ar_scope_names[scope];
	}
	return d->scope_any && !(present & d->scope_any) ? "scope id" : NULL;
}
