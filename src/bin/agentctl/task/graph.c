/* `agentctl task graph`: the tasks of a session as a drawing, each under the first task that it waits for
 * or is a part of, with its state. What else a task waits for is written behind it. */
#include "api.h"
#include "map.h"
#include "mem.h"
#include "resolve.h"
#include "task/task.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX 30 /* levels that are indented; deeper ones keep this indent */
#define TEXT_WIDTH 48

struct node {
	struct ar_str id, status, text;
	size_t first, last, next; /* nodes under it, and beside it; 0: none, otherwise index + 1 */
	bool is_under; /* it stands under another */
	bool is_part; /* as a part, not as what waits */
	bool is_drawn;
	struct ar_buf also; /* short ids of others that it waits for */
};

struct graph {
	struct ar_ctl *c;
	struct node *nodes;
	size_t count;
	struct ar_map by_id; /* to index + 1 */
	bool is_ascii;
};

/* ---- reading ---- */

/* What is behind the session's key: `12`, or the name that a caller gave. */
static struct ar_str short_id(struct ar_str id)
{
	for (size_t i = id.len; i > 0; i--) {
		if (id.p[i - 1] == '_')
			return ar_str_sub(id, i, id.len - i);
	}
	return id;
}

static struct node *node_of(const struct graph *g, struct ar_str id)
{
	uintptr_t at = (uintptr_t)ar_map_get(&g->by_id, id);

	return at ? &g->nodes[at - 1] : NULL;
}

/* The task of a turn has no edges of its own and is shown with its turn; --all shows it too. */
static bool is_wanted(struct ar_json task, bool is_all)
{
	struct ar_str visibility = ar_api_str(task, "visibility");

	return is_all || (!ar_str_is(visibility, "internal") && !ar_str_is(visibility, "hidden"));
}

static void read_tasks(struct graph *g, struct ar_json session, bool is_all)
{
	struct ar_json tasks = ar_json_get(session, "tasks");
	size_t room = 0;

	for (struct ar_json_iter it = ar_json_iter(tasks); ar_json_next(&it);)
		room++;
	g->nodes = ar_new0((room + 1) * sizeof(*g->nodes));
	for (struct ar_json_iter it = ar_json_iter(tasks); ar_json_next(&it);) {
		struct node *n = &g->nodes[g->count];
		struct ar_str title = ar_api_str(it.value, "title");

		if (!is_wanted(it.value, is_all) || ar_str_absent(ar_api_str(it.value, "taskId")))
			continue;
		*n = (struct node){ .id = ar_api_str(it.value, "taskId"),
				    .status = ar_api_str(it.value, "status"),
				    .text = ar_str_empty(title) ? ar_api_str(it.value, "objective") : title };
		g->count++;
		ar_map_put(&g->by_id, n->id, (void *)(uintptr_t)g->count);
	}
}

/* `low` stands under `high`; one that stands somewhere already only mentions it. */
static void put_under(struct graph *g, struct node *high, struct node *low, bool is_part)
{
	size_t at = (size_t)(low - g->nodes) + 1;

	if (low->is_under) {
		if (low->also.len > 0)
			ar_buf_addz(&low->also, ", ");
		ar_buf_adds(&low->also, short_id(high->id));
		return;
	}
	low->is_under = true;
	low->is_part = is_part;
	if (high->last)
		g->nodes[high->last - 1].next = at;
	else
		high->first = at;
	high->last = at;
}

static void read_edges(struct graph *g, struct ar_json session)
{
	struct ar_json edges = ar_api_path(session, "taskGraph.edges");

	for (struct ar_json_iter it = ar_json_iter(edges); ar_json_next(&it);) {
		struct ar_str kind = ar_api_str(it.value, "kind");
		struct node *source = node_of(g, ar_api_str(it.value, "sourceId"));
		struct node *target = node_of(g, ar_api_str(it.value, "targetId"));

		if (!source || !target)
			continue;
		if (ar_str_is(kind, "blocks") || ar_str_is(kind, "child"))
			put_under(g, source, target, ar_str_is(kind, "child"));
		else if (ar_str_is(kind, "blocked_by") || ar_str_is(kind, "parent"))
			put_under(g, target, source, ar_str_is(kind, "parent"));
	}
}

/* ---- drawing ---- */

static const struct {
	const char *status, *mark, *ascii;
	enum ar_style style;
} marks[] = {
	{ "completed", "\u2713", "+", AR_STYLE_GREEN }, { "failed", "\u2717", "x", AR_STYLE_RED },
	{ "timed_out", "\u2717", "x", AR_STYLE_RED },	{ "lost", "?", "?", AR_STYLE_RED },
	{ "cancelled", "\u2717", "x", AR_STYLE_DIM },	{ "running", "\u25b6", ">", AR_STYLE_YELLOW },
	{ "retrying", "\u25b6", ">", AR_STYLE_YELLOW }, { "blocked", "\u25a0", "#", AR_STYLE_RED },
	{ "queued", "\u25cb", "o", AR_STYLE_PLAIN },	{ "paused", "\u25cb", "=", AR_STYLE_PLAIN },
};

