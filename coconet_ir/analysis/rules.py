"""The dimension rule of an operation: the trait that states it, and the check of an operation against it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, DictionaryAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.traits import OpTrait
from xdsl.utils.exceptions import VerifyException

from coconet_ir.analysis.dist import Dist, Kind, Partial
from coconet_ir.analysis.inference import accepts, propagate
from coconet_ir.analysis.notation import Pattern, Rule, RuleError, Shape
from coconet_ir.dialects.attributes import as_tensor, dist_of, sizes_of
from coconet_ir.schedule.remarks import Refused

LAYOUT_OF = "layout.of"
"""The attribute of an argument or result whose function is not inferred yet."""


@dataclass(frozen=True)
class HasRule(OpTrait):
    """The operation states a dimension rule, a function of the instance, and is checked against it.

    `build` may raise `RuleError` for attributes that make no rule. `by_types` says that types alone decide the
    rule, so that operations of the same types are checked once.
    """

    build: Callable[[Operation], Rule]
    by_types: bool = False

    def verify(self, op: Operation) -> None:
        key = self._key(op)
        if key in _checked:
            return
        rule = self._check(op)
        if key is not None and not in_uninferred_function(op):
            if len(_checked) > _CHECKED_LIMIT:
                _checked.clear()
            _checked[key] = (rule, *op.operand_types, *op.result_types)

    def rule(self, op: Operation) -> Rule:
        """The rule of a verified operation."""
        if (known := _checked.get(self._key(op))) is not None:
            return known[0]
        return self.build(op)

    def _key(self, op: Operation) -> tuple[int, ...] | None:
        if not self.by_types:
            return None
        return (
            id(self),
            len(op.results),
            *[id(value.type) for value in (*op.operands, *op.results)],
        )

    def _check(self, op: Operation) -> Rule:
        try:
            rule = self.build(op)
        except RuleError as error:
            raise VerifyException(str(error)) from error
        if (problem := _sizes_problem(rule, op)) is not None:
            raise VerifyException(problem)
        problem = _range_problem(op) or layout_problem(rule, op)
        if problem is not None and not in_uninferred_function(op):
            raise VerifyException(problem)
        return rule


_checked: dict[tuple[int, ...] | None, tuple[Rule, *tuple[Attribute, ...]]] = {}
"""The rule for types that passed, by their identities; holding the types keeps the identities theirs."""

_CHECKED_LIMIT = 4096


class StatesRule(Protocol):
    """An operation of our own dialects, which states its rule as a method."""

    def rule(self) -> Rule:
        """The dimension rule of this instance. Raises `RuleError` when its attributes make none."""
        ...


OWN_RULE = HasRule(lambda op: cast(StatesRule, op).rule())
"""The trait of every operation that defines `rule`."""

OWN_RULE_OF_TYPES = HasRule(OWN_RULE.build, by_types=True)
"""The trait of those whose `rule` depends on the types of their operands and results alone."""


@dataclass(frozen=True)
class OneRank(OpTrait):
    """The operation belongs to the program of one rank, below the distributed level."""


def rule_of(op: Operation) -> Rule | None:
    """The dimension rule of a verified operation, or None when it states none."""
    trait = op.get_trait(HasRule)
    return None if trait is None else trait.rule(op)


def can_make(op: Operation, dist: Dist) -> bool:
    """Whether `op` could as well give its one result the layout `dist`, from the operands that it has.

    So can splats and constants any but a partial one, and a broadcast one that slices its new dimensions: the fold
    slice(splat | constant | broadcast) of the design, section 5.
    """
    rule = rule_of(op)
    if rule is None or rule.transition is not None or len(op.results) != 1:
        return False
    expected = propagate(rule, operand_dists(op))
    return rule.results != (None,) and accepts(rule, expected, (dist,)) is None


def pointwise(op: Operation, joint: frozenset[Kind] = frozenset()) -> Rule:
    """The rule of an operation that works element by element on tensors of one shape.

    Operands and results that are no tensors are left out. Raises `RuleError` for tensors of different ranks.
    """
    return _pointwise(
        tuple(rank_of(value.type) for value in op.operands),
        tuple(rank_of(value.type) for value in op.results),
        joint,
    )


@lru_cache(maxsize=1024)
def _pointwise(
    operands: tuple[int | None, ...], results: tuple[int | None, ...], joint: frozenset[Kind]
) -> Rule:
    ranks = {rank for rank in (*operands, *results) if rank is not None}
    if len(ranks) > 1:
        raise RuleError("its tensors have different numbers of dimensions")

    def shape(rank: int | None) -> Shape | None:
        return None if rank is None else tuple((f"d{i}",) for i in range(rank))

    return Rule(tuple(map(shape, operands)), tuple(map(shape, results)), joint=joint)


def by_pattern(op: Operation, pattern: Pattern, shape_only: frozenset[int] = frozenset()) -> Rule:
    """The rule of `op` by a pattern, its `*` names expanded. Raises `RuleError` when it does not fit."""
    rule = pattern.instantiate(tuple(rank_of(value.type) for value in op.operands), shape_only)
    if len(rule.results) != len(op.results):
        raise RuleError(
            f"its rule {pattern} has {len(rule.results)} result(s), but the operation {len(op.results)}"
        )
    for index, (shape, result) in enumerate(zip(rule.results, op.results, strict=True)):
        if rank_of(result.type) != (None if shape is None else len(shape)):
            have = "no tensor" if shape is None else f"a tensor of {len(shape)} dimension(s)"
            raise RuleError(f"result {index} must be {have}")
    return rule


def rank_of(type: Attribute) -> int | None:
    """The number of dimensions of a tensor type, None for any other type."""
    return None if (tensor := as_tensor(type)) is None else len(tensor.shape.data)


def operand_dists(op: Operation) -> tuple[Dist, ...]:
    """The layout of each operand, that of a scalar being replicated."""
    return tuple([dist_of(value.type) for value in op.operands])


def layout_problem(rule: Rule, op: Operation) -> str | None:
    """Why the layouts of the results are not what the rule makes of the operands, or None."""
    try:
        expected = propagate(rule, operand_dists(op))
    except Refused as refused:
        return refused.message
    actual = [dist_of(value.type) for value in op.results]
    if (index := accepts(rule, expected, actual)) is None:
        return None
    which = "its result" if len(actual) == 1 else f"result {index}"
    problem = f"{which} has the layout {actual[index]}, but the operands make it {expected[index]}"
    if actual[index].has(Partial) and not expected[index].has(Partial):
        return f"{problem}; what ranks have alike is not partial, so use it after the reduction"
    return problem


def in_uninferred_function(op: Operation) -> bool:
    """Whether `op` is in a function whose layouts still stand as `layout.of` (design, section 6, infer)."""
    while (parent := op.parent_op()) is not None:
        op = parent
        if isinstance(op, FuncOp):
            return is_uninferred(op)
    return False


def is_uninferred(func: FuncOp) -> bool:
    """Whether the function's layouts still stand as `layout.of` on its arguments and results."""
    for name in ("arg_attrs", "res_attrs"):
        attributes = func.properties.get(name)
        if isinstance(attributes, ArrayAttr):  # else the function is wrong, and not verified yet
            for entry in cast(ArrayAttr[Attribute], attributes):
                if isinstance(entry, DictionaryAttr) and LAYOUT_OF in entry.data:
                    return True
    return False


