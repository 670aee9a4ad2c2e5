"""Project: the programs that several files make, each linked into one tree.

A script is judged together with the modules of its own folder that it imports: their functions, classes and constants
stand before it in one tree, under names of their own, so that every rule follows them as if all stood in one file. A line
of the tree is a line of one file: the files lie one behind the other.

    for unit in units_of(paths, sources, folder_reader):
        unit.program()          # its lines: unit.place(line) -> (path, line)

What is imported from elsewhere (installed packages) stays an import. Modules that several scripts import are judged with
each of them: what they do wrong may show in one only.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Optional, Union

from .program import Program
from .syntax import Comprehension, Function, arguments_of

MOST_PARTS = 32  # files of one program
MOST_LINES = 8_000  # of one program
MOST_AGAIN = 1  # lines of linked programs, for each line given: beyond that files are judged alone

Import = Union[ast.Import, ast.ImportFrom]  # noqa: UP007  (Python 3.9 runs this)
#: Reads a source that was not named but is imported; empty where there is none.
Reader = Callable[[str], str]

MARK = "§"  # `§2_load`: the `load` of the second file, where another file has that name too
MARKED = re.compile(MARK + r"\d+_")


@dataclass
class Part:
    """One file of a program."""

    path: str
    source: str
    first: int = 0  # lines before it
    tree: Optional[ast.Module] = None  # noqa: UP045
    names: dict[str, str] = field(default_factory=dict)  # its global names as they are called in the program
    modules: dict[str, str] = field(default_factory=dict)  # `data`, `pkg.data` -> path


@dataclass
class Unit:
    """A program: a script and what it imports, the script last."""

    path: str
    parts: list[Part]
    tree: Optional[ast.Module] = None  # noqa: UP045  None: of one file, as it stands

    def program(self) -> Program:
        """Raises SyntaxError where a file that stands alone cannot be parsed."""
        if self.tree is None:
            return Program(self.parts[0].source, self.path)
        text = "\n".join(line for part in self.parts for line in padded(part.source))
        folders = [os.path.dirname(part.path) for part in reversed(self.parts)]
        return Program(text, self.path, self.tree, folders)

    def place(self, line: int) -> tuple[str, int]:
        """The file and the line in it."""
        part = next((each for each in reversed(self.parts) if line > each.first), self.parts[0])
        return part.path, line - part.first


def padded(source: str) -> list[str]:
    """The lines of a source, as many as the parser counts."""
    lines = source.splitlines()
    return lines + [""] * (line_count(source) - len(lines))


def line_count(source: str) -> int:
    return max(len(source.splitlines()), source.count("\n") + 1)


def plain_name(text: str) -> str:
    """Without the marks of names that several files have."""
    return MARKED.sub("", text) if MARK in text else text


class Project:
    """The files that are given, and those that they import from their own folders."""

    def __init__(self, sources: dict[str, str], reader: Reader = lambda path: ""):
        self.sources = dict(sources)
        self.given = list(sources)
        self.reader = reader
        self._found: dict[str, str] = {}
        self._imports: dict[str, list[Import]] = {}
        self._is_script: dict[str, bool] = {}

    # --- which file an import means

    def file_at(self, base: str) -> str:
        """`base.py` or `base/__init__.py`, as it is named in the project; empty where there is none."""
        if base not in self._found:
            self._found[base] = ""
            for path in (base + ".py", os.path.join(base, "__init__.py")):
                path = os.path.normpath(path)
                if path in self.sources:
                    self._found[base] = path
                    break
                if text := self.reader(path):
                    self.sources[path] = text
                    self._found[base] = path
                    break
        return self._found[base]

    def folders_of(self, path: str, script: str) -> Iterator[str]:
        """Where Python looks for what a file imports: beside the script, beside itself, above its package."""
        yield os.path.dirname(script)
        own = os.path.dirname(path)
        yield own
        while own and self.file_at(own).endswith("__init__.py"):
            own = os.path.dirname(own)
        yield own

    def find(self, name: str, path: str, script: str) -> str:
        """The file of an absolute import."""
        parts = name.split(".")
        for folder in dict.fromkeys(self.folders_of(path, script)):
            found = self.file_at(os.path.join(folder, *parts))
            if found and found != path:
                return found
        return ""

    def find_relative(self, name: str, level: int, path: str) -> str:
        folder = os.path.dirname(path)
        for _ in range(level - 1):
            folder = os.path.dirname(folder)
        found = self.file_at(os.path.join(folder, *name.split("."))) if name else self.file_at(folder or ".")
        return found if found != path else ""

    def target(self, node: ast.ImportFrom, path: str, script: str) -> str:
        """The file that a `from ... import` takes its names of."""
        if node.level:
            return self.find_relative(node.module or "", node.level, path)
        return self.find(node.module or "", path, script)

    def submodule(self, node: ast.ImportFrom, name: str, path: str, script: str) -> str:
        """The file of `name` where `from package import name` means a module."""
        module = f"{node.module}.{name}" if node.module else name
        return self.find_relative(module, node.level, path) if node.level else self.find(module, path, script)

    def imports_of(self, path: str) -> list[Import]:
        if path not in self._imports:
            tree = self.parsed(path) if might_import(self.sources[path]) else None
            self._imports[path] = imports_in(tree)
            in_package = os.path.join(os.path.dirname(path), "__init__.py") in self.sources
            is_package = os.path.basename(path) == "__init__.py"
            does = any(acts(each, in_package) for each in tree.body) if tree is not None else False
            self._is_script[path] = does and not is_package
        return self._imports[path]

    def imported(self, path: str, script: str) -> Iterator[str]:
        for node in self.imports_of(path):
            if isinstance(node, ast.Import):
                for item in node.names:
                    yield self.find(item.name, path, script)
                continue
            whole = self.target(node, path, script)
            for item in node.names:
                is_own = defines(self.sources.get(whole), item.name)
                yield (self.submodule(node, item.name, path, script) if not is_own else "") or whole

    def parsed(self, path: str) -> Optional[ast.Module]:  # noqa: UP045
        try:
            return ast.parse(self.sources[path], filename=path)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None

    # --- programs

    def units(self) -> list[Unit]:
        """The scripts with their modules, then every file that no script imports, alone."""
        lines = {path: line_count(self.sources[path]) for path in self.given}
        budget = MOST_AGAIN * sum(lines.values()) + 2 * MOST_LINES
        scripts = [path for path in self.given if self.is_script(path)]
        found: list[Unit] = []
        covered: set[str] = set()
        for path in scripts:
            if budget <= 0:
                break
            order = self.closure(path)
            size = sum(line_count(self.sources[each]) for each in order)
            if len(order) < 2 or size > budget:
                continue
            unit = self.link(order)
            if unit is None:
                continue
            budget -= size
            found.append(unit)
            covered.update(order)
        alone = [Unit(path, [Part(path, self.sources[path])]) for path in self.given if path not in covered]
        place = {path: at for at, path in enumerate(self.given)}
        return sorted([*found, *alone], key=lambda unit: place[unit.path])

    def is_script(self, path: str) -> bool:
        """Whether running the file does something."""
        self.imports_of(path)
        return self._is_script[path]

    def closure(self, script: str) -> list[str]:
        """The files of a program, what is imported before what imports it; the nearest ones where they are too many."""
        near: list[str] = [script]
        edges: dict[str, list[str]] = {}
        lines = line_count(self.sources[script])
        for path in near:
            edges[path] = list(dict.fromkeys(each for each in self.imported(path, script) if each))
            for each in edges[path]:
                size = line_count(self.sources[each])
                if each not in near and len(near) < MOST_PARTS and lines + size <= MOST_LINES:
                    near.append(each)
                    lines += size
        order: list[str] = []
        self._visit(script, edges, set(near), order, set())
        return order

    def _visit(self, path: str, edges: dict[str, list[str]], near: set[str], order: list[str], seen: set[str]) -> None:
        if path in seen or path not in near:
            return
        seen.add(path)
        for each in edges.get(path, []):
            self._visit(each, edges, near, order, seen)
        order.append(path)

    def link(self, order: list[str]) -> Optional[Unit]:  # noqa: UP045
        """One tree of several files; None where the script cannot be parsed."""
        script = order[-1]
        parts = [Part(path, self.sources[path], tree=self.parsed(path)) for path in order]
        parts = [part for part in parts if part.tree is not None]
        if not parts or parts[-1].path != script:
            return None
        by_path = {part.path: part for part in parts}
        taken = {name: "" for name in global_names(parts[-1].tree)}  # the script keeps its names
        taken.update({name: meaning for name, meaning in external_aliases(parts[-1].tree, self, script, script).items()})
        body: list[ast.stmt] = []
        first = 0
        for number, part in enumerate(parts, 1):
            tree = part.tree
            assert tree is not None
            part.first = first
            first += line_count(part.source)
            is_script = part.path == script
            if not is_script:
                tree.body = [each for each in tree.body if not is_main_guard(each)]
            self._name_globals(part, number, taken, is_script)
            self._take_imports(part, by_path, script)
            Renamer(part, by_path).visit(tree)
            if part.first:
                ast.increment_lineno(tree, part.first)
            body += tree.body
        return Unit(script, parts, ast.Module(body=body, type_ignores=[]))

    def _name_globals(self, part: Part, number: int, taken: dict[str, str], is_script: bool) -> None:
        """Names that another file has too become names of their own."""
        assert part.tree is not None
        aliases = external_aliases(part.tree, self, part.path, part.path)
        for name in global_names(part.tree):
            if is_script or name not in taken:
                part.names[name] = name
                taken.setdefault(name, "")
            else:
                part.names[name] = f"{MARK}{number}_{name}"
        for name, meaning in aliases.items():
            if name in part.names:
                continue
            same = is_script or taken.setdefault(name, meaning) == meaning
            part.names[name] = name if same else f"{MARK}{number}_{name}"

    def _take_imports(self, part: Part, by_path: dict[str, Part], script: str) -> None:
        """What is imported from another part is that part's own name; the rest stays an import."""
        assert part.tree is not None
        for node in imports_in(part.tree):
            if isinstance(node, ast.Import):
                node.names = [item for item in node.names if not self._takes_module(item, part, by_path, script)]
            else:
                whole = by_path.get(self.target(node, part.path, script))
                node.names = [item for item in node.names if not self._takes(node, item, whole, part, by_path, script)]
        for node in imports_in(part.tree):
            for item in node.names:
                bound = item.asname or item.name
                if part.names.get(bound, bound) != bound:
                    item.asname = part.names[bound]
        drop_empty_imports(part.tree)

    def _takes_module(self, item: ast.alias, part: Part, by_path: dict[str, Part], script: str) -> bool:
        found = self.find(item.name, part.path, script)
        if found not in by_path:
            return False
        part.modules[item.asname or item.name] = found
        return True

    def _takes(
        self,
        node: ast.ImportFrom,
        item: ast.alias,
        whole: Optional[Part],  # noqa: UP045
        part: Part,
        by_path: dict[str, Part],
        script: str,
    ) -> bool:
        if item.name == "*":
            if whole is None:
                return False
            for name, called in whole.names.items():
                if not name.startswith("_"):
                    part.names.setdefault(name, called)
            return True
        bound = item.asname or item.name
        if whole is not None and item.name in whole.names:
            part.names[bound] = whole.names[item.name]
            return True
        if whole is not None and item.name in whole.modules:
            part.modules[bound] = whole.modules[item.name]
            return True
        inner = self.submodule(node, item.name, part.path, script)
        if inner in by_path:
            part.modules[bound] = inner
            return True
        return False


