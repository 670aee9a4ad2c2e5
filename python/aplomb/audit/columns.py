"""The columns of Parquet and Arrow files, for `aplomb check`: decoded by pyarrow, written to standard output as they lie.

A stream of batches. Each begins with a line of JSON:

    {"rows": 1000, "columns": [{"name": "input_ids", "kind": "int32", "sizes": [8008, 512000]}, ...]}

after which the parts of each column follow, of those sizes in bytes, little-endian:

    text                    offsets (int64, one more than rows), bytes (UTF-8)
    json                    the same: one JSON text a row
    int8 uint16 int32 int64 offsets (int64, one more than rows), numbers: a list of integers a row
    label                   numbers (int64): an integer a row
    turns                   offsets of the turns, then offsets and bytes of their roles, and of their contents
    nonfinite               bytes: 1 where the row holds NaN or infinity in a column of fractions

`{"rows": 0}` ends a file, `{"error": "..."}` ends everything.
"""

from __future__ import annotations

import json
import site
import sys
from array import array
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

Bytes = Any  # what gives its bytes: bytes, a bytearray, an array, a buffer of pyarrow

MOST_ROWS = 4096  # of a batch,
MOST_BYTES = 8 << 20  # and about so many bytes
NUMBERS = ("ids", "labels", "mask")
ROLES = (("role", "content"), ("from", "value"))


def open_batches(path: str) -> Iterator[Any]:
    """Record batches of a file, with all columns that are looked at and no others."""
    import pyarrow as pa

    if path.endswith(".parquet"):
        import pyarrow.parquet as pq

        file = pq.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)
        names = [field.name for field in file.schema_arrow if is_wanted(field)]
        for batch in file.iter_batches(batch_size=rows_of(file.metadata), columns=names):
            yield from pieces(batch)
        return
    source = pa.OSFile(path)  # not mapped: pages that were read would count as this process's memory
    try:
        batches: Iterator[Any] = iter(pa.ipc.open_stream(source))
    except pa.ArrowInvalid:
        source.seek(0)
        file = pa.ipc.open_file(source)
        batches = (file.get_batch(i) for i in range(file.num_record_batches))
    for batch in batches:
        yield from pieces(batch)


