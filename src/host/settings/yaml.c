/* See yaml.h. libyaml finds the structure; every limit is checked here, before anything is kept. */
#include "settings/yaml.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

struct reading {
	yaml_parser_t parser;
	struct ar_str bytes;
	const char *name;
	struct ar_problems *problems;
	size_t nodes;
};

static bool refuse(struct reading *r, size_t line, const char *sentence)
{
	struct ar_origin at = { AR_FROM_FILE, r->name, line };

	ar_problem(r->problems, &at, NULL, "%s", sentence);
	return false;
}

/* ---- what libyaml refuses ---- */

static size_t line_of(struct ar_str bytes, size_t offset)
{
	size_t line = 1;

	for (size_t i = 0; i < offset && i < bytes.len; i++)
		line += bytes.p[i] == '\n';
	return line;
}

/* Whether the line, or the one that libyaml was about to leave for it, is indented with a tab. */
static bool has_tab(struct ar_str bytes, size_t line)
{
	bool is_indent = true;
	size_t at = 1;

	for (size_t i = 0; i < bytes.len && at <= line; i++) {
		if (is_indent && bytes.p[i] == '\t' && at == line)
			return true;
		is_indent = bytes.p[i] == '\n' || (is_indent && bytes.p[i] == ' ');
		at += bytes.p[i] == '\n';
	}
	return false;
}

static bool not_yaml(struct reading *r)
{
	const yaml_parser_t *p = &r->parser;
	size_t line = p->problem_mark.line + 1;
	char sentence[256];

	if (p->error == YAML_READER_ERROR) {
		snprintf(sentence, sizeof(sentence), "%s; save the file as UTF-8 text",
			 p->problem ? p->problem : "it cannot be read");
		return refuse(r, line_of(r->bytes, p->problem_offset), sentence);
	}
	if (has_tab(r->bytes, line))
		return refuse(r, line, "a tab is used for indentation; indent with spaces");
	snprintf(sentence, sizeof(sentence), "not valid YAML: %s%s%s; check indentation, colons and quotes",
		 p->context ? p->context : "", p->context ? ", " : "",
		 p->problem ? p->problem : "cannot be read");
	return refuse(r, line, sentence);
}

static bool next_event(struct reading *r, yaml_event_t *e)
{
	return yaml_parser_parse(&r->parser, e) ? true : not_yaml(r);
}

/* ---- the tree ---- */

static bool has_extras(const yaml_event_t *e)
{
	switch (e->type) {
	case YAML_SCALAR_EVENT:
		return e->data.scalar.anchor || e->data.scalar.tag;
	case YAML_MAPPING_START_EVENT:
		return e->data.mapping_start.anchor || e->data.mapping_start.tag;
	case YAML_SEQUENCE_START_EVENT:
		return e->data.sequence_start.anchor || e->data.sequence_start.tag;
	default:
		return e->type == YAML_ALIAS_EVENT;
	}
}

static bool check_event(struct reading *r, const yaml_event_t *e, unsigned depth)
{
	size_t line = e->start_mark.line + 1;

	if (has_extras(e))
		return refuse(
			r, line,
			"anchors (&), aliases (*) and tags (!) are not supported; write the value itself, "
			"in quotes if it begins with such a character");
	if (depth > AR_YAML_DEPTH_MAX)
		return refuse(r, line, "nested too deeply; settings have at most two levels and lists");
	if (++r->nodes > AR_YAML_NODES_MAX)
		return refuse(r, line, "the file has too many values; shorten it");
	if (e->type == YAML_SCALAR_EVENT && e->data.scalar.length > AR_YAML_TEXT_MAX)
		return refuse(r, line, "the value is longer than 64 KiB; shorten it");
	if (e->type == YAML_SCALAR_EVENT && memchr(e->data.scalar.value, 0, e->data.scalar.length))
		return refuse(r, line, "the value has a NUL character; remove it");
	return true;
}

static struct ar_str text_of(struct reading *r, const yaml_event_t *e)
{
	return ar_arena_str(r->problems->arena,
			    (struct ar_str){ (const char *)e->data.scalar.value, e->data.scalar.length });
}

static bool read_node(struct reading *r, const yaml_event_t *e, unsigned depth, struct ar_yaml *ret);

static bool read_key(struct reading *r, const yaml_event_t *e, struct ar_yaml *member)
{
	if (has_extras(e) || e->type != YAML_SCALAR_EVENT)
		return refuse(r, e->start_mark.line + 1, "a key must be a plain word; write `key: value`");
	if (!check_event(r, e, 0))
		return false;
	member->key = text_of(r, e);
	member->key_line = e->start_mark.line + 1;
	return true;
}

