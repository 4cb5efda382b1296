"""The rules of custom operations, validated against what they compute: bodies in the IR, functions in Python.

A definition is validated once, by its content, however often a program is verified.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Block, Operation, SSAValue

from coconet_ir.analysis.check_rule import CannotEvaluate, Evaluate, Part, Subject, violations
from coconet_ir.analysis.customs import Custom, declared
from coconet_ir.analysis.dist import REPLICATED
from coconet_ir.analysis.notation import Rule, Shape, Whole
from coconet_ir.analysis.rules import rank_of, rule_of
from coconet_ir.diagnostics import IRError, op_name
from coconet_ir.dialects.arith import BitcastOp
from coconet_ir.dialects.attributes import dist_of, sizes_of, with_dist
from coconet_ir.dialects.comp import UpdateOp
from coconet_ir.dialects.custom import CustomOp, DefineOp, YieldOp
from coconet_ir.sim.binding import Value, read_only
from coconet_ir.sim.elements import Array
from coconet_ir.sim.exchange import InProcess
from coconet_ir.sim.executor import Machine
from coconet_ir.sim.kernels import Numbers, Unsupported
from coconet_ir.sim.mesh import ONE_RANK

MAX_ELEMENTS = 1 << 14
"""Most elements of a tensor that is made while a body is validated."""

MAX_OPERATIONS = 1000
"""Longest body that is validated."""

STEPS = 4000
"""Operations of a body that are run for one validation, about."""

STATIC_WHOLE = 64
"""Up to this size a whole dimension keeps the static size that it has in the program."""

_known: dict[Hashable, str | None] = {}
_MOST_KNOWN = 1024


def check_definition(define: DefineOp) -> None:
    """Raise `IRError` when a `comp.define` does not compute what its rule says, or cannot be evaluated."""
    problem = _remembered(str(define), lambda: _definition_problem(define))
    if problem is not None:
        raise IRError(problem, define)


def check_declared(op: CustomOp) -> None:
    """Raise `IRError` when a custom operation of Python does not compute what its rule says for such operands."""
    if (custom := declared(op.callee.root_reference.data)) is None:
        return  # the operation's own check says that nothing declares it
    types = tuple(with_dist(value.type, REPLICATED) for value in (*op.operands, *op.results))
    problem = _remembered((custom, types), lambda: _declared_problem(op, custom))
    if problem is not None:
        raise IRError(problem, op)


def _remembered(key: Hashable, find: Callable[[], str | None]) -> str | None:
    if key not in _known:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known[key] = find()
    return _known[key]


def _problem(
    rule: Rule,
    operands: Sequence[SSAValue],
    evaluate: Evaluate,
    sizes: dict[str, int],
    numbers: Numbers,
    *,
    bit_equal: bool,
    budget: int,
) -> str | None:
    """What is wrong with a custom operation, as the end of a message, or None."""
    try:
        dtypes = tuple(numbers.dtype(value.type) for value in operands)
        found = violations(Subject(rule, dtypes, evaluate, sizes, bit_equal, budget))
    except Unsupported as error:
        return f"cannot be validated: it {error}"
    except CannotEvaluate as error:
        return f"cannot be validated: it has no result for small tensors: {error}"
    if not found:
        return None
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return f"does not compute what its rule says: {found[0].message}{more}"


# Bodies in the IR


def _definition_problem(define: DefineOp) -> str | None:
    block = define.body.block
    pattern = define.pattern.data
    rule = pattern.instantiate(tuple(rank_of(arg.type) for arg in block.args))
    if (problem := _body_problem(block)) is not None:
        return problem
    sizes: dict[str, int] = {}
    for index, (shape, arg) in enumerate(zip(rule.operands, block.args, strict=True)):
        if (problem := _take_static(rule, shape, arg, index, sizes)) is not None:
            return problem
    exact = not any(isinstance(op, BitcastOp) for op in block.ops)
    numbers = Numbers(exact)
    return _problem(
        rule,
        block.args,
        lambda arrays, part: _run_body(block, numbers, arrays),
        sizes,
        numbers,
        bit_equal=True,
        budget=STEPS // len(block.ops),
    )


def _body_problem(block: Block) -> str | None:
    """Why a body cannot be evaluated on one rank's tensors, or None."""
    if len(block.ops) > MAX_OPERATIONS:
        return f"has a body of {len(block.ops)} operations; only {MAX_OPERATIONS} can be validated"
    for op in block.ops:
        if isinstance(op, YieldOp):
            continue
        if isinstance(op, CustomOp):
            return f"applies @{op.callee.root_reference.data} in its body: write out what that computes"
        allowed = op.name.split(".")[0] in ("arith", "math", "tensor", "comp")
        if not allowed or op.regions or isinstance(op, UpdateOp) or rule_of(op) is None:
            return (
                f"has '{op_name(op)}' in its body, which says what one rank computes: arith, math, tensor "
                "and comp operations that have a dimension rule, and no updates"
            )
        if any(dist_of(result.type) for result in op.results):
            return f"has a layout in its body, at '{op.name}': tensors of a body have none"
        if math.prod(n for r in op.results for n in sizes_of(r.type) if n > 0) > MAX_ELEMENTS:
            return (
                f"makes a tensor of more than {MAX_ELEMENTS} elements in its body, at '{op.name}'"
            )
    return None


