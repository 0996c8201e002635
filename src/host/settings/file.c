/* See file.h. */
#include "settings/file.h"
#include "settings/value.h"
#include "settings/yaml.h"
#include "secrets.h"
#include "text/suggest.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY_MAX 60 /* bytes of an unknown key that are shown */
#define ENTRIES_MAX 1024 /* of a list, and words of one of its fields */

/* The file on its way into the settings. */
struct reading {
	const char *file;
	struct ar_settings *settings;
	struct ar_problems *problems;
	const char *literal; /* the first setting with a secret in it; NULL: none has one */
	struct ar_origin literal_at;
};

static struct ar_origin at_line(const struct reading *r, size_t line)
{
	return (struct ar_origin){ AR_FROM_FILE, r->file, line };
}

static const char *meant(struct reading *r, const struct ar_suggestion *best)
{
	return best->word ? ar_arena_fmt(r->problems->arena, "did you mean '%s'?", best->word).p
			  : "docs/reference/config.md lists them";
}

/* ---- what is refused ---- */

static bool refuse_twin(struct reading *r, const struct ar_yaml *parent, const struct ar_yaml *node,
			const char *path)
{
	struct ar_origin at = at_line(r, node->key_line);

	for (const struct ar_yaml *other = parent->first; other != node; other = other->next) {
		if (!ar_str_eq(other->key, node->key))
			continue;
		ar_problem(r->problems, &at, path,
			   "the key is given twice, first in line %zu; remove one of them", other->key_line);
		return true;
	}
	return false;
}

static void refuse_kind(struct reading *r, const struct ar_yaml *node, const char *path, const char *want)
{
	struct ar_origin at = at_line(r, node->line);

	ar_problem(r->problems, &at, path, "%s, but this is %s", want, ar_yaml_kind_name(node));
}

/* `key:` with nothing behind it, as it remains when all below it is commented out. */
static bool is_nothing(const struct ar_yaml *node)
{
	return node->kind == AR_YAML_SCALAR && node->is_plain && node->text.len == 0;
}

static bool is_null(const struct ar_yaml *node)
{
	return node->is_plain && (ar_str_is(node->text, "null") || ar_str_is(node->text, "~") ||
				  ar_str_is(node->text, "Null") || ar_str_is(node->text, "NULL"));
}

static bool is_text(struct reading *r, const struct ar_yaml *node, const char *path)
{
	struct ar_origin at = at_line(r, node->line);

	if (node->kind != AR_YAML_SCALAR) {
		refuse_kind(r, node, path, "a single value is needed");
		return false;
	}
	if (is_null(node)) {
		ar_problem(r->problems, &at, path,
			   "null is not a value; remove the key to take the default, or write \"\" for an "
			   "empty text");
		return false;
	}
	return true;
}

/* ---- lists ---- */

struct entry {
	const struct ar_config_list *list;
	char *entries; /* of the struct in force */
	size_t index;
	const struct ar_yaml *node;
};

static const char *field_path(struct reading *r, const struct entry *e, struct ar_str name)
{
	return ar_arena_fmt(r->problems->arena, "%s[%zu].%.*s", e->list->name, e->index, AR_STR_ARG(name)).p;
}

static char *place_of(const struct entry *e, size_t index, const struct ar_config_key *key)
{
	return e->entries + index * e->list->entry_size + key->offset;
}

/* A mapping where a secret belongs says where the secret is. */
static bool is_reference(const struct ar_config_key *key, const struct ar_yaml *node)
{
	return key->secret && node->kind == AR_YAML_MAPPING;
}

static void read_reference(const struct ar_setting *s, const struct ar_yaml *node, const char **at)
{
	const struct ar_secret_place place = { s->key, s->path, s->origin, at, s->problems, s->refs };

	ar_secret_reference_read(&place, node);
}

/* The first secret that stands in the file itself: it must not be readable by others then. */
static void note_literal(struct reading *r, const struct ar_setting *s, struct ar_str text)
{
	if (!r->literal && ar_secrets_are_in(s->key, text)) {
		r->literal = s->path;
		r->literal_at = s->origin;
	}
}

static bool set_word(struct reading *r, const struct ar_setting *s, const struct ar_yaml *node,
		     const char **at)
{
	struct ar_setting word = *s;

	word.origin.line = node->line;
	*at = "";
	if (is_reference(s->key, node)) {
		read_reference(&word, node, at);
		return true;
	}
	if (!is_text(r, node, s->path) || !ar_setting_word(&word, node->text, at))
		return false;
	if (!ar_secret_reference_at(s->refs, at))
		note_literal(r, &word, node->text);
	return true;
}

