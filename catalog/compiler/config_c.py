"""gen/config.h and gen/config.c: the settings as a struct, and the tables that fill it from file and environment."""

from .c import BANNER, optional, quote
from .model import c_name

HEADER = """
enum ar_config_kind {
	AR_CONFIG_STRING,
	AR_CONFIG_INT,
	AR_CONFIG_BOOL,
	AR_CONFIG_ENUM, /* an int: index into values */
};

/* One setting. `offset` is into struct ar_config; `file_offset` into struct ar_config_file, where the member is a pointer
 * that stays NULL when the file does not name the key (enums are words there). */
struct ar_config_key {
	const char *name; /* "model.base_url" */
	enum ar_config_kind kind;
	const char *preset; /* the default, as text */
	const char *env;    /* environment variable that wins over the file, or NULL */
	bool secret;        /* never printed or logged */
	int64_t min;        /* of an int */
	int64_t max;        /* of an int; 0 = none */
	const char *const *values; /* of an enum, ended by NULL */
	size_t offset;
	size_t file_offset;
	const char *doc;
};

extern const struct ar_config_key ar_config_keys[];
extern const size_t ar_config_key_count;

/* For cyaml_load_file(): fills a struct ar_config_file. Unknown keys are errors. */
struct cyaml_schema_value;
extern const struct cyaml_schema_value ar_config_file_schema;

#endif
"""

TYPES = {"string": "const char *", "int": "int64_t ", "bool": "bool ", "enum": "int "}
FILE_TYPES = {"string": "char *", "int": "int64_t *", "bool": "bool *", "enum": "char *"}


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
    return "\n".join(out + [f"struct {tag} {{\n{members}}};\n"])


def header(catalog):
    out = [BANNER, "#ifndef AR_CONFIG_H\n#define AR_CONFIG_H\n", '#include "str.h"\n', "/* clang-format off */\n"]
    for key in catalog.config:
        if key.values:
            stem = "AR_CONFIG_" + c_name(key.name).upper()
            values = "".join(f"\t{stem}_{v.upper().replace('-', '_')},\n" for v in key.values)
            out.append(f"enum ar_config_{c_name(key.name)} {{\n{values}}};\n")
    out.append("/* What is in force. */\n" + struct_block(catalog, "ar_config", TYPES))
    out.append("/* What the file says. */\n" + struct_block(catalog, "ar_config_file", FILE_TYPES))
    return "\n".join(out) + HEADER


def key_row(k):
    values = f"ar_values_{c_name(k.name)}" if k.values else "NULL"
    flags = f"{str(k.secret).lower()}, {k.min}, {k.max}, {values}"
    return (f"\t{{ {quote(k.name)}, AR_CONFIG_{k.kind.upper()}, {quote(k.default)}, {optional(k.env)}, {flags},\n"
            f"\t  offsetof(struct ar_config, {k.name}), offsetof(struct ar_config_file, {k.name}),\n"
            f"\t  {quote(k.doc)} }},")


def yaml_field(tag, key, member):
    name = key.name.rpartition(".")[2]
    head = f"{quote(name)}, CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL, struct {tag}, {member}"
    if key.kind in ("string", "enum"):
        return f"\tCYAML_FIELD_STRING_PTR({head}, 0, 65536),"
    macro = {"int": "CYAML_FIELD_INT_PTR", "bool": "CYAML_FIELD_BOOL_PTR"}[key.kind]
    return f"\t{macro}({head}),"


def source(catalog):
    out = [BANNER, '#include "config.h"\n\n#include <cyaml/cyaml.h>\n', "/* clang-format off */\n"]
    for k in catalog.config:
        if k.values:
            words = ", ".join(quote(v) for v in k.values)
            out.append(f"static const char *const ar_values_{c_name(k.name)}[] = {{ {words}, NULL }};")
    rows = "\n".join(key_row(k) for k in catalog.config)
    out.append(f"\nconst struct ar_config_key ar_config_keys[] = {{\n{rows}\n}};\n"
               f"const size_t ar_config_key_count = {len(catalog.config)};\n")
    parts = sections(catalog)
    for section, keys in parts.items():
        if section:
            fields = "\n".join(yaml_field(f"ar_config_file_{section}", k, m) for k, m in keys)
            out.append(f"static const cyaml_schema_field_t {section}_fields[] = {{\n{fields}\n\tCYAML_FIELD_END,\n}};\n")
    fields = [yaml_field("ar_config_file", k, m) for k, m in parts[""]]
    fields += [f'\tCYAML_FIELD_MAPPING("{s}", CYAML_FLAG_OPTIONAL, struct ar_config_file, {s}, {s}_fields),'
               for s in parts if s]
    body = "\n".join(fields)
    out.append(f"static const cyaml_schema_field_t top_fields[] = {{\n{body}\n\tCYAML_FIELD_END,\n}};\n")
    out.append("const struct cyaml_schema_value ar_config_file_schema = {\n"
               "\tCYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct ar_config_file, top_fields),\n};")
    return "\n".join(out) + "\n"


def outputs(catalog):
    return {"config.h": header(catalog), "config.c": source(catalog)}
