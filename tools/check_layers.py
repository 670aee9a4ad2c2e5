#!/usr/bin/env python3
"""Hold the tree to its flow: a folder of src/ may include only itself and the folders before it.

usage: check_layers.py [ROOT]

Also checked: that no headers include each other in a circle; that what judges names no framework
(knowledge/frameworks/*.yaml say what they are), the parts of train/ likewise, and that torch is included nowhere else;
one namespace a folder, and one definition a type over the whole tree
(two types of one name are undefined behaviour that no linker reports); the sizes of folders and classes; the public
headers (at most 12, each compiles alone), rosters without duplicates, and that no header is included by a relative path.
The Python package is held to its order by python_layers.py: no import circles, the flow of the code audit, sizes.
Exit status 1, one line a fault, where something is off.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import cpp_declarations
import python_layers

# Right may include left. One row a folder: what it may include besides itself.
ALLOWED = {
    "core": [],
    "numerics": ["core"],
    "scan": ["core", "numerics"],
    "record": ["core"],
    "recorder": ["core"],
    "input": ["core", "record"],
    "tensors": ["core", "numerics", "scan", "record"],
    "pickle": ["core", "numerics", "scan", "record", "input", "tensors"],
    "checkpoint": ["core", "numerics", "scan", "record", "input", "tensors", "pickle"],
    "sandbox": ["core"],
    "knowledge": ["core", "record"],
    "plan": ["core", "record", "knowledge"],
    "task": ["core", "record", "knowledge"],
    "config_text": ["core", "record", "knowledge", "input"],
    "prose": ["core", "record", "knowledge", "input", "config_text"],
    "program": ["core", "record", "knowledge", "input", "config_text", "prose"],
    "tool_tables": ["core", "record"],
    "log_samples": ["core", "record"],
    "log_errors": ["core", "record", "knowledge", "prose", "tool_tables"],
    "log_text": ["core", "record", "knowledge", "input", "config_text", "prose", "tool_tables", "log_errors", "log_samples"],
    "log_survey": ["core", "record", "knowledge", "input", "log_errors", "log_text"],
    "sources": ["core", "record", "recorder", "input", "tensors", "pickle", "checkpoint", "knowledge", "config_text",
                "prose", "program", "tool_tables", "log_errors", "log_text"],
    "discovery": ["core", "record", "input", "tensors", "checkpoint", "knowledge", "task", "config_text", "log_survey",
                  "sources"],
    "detectors": ["core", "record", "task"],
    "loss_detectors": ["core", "record", "task", "detectors"],
    "gradient_detectors": ["core", "record", "task", "detectors"],
    "policy_detectors": ["core", "record", "task", "detectors"],
    "run_detectors": ["core", "record", "task", "detectors"],
    "detection": ["core", "record", "task", "detectors", "loss_detectors", "gradient_detectors", "policy_detectors",
                  "run_detectors"],
    "facts": ["core", "record", "knowledge"],
    "diagnosis": ["core", "record", "knowledge", "task", "detectors", "detection", "facts", "plan"],
    "guard": ["core"],
    "compare": ["core", "record"],
    "report": ["core", "record", "knowledge", "detectors", "diagnosis", "plan", "compare"],
    "preflight": ["core", "record", "input", "tensors", "checkpoint", "knowledge", "config_text", "program", "sources",
                  "discovery", "detectors", "facts", "diagnosis", "report", "sandbox"],
    "fix": ["core", "record", "knowledge", "input", "config_text", "report"],
    "store": ["core", "report"],
    "watch": ["core", "record", "knowledge", "input", "log_text", "sources", "discovery", "detectors", "detection"],
    "arguments": ["core"],
    "demo": ["core"],
    "api": None,  # joins the flow for the CLI and Python
    "live": ["core", "record", "input", "sources", "discovery", "task", "detectors", "detection", "diagnosis", "report",
             "api", "watch"],
    "serve": ["core", "live"],
    "top": ["core", "report"],
    "alarm": ["core"],
    "cli": None,
}
# The trainer's parts likewise: what each may include of the others, of src/, and whether of torch.
TRAIN_ALLOWED = {
    "text": ([], ["core", "tensors", "checkpoint"], False),
    "model": (["text"], ["core", "numerics", "scan", "record", "tensors", "checkpoint"], True),
    "dist": ([], ["core"], True),
    "loop": (["text", "model", "dist"], None, True),  # None: all of src/
    "lab": (["text", "model", "dist", "loop"], None, True),
}
# What judges knows no framework by name: what it has to know of one is a property of its table.
WITHOUT_FRAMEWORKS = ["detectors", "loss_detectors", "gradient_detectors", "policy_detectors", "run_detectors", "detection",
                      "facts", "diagnosis", "guard", "compare", "report", "preflight", "fix", "api"]
# Tables of no framework, whose slugs are words of their own.
NOT_FRAMEWORKS = {"common", "environment"}
PUBLIC_HEADERS_MOST = 12
# What one person can hold in mind: lines of a folder of src/, and data members of a class.
LINES_MOST = 8000
MEMBERS_MOST = 25
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
INCLUDE_TORCH = re.compile(r'^\s*#\s*include\s+[<"](torch|ATen|c10)/', re.MULTILINE)


def check_includes(root: pathlib.Path) -> list[str]:
    faults = []
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in {".h", ".cpp", ".def"}:
            continue
        here = path.relative_to(root / "src").parts[0]
        if here not in ALLOWED:
            faults.append(f"{path.relative_to(root)}: src/{here} is not a known layer (tools/check_layers.py)")
            continue
        allowed = ALLOWED[here]
        for name in INCLUDE.findall(path.read_text(errors="replace")):
            if name.startswith("../"):
                faults.append(f"{path.relative_to(root)}: include \"{name}\": name the folder from src/")
                continue
            there = name.split("/")[0]
            if "/" in name and allowed is not None and there != here and there in ALLOWED and there not in allowed:
                faults.append(f"{path.relative_to(root)}: {here} may not include {there} (\"{name}\")")
    return faults


def circle_from(start: str, includes: dict[str, list[str]], done: set[str]) -> list[str]:
    """The first circle of includes that is met from this file on; empty where there is none. `done` gets what has none."""
    way = [(start, iter(includes[start]))]
    while way:
        there = next(way[-1][1], None)
        names = [name for name, _ in way]
        if there is None:
            done.add(way.pop()[0])
        elif there in names:
            return [*names[names.index(there):], there]
        elif there in includes and there not in done:
            way.append((there, iter(includes[there])))
    return []


def check_circles(root: pathlib.Path) -> list[str]:
    """No file includes itself by way of others: what `#pragma once` then hides is that none of them can be read alone."""
    faults = []
    for top, base in (("src", "src"), ("train", ""), ("include", "include"), ("tests", "tests")):
        includes = {}
        for path in sorted((root / top).rglob("*.h")):
            names = re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', path.read_text(errors="replace"), re.MULTILINE)
            includes[str(path.relative_to(root / base))] = names
        done: set[str] = set()
        for header in includes:
            circle = circle_from(header, includes, done) if header not in done else []
            if circle:
                faults.append(f"{top}: includes go in a circle: {' -> '.join(circle)}")
                break
    return faults


def check_frameworks(root: pathlib.Path) -> list[str]:
    slugs = set()
    for table in (root / "knowledge" / "frameworks").glob("*.yaml"):
        slugs |= set(re.findall(r"^slug: *([A-Za-z0-9_.-]+)", table.read_text(), re.MULTILINE))
    faults = []
    for here in WITHOUT_FRAMEWORKS:
        for path in sorted((root / "src" / here).rglob("*")):
            if path.suffix not in {".h", ".cpp", ".def"}:
                continue
            code = re.sub(r"//.*", "", path.read_text(errors="replace"))
            for literal in sorted(set(re.findall(r'"([^"\n]*)"', code)) & (slugs - NOT_FRAMEWORKS)):
                faults.append(f"{path.relative_to(root)}: names the framework \"{literal}\": ask its table")
    return faults


def is_torch(name: str) -> bool:
    return name.split("/")[0] in {"torch", "ATen", "c10", "at"}


def train_faults_of(here: str, text: str) -> list[str]:
    parts, layers, torch = TRAIN_ALLOWED[here]
    faults = []
    for name in re.findall(r'^\s*#\s*include\s+["<]([^">]+)[">]', text, re.MULTILINE):
        folders = name.split("/")
        if folders[0] == "train" and folders[1] != here and folders[1] not in parts:
            faults.append(f"train/{here} may not include train/{folders[1]} (\"{name}\")")
        elif folders[0] in ALLOWED and layers is not None and folders[0] not in layers:
            faults.append(f"train/{here} may not include {folders[0]} (\"{name}\")")
        elif is_torch(name) and not torch:
            faults.append(f"train/{here} may not include torch (<{name}>)")
    return faults


def check_train(root: pathlib.Path) -> list[str]:
    """train/ is held to its own order, and torch stays inside it."""
    faults = []
    for path in sorted((root / "train").rglob("*")):
        here = path.relative_to(root / "train").parts[0]
        if path.suffix in {".h", ".cpp"} and here in TRAIN_ALLOWED:
            faults += [f"{path.relative_to(root)}: {fault}" for fault in train_faults_of(here, path.read_text())]
    for path in sorted((root / "src").rglob("*")):
        if path.suffix in {".h", ".cpp"} and INCLUDE_TORCH.search(path.read_text(errors="replace")):
            faults.append(f"{path.relative_to(root)}: only train/ may include torch")
    return faults


# Files that define what include/aplomb declares, which is of the namespace aplomb itself.
PUBLIC_DEFINITIONS = {
    "src/api/check.cpp",
    "src/api/diagnose.cpp",
    "src/guard/guard.cpp",
    "src/recorder/recorder.cpp",
    "src/report/build.cpp",
}


def namespace_of(parts: tuple[str, ...]) -> str | None:
    """The namespace of a file's folder; None where none is asked of it."""
    if parts[0] == "src" and len(parts) > 2:
        return f"aplomb::{parts[1]}"
    if parts[0] == "train" and len(parts) > 2 and parts[1] in TRAIN_ALLOWED:
        return f"aplomb::train::{parts[1]}"
    return None