static void set_strings(struct reading *r, const struct ar_setting *s, const struct ar_yaml *node)
{
	const char **words;
	size_t count = 0;

	if (node->kind != AR_YAML_SEQUENCE && !is_nothing(node)) {
		refuse_kind(r, node, s->path, "a list of texts is needed, such as [a, b]");
		return;
	}
	for (const struct ar_yaml *n = node->first; n; n = n->next)
		count++;
	if (count > ENTRIES_MAX) {
		ar_problem(r->problems, &s->origin, s->path, "%zu entries; at most %d are allowed", count,
			   ENTRIES_MAX);
		return;
	}
	words = ar_arena_alloc(r->problems->arena, (count + 1) * sizeof(*words)); /* ended by NULL */
	count = 0;
	for (const struct ar_yaml *n = node->first; n && !ar_problems_are_full(r->problems); n = n->next)
		count += set_word(r, s, n, &words[count]);
	words[count] = NULL;
	*(struct ar_config_strings *)s->at = (struct ar_config_strings){ words, count };
}

/* False: it is not set. */
static bool set_value(struct reading *r, const struct ar_setting *s, const struct ar_yaml *node)
{
	if (is_reference(s->key, node)) {
		read_reference(s, node, s->at);
		return true;
	}
	if (!is_text(r, node, s->path) || !ar_setting_set(s, node->text))
		return false;
	if (!ar_secret_reference_at(s->refs, s->at))
		note_literal(r, s, node->text);
	return true;
}

static void set_field(struct reading *r, const struct entry *e, const struct ar_config_key *key,
		      const struct ar_yaml *node)
{
	struct ar_setting s = { key,
				field_path(r, e, ar_str_from(key->name)),
				place_of(e, e->index, key),
				at_line(r, node->line),
				r->problems,
				r->settings->refs };

	if (key->kind == AR_CONFIG_STRINGS)
		set_strings(r, &s, node);
	else
		set_value(r, &s, node);
}

static const struct ar_config_key *find_field(const struct ar_config_list *list, struct ar_str name,
					      struct ar_suggestion *best)
{
	for (size_t i = 0; i < list->field_count; i++) {
		if (ar_str_is(name, list->fields[i].name))
			return &list->fields[i];
		ar_suggest(best, name, list->fields[i].name);
	}
	return NULL;
}

static void read_field(struct reading *r, const struct entry *e, const struct ar_yaml *node)
{
	const char *path = field_path(r, e, ar_str_utf8_prefix(node->key, KEY_MAX));
	struct ar_suggestion best = { 0 };
	const struct ar_config_key *key = find_field(e->list, node->key, &best);
	struct ar_origin at = at_line(r, node->key_line);

	if (!key)
		ar_problem(r->problems, &at, path, "there is no such field in %s; %s", e->list->name,
			   meant(r, &best));
	else if (!refuse_twin(r, e->node, node, path))
		set_field(r, e, key, node);
}

static void check_required(struct reading *r, const struct entry *e, const struct ar_config_key *key)
{
	struct ar_origin at = at_line(r, e->node->line);
	const struct ar_yaml *given = e->node->first;

	while (given && !ar_str_is(given->key, key->name))
		given = given->next;
	if (given && (given->kind != AR_YAML_SCALAR || given->text.len))
		return;
	ar_problem(r->problems, &at, field_path(r, e, ar_str_from(key->name)), "it is required; add %s: ...",
		   key->name);
}

static void check_unique(struct reading *r, const struct entry *e, const struct ar_config_key *key)
{
	struct ar_origin at = at_line(r, e->node->line);
	const void *own = place_of(e, e->index, key);

	for (size_t i = 0; i < e->index && *(const char *const *)own; i++) {
		const void *other = place_of(e, i, key);

		if (!*(const char *const *)other ||
		    strcmp(*(const char *const *)other, *(const char *const *)own) != 0)
			continue;
		ar_problem(r->problems, &at, field_path(r, e, ar_str_from(key->name)),
			   "%s[%zu] has the same value; choose another", e->list->name, i);
		return;
	}
}