/* The key, when it is a member of a mapping, and the value. */
static bool read_child(struct reading *r, yaml_event_t *e, bool is_member, struct ar_yaml *child)
{
	if (!is_member)
		return true;
	if (!read_key(r, e, child))
		return false;
	yaml_event_delete(e);
	memset(e, 0, sizeof(*e));
	return next_event(r, e);
}

static bool read_children(struct reading *r, unsigned depth, struct ar_yaml *parent)
{
	bool is_mapping = parent->kind == AR_YAML_MAPPING, is_ok = true;
	struct ar_yaml **end = &parent->first;

	while (is_ok) {
		struct ar_yaml *child;
		yaml_event_t e;

		if (!next_event(r, &e))
			return false;
		if (e.type == YAML_MAPPING_END_EVENT || e.type == YAML_SEQUENCE_END_EVENT) {
			yaml_event_delete(&e);
			return true;
		}
		child = ar_arena_alloc(r->problems->arena, sizeof(*child));
		is_ok = read_child(r, &e, is_mapping, child) && read_node(r, &e, depth, child);
		yaml_event_delete(&e);
		*end = child;
		end = &child->next;
	}
	return false;
}

static bool read_node(struct reading *r, const yaml_event_t *e, unsigned depth, struct ar_yaml *ret)
{
	if (!check_event(r, e, depth))
		return false;
	ret->line = e->start_mark.line + 1;
	if (e->type == YAML_SCALAR_EVENT) {
		ret->kind = AR_YAML_SCALAR;
		ret->text = text_of(r, e);
		ret->is_plain = e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
		/* A value that is not there has the place where the next token begins. */
		if (ret->key_line && ret->is_plain && !ret->text.len)
			ret->line = ret->key_line;
		return true;
	}
	ret->kind = e->type == YAML_MAPPING_START_EVENT ? AR_YAML_MAPPING : AR_YAML_SEQUENCE;
	return read_children(r, depth + 1, ret);
}

/* The stream: nothing, or one document. */
static bool read_stream(struct reading *r, struct ar_yaml **ret_root)
{
	for (;;) {
		yaml_event_type_t type;
		yaml_event_t e;
		bool is_ok = true;

		if (!next_event(r, &e))
			return false;
		type = e.type;
		if (type == YAML_DOCUMENT_START_EVENT && *ret_root)
			is_ok = refuse(
				r, e.start_mark.line + 1,
				"a second document begins here; keep all settings in one, without `---`");
		if (type == YAML_SCALAR_EVENT || type == YAML_MAPPING_START_EVENT ||
		    type == YAML_SEQUENCE_START_EVENT || type == YAML_ALIAS_EVENT) {
			*ret_root = ar_arena_alloc(r->problems->arena, sizeof(**ret_root));
			is_ok = read_node(r, &e, 0, *ret_root);
		}
		yaml_event_delete(&e);
		if (!is_ok || type == YAML_STREAM_END_EVENT)
			return is_ok;
	}
}

const char *ar_yaml_kind_name(const struct ar_yaml *node)
{
	static const char *const names[] = {
		[AR_YAML_SCALAR] = "a value", [AR_YAML_MAPPING] = "a mapping", [AR_YAML_SEQUENCE] = "a list"
	};

	return names[node->kind];
}

bool ar_yaml_read(struct ar_str bytes, const char *name, struct ar_problems *p, struct ar_yaml **ret_root)
{
	struct reading r = { .bytes = bytes, .name = name, .problems = p };
	struct ar_yaml *root = NULL;
	bool is_ok;

	AR_ASSERT(yaml_parser_initialize(&r.parser));
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)bytes.p, bytes.len);
	is_ok = read_stream(&r, &root);
	yaml_parser_delete(&r.parser);
	if (is_ok)
		*ret_root = root;
	return is_ok;
}

bool ar_yaml_file(const char *path, struct ar_problems *p, struct ar_buf *ret)
{
	struct ar_origin at = { AR_FROM_FILE, path, 0 };
	FILE *f = fopen(path, "re");
	char piece[4096];
	size_t len;
	int failed;

	while (f && ret->len <= AR_YAML_FILE_MAX && (len = fread(piece, 1, sizeof(piece), f)) > 0)
		ar_buf_add(ret, piece, len);
	failed = !f || ferror(f) ? errno : 0;
	if (f)
		fclose(f);
	if (failed)
		ar_problem(p, &at, NULL, "cannot be read: %s; check the path and its permissions",
			   strerror(failed));
	else if (ret->len > AR_YAML_FILE_MAX)
		ar_problem(p, &at, NULL, "the file is larger than 1 MiB; shorten it");
	return !failed && ret->len <= AR_YAML_FILE_MAX;
}
