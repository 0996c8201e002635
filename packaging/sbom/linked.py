"""What is linked into a program, and the Debian packages it came from, as this machine has them."""
import functools
import pathlib
import re
import subprocess


class Unknown(Exception):
    """A file of which no package is known: a bill that left it out would be wrong."""


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True, env={"LC_ALL": "C", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}).stdout


def is_program(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def names_of(path):
    """dpkg may know a file without the /usr that /lib is a link to, or the other way round."""
    real = str(pathlib.Path(path).resolve())
    return {real, real.removeprefix("/usr"), path, path.removeprefix("/usr")}


def owners(paths):
    """The packages that have the files; all are asked for at once, since dpkg reads every list each time."""
    names = sorted({name for path in paths for name in names_of(path)})
    found = subprocess.run(["dpkg", "-S", *names], capture_output=True, text=True).stdout if names else ""
    packages = {name: package for package, name in re.findall(r"^([^:,\s]+)(?::\S+)?: (/.*)$", found, re.M)}
    for path in paths:
        if not names_of(path) & packages.keys():
            raise Unknown(f"no package has {path}")
    return {next(packages[name] for name in sorted(names_of(path)) if name in packages) for path in paths}


@functools.cache
def record_of(name):
    fields = ["Version", "Architecture", "Maintainer", "source:Package", "source:Version"]
    values = output("dpkg-query", "-W", "-f", "\n".join(f"${{{field}}}" for field in fields) + "\n\n", name).split("\n\n")[0].split("\n")
    return dict(zip(["version", "architecture", "maintainer", "source", "source_version"], values))


def needed(path):
    """The sonames of DT_NEEDED."""
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", str(path)))


@functools.cache
def loader_cache():
    return dict(reversed(re.findall(r"^\s+(\S+) \(.*\) => (\S+)$", output("ldconfig", "-p"), re.M)))


def shared(path):
    """The packages of the libraries that the loader will add."""
    sonames = needed(path)
    for soname in sonames:
        if soname not in loader_cache():
            raise Unknown(f"{soname}, which {path.name} needs, is not on this machine")
    return owners([loader_cache()[soname] for soname in sonames])


def static(map_file, compiled):
    """The packages of archives and start files that the linker took code from. `compiled`: our archives that have another package's source."""
    text = map_file.read_text()
    members = re.findall(r"^(\S+?)\([^)\s]+\)(?:\s|$)", text.split("\nMemory Configuration")[0].split("\nDiscarded input sections")[0], re.M)
    starts = re.findall(r"^LOAD (/\S+\.o)$", text, re.M)
    names = [compiled.get(name, name) for name in {*members, *starts}]
    for name in names:
        if not name.startswith("/"):
            raise Unknown(f"{map_file.name} names the archive {name}, of which no source is known")
    return owners(names)
