#!/usr/bin/env python3
"""Lists what is compiled into the program for a target.

    packaging/dependencies.py licences TARGET > THIRD-PARTY-LICENCES.txt    the licence texts, each once, with its packages
    packaging/dependencies.py sbom TARGET > envdoc.cdx.json                 a CycloneDX 1.5 bill of materials

`cargo tree` chooses the packages: what only macros, build scripts and tests need is not in the program. The same Cargo.lock gives the
same bytes: the serial number is derived from the content, and the time is SOURCE_DATE_EPOCH.
"""

import datetime
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import uuid

LICENCE_FILE = re.compile(r"(?i)^(licen[cs]e|copying|copyright|notice|unlicense)([-._].*)?$")
RULE = "=" * 80


def output_of(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout


def compiled_in(target):
    """Packages of `cargo metadata` that are compiled into the program, by their ids, and the ids that each depends on."""
    options = ["--locked", "--filter-platform", target]
    metadata = json.loads(output_of("cargo", "metadata", "--format-version", "1", *options))
    options = ["--locked", "--package", "envdoc", "--target", target, "--edges", "normal,no-proc-macro"]
    tree = output_of("cargo", "tree", *options, "--prefix", "none", "--no-dedupe", "--format", "{p}")
    # A line is `NAME vVERSION`, and the directory of a package of this workspace.
    wanted = {tuple(line.split()[:2]) for line in tree.splitlines()}
    packages = {one["id"]: one for one in metadata["packages"] if (one["name"], f"v{one['version']}") in wanted}
    if len(packages) != len(wanted):
        sys.exit(f"cargo tree names {len(wanted)} packages, cargo metadata has {len(packages)} of them")
    edges = {}
    for node in metadata["resolve"]["nodes"]:
        if node["id"] in packages:
            normal = [one["pkg"] for one in node["deps"] if any(kind["kind"] is None for kind in one["dep_kinds"])]
            edges[node["id"]] = [one for one in normal if one in packages]
    return packages, metadata["resolve"]["root"], edges


def rust_version():
    return re.search(r"^release: (.*)$", output_of("rustc", "-vV"), re.MULTILINE)[1]


def zig():
    """The directory of the ziglang package, whose unwinder and runtime library the linker adds."""
    return pathlib.Path(importlib.util.find_spec("ziglang").origin).parent


def texts(package):
    folder = pathlib.Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and LICENCE_FILE.match(path.name))
    return [path.read_text(encoding="utf-8", errors="replace").strip() for path in files]


def licences(target):
    packages, _, _ = compiled_in(target)
    foreign = sorted((one["name"], one["version"], one) for one in packages.values() if one["source"])
    # Copies of a text differ in white space: one of them is enough.
    by_text, without = {}, []
    for name, version, package in foreign:
        heading = f"{name} {version} ({package['license']})"
        own = texts(package)
        for text in own:
            by_text.setdefault(" ".join(text.split()), (text, []))[1].append(heading)
        if not own:
            without.append(heading)
    sections = sorted(by_text.values(), key=lambda section: section[1])
    for file, heading in [
        (zig() / "lib/libunwind/LICENSE.TXT", "LLVM libunwind (Apache-2.0 WITH LLVM-exception)"),
        (zig() / "LICENSE", "compiler runtime of Zig (MIT)"),
    ]:
        sections.append((file.read_text(encoding="utf-8").strip(), [heading]))
    print("envdoc is under MIT or Apache-2.0. These packages are compiled into it, next to the standard library of")
    print(f"Rust {rust_version()} (MIT or Apache-2.0; its notices are COPYRIGHT-library.html in the Rust distribution).")
    if without:
        print("\nWithout a licence file of their own:\n")
        print("\n".join(f"    {heading}" for heading in without))
    for text, headings in sections:
        print(f"\n{RULE}")
        print("\n".join(headings))
        print(f"{RULE}\n")
        print(text)


def checksums():
    """SHA-256 of the archives in Cargo.lock, by name and version."""
    lock = pathlib.Path("Cargo.lock").read_text(encoding="utf-8")
    found = re.findall(r'^name = "(.*)"\nversion = "(.*)"\nsource = ".*"\nchecksum = "(.*)"$', lock, re.MULTILINE)
    return {(name, version): checksum for name, version, checksum in found}


def component(package, checksum):
    purl = f"pkg:cargo/{package['name']}@{package['version']}"
    result = {
        "type": "library",
        "bom-ref": purl if package["source"] else f"envdoc/{package['name']}@{package['version']}",
        "name": package["name"],
        "version": package["version"],
        "scope": "required",
    }
    if package["license"]:
        # The older crates separate alternatives by a slash.
        result["licenses"] = [{"expression": re.sub(r"\s*/\s*", " OR ", package["license"])}]
    if package["source"]:
        result["purl"] = purl
        result["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if package["repository"]:
        result["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return result


def sbom(target):
    packages, root, edges = compiled_in(target)
    known = checksums()
    components = {
        id: component(one, known.get((one["name"], one["version"]))) for id, one in packages.items()
    }
    program = components.pop(root)
    program.update({"type": "application", "description": packages[root]["description"]})
    del program["scope"]
    rust = {
        "type": "library",
        "bom-ref": f"rust-std@{rust_version()}",
        "name": "rust-std",
        "version": rust_version(),
        "description": "standard library of Rust",
        "licenses": [{"expression": "MIT OR Apache-2.0"}],
    }
    refs = {id: one["bom-ref"] for id, one in components.items()} | {root: program["bom-ref"]}
    depends = {refs[id]: {refs[one] for one in ids} for id, ids in edges.items()}
    depends[program["bom-ref"]].add(rust["bom-ref"])
    seconds = int(os.environ["SOURCE_DATE_EPOCH"])
    time = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    content = {
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": program,
            "properties": [{"name": "cdx:rustc:sbom:target:triple", "value": target}],
        },
        "components": sorted([*components.values(), rust], key=lambda one: one["bom-ref"]),
        "dependencies": [{"ref": ref, "dependsOn": sorted(depends[ref])} for ref in sorted(depends)],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_OID, json.dumps(content, sort_keys=True))
    head = {"bomFormat": "CycloneDX", "specVersion": "1.5", "serialNumber": f"urn:uuid:{serial}", "version": 1}
    print(json.dumps(head | content, indent=1))


def main():
    commands = {"licences": licences, "sbom": sbom}
    if len(sys.argv) != 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    os.chdir(pathlib.Path(__file__).resolve().parent.parent)
    commands[sys.argv[1]](sys.argv[2])


main()
