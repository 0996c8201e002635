/* Keeps the sources in the order they were added and makes the sorted list when somebody asks after a
 * change. What a tool does is the source's, what may run is the session's. Loop thread. */
#include "toolbox.h"

#include "buf.h"
#include "mem.h"

#include <stdlib.h>

struct entry {
	const struct ar_tool *tool;
	size_t source; /* its place among the sources: the smaller one wins a name */
};

struct ar_toolbox {
	struct ar_tool_source **sources;
	size_t source_count;
	struct ar_inventory inventory;
	const struct ar_tool **tools; /* what the inventory shows */
	struct ar_buf trouble; /* NUL-terminated once made */
	bool is_stale;
	void (*on_change)(void *arg);
	void *arg;
};

struct ar_toolbox *ar_toolbox_new(void)
{
	struct ar_toolbox *b = ar_new0(sizeof(*b));

	b->is_stale = true;
	return b;
}

void ar_toolbox_close(struct ar_toolbox *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->source_count; i++)
		b->sources[i]->on_changed = NULL;
	for (size_t i = 0; i < b->source_count; i++)
		b->sources[i]->v->close(b->sources[i]);
	ar_free(b->sources);
	ar_free(b->tools);
	ar_buf_fini(&b->trouble);
	ar_free(b);
}

static void source_changed(void *arg)
{
	struct ar_toolbox *b = arg;

	b->is_stale = true;
	if (b->on_change)
		b->on_change(b->arg);
}

void ar_toolbox_add(struct ar_toolbox *b, struct ar_tool_source *s)
{
	b->sources = ar_grow(b->sources, b->source_count + 1, sizeof(struct ar_tool_source *));
	b->sources[b->source_count++] = s;
	s->on_changed = source_changed;
	s->arg = b;
	source_changed(b);
}

void ar_toolbox_on_change(struct ar_toolbox *b, void (*fn)(void *arg), void *arg)
{
	b->on_change = fn;
	b->arg = arg;
}

static void add_trouble(struct ar_toolbox *b, const struct ar_tool_source *s, const char *why,
			struct ar_str name)
{
	ar_buf_addf(&b->trouble, "%s%s: %s", b->trouble.len ? "\n" : "", s->name, why);
	if (!ar_str_absent(name))
		ar_buf_addf(&b->trouble, " '%.*s'", AR_STR_ARG(ar_str_utf8_prefix(name, AR_TOOL_NAME_MAX)));
}

/* By name, then by source and place in it: no two entries are equal, so the order is the same every time. */
static int compare(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	int order = ar_str_cmp(a->tool->name, b->tool->name);

	if (order != 0)
		return order;
	if (a->source != b->source)
		return a->source < b->source ? -1 : 1;
	return a->tool < b->tool ? -1 : 1;
}

static size_t collect(struct ar_toolbox *b, struct entry *entries)
{
	size_t count = 0;

	for (size_t i = 0; i < b->source_count; i++) {
		const struct ar_tool_source *s = b->sources[i];

		if (s->trouble)
			add_trouble(b, s, s->trouble, AR_STR_NONE);
		for (size_t j = 0; j < s->tool_count; j++) {
			if (ar_tool_is_name(s->tools[j].name))
				entries[count++] = (struct entry){ &s->tools[j], i };
			else
				add_trouble(b, s,
					    "left out, models cannot call this name:", s->tools[j].name);
		}
	}
	return count;
}

static void list_first_of_each_name(struct ar_toolbox *b, const struct entry *entries, size_t count)
{
	size_t listed = 0;

	for (size_t i = 0; i < count; i++) {
		if (listed > 0 && ar_str_eq(b->tools[listed - 1]->name, entries[i].tool->name))
			add_trouble(b, b->sources[entries[i].source],
				    "left out, an earlier source has a tool of this name:",
				    entries[i].tool->name);
		else
			b->tools[listed++] = entries[i].tool;
	}
	b->inventory.tools = b->tools;
	b->inventory.count = listed;
}

static void make_list(struct ar_toolbox *b)
{
	size_t room = 0;
	bool is_ready = true;

	for (size_t i = 0; i < b->source_count; i++) {
		room += b->sources[i]->tool_count;
		is_ready = is_ready && b->sources[i]->is_ready;
	}
	AR_AUTO(ar_freep) struct entry *entries = ar_grow(NULL, room + 1, sizeof(*entries));

	b->tools = ar_grow(b->tools, room + 1, sizeof(*b->tools));
	ar_buf_clear(&b->trouble);
	size_t count = collect(b, entries);

	qsort(entries, count, sizeof(*entries), compare);
	list_first_of_each_name(b, entries, count);
	b->inventory.is_ready = is_ready;
	b->inventory.version++;
	if (b->trouble.len > 0)
		ar_buf_addc(&b->trouble, '\0');
	b->is_stale = false;
}

const struct ar_inventory *ar_toolbox_inventory(struct ar_toolbox *b)
{
	if (b->is_stale)
		make_list(b);
	return &b->inventory;
}

const char *ar_toolbox_trouble(struct ar_toolbox *b)
{
	if (b->is_stale)
		make_list(b);
	return b->trouble.len > 0 ? b->trouble.p : NULL;
}

struct ar_tool_source *ar_toolbox_source_of(const struct ar_toolbox *b, const struct ar_tool *tool)
{
	for (size_t i = 0; i < b->source_count; i++) {
		struct ar_tool_source *s = b->sources[i];

		/* As numbers: a tool of another source is no pointer into this array. */
		if ((uintptr_t)tool >= (uintptr_t)s->tools &&
		    (uintptr_t)tool < (uintptr_t)(s->tools + s->tool_count))
			return s;
	}
	return NULL;
}
