/* Keeps the sources in the order they were added and makes the sorted list when somebody asks after a
 * change. What a tool does is the source's, what may run is the session's. Loop thread. */
#include "toolbox.h"

#include "buf.h"
#include "list.h"
#include "mem.h"

#include <stdlib.h>
#include <string.h>

struct entry {
	const struct ar_tool *tool;
	size_t source; /* its place among the sources: the smaller one wins a name */
};

struct slot {
	struct ar_tool_source *source;
	char *key; /* NULL: for all */
};

/* The tools for all, or those with the ones of a key. */
struct listing {
	struct ar_list node; /* of a key: in the toolbox */
	char *key; /* NULL: for all */
	struct ar_inventory inventory;
	const struct ar_tool **tools; /* what the inventory shows */
	bool is_stale;
};

struct ar_toolbox {
	struct slot *slots; /* those for all first */
	size_t slot_count;
	struct listing all;
	struct ar_list listings; /* struct listing, of keys */
	uint64_t version; /* of the list that was made last */
	struct ar_buf trouble; /* of the sources for all; NUL-terminated once made */
	void (*on_change)(void *arg);
	void *arg;
};

struct ar_toolbox *ar_toolbox_new(void)
{
	struct ar_toolbox *b = ar_new0(sizeof(*b));

	b->all.is_stale = true;
	ar_list_init(&b->listings);
	return b;
}

static struct listing *listing_at(struct ar_list *node)
{
	return AR_CONTAINER_OF(node, struct listing, node);
}

static void listing_free(struct listing *l)
{
	ar_list_del(&l->node);
	ar_free(l->key);
	ar_free(l->tools);
	ar_free(l);
}

void ar_toolbox_close(struct ar_toolbox *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->slot_count; i++)
		b->slots[i].source->on_changed = NULL;
	for (size_t i = 0; i < b->slot_count; i++) {
		b->slots[i].source->v->close(b->slots[i].source);
		ar_free(b->slots[i].key);
	}
	AR_LIST_FOR_SAFE (it, &b->listings)
		listing_free(listing_at(it));
	ar_free(b->slots);
	ar_free(b->all.tools);
	ar_buf_fini(&b->trouble);
	ar_free(b);
}

static void source_changed(void *arg)
{
	struct ar_toolbox *b = arg;

	b->all.is_stale = true;
	AR_LIST_FOR (it, &b->listings)
		listing_at(it)->is_stale = true;
	if (b->on_change)
		b->on_change(b->arg);
}

/* Those for all come first, whenever they are added: they win a name. */
static void add_slot(struct ar_toolbox *b, struct slot slot)
{
	size_t at = b->slot_count;

	b->slots = ar_grow(b->slots, b->slot_count + 1, sizeof(*b->slots));
	for (; !slot.key && at > 0 && b->slots[at - 1].key; at--)
		b->slots[at] = b->slots[at - 1];
	b->slots[at] = slot;
	b->slot_count++;
	slot.source->on_changed = source_changed;
	slot.source->arg = b;
}

void ar_toolbox_add(struct ar_toolbox *b, struct ar_tool_source *s)
{
	add_slot(b, (struct slot){ .source = s });
	source_changed(b);
}

static struct listing *find_listing(const struct ar_toolbox *b, struct ar_str key)
{
	AR_LIST_FOR (it, &b->listings) {
		if (ar_str_eq(ar_str_from(listing_at(it)->key), key))
			return listing_at(it);
	}
	return NULL;
}

void ar_toolbox_add_for(struct ar_toolbox *b, struct ar_str key, struct ar_tool_source *s)
{
	if (!find_listing(b, key)) {
		struct listing *l = ar_new0(sizeof(*l));

		l->key = ar_str_dup(key);
		ar_list_push(&b->listings, &l->node);
	}
	add_slot(b, (struct slot){ .source = s, .key = ar_str_dup(key) });
	source_changed(b);
}

static bool has_key(const struct ar_toolbox *b, const char *key)
{
	for (size_t i = 0; i < b->slot_count; i++) {
		if (b->slots[i].key && strcmp(b->slots[i].key, key) == 0)
			return true;
	}
	return false;
}

