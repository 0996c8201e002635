"""gen/openapi.[ch]: openapi.json inside the program, with the tag that tells whether a reader has it already."""

import hashlib

from .c import BANNER, quote
from .openapi import text

HEADER = """#ifndef AR_OPENAPI_H
#define AR_OPENAPI_H

#include "str.h"

extern const struct ar_str ar_openapi_text;
extern const struct ar_str ar_openapi_tag; /* an ETag, with its quotation marks */

#endif
"""


def outputs(catalog):
    whole = text(catalog)
    tag = hashlib.sha256(whole.encode()).hexdigest()[:16]
    lines = "\n".join("\t" + quote(line.replace("\n", "")) + ' "\\n"' for line in whole.splitlines(True))
    source = f"""{BANNER}
#include "openapi.h"

/* clang-format off */

static const char text[] =
{lines};

const struct ar_str ar_openapi_text = {{ text, sizeof text - 1 }};
const struct ar_str ar_openapi_tag = {{ "\\"{tag}\\"", {len(tag) + 2} }};
"""
    return {"openapi.h": f"{BANNER}\n{HEADER}", "openapi.c": source}
