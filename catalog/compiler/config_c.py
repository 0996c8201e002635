"""gen/config.h and gen/config.c: the settings as a struct, and the tables that fill it from file and environment."""

from .c import BANNER, optional, quote
from .model import c_name

HEADER = """
enum ar_config_kind {
	AR_CONFIG_STRING,
	AR_CONFIG_INT,
	AR_CONFIG_BOOL,
	AR_CONFIG_ENUM,    /* an int: index into values */
	AR_CONFIG_DECIMAL, /* an int64_t: billionths; AR_CONFIG_UNSET when it is empty */
	AR_CONFIG_STRINGS, /* a struct ar_config_strings; only in lists */
};

/* What a plain number of an int counts; the other units of its kind may be written after the number. */
enum ar_config_unit {
	AR_CONFIG_UNIT_NONE, /* only a plain number */
	AR_CONFIG_UNIT_MS,
	AR_CONFIG_UNIT_S,
	AR_CONFIG_UNIT_DAYS,
	AR_CONFIG_UNIT_BYTES,
	AR_CONFIG_UNIT_PERCENT,
};

/* One setting, or one field of a list's entry. `offset` is into struct ar_config, or the entry. */
struct ar_config_key {
	const char *name; /* "model.base_url" */
	enum ar_config_kind kind;
	enum ar_config_unit unit; /* of an int */
	const char *preset; /* the default, as text */
	const char *env;    /* environment variable that wins over the file, or NULL */
	bool secret;        /* never printed or logged; may be a reference */
	bool lines;         /* of a secret: may have several lines */
	bool fixed;         /* of a secret: a renewed value is used after a restart */
	int64_t min;        /* of an int */
	int64_t max;        /* of an int; 0 = none */
	const char *const *values; /* of an enum, or what strings may be, ended by NULL; or NULL */
	bool required;      /* in a list: must be given and not empty */
	bool unique;        /* in a list: no two entries share it */
	size_t offset;
	const char *doc;
};

extern const struct ar_config_key ar_config_keys[];
extern const size_t ar_config_key_count;

/* A list of the file: struct ar_config has a pointer to its entries and their count. */
struct ar_config_list {
	const char *name; /* "models" */
	const struct ar_config_key *fields;
	size_t field_count;
	size_t entry_size;
	size_t offset, count_offset;
	const char *doc;
};

extern const struct ar_config_list ar_config_lists[];
extern const size_t ar_config_list_count;

#endif
"""

STRINGS = """#define AR_CONFIG_UNSET (-1)

/* Words of a list's entry; NULL, or ended by NULL. */
struct ar_config_strings {
	const char *const *v;
	size_t count;
};
"""

TYPES = {"string": "const char *", "int": "int64_t ", "bool": "bool ", "enum": "int ", "decimal": "int64_t ",
         "strings": "struct ar_config_strings "}


def sections(catalog):
    """{section: [(key, member)]}, "" being the top of the file."""
    out = {"": []}
    for key in catalog.config:
        section, _, member = key.name.rpartition(".")
        out.setdefault(section, []).append((key, c_name(member)))
    return out


def struct_block(catalog):
    out, tag, types = [], "ar_config", TYPES
    parts = sections(catalog)
    for section, keys in parts.items():
        if section:
            members = "".join(f"\t{types[k.kind]}{m};\n" for k, m in keys)
            out.append(f"struct {tag}_{section} {{\n{members}}};\n")
    members = "".join(f"\t{types[k.kind]}{m};\n" for k, m in parts[""])
    members += "".join(f"\tstruct {tag}_{section} {section};\n" for section in parts if section)
    for one in catalog.lists:
        fields = "".join(f"\t{types[k.kind]}{c_name(k.name)};\n" for k in one.fields)
        out.append(f"/* One entry of {one.name}. */\nstruct {tag}_{one.name} {{\n{fields}}};\n")
        members += f"\tstruct {tag}_{one.name} *{one.name};\n\tsize_t {one.name}_count;\n"
    return "\n".join(out + [f"struct {tag} {{\n{members}}};\n"])


def enums(catalog):
    """(name of the setting in C, its words) of every setting that is one of several words."""
    for k in catalog.config:
        if k.values:
            yield c_name(k.name), k
    for one in catalog.lists:
        for k in one.fields:
            if k.values:
                yield f"{one.name}_{c_name(k.name)}", k


def header(catalog):
    out = [BANNER, "#ifndef AR_CONFIG_H\n#define AR_CONFIG_H\n", '#include "str.h"\n', "/* clang-format off */\n"]
    for name, key in enums(catalog):
        values = "".join(f"\tAR_CONFIG_{name.upper()}_{v.upper().replace('-', '_')},\n" for v in key.values)
        out.append(f"enum ar_config_{name} {{\n{values}}};\n")
    out.append(STRINGS)
    out.append("/* What is in force. */\n" + struct_block(catalog))
    return "\n".join(out) + HEADER


def key_row(k, member, values, tag):
    words = f"ar_values_{values}" if k.values else "NULL"
    flags = ", ".join(str(f).lower() for f in (k.required, k.unique))
    return (f"\t{{ {quote(k.name)}, AR_CONFIG_{k.kind.upper()}, AR_CONFIG_UNIT_{k.unit.upper()}, "
            f"{quote(k.default)}, {optional(k.env)}, "
            f"{', '.join(str(f).lower() for f in (k.secret, k.lines, k.fixed))}, {k.min}, {k.max}, {words}, {flags},\n"
            f"\t  offsetof(struct {tag}, {member}),\n\t  {quote(k.doc)} }},")


def path_of(name):
    """The member of the struct: a word that C has taken is spelt otherwise there."""
    section, dot, member = name.rpartition(".")
    return section + dot + c_name(member)


def list_rows(one):
    rows = "\n".join(key_row(k, c_name(k.name), f"{one.name}_{c_name(k.name)}",
                             f"ar_config_{one.name}") for k in one.fields)
    return f"static const struct ar_config_key {one.name}_keys[] = {{\n{rows}\n}};\n"


def list_row(one):
    return (f"\t{{ {quote(one.name)}, {one.name}_keys, {len(one.fields)}, sizeof(struct ar_config_{one.name}),\n"
            f"\t  offsetof(struct ar_config, {one.name}), offsetof(struct ar_config, {one.name}_count),\n"
            f"\t  {quote(one.doc)} }},")


def source(catalog):
    out = [BANNER, '#include "config.h"\n\n#include <stddef.h>\n', "/* clang-format off */\n"]
    for name, k in enums(catalog):
        words = ", ".join(quote(v) for v in k.values)
        out.append(f"static const char *const ar_values_{name}[] = {{ {words}, NULL }};")
    rows = "\n".join(key_row(k, path_of(k.name), c_name(k.name), "ar_config") for k in catalog.config)
    out.append(f"\nconst struct ar_config_key ar_config_keys[] = {{\n{rows}\n}};\n"
               f"const size_t ar_config_key_count = {len(catalog.config)};\n")
    out += [list_rows(one) for one in catalog.lists]
    rows = "\n".join(list_row(one) for one in catalog.lists)
    out.append(f"const struct ar_config_list ar_config_lists[] = {{\n{rows}\n}};\n"
               f"const size_t ar_config_list_count = {len(catalog.lists)};\n")
    return "\n".join(out) + "\n"


def outputs(catalog):
    return {"config.h": header(catalog), "config.c": source(catalog)}