def namespace_faults(where: pathlib.PurePath, blocks: list[cpp_declarations.NamespaceBlock]) -> list[str]:
    own = namespace_of(where.parts)
    faults = []
    for block in blocks:
        name = block.name.removesuffix("::")
        public = str(where) in PUBLIC_DEFINITIONS and name == "aplomb"
        foreign = own is not None and name.startswith("aplomb") and name != own and not name.startswith(own + "::")
        if foreign and not public:
            faults.append(f"{where}:{block.line}: namespace {name}: the folder's is {own}")
    return faults


def check_namespaces(root: pathlib.Path) -> list[str]:
    """One namespace a folder, and each type defined once: two that share a name share their symbols, whatever they hold."""
    faults = []
    seen: dict[str, str] = {}
    for path in sorted(each for top in ("include", "src", "train") for each in (root / top).rglob("*")):
        where = path.relative_to(root)
        if path.suffix not in {".h", ".cpp"} or where.parts[:2] == ("train", "tests"):
            continue
        blocks, types = cpp_declarations.read(path.read_text(errors="replace"))
        faults += namespace_faults(where, blocks)
        for each in types:
            before = seen.setdefault(each.name, f"{where}:{each.line}") if not each.local else ""
            if before and not before.startswith(f"{where}:"):  # within one file the compiler sees it
                faults.append(f"{where}:{each.line}: {each.name} is defined in {before} as well")
    return faults


