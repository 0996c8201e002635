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

/* One setting, or one field of a list's entry. `offset` is into struct ar_config, or the entry; `file_offset` into struct
 * ar_config_file, or its entry, where the member is a pointer that stays NULL when the file does not name the key (enums and
 * decimals are words there; strings are a struct ar_config_file_strings). */
struct ar_config_key {
	const char *name; /* "model.base_url" */
	enum ar_config_kind kind;
	const char *preset; /* the default, as text */
	const char *env;    /* environment variable that wins over the file, or NULL */
	bool secret;        /* never printed or logged */
	int64_t min;        /* of an int */
	int64_t max;        /* of an int; 0 = none */
	const char *const *values; /* of an enum, or what strings may be, ended by NULL; or NULL */
	bool required;      /* in a list: must be given and not empty */
	bool unique;        /* in a list: no two entries share it */
	size_t offset;
	size_t file_offset;
	const char *doc;
};

extern const struct ar_config_key ar_config_keys[];
extern const size_t ar_config_key_count;

/* A list of the file: struct ar_config has a pointer to its entries and their count, and so has struct ar_config_file. */
struct ar_config_list {
	const char *name; /* "models" */
	const struct ar_config_key *fields;
	size_t field_count;
	size_t entry_size;
	size_t file_entry_size;
	size_t offset, count_offset;
	size_t file_offset, file_count_offset;
	const char *doc;
};

extern const struct ar_config_list ar_config_lists[];
extern const size_t ar_config_list_count;

/* For cyaml_load_file(): fills a struct ar_config_file. Unknown keys are errors. */
struct cyaml_schema_value;
extern const struct cyaml_schema_value ar_config_file_schema;

#endif
"""

STRINGS = """#define AR_CONFIG_UNSET (-1)

/* Words of a list's entry. */
struct ar_config_strings {
	const char *const *v;
	size_t count;
};

