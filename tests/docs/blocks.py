"""The code blocks of the documentation: what README.md and docs/*.md show, indented by four blanks or fenced."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def pages():
    """README and the pages of docs/, by the name that people see."""
    return {str(each.relative_to(ROOT)): each for each in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]}


def blocks_of(text):
    """(line, text) of each block, in order; lists, which are indented as well, begin with a mark and are none."""
    out, now, fence, before = [], None, None, ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            if fence is None:
                fence = (number + 1, [])
            else:
                out.append((fence[0], "\n".join(fence[1])))
                fence = None
        elif fence is not None:
            fence[1].append(line)
        elif line.startswith("    ") and (now is not None or not before.strip()):
            now = now or (number, [])
            now[1].append(line[4:])
        elif not line.strip() and now is not None:
            now[1].append("")
        elif now is not None:
            out.append((now[0], "\n".join(now[1]).rstrip()))
            now = None
        before = line
    if now is not None:
        out.append((now[0], "\n".join(now[1]).rstrip()))
    return out


def all_blocks():
    """(page, line, text) of every block of every page."""
    return [(name, line, text) for name, path in pages().items() for line, text in blocks_of(path.read_text())]


def commands_of(text):
    """The commands of a block of commands: what stands two blanks or more behind one is said about it."""
    text = re.sub(r"\\\n\s*", "", text)
    lines = [line.strip() for line in text.splitlines() if line.strip() and line[0] not in " #"]
    return [re.split(r"\s{2,}#?|\s#\s", line)[0] for line in lines]


def session_of(text):
    """The command behind `$ ` of the first line, and the lines that it prints; None where it is no session."""
    first, _, rest = text.partition("\n")
    return (first[2:], rest.splitlines()) if first.startswith("$ ") else None
