"""The dependences of a program as a drawing: text for Graphviz, and what its `dot` makes of it.

Unlike `dependences`, which counts a region as one operation, this shows what stands in regions.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from typing import cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, BlockArgument, Operation, OpResult, SSAValue

from coconet_ir.analysis.bytes import CollectiveOp
from coconet_ir.analysis.memory import VIEWS, data_uses
from coconet_ir.analysis.verifier import require_distributed
from coconet_ir.diagnostics import IRError, op_name
from coconet_ir.dialects.comp import UpdateOp, is_target
from coconet_ir.dialects.regions import RegionOp, YieldOp
from coconet_ir.schedule.selection import argument_names, functions, name_of

_COLLECTIVE = 'shape=box, style="filled,bold", fillcolor=lightblue'
_UPDATE = "shape=box, style=filled, fillcolor=orange"
_VIEW = "shape=box, style=dashed"
_COMPUTATION = "shape=box"
_END = "shape=ellipse, style=filled, fillcolor=lightgray"
"""Arguments and the return."""

Node = Operation | BlockArgument
Edge = tuple[Node, Operation]


def to_dot(module: ModuleOp) -> str:
    """The dependences of every function as a graph in Graphviz's language.

    A node is an argument or an operation, a cluster a function or, within it, a region. A region's results are drawn
    as what they are, the values that it yields. Solid edges lead from what makes a value to what reads it; dashed
    ones, which memory alone makes, to an update from the argument that it stores into and from what reads that before.
    Raises `IRError` for a program below the distributed level.
    """
    require_distributed(module)
    lines = [
        "digraph dependences {",
        "  graph [fontname=Helvetica, fontsize=10];",
        "  node [fontname=Helvetica, fontsize=10];",
        *(
            line
            for index, func in enumerate(functions(module, None))
            for line in _Drawing(func, index).lines()
        ),
        "}",
    ]
    return "\n".join(lines) + "\n"


def to_svg(dot: str) -> str:
    """The drawing that Graphviz makes of a graph. Raises `IRError` when its `dot` is missing or fails."""
    if (program := shutil.which("dot")) is None:
        raise IRError(
            "a drawing needs the program 'dot' of Graphviz on the PATH (https://graphviz.org/download, or the "
            "package graphviz of your system); without it, --show-dependences prints the graph as text"
        )
    try:
        done = subprocess.run(
            [program, "-Tsvg"], input=dot.encode(), capture_output=True, check=False
        )
    except OSError as error:
        raise IRError(f"cannot run '{program}': {error.strerror}") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().partition("\n")[0]
        raise IRError(
            f"'{program}' failed with status {done.returncode}: {said or 'it says nothing'}"
        )
    return done.stdout.decode(errors="replace")


class _Drawing:
    """One function: its nodes are numbered in the order in which they stand."""

    def __init__(self, func: FuncOp, index: int):
        self.func, self.index = func, index
        places = (*func.body.block.args, *(op for op in func.body.walk() if not _is_frame(op)))
        self.places = {place: number for number, place in enumerate(places)}
        self.arguments = {arg: name for name, arg in argument_names(func).items()}
        self.clusters = 0

    def lines(self) -> Iterator[str]:
        title = f"@{self.func.sym_name.data}"
        arguments = (self._argument(arg) for arg in self.func.body.block.args)
        yield from self._cluster(title, self.func.body.block, "  ", arguments)
        values = dict.fromkeys(self._values())
        yield from (self._edge(edge, "") for edge in values)
        memory = dict.fromkeys(edge for edge in self._memory() if edge not in values)
        yield from (self._edge(edge, " [style=dashed]") for edge in memory)

    def _node(self, place: Node) -> str:
        return f"f{self.index}n{self.places[place]}"

    def _edge(self, edge: Edge, style: str) -> str:
        return f"  {self._node(edge[0])} -> {self._node(edge[1])}{style};"

    def _cluster(
        self, title: str, block: Block, indent: str, first: Iterable[str] = ()
    ) -> Iterator[str]:
        yield f"{indent}subgraph cluster_{self.index}_{self.clusters} {{"
        self.clusters += 1
        inner = f"{indent}  "
        yield f"{inner}label={_quoted(title)};"
        for line in first:
            yield f"{inner}{line}"
        for op in block.ops:
            if isinstance(op, RegionOp):
                yield from self._cluster(_title(op), op.body.block, inner)
            elif op in self.places:
                yield f"{inner}{self._operation(op)}"
        yield f"{indent}}}"

    def _argument(self, arg: BlockArgument) -> str:
        label = f"{self.arguments[arg]}\n{_text(arg.type)}"
        return f"{self._node(arg)} [label={_quoted(label)}, {_END}];"

    def _operation(self, op: Operation) -> str:
        label = "\n".join([_title(op), *(_text(result.type) for result in op.results)])
        return f"{self._node(op)} [label={_quoted(label)}, {_look(op)}];"

    def _values(self) -> Iterator[Edge]:
        """What makes a value, and what reads it."""
        for op in self.places:
            if isinstance(op, BlockArgument):
                continue
            for index, value in enumerate(op.operands):
                if not is_target(op, index):
                    yield _origin(value), op

    def _memory(self) -> Iterator[Edge]:
        """The memory that an update stores into, and what reads it before."""
        for op in self.places:
            if isinstance(op, UpdateOp):
                yield _origin(op.target), op
                readers = {reader for reader, _ in data_uses(op.target)} - {op}
                yield from ((reader, op) for reader in sorted(readers, key=self.places.__getitem__))


def _is_frame(op: Operation) -> bool:
    """Whether an operation is drawn as a frame, or not at all."""
    return isinstance(op, RegionOp | YieldOp)


def _origin(value: SSAValue) -> Node:
    """The argument that a value is, or the operation that makes it, within regions too."""
    while isinstance(value, OpResult) and isinstance(value.op, RegionOp):
        value = value.op.yielded[value.index]
    return value.op if isinstance(value, OpResult) else cast(BlockArgument, value)


def _look(op: Operation) -> str:
    if isinstance(op, ReturnOp):
        return _END
    if isinstance(op, CollectiveOp):
        return _COLLECTIVE
    if isinstance(op, UpdateOp):
        return _UPDATE
    return _VIEW if isinstance(op, VIEWS) else _COMPUTATION


def _title(op: Operation) -> str:
    """The name of an operation, if it has one, and what it is."""
    return "\n".join(filter(None, (name_of(op), op_name(op))))


@cache
def _text(type: Attribute) -> str:
    return str(type)


def _quoted(text: str) -> str:
    """Text as a string of Graphviz; what cannot be printed as the code that Python gives it."""
    shown = "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)
    return '"' + shown.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
