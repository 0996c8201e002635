/* A YAML file as a tree of texts with their lines: one document of mappings, sequences and scalars.
 * Anchors, aliases, tags, keys that are not plain words and further documents are refused. What a text
 * means is up to the reader. */
#ifndef AR_HOST_SETTINGS_YAML_H
#define AR_HOST_SETTINGS_YAML_H

#include "buf.h"
#include "settings/problem.h"

#define AR_YAML_FILE_MAX ((size_t)1 << 20)
#define AR_YAML_TEXT_MAX 65536 /* bytes of one scalar */
#define AR_YAML_NODES_MAX 65536
#define AR_YAML_DEPTH_MAX 8

enum ar_yaml_kind { AR_YAML_SCALAR = 1, AR_YAML_MAPPING, AR_YAML_SEQUENCE };

struct ar_yaml {
	enum ar_yaml_kind kind;
	size_t line; /* where it begins, from 1 */
	struct ar_str text; /* of a scalar, NUL-terminated and without a NUL inside */
	bool is_plain; /* a scalar without quotes: `null`, `~` and nothing mean no value */
	struct ar_str key; /* of a member of a mapping */
	size_t key_line;
	struct ar_yaml *first, *next; /* its first child; the next child of the same parent */
};

/* "a mapping", "a list", "a value". */
const char *ar_yaml_kind_name(const struct ar_yaml *node);

/* *ret_root is NULL when the file has no document. False with a problem that has the line; `name` is
 * what problems call the file. All is in the problems' arena. */
AR_MUST_USE bool ar_yaml_read(struct ar_str bytes, const char *name, struct ar_problems *p,
			      struct ar_yaml **ret_root);

/* Adds the bytes of a file; false with a problem when it cannot be read or is larger
 * than AR_YAML_FILE_MAX. */
AR_MUST_USE bool ar_yaml_file(const char *path, struct ar_problems *p, struct ar_buf *ret);

#endif