def rows_of(metadata: Any) -> int:
    """How many rows of a Parquet file make about MOST_BYTES."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    a_row = max((each.total_byte_size / max(each.num_rows, 1) for each in groups), default=1)
    return max(1, min(MOST_ROWS, int(MOST_BYTES / max(a_row, 1))))


def pieces(batch: Any) -> Iterator[Any]:
    rows = max(1, min(MOST_ROWS, MOST_BYTES * batch.num_rows // max(batch.nbytes, 1)))
    for begin in range(0, batch.num_rows, rows):
        yield batch.slice(begin, rows)


def is_wanted(field: Any) -> bool:
    import pyarrow.types as types

    kind = field.type
    while types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        kind = kind.value_type
    return field.name.lower() in USES or types.is_floating(kind)


USES: dict[str, str] = {}  # what each name of a column is used for, as the program says


class Batch:
    """One batch, column by column, as its parts."""

    def __init__(self, rows: int):
        self.rows = rows
        self.columns: list[dict[str, Any]] = []
        self.parts: list[memoryview] = []

    def add(self, name: str, kind: str, *parts: Bytes) -> None:
        views = [memoryview(part).cast("B") for part in parts]
        self.columns.append({"name": name, "kind": kind, "sizes": [each.nbytes for each in views]})
        self.parts += views

    def write(self, out: BinaryIO) -> None:
        out.write(json.dumps({"rows": self.rows, "columns": self.columns}).encode() + b"\n")
        for part in self.parts:
            out.write(part)


def encoded(batch: Any) -> Batch:
    import pyarrow.types as types

    made = Batch(batch.num_rows)
    for field, column in zip(batch.schema, batch.columns):
        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if field.name.lower() in USES:
            add_used(made, field.name, USES[field.name.lower()], column)
        else:
            add_fractions(made, field.name, column)
    return made


def is_list(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def add_used(made: Batch, name: str, use: str, column: Any) -> None:
    import pyarrow as pa
    import pyarrow.types as types

    kind = column.type
    if types.is_string(kind) or types.is_large_string(kind):
        made.add(name, "text", *text_parts(column))
    elif use in NUMBERS and is_list(kind) and (types.is_integer(kind.value_type) or types.is_boolean(kind.value_type)):
        offsets, values = list_parts(column)
        width = {"int8": "int8", "bool": "int8", "uint16": "uint16", "int32": "int32"}.get(str(values.type), "int64")
        made.add(name, width, offsets, plain_buffer(values, pa.type_for_alias(width)))
    elif use == "labels" and types.is_integer(kind):
        made.add(name, "label", plain_buffer(column, pa.int64()))
    elif use == "turns" and (fields := turn_fields(column)) is not None:
        made.add(name, "turns", *fields)
    else:
        texts = [json.dumps(each, ensure_ascii=False, default=str).encode() for each in column.to_pylist()]
        made.add(name, "json", running_sums(map(len, texts)), b"".join(texts))


def add_fractions(made: Batch, name: str, column: Any) -> None:
    """Says which rows hold NaN or infinity, if any does."""
    import pyarrow.compute as pc

    values = column
    while is_list(values.type):
        values = list_parts(values)[1]
    if pc.min_max(pc.is_finite(values))["min"].as_py() is not False:
        return
    flags = bytearray(made.rows)
    for row in range(made.rows):
        held = column.slice(row, 1)
        while is_list(held.type):
            held = list_parts(held)[1]
        flags[row] = pc.min_max(pc.is_finite(held))["min"].as_py() is False
    made.add(name, "nonfinite", flags)


def running_sums(sizes: Iterable[int]) -> array[int]:
    sums = array("q", [0])
    for size in sizes:
        sums.append(sums[-1] + size)
    return sums


def text_parts(column: Any) -> tuple[Bytes, Bytes]:
    """Offsets and bytes. What is null is empty."""
    import pyarrow as pa

    column = column.cast(pa.large_string())
    if column.null_count:
        column = column.fill_null("")
    _, offsets, data = column.buffers()
    if offsets is None:
        return running_sums(0 for _ in range(len(column))), b""
    offsets = memoryview(offsets)[8 * column.offset : 8 * (column.offset + len(column) + 1)].cast("q")
    return offsets, memoryview(data)[: offsets[-1]] if data is not None else b""


def list_parts(column: Any) -> tuple[Bytes, Any]:
    """Offsets of a column of lists and the values that they count in."""
    import pyarrow as pa
    import pyarrow.compute as pc

    sizes = pc.fill_null(pc.list_value_length(column), 0)
    sums = pc.cumulative_sum(sizes.cast(pa.int64()))
    return array("q", [0]).tobytes() + bytes(memoryview(plain_buffer(sums, pa.int64()))), column.flatten()


def plain_buffer(values: Any, kind: Any) -> Bytes:
    """The numbers as they lie; a null, which no id can be, as -1."""
    if values.null_count:
        values = values.fill_null(-1 if str(values.type)[0] != "u" else 0)
    if values.type != kind:
        values = values.cast(kind)
    width = kind.bit_width // 8
    data = values.buffers()[1]
    if data is None:
        return b""
    return memoryview(data)[width * values.offset : width * (values.offset + len(values))]


def turn_fields(column: Any) -> tuple[Bytes, ...] | None:
    """The parts of a list of {role, content}, where the turns are just that and none is missing."""
    import pyarrow.types as types

    if not is_list(column.type) or not types.is_struct(column.type.value_type):
        return None
    offsets, turns = list_parts(column)
    names = {field.name for field in turns.type}
    for role, content in ROLES:
        if names != {role, content} or turns.null_count:
            continue
        roles, contents = turns.field(role), turns.field(content)
        text = all(types.is_string(each.type) or types.is_large_string(each.type) for each in (roles, contents))
        if text and not roles.null_count and not contents.null_count:
            return offsets, *text_parts(roles), *text_parts(contents)
    return None


def main(request: dict[str, Any]) -> None:
    out = sys.stdout.buffer
    sys.path.append(site.getusersitepackages())  # isolated mode leaves it out
    USES.update(request["uses"])
    try:
        for path in request["paths"]:
            for batch in open_batches(path):
                encoded(batch).write(out)
            out.write(b'{"rows": 0}\n')
    except ImportError:
        out.write(json.dumps({"error": "no pyarrow"}).encode() + b"\n")
    except (OSError, ValueError, TypeError, KeyError, MemoryError, NotImplementedError) as error:
        out.write(json.dumps({"error": str(error)[:500]}).encode() + b"\n")
    out.flush()