def _take_static(
    rule: Rule, shape: Shape | None, arg: SSAValue, index: int, sizes: dict[str, int]
) -> str | None:
    """Note the static sizes of an argument; why one cannot be, or None."""
    for dim, (factors, size) in enumerate(zip(shape or (), sizes_of(arg.type), strict=True)):
        if size == DYNAMIC_INDEX:
            continue
        (name,) = factors
        if not isinstance(rule.role.get(name), Whole):
            return (
                f"has a body whose argument {index} has {size} elements in dimension {dim}, but a slice of "
                f"'{name}' has fewer: write ? there, or `{name} = whole` in the rule"
            )
        if sizes.setdefault(name, size) != size:
            return f"has a body in which '{name}' is both {sizes[name]} and {size}"
    if math.prod(sizes[f[0]] for f in shape or () if f[0] in sizes) > MAX_ELEMENTS:
        return f"has a body whose argument {index} has more than {MAX_ELEMENTS} elements: write ? for sizes"
    return None


def _run_body(block: Block, numbers: Numbers, arrays: Sequence[Array]) -> list[Array]:
    machine = Machine(ONE_RANK, numbers, InProcess(1))
    values: dict[SSAValue, Value] = {}
    for arg, array in zip(block.args, arrays, strict=True):
        shape = None if rank_of(arg.type) is None else array.shape
        values[arg] = Value(arg.type, shape, (array,))
    for op in block.ops:
        operands = [values[operand] for operand in op.operands]
        if isinstance(op, YieldOp):
            return [value.arrays[0] for value in operands]
        for result, value in zip(op.results, _apply(machine, op, operands), strict=True):
            values[result] = value
    return []


def _apply(machine: Machine, op: Operation, operands: Sequence[Value]) -> list[Value]:
    try:
        found = machine.apply(op, operands)
    except IRError as error:
        raise CannotEvaluate(f"'{op_name(op)}' {error.message}") from error
    if any(value.arrays[0].size > MAX_ELEMENTS for value in found):
        raise CannotEvaluate(f"'{op_name(op)}' makes more than {MAX_ELEMENTS} elements")
    return found


# Functions in Python


def _declared_problem(op: CustomOp, custom: Custom) -> str | None:
    rule = op.rule()
    numbers = Numbers()
    sizes = {
        factors[0]: size
        for shape, value in zip(rule.operands, op.operands, strict=True)
        for factors, size in zip(shape or (), sizes_of(value.type), strict=True)
        if 0 <= size <= STATIC_WHOLE and isinstance(rule.role.get(factors[0]), Whole)
    }

    def evaluate(arrays: Sequence[Array], part: Part) -> Sequence[Array]:
        return _call(custom, arrays, len(op.results))

    return _problem(rule, op.operands, evaluate, sizes, numbers, bit_equal=False, budget=STEPS)


def _call(custom: Custom, arrays: Sequence[Array], results: int) -> tuple[Array, ...]:
    try:
        with np.errstate(all="ignore"):
            found = custom(*map(read_only, arrays))
    except Exception as error:
        raise CannotEvaluate(
            f"the Python function raised {type(error).__name__}: {error}"
        ) from error
    if len(found) != results:
        raise CannotEvaluate(f"the Python function gives {len(found)} results, not {results}")
    return found