struct ar_config_file_strings {
	char **v;
	size_t count;
};
"""

TYPES = {"string": "const char *", "int": "int64_t ", "bool": "bool ", "enum": "int ", "decimal": "int64_t ",
         "strings": "struct ar_config_strings "}
FILE_TYPES = {"string": "char *", "int": "int64_t *", "bool": "bool *", "enum": "char *", "decimal": "char *",
              "strings": "struct ar_config_file_strings "}
MAX_ENTRIES = 1024
MAX_STRINGS = 1024


def sections(catalog):
    """{section: [(key, member)]}, "" being the top of the file."""
    out = {"": []}
    for key in catalog.config:
        section, _, member = key.name.rpartition(".")
        out.setdefault(section, []).append((key, c_name(member)))
    return out


def struct_block(catalog, tag, types):
    out = []
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
    out.append("/* What is in force. */\n" + struct_block(catalog, "ar_config", TYPES))
    out.append("/* What the file says. */\n" + struct_block(catalog, "ar_config_file", FILE_TYPES))
    return "\n".join(out) + HEADER


def key_row(k, member, values, tags):
    words = f"ar_values_{values}" if k.values else "NULL"
    flags = ", ".join(str(f).lower() for f in (k.required, k.unique))
    return (f"\t{{ {quote(k.name)}, AR_CONFIG_{k.kind.upper()}, {quote(k.default)}, {optional(k.env)}, "
            f"{str(k.secret).lower()}, {k.min}, {k.max}, {words}, {flags},\n"
            f"\t  offsetof(struct {tags[0]}, {member}), offsetof(struct {tags[1]}, {member}),\n"
            f"\t  {quote(k.doc)} }},")


def list_rows(one):
    rows = "\n".join(key_row(k, c_name(k.name), f"{one.name}_{c_name(k.name)}",
                             (f"ar_config_{one.name}", f"ar_config_file_{one.name}")) for k in one.fields)
    return f"static const struct ar_config_key {one.name}_keys[] = {{\n{rows}\n}};\n"


def list_row(one):
    def offsets(tag):
        return f"offsetof(struct {tag}, {one.name}), offsetof(struct {tag}, {one.name}_count)"
    return (f"\t{{ {quote(one.name)}, {one.name}_keys, {len(one.fields)},\n"
            f"\t  sizeof(struct ar_config_{one.name}), sizeof(struct ar_config_file_{one.name}),\n"
            f"\t  {offsets('ar_config')},\n\t  {offsets('ar_config_file')},\n\t  {quote(one.doc)} }},")


def yaml_field(tag, key, member):
    name = key.name.rpartition(".")[2]
    head = f"{quote(name)}, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct {tag}, {member}"
    if key.kind == "strings":
        return f"\tCYAML_FIELD_SEQUENCE_COUNT({head}.v, {member}.count, &text_value, 0, {MAX_STRINGS}),"
    macro = {"int": "CYAML_FIELD_INT_PTR", "bool": "CYAML_FIELD_BOOL_PTR"}.get(key.kind)
    return f"\t{macro}({head})," if macro else f"\tCYAML_FIELD_STRING_PTR({head}, 0, 65536),"


def yaml_fields(name, rows):
    body = "\n".join(rows)
    return f"static const cyaml_schema_field_t {name}_fields[] = {{\n{body}\n\tCYAML_FIELD_END,\n}};\n"


def yaml_list(one):
    tag = f"ar_config_file_{one.name}"
    return (yaml_fields(one.name, [yaml_field(tag, k, c_name(k.name)) for k in one.fields])
            + f"static const cyaml_schema_value_t {one.name}_value = {{\n"
              f"\tCYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct {tag}, {one.name}_fields),\n}};\n")


def yaml_schema(catalog):
    parts = sections(catalog)
    out = ["static const cyaml_schema_value_t text_value = {\n"
           "\tCYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, 65536),\n};\n"]
    out += [yaml_fields(section, [yaml_field(f"ar_config_file_{section}", k, m) for k, m in keys])
            for section, keys in parts.items() if section]
    out += [yaml_list(one) for one in catalog.lists]
    top = [yaml_field("ar_config_file", k, m) for k, m in parts[""]]
    top += [f'\tCYAML_FIELD_MAPPING("{s}", CYAML_FLAG_OPTIONAL, struct ar_config_file, {s}, {s}_fields),'
            for s in parts if s]
    top += [f'\tCYAML_FIELD_SEQUENCE("{x.name}", CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct ar_config_file, '
            f"{x.name}, &{x.name}_value, 0, {MAX_ENTRIES})," for x in catalog.lists]
    out.append(yaml_fields("top", top))
    out.append("const struct cyaml_schema_value ar_config_file_schema = {\n"
               "\tCYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct ar_config_file, top_fields),\n};")
    return out


def source(catalog):
    out = [BANNER, '#include "config.h"\n\n#include <cyaml/cyaml.h>\n', "/* clang-format off */\n"]
    for name, k in enums(catalog):
        words = ", ".join(quote(v) for v in k.values)
        out.append(f"static const char *const ar_values_{name}[] = {{ {words}, NULL }};")
    rows = "\n".join(key_row(k, k.name, c_name(k.name), ("ar_config", "ar_config_file")) for k in catalog.config)
    out.append(f"\nconst struct ar_config_key ar_config_keys[] = {{\n{rows}\n}};\n"
               f"const size_t ar_config_key_count = {len(catalog.config)};\n")
    out += [list_rows(one) for one in catalog.lists]
    rows = "\n".join(list_row(one) for one in catalog.lists)
    out.append(f"const struct ar_config_list ar_config_lists[] = {{\n{rows}\n}};\n"
               f"const size_t ar_config_list_count = {len(catalog.lists)};\n")
    return "\n".join(out + yaml_schema(catalog)) + "\n"


def outputs(catalog):
    return {"config.h": header(catalog), "config.c": source(catalog)}
