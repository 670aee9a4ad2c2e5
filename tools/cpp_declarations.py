"""What a C++ file of this project declares at namespace scope, read without a compiler.

Not a parser of C++: it knows the house style (one declaration a statement, no macros that open braces), which
clang-format holds. tools/check_layers.py uses it to hold each folder to its namespace and each type to one definition.
"""

from __future__ import annotations

import dataclasses
import re

_TOKEN = re.compile(
    r"""(?P<skip>//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n\\]|\\.)*)
      |(?P<text>R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|(?:u8|u|U|L)?"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+')
      |(?P<word>[A-Za-z_]\w*)|(?P<number>\d[\w.']*)|(?P<sign>::|\[\[|\]\]|[^\s])""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)


@dataclasses.dataclass(frozen=True)
class TypeDefinition:
    """A class, struct, union or enum that is defined (not only named) at namespace scope."""

    name: str  # with its namespaces: aplomb::checkpoint::Finding
    line: int
    local: bool  # within an anonymous namespace: of this file alone


@dataclasses.dataclass(frozen=True)
class NamespaceBlock:
    """`namespace aplomb::checkpoint {`, with the namespaces around it."""

    name: str
    line: int


def _tokens(text: str) -> list[tuple[str, int]]:
    found = []
    for match in _TOKEN.finditer(text):
        if match.group("skip") is None:
            found.append((match.group(0) if match.group("text") is None else '""', match.start()))
    return found


def _without_template(words: list[str]) -> list[str]:
    while words and words[0] == "template":
        depth, end = 0, len(words)
        for place, word in enumerate(words[1:], 1):
            depth += {"<": 1, ">": -1}.get(word, 0)
            if depth == 0:
                end = place + 1
                break
        words = words[end:]
    return words


def _type_name(statement: list[str]) -> str | None:
    """The type that a statement defines whose body opens behind it; None where it is something else."""
    words = _without_template(statement)
    if not words or words[0] not in {"class", "struct", "union", "enum"} or "(" in words:
        return None
    at = 2 if words[0] == "enum" and words[1:2] in (["class"], ["struct"]) else 1
    if at >= len(words) or not words[at].isidentifier():
        return None
    rest = words[at + 1 : at + 2]
    return words[at] if rest in ([], [":"], ["final"]) else None


class _Reader:
    """Walks the tokens of one file; braces that belong to no namespace hide what they hold."""

    def __init__(self, text: str):
        self.text = text
        self.tokens = _tokens(text)
        self.blocks: list[NamespaceBlock] = []
        self.types: list[TypeDefinition] = []
        self.stack: list[list[str] | None] = []  # the names that a brace opened; None: not a namespace
        self.statement: list[str] = []

    def _path(self) -> list[str]:
        return [name for opened in self.stack for name in (opened or [])]

    def _line(self, place: int) -> int:
        return self.text.count("\n", 0, place) + 1

    def _open_namespace(self, at: int) -> int | None:
        """The token behind `namespace a::b {` that starts at `at`; None where it opens no block."""
        end = at + 1
        while end < len(self.tokens) and self.tokens[end][0] not in {"{", ";", "="}:
            end += 1
        if end == len(self.tokens) or self.tokens[end][0] != "{":
            return None
        names = [word for word, _ in self.tokens[at + 1 : end] if word.isidentifier() and word != "inline"]
        self.stack.append(names or [""])
        self.blocks.append(NamespaceBlock("::".join(self._path()), self._line(self.tokens[at][1])))
        return end + 1

    def _open_brace(self, place: int, outside: bool) -> None:
        name = _type_name(self.statement) if outside else None
        if name is not None:
            path = self._path()
            self.types.append(TypeDefinition("::".join([*path, name]), self._line(place), "" in path))
        linkage = self.statement == ["extern", '""']
        self.stack.append([] if linkage else None)

    def walk(self) -> None:
        at = 0
        while at < len(self.tokens):
            word, place = self.tokens[at]
            outside = all(each is not None for each in self.stack)
            behind = self._open_namespace(at) if word == "namespace" and outside and "using" not in self.statement else None
            if word == "{":
                self._open_brace(place, outside)
            elif word == "}" and self.stack:
                self.stack.pop()
            if behind is not None or word in {"{", "}", ";"}:
                self.statement = []
            elif outside:
                self.statement.append(word)
            at = behind if behind is not None else at + 1


def read(text: str) -> tuple[list[NamespaceBlock], list[TypeDefinition]]:
    """Namespace blocks and type definitions of a file, in their order."""
    reader = _Reader(text)
    reader.walk()
    return reader.blocks, reader.types


@dataclasses.dataclass(frozen=True)
class ClassSize:
    """A class or struct, and how many data members it has of its own (static ones and constants aside)."""

    name: str
    line: int
    members: int


def _is_member(statement: list[str]) -> bool:
    """Whether a statement of a class's body declares data; functions, types and constants are none."""
    words = _without_template(statement)
    if not words or words[0] in {"using", "friend", "static", "typedef", "enum", "class", "struct", "union", "template"}:
        return False
    depth = 0
    for word in words:
        if depth == 0 and word in {"=", "{"}:
            break
        depth += {"<": 1, ">": -1}.get(word, 0)
        if word == "(" and depth == 0:
            return False
    return len(words) >= 2


def _declared(statement: list[str]) -> int:
    """Members that one statement declares: `double a, b = 0;` two."""
    depth, count = 0, 1
    for word in statement:
        depth += {"<": 1, "(": 1, "{": 1, "[": 1, ">": -1, ")": -1, "}": -1, "]": -1}.get(word, 0)
        count += word == "," and depth == 0
    return count


class _ClassCounter:
    """Walks a file's tokens; each open class gathers the statements of its own body."""

    def __init__(self, text: str):
        self.text = text
        self.tokens = _tokens(text)
        self.found: list[ClassSize] = []
        self.open: list[dict | None] = []  # one an open brace; None: not a class's body
        self.statement: list[str] = []
        self.inner = 0  # depth of braces within a member's statement: initialisers and function bodies

    def walk(self) -> None:
        for at, (word, place) in enumerate(self.tokens):
            if self.inner > 0:
                self._within_braces(at, word)
            elif word == "{":
                self._open_brace(place)
            elif word in {"}", ";"}:
                self._end(word)
            elif word == ":" and self.statement in (["public"], ["private"], ["protected"]):
                self.statement = []
            else:
                self.statement.append(word)

    def _within_braces(self, at: int, word: str) -> None:
        self.inner += {"{": 1, "}": -1}.get(word, 0)
        self.statement.append(word)
        following = self.tokens[at + 1][0] if at + 1 < len(self.tokens) else ""
        if self.inner == 0 and not _is_member(self.statement) and following not in {";", ",", "{", ")"}:
            self.statement = []  # a function's body ends its statement without a semicolon

    def _open_brace(self, place: int) -> None:
        name = _type_name(self.statement) or _nested_name(self.statement)
        word = (_without_template(self.statement) or [""])[0]
        if name is not None and word != "enum":
            line = self.text.count("\n", 0, place) + 1
            self.open.append({"name": name, "line": line, "members": 0})
            self.statement = []
        elif self.open and self.open[-1] is not None:
            self.inner = 1
            self.statement.append("{")
        else:
            self.open.append(None)
            self.statement = []

    def _end(self, word: str) -> None:
        here = self.open[-1] if self.open else None
        if word == ";" and here is not None and _is_member(self.statement):
            here["members"] += _declared(self.statement)
        if word == "}" and self.open:
            closed = self.open.pop()
            if closed is not None:
                self.found.append(ClassSize(**closed))
        self.statement = []


def _nested_name(statement: list[str]) -> str | None:
    """The class that a statement with bases opens (`class A final : public B<C>`); None where it opens none."""
    words = _without_template(statement)
    if len(words) < 2 or words[0] not in {"class", "struct", "union"} or not words[1].isidentifier():
        return None
    return words[1] if "(" not in words else None


def classes(text: str) -> list[ClassSize]:
    """Classes and structs of a file, nested ones too, with the number of data members of each."""
    counter = _ClassCounter(text)
    counter.walk()
    return counter.found