class Renamer(ast.NodeVisitor):
    """Gives the global names of one file the names that they have in the program, in place."""

    def __init__(self, part: Part, by_path: dict[str, Part]):
        self.part = part
        self.by_path = by_path
        self.names = {name: called for name, called in part.names.items() if name != called}
        self.local: list[set[str]] = []

    def called(self, name: str) -> str:
        if any(name in each for each in self.local):
            return name
        return self.names.get(name, name)

    def visit_Name(self, node: ast.Name) -> None:
        node.id = self.called(node.id)

    def visit_Global(self, node: ast.Global) -> None:
        node.names = [self.names.get(name, name) for name in node.names]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._definition(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._definition(node)

    def _definition(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if not self.local:
            node.name = self.called(node.name)
        for each in [*node.decorator_list, node.args, *([node.returns] if node.returns else [])]:
            self._visit_outer(each)
        self.local.append(local_names(node))
        for each in node.body:
            self.visit(each)
            self._replace_below(each)
        self.local.pop()

    def _visit_outer(self, node: ast.AST) -> None:
        self.visit(node)
        self._replace_below(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        if not self.local:
            node.name = self.called(node.name)
        self.local.append(set())  # its functions are no globals
        for each in ast.iter_child_nodes(node):
            self.visit(each)
        self._replace_below(node)
        self.local.pop()

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.args)
        self.local.append({each.arg for each in arguments_of(node.args)})
        self.generic_visit(node)
        self.local.pop()

    def visit_ListComp(self, node: ast.AST) -> None:
        self._comprehension(node)

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def _comprehension(self, node: ast.AST) -> None:
        targets = [each.target for each in node.generators]  # type: ignore[attr-defined]
        bound = {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
        self.local.append(bound)
        self.generic_visit(node)
        self.local.pop()

    def generic_visit(self, node: ast.AST) -> None:
        super().generic_visit(node)
        self._replace_below(node)

    def _replace_below(self, node: ast.AST) -> None:
        """`data.load` -> the name of that function in the program."""
        if not self.part.modules:
            return
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.Attribute):
                setattr(node, name, self._of_module(value))
            elif isinstance(value, list):
                value[:] = [self._of_module(each) if isinstance(each, ast.Attribute) else each for each in value]

    def _of_module(self, node: ast.Attribute) -> ast.expr:
        text = dotted_names(node.value)
        if not text or any(text.split(".")[0] in each for each in self.local):
            return node
        other = self.by_path.get(self.part.modules.get(text, ""))
        if other is None or node.attr not in other.names:
            return node
        return ast.copy_location(ast.Name(id=other.names[node.attr], ctx=node.ctx), node)


# --- small questions to a tree


def might_import(source: str) -> bool:
    return "import" in source


def acts(node: ast.stmt, in_package: bool) -> bool:
    """Whether a statement of a module does more than to define. Modules of packages register and warn as they are imported:
    what runs by itself says so there."""
    if is_main_guard(node):
        return True
    acting = (ast.For, ast.While, ast.With)
    is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    return not in_package and (isinstance(node, acting) or is_call)


def is_main_guard(node: ast.stmt) -> bool:
    """`if __name__ == "__main__":`"""
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
        return False
    sides = [node.test.left, *node.test.comparators]
    return any(isinstance(each, ast.Name) and each.id == "__name__" for each in sides)


def blocks_of(tree: ast.AST) -> Iterator[list[ast.stmt]]:
    """Every list of statements."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            block = getattr(node, name, None)
            if isinstance(block, list):
                if name not in ("handlers", "cases"):
                    yield block
                waiting += block


def imports_in(tree: Optional[ast.Module]) -> list[Import]:  # noqa: UP045
    blocks = blocks_of(tree) if tree is not None else ()
    return [each for block in blocks for each in block if isinstance(each, (ast.Import, ast.ImportFrom))]


def defines(source: Optional[str], name: str) -> bool:  # noqa: UP045
    """Whether a source may define a name; a look at the text, which is enough to tell a name from a module."""
    pattern = rf"^\s*(?:def|class|async def)?\s*{re.escape(name)}\b"
    return source is not None and name in source and re.search(pattern, source, re.MULTILINE) is not None


def global_names(tree: Optional[ast.Module]) -> list[str]:  # noqa: UP045
    """Names that the statements of a module define or assign, imports left out."""
    found: dict[str, None] = {}
    waiting: list[ast.AST] = list(reversed(tree.body)) if tree is not None else []
    while waiting:
        node = waiting.pop()
        if isinstance(node, (*Function, ast.ClassDef)):
            found[node.name] = None
            continue
        if isinstance(node, (ast.Lambda, *Comprehension)):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = None
        waiting += list(ast.iter_child_nodes(node))
    return list(found)


def external_aliases(tree: Optional[ast.Module], project: Project, path: str, script: str) -> dict[str, str]:  # noqa: UP045
    """What the imports from elsewhere are called, with what they mean."""
    found: dict[str, str] = {}
    for node in imports_in(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                first = item.name.split(".")[0]
                found[item.asname or first] = item.name if item.asname else first
        elif not node.level and not project.target(node, path, script):
            found.update({item.asname or item.name: f"{node.module}.{item.name}" for item in node.names if item.name != "*"})
    return found


def local_names(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """Parameters and what the function assigns, `global` names left out."""
    found = {each.arg for each in arguments_of(function.args)}
    shared: set[str] = set()
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, (*Function, ast.ClassDef)):
            found.add(node.name)
            continue
        if isinstance(node, (ast.Lambda, *Comprehension)):
            continue
        if isinstance(node, ast.Global):
            shared.update(node.names)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        waiting += list(ast.iter_child_nodes(node))
    return found - shared


def dotted_names(node: ast.AST) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def drop_empty_imports(tree: ast.Module) -> None:
    """An import whose names were all taken over becomes `pass`."""
    for block in blocks_of(tree):
        for place, each in enumerate(block):
            if isinstance(each, (ast.Import, ast.ImportFrom)) and not each.names:
                block[place] = ast.copy_location(ast.Pass(), each)


def units_of(sources: dict[str, str], reader: Reader = lambda path: "") -> Iterable[Unit]:
    return Project(sources, reader).units()
