#!/usr/bin/env python3
"""A root of a machine that has nothing but some Debian packages, made of the files of this one.

    clean_root.py ROOT DEB [PACKAGE...]     ROOT gets the essential packages, what DEB depends on, PACKAGEs and what these depend on; DEB is not installed

Files are linked, not copied, where the file system allows it: nobody may write to ROOT itself. What a package does not list but the system needs is made
here: users, alternatives, the records of dpkg.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

LEFT_OUT = re.compile(r"/usr/share/(doc|man|locale|info|i18n)/.")
MERGED = ["bin", "sbin", "lib", "lib32", "lib64", "libx32"]
USERS = "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
GROUPS = "root:x:0:\nshadow:x:42:\nnogroup:x:65534:\n"


def records():
    """Installed packages by name, and who provides a name."""
    found, providers = {}, {}
    for text in pathlib.Path("/var/lib/dpkg/status").read_text().split("\n\n"):
        fields = dict(re.findall(r"^(\S+): (.*)$", text, re.M))
        if not fields.get("Status", "").endswith(" installed"):
            continue
        fields["text"] = text
        found[fields["Package"]] = fields
        for name in re.findall(r"(?:^|, )([a-z0-9+.-]+)", fields.get("Provides", "")):
            providers.setdefault(name, fields["Package"])
    return found, providers


def wanted(depends, found, providers):
    """The packages that fulfil a line of dependencies here."""
    for clause in filter(str.strip, depends.split(",")):
        names = [re.match(r"\s*([a-z0-9+.-]+)", choice)[1] for choice in clause.split("|")]
        here = [name for name in names if name in found] or [providers[name] for name in names if name in providers]
        if not here:
            sys.exit(f"clean_root: nothing here is {clause.strip()}")
        yield here[0]


def closure(depends, found, providers):
    todo = [name for name, fields in found.items() if fields.get("Essential") == "yes"] + list(wanted(depends, found, providers))
    seen = set()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += wanted(f"{found[name].get('Depends', '')},{found[name].get('Pre-Depends', '')}", found, providers)
    return sorted(seen)


def put(source, target):
    if os.path.lexists(target):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def add_files(root, names):
    for line in subprocess.run(["dpkg", "-L", *names], check=True, capture_output=True, text=True).stdout.split("\n"):
        if not line.startswith("/") or LEFT_OUT.match(line) or not os.path.lexists(line):
            continue
        target = root / line[1:]
        if os.path.isdir(line) and not os.path.islink(line):
            target.mkdir(parents=True, exist_ok=True)
        else:
            put(line, target)


def add_records(root, names, found):
    info = root / "var/lib/dpkg/info"
    for folder in ("info", "updates", "triggers", "alternatives", "parts"):
        (root / "var/lib/dpkg" / folder).mkdir(parents=True, exist_ok=True)
    for path in pathlib.Path("/var/lib/dpkg/info").iterdir():
        if path.name == "format" or path.name.rsplit(".", 1)[0].split(":")[0] in names:
            put(path, info / path.name)
    (root / "var/lib/dpkg/status").write_text("\n\n".join(found[name]["text"] for name in names) + "\n")


def add_rest(root):
    etc = root / "etc"
    for name, text in {"passwd": USERS, "group": GROUPS, "shadow": "root:*:1::::::\n", "gshadow": "root:*::\n", "hostname": "machine\n",
                       "hosts": "127.0.0.1 localhost machine\n", "nsswitch.conf": "passwd: files\ngroup: files\nshadow: files\nhosts: files\n"}.items():
        (etc / name).unlink(missing_ok=True)
        (etc / name).write_text(text)
    for place in [*pathlib.Path("/usr/bin").iterdir(), *pathlib.Path("/usr/sbin").iterdir()]:
        choice = pathlib.Path(os.readlink(place)) if place.is_symlink() else place
        if choice.parent == pathlib.Path("/etc/alternatives") and os.path.lexists(root / os.readlink(choice)[1:]):
            put(choice, root / str(choice)[1:])
            put(place, root / str(place)[1:])
    for folder, mode in {"tmp": 0o1777, "var/tmp": 0o1777, "root": 0o700, "home": 0o755, "proc": 0o755, "sys": 0o755, "dev": 0o755, "run": 0o755}.items():
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder).chmod(mode)
    subprocess.run(["ldconfig", "-r", str(root)], check=True)


def main():
    root, deb, *more = sys.argv[1:]
    root = pathlib.Path(root)
    found, providers = records()
    depends = subprocess.run(["dpkg-deb", "-f", deb, "Depends"], check=True, capture_output=True, text=True).stdout.strip()
    names = closure(", ".join([depends, *more]), found, providers)
    for name in MERGED:
        if os.path.islink(f"/{name}"):
            (root / "usr" / name).mkdir(parents=True, exist_ok=True)
            (root / name).symlink_to(f"usr/{name}")
    add_files(root, names)
    add_records(root, names, found)
    add_rest(root)
    print(len(names))


main()
