"""gen/telemetry_names.h and gen/telemetry_names.c: the names that spans and their attributes have outside."""

from .c import BANNER, enum_block, quote
from .model import upper


def header(catalog):
    version, url = catalog.convention
    out = [BANNER, "#ifndef AR_TELEMETRY_NAMES_H\n#define AR_TELEMETRY_NAMES_H\n", '#include "span.h"\n', "/* clang-format off */\n",
           f"#define AR_TELEMETRY_CONVENTION {quote(version)}\n#define AR_TELEMETRY_SCHEMA_URL {quote(url)}\n"]
    out.append(enum_block("ar_span_type", "AR_SPAN", [s.word for s in catalog.spans], first=0, count=True))
    out.append(enum_block("ar_attribute", "AR_ATTR", [a.word for a in catalog.attributes], first=0, count=True))
    out.append("struct ar_span_desc {\n\tconst char *word; /* of the standard */\n\tconst char *name;\n\tenum ar_span_kind kind;\n};\n")
    out.append("extern const struct ar_span_desc ar_span_descs[AR_SPAN_COUNT];\n"
               "extern const char *const ar_attribute_names[AR_ATTR_COUNT];\n"
               "extern const char *const ar_scope_attributes[]; /* by enum ar_scope; NULL: none */\n\n#endif")
    return "\n".join(out) + "\n"


def source(catalog):
    spans = "\n".join(f"\t[AR_SPAN_{upper(s.word)}] = {{ {quote(s.word.replace('_', '.'))}, {quote(s.name)}, AR_SPAN_KIND_{s.kind.upper()} }},"
                      for s in catalog.spans)
    names = "\n".join(f"\t[AR_ATTR_{upper(a.word)}] = {quote(a.name)}," for a in catalog.attributes)
    scopes = "\n".join(f"\t{quote(f'agentd.{s.name}.id') if s.name not in ('trace', 'span') else 'NULL'}," for s in catalog.scopes)
    return (f'{BANNER}\n#include "telemetry_names.h"\n\n/* clang-format off */\n\n'
            f"const struct ar_span_desc ar_span_descs[AR_SPAN_COUNT] = {{\n{spans}\n}};\n\n"
            f"const char *const ar_attribute_names[AR_ATTR_COUNT] = {{\n{names}\n}};\n\n"
            f"const char *const ar_scope_attributes[] = {{\n{scopes}\n}};\n")


def outputs(catalog):
    return {"telemetry_names.h": header(catalog), "telemetry_names.c": source(catalog)}
