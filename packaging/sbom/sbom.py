#!/usr/bin/env python3
"""The bill of materials of the package, SPDX 2.3 as JSON, to standard output.

    sbom.py --tree DIR --maps DIR --version V [--compiled ARCHIVE=SOURCE]... [--leave-out PATH]

--tree is what will be packed. Libraries that the loader adds come from DT_NEEDED of the programs in it, code that the linker has put into them from the
linker's maps, and what is said of both from dpkg's records of this machine, where they were built. What those do not say is NOASSERTION. The time is
SOURCE_DATE_EPOCH, the name of the document follows from its content: the same tree gives the same bytes.
"""
import argparse
import datetime
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid

sys.dont_write_bytecode = True

import licences  # noqa: E402
import linked  # noqa: E402

PACKAGE = "SPDXRef-Package-agentd"
UNKNOWN = "NOASSERTION"


def spdx_id(kind, name):
    return f"SPDXRef-{kind}-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def digest(algorithm, path):
    return hashlib.new(algorithm, path.read_bytes()).hexdigest()


def file_of(tree, path):
    """One file of the package. Links are no files of their own."""
    relative = path.relative_to(tree)
    return {
        "SPDXID": spdx_id("File", str(relative)),
        "fileName": f"./{relative}",
        "fileTypes": ["BINARY"] if linked.is_program(path) else ["OTHER"],
        "checksums": [{"algorithm": "SHA1", "checksumValue": digest("sha1", path)},
                      {"algorithm": "SHA256", "checksumValue": digest("sha256", path)}],
        "licenseConcluded": UNKNOWN,
        "licenseInfoInFiles": [UNKNOWN],
        "copyrightText": UNKNOWN,
    }


def verification_code(files):
    """As SPDX 2.3 has it in 7.9: the SHA-1 over the sorted SHA-1 of all files."""
    sums = sorted(f["checksums"][0]["checksumValue"] for f in files)
    return hashlib.sha1("".join(sums).encode()).hexdigest()


def own_package(version, files, left_out):
    code = {"packageVerificationCodeValue": verification_code(files)}
    if left_out:
        code["packageVerificationCodeExcludedFiles"] = [f"./{left_out}"]
    return {
        "SPDXID": PACKAGE,
        "name": "agentd",
        "versionInfo": version,
        "supplier": "Organization: Agent Runtime",
        "downloadLocation": UNKNOWN,
        "filesAnalyzed": True,
        "packageVerificationCode": code,
        "licenseConcluded": "Apache-2.0",
        "licenseDeclared": "Apache-2.0",
        "licenseInfoFromFiles": [UNKNOWN],
        "copyrightText": UNKNOWN,
        "primaryPackagePurpose": "APPLICATION",
    }


def maintainer(text):
    """A person or a team, with the address in round brackets."""
    found = re.fullmatch(r"(.*?)\s*<(.*)>", text)
    kind = "Organization" if re.search(r"team|maintainers|group|packag", text, re.I) else "Person"
    return f"{kind}: {found[1]} ({found[2]})" if found else UNKNOWN


def library_package(name, system):
    """A Debian package of which code is linked."""
    record = linked.record_of(name)
    licence, said = licences.declared(name)
    package = {
        "SPDXID": spdx_id("Package", name),
        "name": name,
        "versionInfo": record["version"],
        "supplier": maintainer(record["maintainer"]),
        "downloadLocation": UNKNOWN,
        "filesAnalyzed": False,
        "licenseConcluded": UNKNOWN,
        "licenseDeclared": licence or UNKNOWN,
        "copyrightText": UNKNOWN,
        "primaryPackagePurpose": "LIBRARY",
        "sourceInfo": f"source package {record['source']} {record['source_version']}",
        "externalRefs": [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                          "referenceLocator": f"pkg:deb/{system}/{name}@{record['version']}?arch={record['architecture']}".replace("+", "%2B")}],
    }
    if said:
        package["licenseComments"] = f"Files: * of its debian/copyright has License: {said}"
    return package


def relation(one, kind, other):
    return {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}


def links_of(tree, programs, maps, compiled):
    """(program, relation, Debian package) of everything that is linked."""
    for path in programs:
        program = spdx_id("File", str(path.relative_to(tree)))
        for name in linked.shared(path):
            yield program, "DYNAMIC_LINK", name
        for name in linked.static(maps / f"{path.name}.map", compiled):
            yield program, "STATIC_LINK", name


def system_id():
    found = re.search(r'^ID="?([a-z0-9._-]+)', pathlib.Path("/etc/os-release").read_text(), re.M)
    return found[1] if found else "debian"


def document(options):
    tree = pathlib.Path(options.tree)
    paths = sorted(p for p in tree.rglob("*") if p.is_file() and not p.is_symlink() and str(p.relative_to(tree)) != options.leave_out)
    files = [file_of(tree, path) for path in paths]
    programs = [path for path in paths if linked.is_program(path)]
    links = sorted(set(links_of(tree, programs, pathlib.Path(options.maps), dict(options.compiled))))
    names = sorted({name for _, _, name in links})
    made = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    result = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"agentd-{options.version}",
        "creationInfo": {"created": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: packaging/sbom/sbom.py"]},
        "packages": [own_package(options.version, files, options.leave_out)] + [library_package(name, system_id()) for name in names],
        "files": files,
        "relationships": [relation("SPDXRef-DOCUMENT", "DESCRIBES", PACKAGE)]
        + [relation(PACKAGE, "CONTAINS", f["SPDXID"]) for f in files]
        + [relation(program, kind, spdx_id("Package", name)) for program, kind, name in links],
    }
    content = hashlib.sha256(json.dumps(result, sort_keys=True).encode()).hexdigest()
    result["documentNamespace"] = f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, content)}"
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tree", required=True)
    parser.add_argument("--maps", required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--compiled", action="append", default=[], type=lambda word: word.split("=", 1))
    parser.add_argument("--leave-out", default="")
    try:
        json.dump(document(parser.parse_args()), sys.stdout, indent=1, sort_keys=True)
    except (OSError, subprocess.CalledProcessError, linked.Unknown) as error:
        sys.exit(f"sbom: {error}")
    print()


main()
