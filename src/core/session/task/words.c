/* See the header. Pure. */
#include "task/words.h"

const struct ar_shape_task_constraints *ar_task_constraints(const struct ar_task *task)
{
	static const struct ar_shape_task_constraints none;

	return task->sheet->constraints ? task->sheet->constraints : &none;
}

const struct ar_shape_retry_policy *ar_task_retry_policy(const struct ar_task *task)
{
	static const struct ar_shape_retry_policy none;
	const struct ar_shape_retry_policy *own = ar_task_constraints(task)->retry_policy;

	return own ? own : &none;
}

int64_t ar_task_limit(struct ar_opt_int n)
{
	return n.set && n.v > 0 && n.v < INT64_MAX / 1000000 ? n.v : 0;
}

/* ---- edges ---- */

struct ar_edge *ar_task_edge(const struct ar_task *task, struct ar_str kind, struct ar_str target)
{
	for (size_t i = 0; i < task->edges.count; i++) {
		struct ar_edge *edge = task->edges.at[i];

		if (ar_str_eq(edge->kind, kind) && ar_str_eq(edge->target, target))
			return edge;
	}
	return NULL;
}

void ar_task_drop_edge(struct ar_task *task, const struct ar_edge *edge)
{
	size_t at;

	if (edge && ar_vec_find(&task->edges, edge, &at))
		ar_vec_remove(&task->edges, at);
}

struct ar_str ar_edge_inverse(struct ar_str kind)
{
	static const char *const pairs[][2] = { { "blocks", "blocked_by" },
						{ "blocked_by", "blocks" },
						{ "parent", "child" },
						{ "child", "parent" } };

	for (size_t i = 0; i < AR_ARRAY_LEN(pairs); i++) {
		if (ar_str_is(kind, pairs[i][0]))
			return ar_str_from(pairs[i][1]);
	}
	return AR_STR_NONE;
}

struct ar_shape_relationship ar_edge_shape(struct ar_str source, const struct ar_edge *edge)
{
	return (struct ar_shape_relationship){ .source_id = source,
					       .kind = edge->kind,
					       .target_id = edge->target,
					       .status = edge->status,
					       .reason = edge->reason,
					       .created_at = edge->created,
					       .updated_at = edge->updated };
}

/* ---- texts ---- */

/* The name is a caller's, so it may need escapes. */
static void print_member(struct ar_jw *w, struct ar_json_iter *it)
{
	ar_jw_str(w, it->name);
	ar_buf_addc(w->out, ':');
	ar_json_print(it->value, w->out);
}

/* A parser holds one document: both go into one. */
struct ar_str ar_text_merged(struct ar_json_parser *json, struct ar_arena *a, struct ar_str older,
			     struct ar_str newer)
{
	struct ar_str both = ar_arena_fmt(a, "[%.*s,%.*s]", AR_STR_ARG(older), AR_STR_ARG(newer));
	struct ar_buf out = { 0 };
	struct ar_jw w = ar_jw(&out);
	struct ar_str text;
	struct ar_json v;

	if (ar_str_empty(older) || ar_str_empty(newer) || ar_json_parse(json, both, &v, NULL) != AR_OK)
		return ar_arena_str(a, ar_str_empty(newer) ? older : newer);
	ar_jw_open(&w);
	for (struct ar_json_iter it = ar_json_iter(ar_json_at(v, 0)); ar_json_next(&it);) {
		text = ar_arena_str(a, it.name);
		if (ar_json_type(ar_json_get(ar_json_at(v, 1), text.p)) == AR_JSON_NONE)
			print_member(&w, &it);
	}
	for (struct ar_json_iter it = ar_json_iter(ar_json_at(v, 1)); ar_json_next(&it);)
		print_member(&w, &it);
	ar_jw_close(&w);
	text = ar_arena_str(a, ar_buf_str(&out));
	ar_buf_fini(&out);
	return text;
}

struct ar_texts ar_texts_joined(struct ar_arena *a, struct ar_texts older, struct ar_texts newer, size_t max)
{
	size_t total = older.count + newer.count, first = total > max ? total - max : 0;
	struct ar_str *at = ar_arena_alloc(a, (total + 1) * sizeof(*at));

	for (size_t i = first; i < total; i++)
		at[i - first] = ar_arena_str(a, i < older.count ? older.at[i] : newer.at[i - older.count]);
	return (struct ar_texts){ at, total - first };
}
