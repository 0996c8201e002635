/* JSON Schema: compiled once, checked often. Draft 2020-12 as tools and MCP servers write it, and
 * the spellings of draft-07 (definitions, dependencies, items as an array, additionalItems). What
 * it asserts and what not: README.md. References are resolved inside the document only. A
 * compiled schema keeps nothing of the parser that read it; it has scratch memory in its
 * patterns, so it belongs to one thread. */
#ifndef AR_SCHEMA_SCHEMA_H
#define AR_SCHEMA_SCHEMA_H

#include "json.h"

#define AR_SCHEMA_TEXT_MAX 65536 /* bytes of a schema */
#define AR_SCHEMA_DEPTH_MAX 512 /* schemas within schemas while one value is checked, references counted */
/* Steps of reading schemas and checking values in one piece of work: members, items, rules, bytes
 * and items of patterns that are looked at. A step is at most about 50 ns, so that all of them
 * are some 50 ms of the loop. */
#define AR_SCHEMA_STEPS_MAX 1000000

/* The first thing that is wrong. Both texts end with NUL, are UTF-8 and cut when they would be too long. */
struct ar_schema_fault {
	char pointer[256]; /* JSON pointer of the bad place; "" is the whole value */
	/* a sentence that the author of the value can act on: "/mode must be one of a, b, not c" */
	char message[512];
	bool gave_up; /* the steps or the depth were used up: nothing is known of the value */
};

struct ar_schema;

/* Reads a schema. AR_E_INVALID: it is no schema, or uses what is not supported ($dynamicRef, a
 * $ref to another document); AR_E_LIMIT: it is too large, or takes more than *steps, from which
 * the work is taken (NULL: it has AR_SCHEMA_STEPS_MAX of its own). The sentence names the keyword.
 * `p` may be used again at once. */
AR_MUST_USE enum ar_status ar_schema_compile(struct ar_str text, struct ar_json_parser *p, uint64_t *steps,
					     struct ar_schema **ret, struct ar_error *err);
void ar_schema_free(struct ar_schema *s);

/* Whether the value meets the schema; if not, *ret_fault (which may be NULL) says where and why. The
 * work, that of the sentence too, is taken from *steps as above; a check that would take more
 * answers false and says that. */
bool ar_schema_check(const struct ar_schema *s, struct ar_json value, uint64_t *steps,
		     struct ar_schema_fault *ret_fault);

#endif
