#!/usr/bin/env python3
"""Every key that a remedy may write exists in the classes of the framework's releases.

knowledge/frameworks/*.yaml says which keys are written and from or before which version; framework_fields.json
(made by tools/framework_fields.py from the wheels of two years) says which fields the real classes have in which
version. A key without versions must exist in every release that was looked at, one with `from:` in every release from
there on, one with `before:` in every release before it. Of `classes:`, the further classes that take a key, each
must have it in some release, and every class of `call_for:` that is not named must not have it in any. Exit status 77
where PyYAML is not installed.
"""
import json
import pathlib
import sys

try:
    import yaml
except ImportError:
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FIELDS = json.loads((ROOT / "tests/knowledge/framework_fields.json").read_text())
PACKAGES = {"hf-trainer": "transformers", "trl": "trl", "peft": "peft", "lightning": "lightning"}
INHERITS = {"trl": "transformers"}  # its classes are the Trainer's arguments and more
OF_A_CONFIG = ("trainer.", "data.", "model.")  # LightningCLI's YAML: sections, not arguments of one class


def number(version):
    return [int(part) if part.isdigit() else 0 for part in str(version).split(".")]


def places(found, version):
    return any(number(first) <= number(version) <= number(last) for first, last in found)


def takes(package, name, field, version):
    """Whether the class has the field in this release; None where the class was not looked at."""
    fields = FIELDS[package]["classes"].get(name)
    if fields is None:
        return None
    if any(places(fields.get(each, []), version) for each in (field, "**")):
        return True
    base = INHERITS.get(package)
    return bool(base) and name.endswith("Config") and field in FIELDS[base]["classes"]["TrainingArguments"]


def exists(package, name, version):
    """Whether the release has the class at all: KTO and its kin move between a package and its experiments."""
    return any(places(found, version) for found in FIELDS[package]["classes"][name].values())


def entries(key, value):
    for each in value if isinstance(value, list) else [value]:
        yield {"set": each} if isinstance(each, str) else each


def faults_of_classes(slug, package, field, entry, table):
    usual = [table["call"], *table["call_for"].values()]
    if entry.get("call", table["call"]) not in usual:
        return  # a call of its own, whatever is trained
    named = entry.get("classes", usual)
    for name in dict.fromkeys(usual):
        ever = any(takes(package, name, field, version) for version in FIELDS[package]["versions"])
        if (name in named) != ever:
            yield f"{slug}: {name} {'has no' if name in named else 'has'} `{field}`, the table says otherwise"


def faults_of_entry(slug, package, field, entry, table):
    """Yields a text a fault; returns how many pairs of class and release were looked at."""
    name = entry.get("call", table["call"])
    looked_at = 0
    for version in FIELDS[package]["versions"]:
        begin, end = (entry.get(bound, {}).get(package) for bound in ("from", "before"))
        inside = (begin is None or number(version) >= number(begin)) and (
            end is None or number(version) < number(end))
        has = takes(package, name, field, version)
        if has is None or not exists(package, name, version):
            continue
        looked_at += 1
        if inside and not has:
            yield f"{slug}: {name} of {package} {version} has no `{field}`"
    if table.get("call_for"):
        yield from faults_of_classes(slug, package, field, entry, table)
    return looked_at


def faults(slug):
    table = yaml.safe_load((ROOT / f"knowledge/frameworks/{slug}.yaml").read_text())
    looked_at = 0
    for key, value in table["settings"].items():
        if key.startswith(OF_A_CONFIG):
            continue
        for entry in entries(key, value):
            if not entry.get("read_only"):
                looked_at += yield from faults_of_entry(slug, PACKAGES[slug], key.split(".")[0], entry, table)
    if not looked_at:
        yield f"{slug}: no key was looked at"


def main():
    found = [fault for slug in PACKAGES for fault in faults(slug)]
    for fault in found:
        print(fault)
    print(f"{len(found)} keys that a release does not have")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
