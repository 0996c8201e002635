"""Counts in Markdown pages: `<!-- count:events -->129<!-- /count -->` holds what the sources say today."""

import re

from .model import CatalogError

PAGES = ("*.md", "catalog/*.md", "docs/**/*.md", "src/**/*.md", "sdk/*/README.md", "test/*/README.md")
OTHERS = ("CHANGELOG.md", "docs/reference")  # a record of other days; generated as a whole
MARK = re.compile(r"(<!-- count:(\w+) -->)[^<]*(<!-- /count -->)")
BARE = re.compile(r"\b\d+ (?:event types|commands|settings|metrics|error codes|checks|mutants|fuzz targets|modules|requirements)\b")


def lines(path, start=""):
    """How many lines of a file begin with this; empty lines and comments do not count."""
    found = path.read_text().splitlines()
    return sum(1 for line in found if line and not line.startswith("# ") and line.startswith(start))


def counts(catalog, root):
    """Each count that a page may show, by the name in its mark."""
    corpus = root / "test" / "unit" / "command"
    return {
        "events": len(catalog.events),
        "commands": len(catalog.commands),
        "checks": len(list((root / "tools").glob("check-*"))),
        "ordinary_commands": lines(corpus / "ordinary_commands.txt"),
        "ordinary_commands_that_ask": lines(corpus / "ordinary_commands.txt", "run ask "),
        "bypass_commands": lines(corpus / "bypass_commands.txt"),
    }


def fill(name, text, known):
    """The page with its counts; CatalogError for one that has no source, or that is written by hand."""
    def value(match):
        if match[2] not in known:
            raise CatalogError(f"{name}: nothing counts '{match[2]}'; compiler/counts.py has {', '.join(known)}")
        return f"{match[1]}{known[match[2]]}{match[3]}"

    bare = BARE.search(text)
    if bare:
        line = text.count("\n", 0, bare.start()) + 1
        raise CatalogError(f"{name}:{line}: '{bare[0]}' goes stale: write <!-- count:name -->0<!-- /count --> or no number")
    return MARK.sub(value, text)


def outputs(catalog, root):
    """Every page that has counts, as {path: text}."""
    known = counts(catalog, root)
    pages = {path: path.relative_to(root).as_posix() for glob in PAGES for path in root.glob(glob)}
    filled = {path: fill(name, path.read_text(), known) for path, name in sorted(pages.items()) if not name.startswith(OTHERS)}
    return {path: text for path, text in filled.items() if MARK.search(text)}
