"""The zstd dictionary of stored facts: typical encoded events, frozen in catalog/dictionary/.

Rows that were written with a dictionary can be read only with the same bytes, so a released one never changes: a better
one gets the next number, and the store keeps the number beside each row."""

import hashlib
from pathlib import Path

from .model import CatalogError

LIMIT = 24 * 1024
# Number -> SHA-256 of its bytes.
FROZEN = {1: "fb47f54d95cbe876575314abe606778e9e315d30b6dad0c5cb186ffe4090673d"}
LATEST = 1


def dictionary_lines(root):
    path = Path(root) / "dictionary" / f"{LATEST}.ndjson"
    data = path.read_bytes()
    if len(data) > LIMIT:
        raise CatalogError(f"{path.name}: {len(data)} bytes, at most {LIMIT}")
    if hashlib.sha256(data).hexdigest() != FROZEN[LATEST]:
        raise CatalogError(f"{path.name}: a released dictionary never changes; add the next number instead")
    return data.decode().splitlines(keepends=True)