def check_sizes(root: pathlib.Path) -> list[str]:
    """No folder of src/ or knowledge/ above LINES_MOST lines, no class or struct above MEMBERS_MOST data members."""
    faults = []
    for folder in sorted(each for each in (root / "src").iterdir() if each.is_dir()):
        files = [path for path in folder.rglob("*") if path.suffix in {".h", ".cpp", ".def"}]
        lines = sum(path.read_bytes().count(b"\n") for path in files)
        if lines > LINES_MOST:
            faults.append(f"src/{folder.name}: {lines} lines, at most {LINES_MOST}: split it by what its parts are for")
    for folder in sorted(each for each in (root / "knowledge").rglob("*") if each.is_dir()):
        lines = sum(path.read_bytes().count(b"\n") for path in folder.glob("*.yaml"))
        if lines > LINES_MOST:
            faults.append(f"{folder.relative_to(root)}: {lines} lines, at most {LINES_MOST}: split it by subject")
    for path in sorted(each for top in ("include", "src", "train") for each in (root / top).rglob("*")):
        if path.suffix not in {".h", ".cpp"}:
            continue
        for each in cpp_declarations.classes(path.read_text(errors="replace")):
            if each.members > MEMBERS_MOST:
                faults.append(f"{path.relative_to(root)}:{each.line}: {each.name} has {each.members} members, "
                              f"at most {MEMBERS_MOST}")
    return faults


def check_rosters(root: pathlib.Path) -> list[str]:
    faults = []
    for roster in sorted((root / "src").rglob("roster.def")):
        members = re.findall(r"^APLOMB_MEMBER\(([a-z0-9_]+)", roster.read_text(), re.MULTILINE)
        for member in sorted({m for m in members if members.count(m) > 1}):
            faults.append(f"{roster.relative_to(root)}: {member} stands twice")
    return faults


def check_public_headers(root: pathlib.Path) -> list[str]:
    headers = sorted((root / "include" / "aplomb").glob("*.h"))
    faults = []
    if len(headers) > PUBLIC_HEADERS_MOST:
        faults.append(f"include/aplomb: {len(headers)} headers, at most {PUBLIC_HEADERS_MOST}")
    with tempfile.TemporaryDirectory() as folder:
        for header in headers:
            source = pathlib.Path(folder) / "alone.cpp"
            source.write_text(f"#include <aplomb/{header.name}>\nint main() {{}}\n")
            done = subprocess.run(
                ["g++", "-std=c++20", "-fsyntax-only", "-I", str(root / "include"), str(source)],
                capture_output=True, text=True, check=False)
            if done.returncode != 0:
                faults.append(f"include/aplomb/{header.name} does not compile alone: {done.stderr.splitlines()[0]}")
    return faults


def check_python(root: pathlib.Path) -> list[str]:
    return python_layers.check(root, LINES_MOST)


def main() -> int:
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    checks = (check_includes, check_circles, check_frameworks, check_train, check_namespaces, check_sizes, check_rosters,
              check_python, check_public_headers)
    faults = [fault for check in checks for fault in check(root)]
    print("\n".join(faults) if faults else "layers, namespaces, rosters and public headers are in order")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
