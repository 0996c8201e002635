"""The zstd dictionary of stored facts: typical encoded events and index rows, frozen in catalog/dictionary/.

Rows that were written with a dictionary can be read only with the same bytes, so a released one never changes: a better
one gets the next number, and the store keeps the number beside each row.

`<n>.tables` is what stands before the lines, in hexadecimal: the tables of symbols with which zstd begins, so that it need not
build any for a small value. ZDICT_finalizeDictionary() makes them from the lines and some thousand stored values (level -1)."""

import hashlib
from pathlib import Path

from .model import CatalogError

LIMIT = 40 * 1024
# Number -> SHA-256 of its bytes: those of its tables, if it has some, then those of its lines.
FROZEN = {1: "fb47f54d95cbe876575314abe606778e9e315d30b6dad0c5cb186ffe4090673d",
          2: "faf978fdf8f7c772f69f5515b93bfae62eb3a7647d7a3f4244ceb70a87b22b86"}
LATEST = 2


def read(root, number):
    """Tables and lines, as bytes."""
    folder = Path(root) / "dictionary"
    tables = folder / f"{number}.tables"
    return bytes.fromhex(tables.read_text()) if tables.exists() else b"", (folder / f"{number}.ndjson").read_bytes()


def dictionary(root):
    """The tables, and the lines with their ends."""
    for number, digest in FROZEN.items():
        tables, lines = read(root, number)
        if hashlib.sha256(tables + lines).hexdigest() != digest:
            raise CatalogError(f"dictionary {number}: a released dictionary never changes; add the next number instead")
        if len(tables + lines) > LIMIT:
            raise CatalogError(f"dictionary {number}: {len(tables + lines)} bytes, at most {LIMIT}")
    tables, lines = read(root, LATEST)
    return tables, lines.decode().splitlines(keepends=True)