void ar_toolbox_remove(struct ar_toolbox *b, struct ar_tool_source *s)
{
	size_t at = 0;

	while (b->slots[at].source != s)
		at++;
	ar_free(b->slots[at].key);
	memmove(&b->slots[at], &b->slots[at + 1], (b->slot_count - at - 1) * sizeof(*b->slots));
	b->slot_count--;
	s->on_changed = NULL;
	AR_LIST_FOR_SAFE (it, &b->listings) {
		if (!has_key(b, listing_at(it)->key))
			listing_free(listing_at(it));
	}
	source_changed(b);
	s->v->close(s);
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

static bool is_listed(const struct listing *l, const struct slot *slot)
{
	return !slot->key || (l->key && strcmp(slot->key, l->key) == 0);
}

static size_t collect(struct ar_toolbox *b, const struct listing *l, struct entry *entries)
{
	size_t count = 0;

	for (size_t i = 0; i < b->slot_count; i++) {
		const struct ar_tool_source *s = b->slots[i].source;

		if (!is_listed(l, &b->slots[i]))
			continue;
		if (s->trouble && !l->key)
			add_trouble(b, s, s->trouble, AR_STR_NONE);
		for (size_t j = 0; j < s->tool_count; j++) {
			if (ar_tool_is_name(s->tools[j].name))
				entries[count++] = (struct entry){ &s->tools[j], i };
			else if (!l->key)
				add_trouble(b, s,
					    "left out, models cannot call this name:", s->tools[j].name);
		}
	}
	return count;
}

static void list_first_of_each_name(struct ar_toolbox *b, struct listing *l, const struct entry *entries,
				    size_t count)
{
	size_t listed = 0;

	for (size_t i = 0; i < count; i++) {
		bool is_taken = listed > 0 && ar_str_eq(l->tools[listed - 1]->name, entries[i].tool->name);

		if (!is_taken)
			l->tools[listed++] = entries[i].tool;
		else if (!l->key)
			add_trouble(b, b->slots[entries[i].source].source,
				    "left out, an earlier source has a tool of this name:",
				    entries[i].tool->name);
	}
	l->inventory.tools = l->tools;
	l->inventory.count = listed;
}

static void make_list(struct ar_toolbox *b, struct listing *l)
{
	size_t room = 0;
	bool is_ready = true;

	for (size_t i = 0; i < b->slot_count; i++) {
		room += b->slots[i].source->tool_count;
		is_ready = is_ready && (!is_listed(l, &b->slots[i]) || b->slots[i].source->is_ready);
	}
	AR_AUTO(ar_freep) struct entry *entries = ar_grow(NULL, room + 1, sizeof(*entries));

	l->tools = ar_grow(l->tools, room + 1, sizeof(*l->tools));
	if (!l->key)
		ar_buf_clear(&b->trouble);
	size_t count = collect(b, l, entries);

	qsort(entries, count, sizeof(*entries), compare);
	list_first_of_each_name(b, l, entries, count);
	l->inventory.is_ready = is_ready;
	l->inventory.version = ++b->version;
	if (!l->key && b->trouble.len > 0)
		ar_buf_addc(&b->trouble, '\0');
	l->is_stale = false;
}

const struct ar_inventory *ar_toolbox_inventory(struct ar_toolbox *b)
{
	if (b->all.is_stale)
		make_list(b, &b->all);
	return &b->all.inventory;
}

const struct ar_inventory *ar_toolbox_inventory_for(struct ar_toolbox *b, struct ar_str key)
{
	struct listing *l = ar_str_absent(key) ? NULL : find_listing(b, key);

	if (!l)
		return ar_toolbox_inventory(b);
	if (l->is_stale)
		make_list(b, l);
	return &l->inventory;
}

const char *ar_toolbox_trouble(struct ar_toolbox *b)
{
	ar_toolbox_inventory(b);
	return b->trouble.len > 0 ? b->trouble.p : NULL;
}

struct ar_tool_source *ar_toolbox_source_of(const struct ar_toolbox *b, const struct ar_tool *tool)
{
	for (size_t i = 0; i < b->slot_count; i++) {
		struct ar_tool_source *s = b->slots[i].source;

		/* As numbers: a tool of another source is no pointer into this array. */
		if ((uintptr_t)tool >= (uintptr_t)s->tools &&
		    (uintptr_t)tool < (uintptr_t)(s->tools + s->tool_count))
			return s;
	}
	return NULL;
}
