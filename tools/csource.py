"""C text for the checks: which files are ours, and the same text without comments and literals.

Leaves every rule to the check that imports it. Standard library only.
"""
import argparse
import os
import re
import sys

CODE_DIRS = ("src", "include", "test", "fuzz", "bench")
C_SUFFIXES = (".c", ".h", ".cc")
SKIP_DIRS = {"node_modules", "build", "gen", "corpus", "fixtures", "__pycache__", ".git"}

# In this order: a quote inside a comment is no string, a comment mark inside a string is no comment.
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)


def start(description):
    """Parses the two options that every check has (--help, --root) and returns the root of the tree."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                        help="tree to look at (default: the one this script is in)")
    return os.path.abspath(parser.parse_args().root)


def walk(root, tops, suffixes):
    """Paths, relative to root and sorted, of the files under `tops` with one of the suffixes."""
    found = []
    for top in tops:
        for folder, dirs, names in os.walk(os.path.join(root, top)):
            dirs[:] = [d for d in dirs if d not in SKIP_DIRS]
            found += [os.path.relpath(os.path.join(folder, n), root) for n in names if n.endswith(suffixes)]
    return sorted(found)


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
        return f.read()


def blank(text, keep_strings=False):
    """Comments (and literals) as spaces: line numbers and columns stay what they were."""
    def spaces(match):
        token = match.group(0)
        if keep_strings and token[0] in "\"'":
            return token
        return "\n".join(" " * len(line) for line in token.split("\n"))
    return TOKEN.sub(spaces, text)


def line_at(text, offset):
    return text.count("\n", 0, offset) + 1


def includes(text):
    """(line, is_quoted, name) of every #include that is not inside a comment."""
    text = blank(text, keep_strings=True)
    return [(line_at(text, m.start(2)), m.group(1) == '"', m.group(2)) for m in INCLUDE.finditer(text)]


def finish(findings, summary):
    """Prints findings (path, line, message), then one line on stderr; returns the exit status."""
    for path, line, message in sorted(findings):
        print(f"{path}:{line}: {message}")
    print(f"{os.path.basename(sys.argv[0])}: {summary}, {len(findings)} findings", file=sys.stderr)
    return 1 if findings else 0
