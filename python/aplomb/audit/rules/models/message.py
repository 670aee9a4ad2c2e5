"""Rules about networks on graphs: how often neighbours are averaged."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from ...findings import Finding, rule
from ...program.program import Program
from ...program.syntax import keyword_of, name_called, parameters_of, source_of

#: PyG's and DGL's layers that take a (weighted) mean or sum over neighbours and have no way past it.
CONVOLUTIONS = (
    "GCNConv", "GATConv", "GATv2Conv", "SAGEConv", "GraphConv", "GINConv", "ChebConv", "TAGConv", "ClusterGCNConv",
    "LEConv", "ARMAConv", "DenseGCNConv", "DenseSAGEConv", "DenseGraphConv",
)  # fmt: skip
ADJACENCY = re.compile(r"^(adj|a|a_hat|a_norm|edge_index|edges|graph|lap|laplacian|support|adjacency|adj_t|g)$")
SPREADING = ("mm", "spmm", "matmul", "sparse_mm", "bmm", "einsum", "scatter_add", "scatter_add_", "index_add", "index_add_",
             "scatter_mean", "scatter", "propagate")  # fmt: skip
#: Vanilla GCNs of 8 and more layers fall off on the usual graphs (arXiv:1801.07606, fig. 5; arXiv:2007.02133, table 3).
MANY = 8
PASSES_BY = re.compile(r"norm\b|norm[0-9(]|batchnorm|layernorm|graphnorm|pairnorm|jump|residual|skip|alpha|initial|dropedge|"
                       r"torch\.cat|torch\.stack|\.append\(h|\.append\(x", re.IGNORECASE)  # fmt: skip


@rule("code.graph-layers-too-deep")
def graph_layers_too_deep(program: Program) -> Iterator[Finding]:
    """Eight and more graph convolutions behind each other, with no sum, no norm and no reading of earlier ones between."""
    for owner in program.nodes.of_kind(ast.ClassDef):
        forward = program.makers.method(owner, "forward") if program.makers.is_module_class(owner) else None
        found = stacked(program, owner) if forward is not None else None
        if forward is None or found is None:
            continue
        call, layer, count = found
        own = program.makers.class_made(layer)
        goes_round = any(isinstance(each, ast.For) for each in program.nodes.below(forward))
        if count < MANY or not goes_round or passes_by(program, owner, forward) or (own is not None and sums(program, own)):
            continue
        values = {"count": f"{count:g}", "layer": name_called(layer)}
        yield Finding(call.lineno, "x = x + F.relu(conv(norm(x), adj))  # in the loop of forward()", values,
                      also=[forward.lineno])  # fmt: skip
        return


def stacked(program: Program, owner: ast.ClassDef) -> tuple[ast.Call, ast.Call, float] | None:
    """(what makes the stack, what makes a layer, how many) of a class whose layers are made in a loop."""
    for call in program.calls_in(owner):
        held = call.args[0] if call.args and name_called(call) in ("ModuleList", "append") else None
        if isinstance(held, (ast.ListComp, ast.GeneratorExp)) and isinstance(held.elt, ast.Call):
            count = items(program, held.generators[0].iter, 0)
            if count is not None and is_convolution(program, held.elt):
                return call, held.elt, count
        if name_called(call) == "append" and isinstance(held, ast.Call) and is_convolution(program, held):
            loops = program.loops_of(call)
            count = items(program, loops[0].iter, 0) if loops and isinstance(loops[0], ast.For) else None
            if count is not None:
                return call, held, count
    return None


def is_convolution(program: Program, call: ast.Call) -> bool:
    """A layer of a library, or one of this file that multiplies by what is called an adjacency."""
    if name_called(call) in CONVOLUTIONS and keyword_of(call, "normalize") is None:
        return True
    own = program.makers.class_made(call)
    forward = program.makers.method(own, "forward") if own is not None else None
    if forward is None:
        return False
    named = {each.arg for each, _ in parameters_of(forward) if ADJACENCY.search(each.arg.lower())}
    if not named:
        return False
    arithmetic = [each for each in program.nodes.below(forward) if isinstance(each, ast.BinOp)]
    products = [each for each in arithmetic if isinstance(each.op, ast.MatMult)]
    return any(
        isinstance(one, ast.Name) and one.id in named
        for each in [*products, *(call for call in program.calls_in(forward) if name_called(call) in SPREADING)]
        for one in ast.walk(each)
    )


def passes_by(program: Program, owner: ast.ClassDef, forward: ast.AST) -> bool:
    """Something of an earlier layer comes past the later ones, or each is normalised: said in words, or by a sum."""
    return bool(PASSES_BY.search(source_of(owner))) or any(
        isinstance(each, (ast.BinOp, ast.AugAssign)) and isinstance(each.op, ast.Add)
        for loop in program.nodes.below(forward)
        if isinstance(loop, ast.For)
        for each in program.nodes.below(loop)
        if not (isinstance(each, ast.AugAssign) and isinstance(each.value, ast.Constant))
    )


def sums(program: Program, owner: ast.ClassDef) -> bool:
    """The layer itself adds its input, or normalises."""
    forward = program.makers.method(owner, "forward")
    first = [each.arg for each, _ in parameters_of(forward)][1:2] if forward is not None else []
    added = any(
        isinstance(each, ast.BinOp)
        and isinstance(each.op, ast.Add)
        and any(isinstance(side, ast.Name) and side.id in first for side in (each.left, each.right))
        for each in program.nodes.below(owner)
    )
    return added or bool(PASSES_BY.search(source_of(owner)))


def items(program: Program, node: ast.AST, depth: int) -> float | None:
    """How many a list, a range or a zip holds: `[d] + [h] * (n - 1) + [k]` holds n + 1, whatever d is."""
    origin = program.names.origin(node).node
    if depth > 6 or not isinstance(origin, ast.expr):
        return None
    if isinstance(origin, (ast.List, ast.Tuple)):
        return None if any(isinstance(each, ast.Starred) for each in origin.elts) else float(len(origin.elts))
    if isinstance(origin, ast.BinOp) and isinstance(origin.op, ast.Add):
        sides = [items(program, each, depth + 1) for each in (origin.left, origin.right)]
        return None if None in sides else sum(each or 0.0 for each in sides)
    if isinstance(origin, ast.BinOp) and isinstance(origin.op, ast.Mult):
        held, factor = items(program, origin.left, depth + 1), program.values.number(origin.right)
        return held * factor if held is not None and factor is not None else None
    if isinstance(origin, ast.Subscript) and isinstance(origin.slice, ast.Slice):
        held, start = items(program, origin.value, depth + 1), program.values.number(origin.slice.lower)
        plain = origin.slice.step is None and (origin.slice.upper is None or source_of(origin.slice.upper) == "-1")
        dropped = (start or 0.0) + (1.0 if origin.slice.upper is not None else 0.0)
        return held - dropped if held is not None and plain else None
    return items_of_call(program, origin, depth) if isinstance(origin, ast.Call) else None


def items_of_call(program: Program, call: ast.Call, depth: int) -> float | None:
    if name_called(call) == "range":
        bounds = [program.values.number(each) for each in call.args]
        if None in bounds or len(bounds) not in (1, 2):
            return None
        return (bounds[1] or 0.0) - (bounds[0] or 0.0) if len(bounds) == 2 else bounds[0]
    if name_called(call) in ("zip", "enumerate", "pairwise", "list"):
        held = [items(program, each, depth + 1) for each in call.args]
        known = [each for each in held if each is not None]
        return min(known) - (1.0 if name_called(call) == "pairwise" else 0.0) if known else None
    return None
