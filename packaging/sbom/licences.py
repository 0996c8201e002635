"""The licence of a Debian package, as far as its machine-readable debian/copyright says it and SPDX has a name for it."""
import pathlib
import re

# Debian's short names that SPDX writes in another way. GPL and LGPL follow a rule of their own.
NAMES = {"Expat": "MIT", "BSD-2-clause": "BSD-2-Clause", "BSD-3-clause": "BSD-3-Clause", "Apache-2.0": "Apache-2.0", "ISC": "ISC", "Zlib": "Zlib",
         "PostgreSQL": "PostgreSQL", "curl": "curl", "MIT": "MIT"}


def spdx_name(word):
    """One licence; None for a name that means nothing outside of its package."""
    gnu = re.fullmatch(r"(L?GPL)-(\d)(?:\.(\d))?(\+?)", word)
    if gnu:
        return f"{gnu[1]}-{gnu[2]}.{gnu[3] or 0}-{'or-later' if gnu[4] else 'only'}"
    return NAMES.get(word)


def declared(package):
    """(SPDX expression or None, what the file says or None) of `Files: *`."""
    path = pathlib.Path("/usr/share/doc", package, "copyright")
    text = path.read_text(errors="replace") if path.exists() else ""
    if not text.startswith("Format:"):
        return None, None
    stanza = next((s for s in re.split(r"\n\s*\n", text) if re.match(r"Files:\s*\*\s*\n", s)), "")
    said = re.search(r"^License:[ \t]*(\S.*)$", stanza, re.M)
    if not said:
        return None, None
    words = re.split(r"\s+(or|and)\s+", said[1].strip())
    named = [word if word in ("or", "and") else spdx_name(word) for word in words]
    expression = None if None in named or len({w for w in named if w in ("or", "and")}) > 1 else " ".join(w.upper() if w in ("or", "and") else w for w in named)
    return expression, said[1].strip()
