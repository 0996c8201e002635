#!/usr/bin/env python3
"""Man pages of the programs: agentctl(1) and agentd(1) from their help, agentd.yaml(5) from the catalogue.

    python3 packaging/man.py BIN OUT     BIN has agentctl and agentd, OUT gets man1/ and man5/
"""

import re
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "catalog"))

from compiler import parse  # noqa: E402
from compiler.markdown import UNIT_KINDS  # noqa: E402


def roff(text):
    """Text as it is: no word of it is an order to the formatter."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


def bold(text):
    return f"\\fB{roff(text)}\\fR"


def page(name, section, summary, version, parts):
    head = f'.TH {name.upper()} {section} "" "agentd {version}" "Agent Runtime"\n.SH NAME\n{roff(name)} \\- {roff(summary)}\n'
    return head + "".join(f".SH {title}\n{body.rstrip()}\n" for title, body in parts if body.strip())


def literal(lines):
    return ".nf\n" + "\n".join(roff(line) for line in lines) + "\n.fi\n"


def say(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def sections(text):
    """A help page as {heading: lines}; what stands before the first heading is under ""."""
    out, name = {"": []}, ""
    for line in text.splitlines():
        if re.match(r"^[A-Z][A-Za-z ]*$", line):
            name = line
            out[name] = []
        else:
            out[name].append(line[2:] if line.startswith("  ") else line)
    return out


def terms(lines):
    """`term   meaning` lines as a list of definitions."""
    out = []
    for line in lines:
        match = re.match(r"^(\S+(?: \S+)*?)(?:  +| +(?=\S*$))(\S.*)$", line) or re.match(r"^(\S+)\s+(.*)$", line)
        if match:
            out.append(f".TP\n{bold(match.group(1))}\n{roff(match.group(2))}\n")
        elif line.strip():
            out.append(f"{roff(line.strip())}\n")
    return "".join(out)


def paragraphs(lines):
    return "".join(f"{roff(line)}\n" if line.strip() else ".PP\n" for line in "\n".join(lines).strip().split("\n"))


def command_part(program, name):
    help_page = sections(say(program, "help", name))
    usage = help_page["Usage"]
    body = f".SS {bold(usage[0].removeprefix('agentctl '))}\n{paragraphs(usage[1:])}"
    body += terms(help_page.get("Options", []))
    return body + ".PP\n" + literal(help_page["Examples"])


def agentctl(program, version):
    overview = sections(say(program, "help"))
    names = [line.split()[0] for line in overview["Commands"] if line.strip() and not line.startswith("help")]
    return page("agentctl", 1, "talk to the agent runtime", version, [
        ("SYNOPSIS", literal(overview["Usage"])),
        ("DESCRIPTION", "Talks to the daemon of this user, or to the one that is named, through its public HTTP API.\n"
                        "Where no daemon runs, \\fBrun\\fR and \\fBchat\\fR start one.\n"),
        ("COMMANDS", "".join(command_part(program, name) for name in names)),
        ("GLOBAL OPTIONS", terms(overview["Global options"])),
        ("ENVIRONMENT", literal(overview["Environment"])),
        ("EXIT STATUS", paragraphs(overview["Exit status"])),
        ("EXAMPLES", literal(overview["Examples"])),
        ("SEE ALSO", f"{bold('agentd')}(1), {bold('agentd.yaml')}(5)\n")])


def agentd(program, version, catalog):
    text = say(program, "--help")
    usage, options, notes, examples = [], [], [], []
    for line in text.splitlines()[1:]:
        if line.startswith(" " * 12) and options:
            options[-1] += " " + line.strip()
        elif line.startswith(("usage:", "       ")):
            usage.append(line.removeprefix("usage:").strip())
        elif line.startswith("  --"):
            options.append(line.strip())
        elif line.startswith("  "):
            examples.append(line.strip())
        elif line.strip() and not line.startswith("example"):
            notes.append(line)
    env = "".join(f".TP\n{bold(k.env)}\n{roff(k.doc)} Setting {bold(k.name)}.\n" for k in catalog.config if k.env)
    service = ("agentd uses the sockets of the service manager (\\fBLISTEN_FDS\\fR), and notifies it when the daemon is ready, alive and\n"
               "stopping (\\fBNOTIFY_SOCKET\\fR, \\fBWATCHDOG_USEC\\fR).\n")
    return page("agentd", 1, "daemon of the agent runtime", version, [
        ("SYNOPSIS", literal(usage)), ("OPTIONS", terms(options)), ("DESCRIPTION", paragraphs(notes)),
        ("SERVICE MANAGER", service), ("ENVIRONMENT", env),
        ("EXIT STATUS", "0 after a requested stop, 1 if it cannot start, 2 for an unknown option or command.\n"),
        ("EXAMPLES", literal(examples)),
        ("SEE ALSO", f"{bold('agentctl')}(1), {bold('agentd.yaml')}(5)\n")])


def setting(k):
    kind = ", ".join(k.values) if k.values else UNIT_KINDS.get(k.unit, k.kind)
    kind += f", {k.min} to {k.max}" if k.kind == "int" and k.max else ""
    about = [kind] + (["required"] if k.required else [f"default {k.default}"] if k.default else []) + ([k.env] if k.env else [])
    secret = " Secret: never shown or logged; may be a reference." if k.secret else ""
    return f".TP\n{bold(k.name)} ({roff('; '.join(about))})\n{roff(k.doc + secret)}\n"


def settings(catalog, version):
    intro = ("The settings of agentd, as YAML. A dot in a name below is a section of the file. The environment overrides the file, the file\n"
             "overrides the default. An unknown key is an error; agentd check lists all mistakes.\n"
             ".PP\nA duration is a whole number with ms, s, m, h or d, a size one with B, kB, MB, GB, TB, KiB, MiB, GiB or TiB; a percentage may end\n"
             "with %. Without a unit the number has the unit of the type. A boolean is true or false.\n")
    example = ["model:", "  name: small", "listen: 127.0.0.1:7717", "log: { requests: all }"]
    lists = "".join(f".SS {bold(one.name)}\n{roff(one.doc)}\n" + "".join(setting(k) for k in one.fields) for one in catalog.lists)
    return page("agentd.yaml", 5, "settings of the daemon of the agent runtime", version, [
        ("DESCRIPTION", intro), ("SETTINGS", "".join(setting(k) for k in catalog.config)),
        ("LISTS", "Each is a sequence of mappings.\n" + lists),
        ("REFERENCES", references()), ("EXAMPLE", literal(example)), ("SEE ALSO", f"{bold('agentd')}(1)\n")])


def references():
    rows = [("{ file: PATH }", "The content of a regular file that only agentd can read."),
            ("{ credential: NAME }", "The file of that name in $CREDENTIALS_DIRECTORY; see systemd.exec(5)."),
            ("{ env: NAME }", "A variable of agentd; env:NAME at the end of a text is the same."),
            ("{ command: [PROGRAM, ARGUMENT, ...] }", "The standard output of the program; it runs without a shell."),
            ("{ http: { url: ..., token: REFERENCE, header: ..., field: ..., ca_file: ... } }",
             "The text at the JSON pointer field in the answer of a secret store.")]
    return (roff("A secret is a text, or a reference to it as a mapping:") + "\n"
            + "".join(f".TP\n{bold(form)}\n{roff(what)}\n" for form, what in rows)
            + ".PP\n" + roff("prefix is put before the value. cache_s is the number of seconds after which a value is read again: 60 for files, 300 for "
                            "commands and stores; 0 reads it again only at SIGHUP. agentd check --secrets resolves all of them.") + "\n")


def main():
    programs, out = Path(sys.argv[1]), Path(sys.argv[2])
    catalog = parse.load(ROOT / "catalog")
    version = say(programs / "agentd", "--version").split()[1]
    pages = {"man1/agentctl.1": agentctl(programs / "agentctl", version),
             "man1/agentd.1": agentd(programs / "agentd", version, catalog),
             "man5/agentd.yaml.5": settings(catalog, version)}
    for name, text in pages.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(text)


main()