static void read_entry(struct reading *r, const struct entry *e)
{
	const struct ar_config_list *list = e->list;
	const char *path = ar_arena_fmt(r->problems->arena, "%s[%zu]", list->name, e->index).p;

	for (size_t k = 0; k < list->field_count; k++) {
		struct ar_setting s = { &list->fields[k],
					list->fields[k].name,
					place_of(e, e->index, &list->fields[k]),
					{ 0 },
					r->problems,
					r->settings->refs };

		if (!list->fields[k].required)
			AR_ASSERT(ar_setting_set(&s, ar_str_from(list->fields[k].preset)));
	}
	if (e->node->kind != AR_YAML_MAPPING) {
		refuse_kind(r, e->node, path, "fields are needed, such as `- name: x`");
		return;
	}
	for (const struct ar_yaml *n = e->node->first; n && !ar_problems_are_full(r->problems); n = n->next)
		read_field(r, e, n);
	for (size_t k = 0; k < list->field_count; k++) {
		if (list->fields[k].required)
			check_required(r, e, &list->fields[k]);
		if (list->fields[k].unique)
			check_unique(r, e, &list->fields[k]);
	}
}

static void read_list(struct reading *r, size_t which, const struct ar_yaml *node)
{
	const struct ar_config_list *list = &ar_config_lists[which];
	struct entry e = { .list = list };
	struct ar_origin at = at_line(r, node->key_line);
	size_t count = 0;

	if (node->kind != AR_YAML_SEQUENCE && !is_nothing(node)) {
		refuse_kind(r, node, list->name, "a list is needed, each entry beginning with `- `");
		return;
	}
	for (const struct ar_yaml *n = node->first; n; n = n->next)
		count++;
	if (count > ENTRIES_MAX) {
		ar_problem(r->problems, &at, list->name, "%zu entries; at most %d are allowed", count,
			   ENTRIES_MAX);
		return;
	}
	e.entries = ar_arena_alloc(r->problems->arena, count * list->entry_size);
	for (e.node = node->first; e.node && !ar_problems_are_full(r->problems);
	     e.node = e.node->next, e.index++)
		read_entry(r, &e);
	*(void **)(void *)((char *)&r->settings->config + list->offset) = e.entries;
	*(size_t *)(void *)((char *)&r->settings->config + list->count_offset) = count;
	r->settings->lists[which] = at;
}

/* ---- sections and single settings ---- */

static void set_key(struct reading *r, size_t which, const struct ar_yaml *node)
{
	const struct ar_config_key *key = &ar_config_keys[which];
	struct ar_setting s = { key,
				key->name,
				(char *)&r->settings->config + key->offset,
				at_line(r, node->line),
				r->problems,
				r->settings->refs };

	if (set_value(r, &s, node))
		r->settings->origins[which] = s.origin;
}

/* The part of a setting's name that a mapping has: "model" of "model.name" at the top, "name" inside. */
static struct ar_str name_in(const char *key, struct ar_str section)
{
	struct ar_str head, tail = ar_str_split(ar_str_from(key), '.', &head);

	if (ar_str_empty(section))
		return head;
	return ar_str_eq(head, section) ? tail : AR_STR_NONE;
}

/* A setting that has this name in some section, or as a whole: what was meant by a key at the wrong place. */
static const char *misplaced(struct ar_str key)
{
	for (size_t i = 0; i < ar_config_key_count; i++) {
		struct ar_str head, tail = ar_str_split(ar_str_from(ar_config_keys[i].name), '.', &head);

		if (!ar_str_absent(tail) && (ar_str_eq(tail, key) || ar_str_is(key, ar_config_keys[i].name)))
			return ar_config_keys[i].name;
	}
	return NULL;
}

static void refuse_unknown(struct reading *r, const struct ar_yaml *node, struct ar_str section)
{
	struct ar_origin at = at_line(r, node->key_line);
	struct ar_str word = ar_str_utf8_prefix(node->key, KEY_MAX), head = AR_STR_NONE;
	const char *other = misplaced(node->key), *path;
	struct ar_suggestion best = { 0 };

	for (size_t i = 0; i < ar_config_key_count; i++) {
		head = name_in(ar_config_keys[i].name, section);
		if (!ar_str_empty(head))
			ar_suggest(&best, node->key, ar_arena_str(r->problems->arena, head).p);
	}
	for (size_t i = 0; i < ar_config_list_count && ar_str_empty(section); i++)
		ar_suggest(&best, node->key, ar_config_lists[i].name);
	path = ar_arena_fmt(r->problems->arena, "%.*s%s%.*s", AR_STR_ARG(section),
			    ar_str_empty(section) ? "" : ".", AR_STR_ARG(word))
		       .p;
	if (!best.word && other) {
		ar_str_split(ar_str_from(other), '.', &head);
		ar_problem(r->problems, &at, path,
			   "there is no such setting here; did you mean %s? Write `%s:` below `%.*s:`", other,
			   other + head.len + 1, AR_STR_ARG(head));
		return;
	}
	ar_problem(r->problems, &at, path, "there is no such setting; %s", meant(r, &best));
}

