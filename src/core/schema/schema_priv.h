/* Inside schema: nodes and rules (what a schema becomes), the state of one check, and
 * which file does what. */
#ifndef AR_SCHEMA_PRIV_H
#define AR_SCHEMA_PRIV_H

#include "map.h"
#include "regex.h"
#include "schema.h"

/* Types as bits; an integral number has two. */
enum {
	AR_IS_NULL = 1 << 0,
	AR_IS_BOOL = 1 << 1,
	AR_IS_INTEGER = 1 << 2,
	AR_IS_NUMBER = 1 << 3,
	AR_IS_STRING = 1 << 4,
	AR_IS_ARRAY = 1 << 5,
	AR_IS_OBJECT = 1 << 6,
	AR_IS_ANY = (1 << 7) - 1,
};

/* A number as it was written: integers are compared exactly. */
struct ar_number {
	bool is_int;
	int64_t i;
	double d; /* set in both cases */
};

/* A value that a schema names. Containers live in a document of the schema's own. */
struct ar_literal {
	enum ar_json_type type;
	struct ar_str text;
	struct ar_number num;
	bool truth;
	struct ar_json container;
	struct ar_literal *next; /* containers, until that document is read */
};

struct ar_node;

struct ar_named_node {
	struct ar_str name;
	struct ar_node *node;
	struct ar_regex *pattern; /* of patternProperties */
};

enum ar_rule_kind {
	AR_RULE_PLAIN, /* says nothing about which members and items were looked at */
	AR_RULE_REF,
	AR_RULE_ALL,
	AR_RULE_ANY, /* anyOf and oneOf */
	AR_RULE_IF,
	AR_RULE_DEPENDENT,
	AR_RULE_MEMBERS,
	AR_RULE_ITEMS,
	AR_RULE_CONTAINS,
	AR_RULE_UNEVALUATED,
};

struct ar_members {
	struct ar_named_node *known; /* sorted by name */
	struct ar_named_node *patterns;
	size_t known_count, pattern_count;
	struct ar_node *other; /* NULL: anything */
};

struct ar_branches {
	struct ar_node **nodes;
	size_t count;
};

struct ar_rule;
struct ar_check;
struct ar_spot;

typedef bool ar_rule_check(struct ar_check *c, const struct ar_rule *r, const struct ar_spot *at);

struct ar_rule {
	ar_rule_check *check;
	unsigned types; /* of values that it says something about */
	enum ar_rule_kind kind;
	struct ar_rule *next;
	union {
		unsigned allowed; /* type */
		struct ar_number number;
		struct ar_node *node; /* $ref, not, propertyNames */
		struct ar_branches branches; /* allOf, anyOf, oneOf; items: the first ones */
		struct ar_members members;
		struct {
			struct ar_literal *list;
			size_t count;
		} literals; /* enum, const */
		struct {
			struct ar_str *list;
			size_t count;
			struct ar_str when; /* the member that makes them required; absent: always */
		} names;
		struct {
			struct ar_regex *regex;
			struct ar_str text;
		} pattern;
		struct {
			struct ar_node *test, *then, *otherwise;
		} cond;
		struct ar_named_node dependent;
		struct {
			struct ar_node **first;
			size_t count;
			struct ar_node *rest; /* NULL: anything */
		} items;
		struct {
			struct ar_node *node;
			uint64_t min, max;
		} contains;
		struct {
			struct ar_node *node;
			const struct ar_node *of; /* the schema that it stands in */
		} rest; /* unevaluated* */
		struct {
			uint64_t min, max;
		} size; /* length, items, properties */
	} u;
};

struct ar_node {
	size_t at; /* where its schema stands in the document: the key of the node while compiling */
	struct ar_json schema; /* while compiling */
	const struct ar_resource *resource; /* while compiling */
	struct ar_node *next; /* waits to be compiled */
	bool refuses_all; /* the schema `false` */
	struct ar_rule *rules, **last;
};

struct ar_schema_regex {
	struct ar_regex *regex;
	struct ar_schema_regex *next;
};

struct ar_schema {
	struct ar_arena arena;
	struct ar_node *root;
	struct ar_schema_regex *regexes;
	struct ar_json_parser *containers; /* holds the literals that are containers; NULL: there are none */
};

/* ---- compiling ---- */

/* A part of the document with an address of its own. */
struct ar_resource {
	struct ar_str uri; /* without fragment */
	struct ar_json schema;
	struct ar_resource *next;
};

struct ar_anchor {
	const struct ar_resource *resource;
	struct ar_str name;
	struct ar_json schema;
	struct ar_anchor *next;
};

struct ar_compile {
	struct ar_schema *s;
	struct ar_arena scratch; /* resources, anchors */
	struct ar_resource *resources; /* the document itself is the last of the list */
	struct ar_anchor *anchors;
	size_t resource_count, anchor_count;
	struct ar_map nodes; /* by ar_node.at */
	struct ar_node *queue, **queue_end;
	struct ar_buf containers; /* JSON texts of literals, with commas */
	struct ar_literal *container_list, **container_end;
	bool is_legacy; /* draft-07 and before: $ref stands alone */
	uint64_t steps; /* left; 0: nothing more is done, and the schema is refused */
};

#define AR_LOOKS_PER_STEP 8 /* that are taken at entries of a list */

