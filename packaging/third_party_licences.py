#!/usr/bin/env python3
"""Writes the licence texts of the packages that are compiled into envdoc, each text once, with the packages it belongs to.

    packaging/third_party_licences.py TARGET > THIRD-PARTY-LICENCES.txt

The texts come from the packages' own files, as cargo unpacked them; a package without one is listed with its licence expression.
"""

import json
import pathlib
import re
import subprocess
import sys

NAMES = re.compile(r"(?i)^(licen[cs]e|copying|copyright|notice|unlicense)([-._].*)?$")


def compiled_in(metadata):
    """Ids of the packages that the program is built from, without what only builds or tests need."""
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    open_ids, found = [metadata["resolve"]["root"]], set()
    while open_ids:
        node = nodes[open_ids.pop()]
        if node["id"] in found:
            continue
        found.add(node["id"])
        for dependency in node["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                open_ids.append(dependency["pkg"])
    return found


def texts(package):
    folder = pathlib.Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.iterdir() if path.is_file() and NAMES.match(path.name))
    return [path.read_text(encoding="utf-8", errors="replace").strip() for path in files]


def main():
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", sys.argv[1]]
    metadata = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    wanted = compiled_in(metadata)
    packages = [one for one in metadata["packages"] if one["id"] in wanted and one["source"]]
    packages.sort(key=lambda one: (one["name"], one["version"]))
    by_text, without = {}, []
    for package in packages:
        name = f"{package['name']} {package['version']} ({package['license']})"
        own = texts(package)
        for text in own:
            by_text.setdefault(text, []).append(name)
        if not own:
            without.append(name)
    print("envdoc is under MIT or Apache-2.0. These packages are compiled into it.")
    if without:
        print("\nWithout a licence file of their own:\n")
        print("\n".join(f"    {name}" for name in without))
    for text, names in sorted(by_text.items(), key=lambda item: item[1]):
        print("\n" + "=" * 80)
        print("\n".join(names))
        print("=" * 80 + "\n")
        print(text)


main()
