"""Operations of one line as subjects of the check of rules: what the simulator computes for them on one rank."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

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


Reads = Callable[[FuncOp, SSAValue], set[Operation]]


@pytest.fixture
def reads_of() -> Reads:
    """The operations that read the data of an argument, by definition: those that use it in any of its forms."""
    views = ("layout.slice", "layout.relax", "comp.reshape", "comp.transpose")
    idle = {("tensor.dim", 0), ("comp.broadcast", 1), ("comp.update", 0)}

    def reads(func: FuncOp, target: SSAValue) -> set[Operation]:
        forms: set[SSAValue] = set()
        more = {target}
        while more != forms:
            forms = set(more)
            for op in func.body.walk():
                if op.name in views and op.operands[0] in forms:
                    more.update(op.results)
                if op.name == "coll.yield" and (region := op.parent_op()) is not None:
                    pairs = zip(op.operands, region.results, strict=True)
                    more.update(result for value, result in pairs if value in forms)
        return {
            op
            for op in func.body.walk()
            if op.name not in (*views, "coll.yield")
            for index, value in enumerate(op.operands)
            if value in forms and (op.name, index) not in idle
        }

    return reads


@pytest.fixture
def tangled() -> Callable[[int], FuncOp]:
    """A random function by its seed: few types, many uses, views, updates, and regions within regions.

    It is parsed, not checked: what its regions hold need not be one kernel.
    """

    def make(seed: int) -> FuncOp:
        text = _Tangle(random.Random(seed)).text()
        module = LocatedParser(make_context(), text).parse_module()
        return next(op for op in module.ops if isinstance(op, FuncOp))

    return make


class _Tangle:
    """Writes one random function."""

    TYPES: ClassVar = {
        "x": "tensor<4x4xf32>",
        "s": "tensor<4x4xf32, #layout.dist<dp = sliced(0)>>",
        "f": "tensor<16xf32>",
    }

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.lines: list[str] = []
        self.values = {f"a{i}": ("x", f"a{i}") for i in range(3)}
        """Each value's type, and the argument whose memory it is, if any."""
        self.updated: set[str] = set()
        self.left = rng.randint(4, 16)

    def text(self) -> str:
        self.body(0)
        arguments = ", ".join(f"%a{i}: {self.TYPES['x']}" for i in range(3))
        body = "\n".join(self.lines)
        return f"layout.mesh @mesh(dp = 2)\nfunc.func @f({arguments}, %i: index) {{\n{body}\nfunc.return\n}}"

    def body(self, depth: int) -> None:
        while self.left > 0:
            self.left -= 1
            if depth < 2 and self.rng.random() < 0.15:
                self.region(depth)
            elif depth and self.rng.random() < 0.3:
                return
            else:
                self.operation()

    def pick(self, kinds: str = "x") -> str | None:
        usable = [n for n, (k, m) in self.values.items() if k in kinds and m not in self.updated]
        return self.rng.choice(usable) if usable else None

    def add(self, text: str, kind: str, memory: str) -> None:
        name = f"v{len(self.lines)}"
        self.lines.append(f"%{name} = {text}")
        self.values[name] = (kind, memory or name)

    def operation(self) -> None:
        one, other, part = self.pick(), self.pick(), self.pick("s")
        whole, sliced, flat = (self.TYPES[kind] for kind in "xsf")
        if one is None or other is None:
            return
        memory = self.values[one][1]
        match self.rng.randrange(9):
            case 0:
                self.add(f"layout.slice %{one} over [dp] dim 0 : {whole} -> {sliced}", "s", memory)
            case 1:
                self.add(f"comp.transpose %{one} perm [1, 0] : {whole} -> {whole}", "x", memory)
            case 2:
                self.add(f"comp.reshape %{one} [a, b] -> [(a b)] : {whole} -> {flat}", "f", memory)
            case 3 if part is not None:
                self.add(f"coll.all_gather %{part} over [dp] : {sliced} -> {whole}", "x", "")
            case 4 if part is not None:
                self.add(f"arith.addf %{part}, %{part} : {sliced}", "s", "")
            case 5:
                self.lines.append(f"%n{len(self.lines)} = tensor.dim %{one}, %i : {whole}")
            case 6 if targets := [a for a in ("a0", "a1", "a2") if a not in self.updated]:
                target = self.rng.choice(targets)
                self.add(f"comp.update %{target}, %{one} : {whole}", "x", "")
                self.updated.add(target)
            case _:
                self.add(f"arith.mulf %{one}, %{other} : {whole}", "x", "")

    def region(self, depth: int) -> None:
        outer = dict(self.values)
        place = len(self.lines)
        self.lines.append("")
        self.body(depth + 1)
        given = [n for n in (self.pick(), self.pick("xs")) if n is not None]
        kinds = [self.values[n] for n in given]
        names = [f"r{place}_{i}x" for i in range(len(given))]
        outputs = f"{', '.join(f'%{n}' for n in names)} = " if names else ""
        self.lines[place] = f"{outputs}coll.{'overlap' if depth == 0 else 'fused'} {{"
        types = ", ".join(self.TYPES[kind] for kind, _ in kinds)
        values = ", ".join(f"%{n}" for n in given)
        self.lines.append(f"coll.yield {values} : {types} }}" if given else "coll.yield }")
        self.values = outer | dict(zip(names, kinds, strict=True))