def _range_problem(op: Operation) -> str | None:
    """A layout that slices a dimension its tensor does not have, or None."""
    for value in (*op.operands, *op.results):
        for cut in dist_of(value.type).cuts:
            if cut.dim >= (rank := rank_of(value.type) or 0):
                return f"sliced({cut.dim}) is out of range: the tensor has {rank} dimension(s)"
    return None


def _sizes_problem(rule: Rule, op: Operation) -> str | None:
    """Two static sizes that one name of the rule cannot both have, or None."""
    sizes: dict[str, tuple[int, str]] = {
        name: (size, "its product") for name, size in rule.size.items()
    }
    for kind, shapes, values in (
        ("operand", rule.operands, op.operands),
        ("result", rule.results, op.results),
    ):
        for index, (shape, value) in enumerate(zip(shapes, values, strict=True)):
            if shape is None:
                continue
            if (rank := rank_of(value.type)) != len(shape):
                return f"{kind} {index} must have {len(shape)} dimension(s), not {rank}"
            for dim, (factors, size) in enumerate(zip(shape, sizes_of(value.type), strict=True)):
                if size == DYNAMIC_INDEX or len(factors) != 1:
                    continue
                where = f"dimension {dim} of {kind} {index}"
                before, place = sizes.setdefault(factors[0], (size, where))
                if before != size:
                    return f"'{factors[0]}' is {before} in {place}, but {size} in {where}"
    return None