static inline void ar_compile_spend(struct ar_compile *k, uint64_t steps)
{
	k->steps -= steps < k->steps ? steps : k->steps;
}

/* compile.c: the node of a schema, compiled later; its own resource is found here, `near`
 * is that of its surroundings. */
struct ar_node *ar_compile_node(struct ar_compile *k, struct ar_json schema, const struct ar_resource *near);
struct ar_rule *ar_compile_rule(struct ar_compile *k, struct ar_node *n, ar_rule_check *check,
				unsigned types);
AR_MUST_USE enum ar_status ar_compile_regex(struct ar_compile *k, struct ar_str pattern,
					    struct ar_regex **ret, struct ar_error *err);

/* keywords.c: adds the rules of the keywords that this schema has. keywords_in.c: those that hold schemas. */
AR_MUST_USE enum ar_status ar_compile_keywords(struct ar_compile *k, struct ar_node *n, struct ar_error *err);
AR_MUST_USE enum ar_status ar_compile_applicators(struct ar_compile *k, struct ar_node *n,
						  struct ar_error *err);

/* refs.c: finds what has an address; the resource that a schema opens, else the one it stands in; the
 * schema that a reference names. */
void ar_refs_find(struct ar_compile *k, struct ar_json document);
const struct ar_resource *ar_refs_resource(struct ar_compile *k, struct ar_json schema,
					   const struct ar_resource *near);
AR_MUST_USE enum ar_status ar_refs_resolve(struct ar_compile *k, const struct ar_resource *from,
					   struct ar_str ref, struct ar_node **ret, struct ar_error *err);

/* The member of an object; absent when it is not there. Unlike ar_json_get for any name. */
struct ar_json ar_member(struct ar_json object, struct ar_str name);

/* uri.c: the address that `ref` (no fragment) means beside `base`. */
struct ar_str ar_uri_resolve(struct ar_arena *a, struct ar_str base, struct ar_str ref);
struct ar_str ar_uri_decode(struct ar_arena *a, struct ar_str text); /* %41 is A */

/* ---- checking ---- */

/* A value and the way to it. */
struct ar_spot {
	struct ar_json value;
	unsigned types;
	const struct ar_spot *up; /* NULL: the whole value */
	struct ar_str name; /* absent: an item */
	size_t index;
};

#define AR_FAULT_STEPS 32 /* of one sentence */

struct ar_check {
	struct ar_schema_fault *fault; /* NULL: only the verdict is wanted */
	size_t fault_depth; /* of the place that it names */
	uint64_t steps;
	unsigned depth;
	bool gave_up; /* a limit was reached; every verdict since is void */
};

/* check.c */
bool ar_check_node(struct ar_check *c, const struct ar_node *n, const struct ar_spot *at);
bool ar_check_probe(struct ar_check *c, const struct ar_node *n, const struct ar_spot *at); /* verdict only */
bool ar_check_spend(struct ar_check *c, uint64_t steps); /* false: there are none left */
bool ar_check_search(struct ar_check *c, const struct ar_regex *r, struct ar_str text);
struct ar_spot ar_spot_member(const struct ar_spot *up, const struct ar_json_iter *it);
struct ar_spot ar_spot_item(const struct ar_spot *up, const struct ar_json_iter *it, size_t index);

/* check_value.c, check_object.c, check_array.c, check_branch.c: one function for each kind of rule. */
ar_rule_check ar_check_type, ar_check_literal, ar_check_minimum, ar_check_maximum, ar_check_above,
	ar_check_below, ar_check_multiple, ar_check_count, ar_check_length, ar_check_pattern;
ar_rule_check ar_check_members, ar_check_required, ar_check_names, ar_check_dependent, ar_check_rest_members;
ar_rule_check ar_check_items, ar_check_contains, ar_check_unique, ar_check_rest_items;
ar_rule_check ar_check_ref, ar_check_all, ar_check_any, ar_check_one, ar_check_not, ar_check_if;

/* Where a member of this name is in the table; NULL: nowhere. */
const struct ar_named_node *ar_members_find(const struct ar_members *m, struct ar_str name);

/* equal.c */
struct ar_number ar_number_of(struct ar_json v); /* of a number */
int ar_number_cmp(struct ar_number a, struct ar_number b);
bool ar_number_is_integral(struct ar_number n);
bool ar_equal(struct ar_check *c, struct ar_json a, struct ar_json b);
bool ar_equal_literal(struct ar_check *c, const struct ar_literal *l, struct ar_json v);
uint64_t ar_equal_hash(struct ar_check *c, struct ar_json v); /* the same for equal values */

/* evaluated.c: whether the schema, which the value at `at` meets, looked at this child of it; `self` is
 * a rule that does not count. */
bool ar_is_evaluated(struct ar_check *c, const struct ar_node *n, const struct ar_rule *self,
		     const struct ar_spot *child);

/* fault.c: all answer false. The sentence begins with the place, or with "the value". */
bool ar_fault(struct ar_check *c, const struct ar_spot *at, const char *fmt, ...) AR_PRINTF(3, 4);
bool ar_fault_type(struct ar_check *c, const struct ar_spot *at, unsigned allowed);
bool ar_fault_literals(struct ar_check *c, const struct ar_spot *at, const struct ar_literal *list,
		       size_t count);
bool ar_fault_unknown(struct ar_check *c, const struct ar_spot *member, const struct ar_members *m);

#endif
