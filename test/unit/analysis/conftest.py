"""Operations of one line as subjects of the check of rules: what the simulator computes for them on one rank."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from xdsl.ir import Operation

from coconet_ir.analysis.check_rule import CannotEvaluate, Evaluate, Part, Subject
from coconet_ir.analysis.rules import rank_of, rule_of
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.comp import SegmentBroadcastOp, SegmentReduceOp
from coconet_ir.dialects.tensor import ExtractOp
from coconet_ir.frontend import make_context
from coconet_ir.sim.binding import Value
from coconet_ir.sim.elements import Array
from coconet_ir.sim.exchange import InProcess
from coconet_ir.sim.executor import Machine
from coconet_ir.sim.integers import ArithmeticRefused
from coconet_ir.sim.kernels import Numbers, Site, Unsupported, kernel_of
from coconet_ir.sim.mesh import ONE_RANK
from coconet_ir.xdsl_compat import LocatedParser

UPSTREAM = Path(__file__).parents[1] / "upstream_operations.mlir"


def _evaluator(op: Operation, numbers: Numbers) -> Evaluate:
    """What the simulator computes for `op` on one rank."""

    def evaluate(arrays: Sequence[Array], part: Part) -> Sequence[Array]:
        try:
            if (kernel := kernel_of(op)) is None:  # one that is defined by others
                values = [
                    Value(v.type, None if rank_of(v.type) is None else a.shape, (a,))
                    for v, a in zip(op.operands, arrays, strict=True)
                ]
                machine = Machine(ONE_RANK, numbers, InProcess(1))
                return [value.arrays[0] for value in machine.apply(op, values)]
            place = (part.shapes, part.operands, part.results)
            return kernel(
                op, Site(ONE_RANK, 0, numbers, *place, 0), _with_offsets(op, arrays, part)
            )
        except (ArithmeticRefused, Unsupported, ValueError) as error:
            raise CannotEvaluate(str(error)) from error
        except IRError as error:
            raise CannotEvaluate(error.message) from error

    return evaluate


def _with_offsets(op: Operation, arrays: Sequence[Array], part: Part) -> Sequence[Array]:
    """The operands with offsets that rise from 0 to the size, with an empty segment, in place of random ones."""
    if isinstance(op, SegmentReduceOp | SegmentBroadcastOp):
        (size,) = part.shapes[0 if isinstance(op, SegmentReduceOp) else 2] or (0,)
        count = len(arrays[1])
        offsets = [min(size, 2 * i - (i > 1)) for i in range(count - 1)] + [size]
        return [arrays[0], np.asarray(offsets[:count], np.int64), *arrays[2:]]
    if isinstance(op, ExtractOp):
        return [arrays[0], *(np.asarray(0, np.int64) for _ in arrays[1:])]
    return arrays


def _subject(op: Operation, *, exact: bool = False, sizes: dict[str, int] | None = None) -> Subject:
    """A verified operation with the rule that it states."""
    rule, numbers = rule_of(op), Numbers(exact)
    assert rule is not None
    dtypes = tuple(numbers.dtype(value.type) for value in op.operands)
    return Subject(rule, dtypes, _evaluator(op, numbers), sizes or {})


def _parse(text: str) -> list[Operation]:
    """The verified operations of a module's one function, but its return."""
    module = LocatedParser(make_context(), text).parse_module()
    module.verify()
    return [
        op for func in module.ops for op in func.regions[0].block.ops if op.operands or op.results
    ]


def _operation(line: str) -> Operation:
    """The operation of a line `%x, %y : types -> type` written with a type after each operand: `%(f32)`."""
    types: list[str] = re.findall(r"%\(([^()]*)\)", line)
    names = iter(range(len(types)))
    body = re.sub(r"%\([^()]*\)", lambda _: f"%a{next(names)}", line)
    arguments = ", ".join(f"%a{i}: {type}" for i, type in enumerate(types))
    op, *rest = _parse(f"func.func @f({arguments}) {{\n  %r = {body}\n  func.return\n}}")
    assert not rest
    return op


@pytest.fixture
def subject_of() -> Callable[..., Subject]:
    """`subject_of(line, exact=False, sizes={})`: the operation of a line, whose operands are written `%(type)`."""

    def make(line: str, *, exact: bool = False, sizes: dict[str, int] | None = None) -> Subject:
        return _subject(_operation(line), exact=exact, sizes=sizes)

    return make


@pytest.fixture
def elementwise() -> list[tuple[str, Subject]]:
    """Each operation of arith, math and tensor on tensors that the simulator has, by name."""
    text = UPSTREAM.read_text()
    text = text.replace("tensor<4x?x", "tensor<?x?x").replace("tensor<4x8x", "tensor<?x?x")
    return [
        (op.name, _subject(op))
        for op in _parse(text)
        if kernel_of(op) is not None and any(rank_of(v.type) for v in op.operands)
    ]
