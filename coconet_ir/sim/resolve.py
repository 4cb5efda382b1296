"""The global shapes of results: sizes of names, carried by an operation's rule from operands to results."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, Operation

from coconet_ir.analysis.notation import Rule
from coconet_ir.analysis.notation import Shape as NamedShape
from coconet_ir.analysis.rules import rule_of
from coconet_ir.diagnostics import IRError
from coconet_ir.sim.mesh import Shape
from coconet_ir.sim.sizes import MAX_ELEMENTS

OpenShape = tuple[int | None, ...]
"""A shape in which None stands for a size that only the result's data tells."""


def result_shapes(
    op: Operation, operands: Sequence[Shape | None], splat: Sequence[int]
) -> list[OpenShape | None]:
    """The global shape of each result, None for a scalar; `splat` are the sizes a splat is given.

    Raises `IRError` when sizes that the rule or a static type ties together differ.
    """
    rule = rule_of(op)
    if rule is None:
        raise IRError("has no meaning at the distributed level", op)
    sizes = _Sizes(op, rule)
    for index, (named, shape) in enumerate(zip(rule.operands, operands, strict=True)):
        if named is not None and shape is not None:
            sizes.bind(named, shape, f"operand {index}")
    for index, (named, result) in enumerate(zip(rule.results, op.results, strict=True)):
        sizes.bind(named or (), _static(result.type), f"result {index}")
    if splat:
        for named, result in zip(rule.results, op.results, strict=True):
            sizes.bind(named or (), _with_splat(op, result.type, splat), "the result")
    return [
        None if named is None else tuple(sizes.size(factors) for factors in named)
        for named in rule.results
    ]


def simulated_shapes(
    op: Operation, operands: Sequence[Shape | None], splat: Sequence[int]
) -> list[OpenShape | None]:
    """`result_shapes`; raises `IRError` for a result of more than `MAX_ELEMENTS` too."""
    shapes = result_shapes(op, operands, splat)
    for shape in shapes:
        if (count := math.prod(size for size in shape or () if size is not None)) > MAX_ELEMENTS:
            raise IRError(f"gives {count} elements, more than {MAX_ELEMENTS}", op)
    return shapes


def _static(type: Attribute) -> OpenShape:
    if not isinstance(type, TensorType):
        return ()
    sizes: Sequence[int] = type.get_shape()
    return tuple(None if size == DYNAMIC_INDEX else size for size in sizes)


def _with_splat(op: Operation, type: Attribute, given: Sequence[int]) -> OpenShape:
    if min(given) < 0:
        raise IRError(f"is given the size {min(given)}; a size is at least 0", op)
    rest = iter(given)
    return tuple(next(rest) if size is None else size for size in _static(type))


class _Sizes:
    """The sizes of the names of one operation's rule."""

    def __init__(self, op: Operation, rule: Rule):
        self._op = op
        self._known: dict[str, tuple[int, str]] = {
            name: (size, "its product") for name, size in rule.sizes
        }

    def bind(self, named: NamedShape, shape: OpenShape, where: str) -> None:
        """State the shape of a tensor."""
        for dim, (factors, size) in enumerate(zip(named, shape, strict=True)):
            if size is not None:
                self._bind_dim(factors, size, f"dimension {dim} of {where}")

    def _bind_dim(self, factors: tuple[str, ...], size: int, where: str) -> None:
        unknown = [name for name in factors if name not in self._known]
        known = math.prod(self._known[name][0] for name in factors if name in self._known)
        if not unknown:
            if known != size:
                self._differ(factors, known, size, where)
        elif len(unknown) == 1 and known > 0:
            if size % known:
                raise IRError(
                    f"needs a multiple of {known} for {where}, which is ({' '.join(factors)}), not {size}",
                    self._op,
                )
            self._known[unknown[0]] = (size // known, where)

    def _differ(self, factors: tuple[str, ...], known: int, size: int, where: str) -> None:
        if len(factors) == 1:
            other = self._known[factors[0]][1]
            raise IRError(f"needs equal sizes: {where} is {size}, but {other} is {known}", self._op)
        raise IRError(
            f"needs equal sizes: {where} is {size}, but ({' '.join(factors)}) is {known}", self._op
        )

    def size(self, factors: tuple[str, ...]) -> int | None:
        """The size of a dimension, None when a factor is not known."""
        if any(name not in self._known for name in factors):
            return None
        return math.prod(self._known[name][0] for name in factors)
