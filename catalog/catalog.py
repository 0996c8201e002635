#!/usr/bin/env python3
"""Compiles the catalogue: reads the .cat files beside it, writes catalog/gen/, docs/reference/, the types of the TypeScript client
and the counts in the Markdown pages.

    python3 catalog/catalog.py           rewrite every output
    python3 catalog/catalog.py --check   write nothing; show what is stale and exit 1
"""

import argparse
import difflib
import sys
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from compiler import c, config_c, counts, markdown, metrics_c, openapi, openapi_c, parse, schema, telemetry_c, typescript  # noqa: E402
from compiler.model import CatalogError  # noqa: E402

GEN = HERE / "gen"
DOCS = HERE.parent / "docs" / "reference"
SDK = HERE.parent / "sdk" / "typescript" / "src" / "gen"


def compile_all():
    """Every output as {path: text}."""
    catalog = parse.load(HERE)
    files = {GEN / name: text for name, text in c.outputs(catalog, HERE).items()}
    places = ((GEN, config_c), (GEN, metrics_c), (GEN, telemetry_c), (GEN, schema), (GEN, openapi), (GEN, openapi_c), (SDK, typescript), (DOCS, markdown))
    for folder, backend in places:
        files |= {folder / name: text for name, text in backend.outputs(catalog).items()}
    return files | counts.outputs(catalog, HERE.parent)


def written():
    return {path for folder in (GEN, DOCS, SDK) for path in folder.rglob("*") if path.is_file()}


def stale(files):
    """Prints a diff of every file that is not what it should be; returns how many."""
    count = 0
    for path in sorted(set(files) | written()):
        old = path.read_text() if path.exists() else ""
        new = files.get(path, "")
        if old == new and path in files:
            continue
        count += 1
        name = str(path.relative_to(HERE.parent))
        diff = difflib.unified_diff(old.splitlines(True), new.splitlines(True), name, name + " (expected)")
        sys.stdout.writelines(list(diff)[:40])
    return count


def write(files):
    for path in written() - set(files):
        path.unlink()
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def main():
    args = argparse.ArgumentParser(description="Compiles the catalogue.")
    args.add_argument("--check", action="store_true", help="write nothing; exit 1 when an output is stale")
    try:
        files = compile_all()
    except CatalogError as error:
        sys.exit(f"catalog: {error}")
    if not args.parse_args().check:
        write(files)
        return
    count = stale(files)
    if count:
        sys.exit(f"catalog: {count} files are stale; run catalog/catalog.py")


main()
