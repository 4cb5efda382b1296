"""What computes one element of a tensor: a graph of loads, operations and choices, as formulas of its position."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects.builtin import AnyFloat, FloatAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from coconet_ir.dialects.blocks import DropoutBlockOp, SegmentReduceBlockOp
from coconet_ir.dialects.comp import ReduceOp
from coconet_ir.dialects.elements import element_of
from coconet_ir.lowering.kernels.indices import Index, Segment, Size

ConstantAttr: TypeAlias = IntegerAttr[IntegerType | IndexType] | FloatAttr[AnyFloat]
"""A number with its type."""


@dataclass(frozen=True, eq=False)
class Load:
    """The element of a buffer at a row-major number."""

    buffer: SSAValue
    address: Index
    element: Attribute


@dataclass(frozen=True, eq=False)
class Uniform:
    """A scalar, from outside of the kernel or computed in it once."""

    value: SSAValue

    @property
    def element(self) -> Attribute:
        """The type of the scalar."""
        return self.value.type


@dataclass(frozen=True, eq=False)
class Constant:
    """A number."""

    value: ConstantAttr

    @property
    def element(self) -> Attribute:
        """The type of the number."""
        return self.value.get_type()


@dataclass(frozen=True, eq=False)
class Compute:
    """An operation of `arith` or `math` on elements: its class and properties, and which of its results."""

    kind: type[Operation]
    properties: Mapping[str, Attribute]
    elements: tuple[Attribute, ...]
    operands: tuple[Node, ...]
    result: int = 0

    @property
    def element(self) -> Attribute:
        """The type of the result's elements."""
        return self.elements[self.result]


@dataclass(frozen=True, eq=False)
class Number:
    """The value of an index."""

    index: Index

    @property
    def element(self) -> Attribute:
        """The type `index`."""
        return IndexType()


@dataclass(frozen=True, eq=False)
class Guarded:
    """An element where an index is below a size, or in a segment; 0 elsewhere, where nothing is loaded."""

    node: Node
    where: tuple[Index, Size] | Segment

    @property
    def element(self) -> Attribute:
        """The type of the element."""
        return self.node.element


@dataclass(frozen=True, eq=False)
class Dropped:
    """An element that a dropout keeps or drops, by its row-major position in the whole tensor."""

    node: Node
    position: Index
    op: DropoutBlockOp
    seed: Node
    coordinate: Node

    @property
    def element(self) -> Attribute:
        """The type of the element."""
        return self.node.element


@dataclass(frozen=True, eq=False)
class Reduced:
    """The result of a reduction for the element that is at hand."""

    op: ReduceOp | SegmentReduceBlockOp

    @property
    def element(self) -> Attribute:
        """The type of the result's elements."""
        return element_of(self.op.output.type)


Node: TypeAlias = Load | Uniform | Constant | Number | Compute | Guarded | Dropped | Reduced


def inputs(node: Node) -> tuple[Node, ...]:
    """The nodes that a node reads."""
    match node:
        case Compute():
            return node.operands
        case Guarded():
            return (node.node,)
        case Dropped():
            return (node.node, node.seed, node.coordinate)
        case _:
            return ()


def walk(*roots: Node, into: Callable[[Node], bool] = lambda node: True) -> Iterator[Node]:
    """Every node that the roots depend on, each once, before those that read it; `into` says whose inputs to visit."""
    seen: set[Node] = set()
    stack = [(node, False) for node in reversed(roots)]
    while stack:
        node, done = stack.pop()
        if done:
            yield node
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            if into(node):
                stack += [(operand, False) for operand in reversed(inputs(node))]


def loads(*roots: Node) -> Iterator[Load]:
    """What the roots load whatever the conditions are, each once."""
    for node in walk(*roots, into=lambda one: not isinstance(one, Guarded)):
        if isinstance(node, Load):
            yield node


def positions(node: Node) -> tuple[Index, ...]:
    """The indices that a node itself uses."""
    match node:
        case Load(address=index) | Dropped(position=index) | Number(index=index):
            return (index,)
        case Guarded(where=Segment(index=index)) | Guarded(where=(index, _)):
            return (index,)
        case _:
            return ()


@dataclass(frozen=True)
class Store:
    """An element of a buffer, what computes it, and its row-major number."""

    buffer: SSAValue
    node: Node
    address: Index