static size_t find_key(struct ar_str section, struct ar_str name)
{
	for (size_t i = 0; i < ar_config_key_count; i++) {
		const char *key = ar_config_keys[i].name;
		bool is_whole = ar_str_empty(section) ? ar_str_is(name, key) && !strchr(key, '.')
						      : ar_str_eq(name_in(key, section), name);

		if (is_whole)
			return i;
	}
	return ar_config_key_count;
}

static void read_section(struct reading *r, const struct ar_yaml *node)
{
	if (node->kind != AR_YAML_MAPPING && !is_nothing(node)) {
		refuse_kind(r, node, ar_arena_str(r->problems->arena, node->key).p,
			    "settings are needed below it, indented, each as `key: value`");
		return;
	}
	for (const struct ar_yaml *n = node->first; n && !ar_problems_are_full(r->problems); n = n->next) {
		size_t key = find_key(node->key, n->key);

		if (key == ar_config_key_count)
			refuse_unknown(r, n, node->key);
		else if (!refuse_twin(r, node, n, ar_config_keys[key].name))
			set_key(r, key, n);
	}
}

static bool is_section(struct ar_str name)
{
	for (size_t i = 0; i < ar_config_key_count; i++) {
		if (strchr(ar_config_keys[i].name, '.') &&
		    ar_str_eq(name_in(ar_config_keys[i].name, AR_STR_NONE), name))
			return true;
	}
	return false;
}

static void read_member(struct reading *r, const struct ar_yaml *root, const struct ar_yaml *node)
{
	size_t key = find_key(AR_STR_NONE, node->key), list = 0;

	while (list < ar_config_list_count && !ar_str_is(node->key, ar_config_lists[list].name))
		list++;
	if (key == ar_config_key_count && list == ar_config_list_count && !is_section(node->key))
		refuse_unknown(r, node, AR_STR_NONE);
	else if (refuse_twin(r, root, node, ar_arena_str(r->problems->arena, node->key).p))
		return;
	else if (key < ar_config_key_count)
		set_key(r, key, node);
	else if (list < ar_config_list_count)
		read_list(r, list, node);
	else
		read_section(r, node);
}

static struct ar_yaml *read_tree(const char *path, struct ar_problems *p)
{
	AR_AUTO(ar_buf_fini) struct ar_buf bytes = { 0 };
	struct ar_yaml *root = NULL;

	if (!ar_yaml_file(path, p, &bytes) || !ar_yaml_read(ar_buf_str(&bytes), path, p, &root))
		return NULL;
	return root;
}

/* Secrets of the file are as secret as the file is. A group may be that of the service, which
 * reads a file of root's by it. */
static void check_mode(struct reading *r)
{
	bool is_foreign;
	struct stat st;

	if (stat(r->file, &st) != 0 || !S_ISREG(st.st_mode))
		return;
	is_foreign = (st.st_mode & 070) != 0 && !(st.st_uid != geteuid() && st.st_gid == getegid());
	if (st.st_mode & 07)
		ar_problem(
			r->problems, &r->literal_at, r->literal,
			"the secret stands in a file that every user can open (mode %03o); chmod 600 it, or "
			"write a reference such as { file: /etc/agentd/key }",
			(unsigned)(st.st_mode & 0777));
	else if (is_foreign)
		ar_problem(
			&r->settings->warnings, &r->literal_at, r->literal,
			"the secret stands in a file that its group can open (mode %03o); chmod 600 it, or "
			"write a reference",
			(unsigned)(st.st_mode & 0777));
}

void ar_settings_file(const char *path, struct ar_settings *s)
{
	struct reading r = { .file = path, .settings = s, .problems = &s->problems };
	const struct ar_yaml *root = read_tree(path, r.problems);

	if (!root || is_nothing(root))
		return;
	if (root->kind != AR_YAML_MAPPING) {
		refuse_kind(&r, root, NULL, "settings are needed, each as `key: value`");
		return;
	}
	for (const struct ar_yaml *n = root->first; n && !ar_problems_are_full(r.problems); n = n->next)
		read_member(&r, root, n);
	if (r.literal)
		check_mode(&r);
}