static void draw_mark(struct graph *g, struct ar_str status)
{
	for (size_t i = 0; i < AR_ARRAY_LEN(marks); i++) {
		if (!ar_str_is(status, marks[i].status))
			continue;
		ar_out_style(&g->c->out, marks[i].style);
		ar_out_printf(&g->c->out, "%s ", g->is_ascii ? marks[i].ascii : marks[i].mark);
		ar_out_style(&g->c->out, AR_STYLE_PLAIN);
		return;
	}
	ar_out_printf(&g->c->out, "%s ", g->is_ascii ? "." : "\u25cc");
}

/* A level of the drawing: what stands before its nodes, and the next of them. */
struct level {
	size_t next; /* index + 1; 0: it is done */
};

static void draw_indent(struct graph *g, const struct level *levels, size_t depth, const struct node *n)
{
	size_t shown = depth < DEPTH_MAX ? depth : DEPTH_MAX;

	for (size_t i = 1; i < shown; i++)
		ar_out_printf(&g->c->out, "%s", !levels[i].next ? "   " : g->is_ascii ? "|  " : "\u2502  ");
	if (depth == 0)
		return;
	if (g->is_ascii)
		ar_out_printf(&g->c->out, "%s", n->next ? "|- " : "`- ");
	else
		ar_out_printf(&g->c->out, "%s", n->next ? "\u251c\u2500 " : "\u2514\u2500 ");
	if (depth > DEPTH_MAX)
		ar_out_printf(&g->c->out, "(level %zu) ", depth);
}

static void draw_node(struct graph *g, const struct level *levels, size_t depth, struct node *n)
{
	struct ar_out *o = &g->c->out;

	n->is_drawn = true;
	draw_indent(g, levels, depth, n);
	draw_mark(g, n->status);
	ar_out_line(o, short_id(n->id));
	ar_out_printf(o, "  ");
	ar_out_line(o, n->status);
	ar_out_printf(o, "  ");
	ar_out_line(o, ar_str_utf8_prefix(n->text, TEXT_WIDTH));
	if (n->text.len > TEXT_WIDTH)
		ar_out_printf(o, "...");
	ar_out_style(o, AR_STYLE_DIM);
	if (n->is_part)
		ar_out_printf(o, "  (part)");
	if (n->also.len > 0) {
		ar_out_printf(o, "  also after ");
		ar_out_line(o, ar_buf_str(&n->also));
	}
	ar_out_style(o, AR_STYLE_PLAIN);
	ar_out_printf(o, "\n");
}

/* Depth first, without recursion: a chain may have thousands of tasks. Each stands under one other at most,
 * so the levels are never more than the nodes. */
static void draw_tree(struct graph *g, struct level *levels, size_t root)
{
	size_t depth = 0;

	draw_node(g, levels, 0, &g->nodes[root]);
	levels[0].next = 0;
	levels[1].next = g->nodes[root].first;
	for (depth = 1; depth > 0;) {
		struct node *n;

		if (!levels[depth].next) {
			depth--;
			continue;
		}
		n = &g->nodes[levels[depth].next - 1];
		levels[depth].next = n->next;
		draw_node(g, levels, depth, n);
		levels[++depth].next = n->first;
	}
}

static void draw(struct graph *g)
{
	struct level *levels = ar_new0((g->count + 2) * sizeof(*levels));

	for (size_t i = 0; i < g->count; i++) {
		if (!g->nodes[i].is_under)
			draw_tree(g, levels, i);
	}
	/* Edges of two kinds may lead round: what is left hangs on itself. */
	for (size_t i = 0; i < g->count; i++) {
		if (!g->nodes[i].is_drawn)
			draw_node(g, levels, 0, &g->nodes[i]);
	}
	if (g->count == 0)
		ar_out_printf(&g->c->out, "the session has no tasks of its own\n");
	ar_free(levels);
}

/* ---- the command ---- */

static bool is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < AR_ARRAY_LEN(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

static void print_json(struct ar_ctl *c, struct ar_json graph)
{
	struct ar_buf text = { 0 };

	ar_json_print(graph, &text);
	ar_out_json(&c->out, ar_buf_str(&text));
	ar_out_printf(&c->out, "\n");
	ar_buf_fini(&text);
}

enum ar_exit ar_task_graph(struct ar_ctl *c, const struct ar_ctl_args *a)
{
	struct graph g = { .c = c, .is_ascii = a->values[TASK_ASCII] || !is_utf8() };
	struct ar_api_reply session;
	const char *word = a->count > 1 ? a->words[1] : "last";
	enum ar_exit exit = a->values[TASK_ALL] ? ar_resolve_read_all(c, word, &session)
						: ar_resolve_read(c, word, &session);

	if (exit == AR_EXIT_OK && c->is_json) {
		print_json(c, ar_json_get(session.doc, "taskGraph"));
	} else if (exit == AR_EXIT_OK) {
		read_tasks(&g, session.doc, a->values[TASK_ALL]);
		read_edges(&g, session.doc);
		draw(&g);
	}
	for (size_t i = 0; i < g.count; i++)
		ar_buf_fini(&g.nodes[i].also);
	ar_free(g.nodes);
	ar_map_fini(&g.by_id);
	ar_api_fini(&session);
	return exit;
}
