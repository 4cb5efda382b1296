"""Random programs, random rewrites of them, and what must hold after each.

    python test/unit/passes/random_programs.py --count 2000 --seed 1

rewrites that many programs and prints how often each operation was moved, sliced or split, and how often that was
declined and why. A program that a rewrite breaks is printed with the rewrites that led there.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from random_generator import Dim, Generator, Program
from random_steps import STEPS
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation
from xdsl.transforms.canonicalize import CanonicalizePass

from coconet_ir.analysis.dist import REPLICATED, Dist, Local
from coconet_ir.analysis.rules import LAYOUT_OF, rank_of
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects import coll
from coconet_ir.dialects.attributes import DistAttr, as_tensor, dist_of, sizes_of, with_dist
from coconet_ir.dialects.comp import DropoutOp, UpdateOp
from coconet_ir.dialects.elements import element_of
from coconet_ir.frontend import check, make_context, parse_program
from coconet_ir.passes.infer import infer
from coconet_ir.passes.reorder import reorder
from coconet_ir.passes.slice import slice_value
from coconet_ir.passes.split import Into, split
from coconet_ir.schedule.remarks import Remark
from coconet_ir.schedule.selection import name_of
from coconet_ir.sim.binding import the_function
from coconet_ir.sim.elements import same_bits
from coconet_ir.sim.executor import Output, run
from coconet_ir.xdsl_compat import print_module, set_type

Array = NDArray[Any]
SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 11)
MESHES: tuple[tuple[int, ...], ...] = (
    *((1,), (2,), (3,), (5,), (7,), (8,)),
    *((2, 2), (3, 2), (1, 5), (2, 3), (7, 1)),
    *((2, 2, 2), (1, 2, 3), (2, 1, 3)),
)


class Broken(Exception):
    """A rewrite broke a program; the message says how."""


@dataclass
class Tally:
    """How often each operation was rewritten, and how often that was declined."""

    applied: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    declined: Counter[tuple[str, str, str]] = field(default_factory=Counter[tuple[str, str, str]])
    programs: int = 0
    operations: int = 0

    def table(self) -> str:
        """One line an operation and rewrite, with the reasons of those that were declined."""
        keys = sorted({*self.applied, *((rewrite, op) for rewrite, op, _ in self.declined)})
        lines = [f"{'rewrite':22} {'operation':24} {'applied':>8} {'declined':>8}  why"]
        for rewrite, op in keys:
            why = Counter(
                {r: n for (w, o, r), n in self.declined.items() if (w, o) == (rewrite, op)}
            )
            reasons = ", ".join(f"{reason} {n}" for reason, n in why.most_common())
            lines.append(
                f"{rewrite:22} {op:24} {self.applied[rewrite, op]:8} {why.total():8}  {reasons}"
            )
        return "\n".join(lines)


# Running


def bind(rng: random.Random, program: Program) -> tuple[dict[str, int], dict[str, Array]]:
    """A mesh and inputs for a program: small numbers that add exactly, different on every rank."""
    fitting = [
        sizes
        for sizes in MESHES
        if len(sizes) == len(program.axes)
        and all(n >= program.least[axis] for axis, n in zip(program.axes, sizes, strict=True))
    ]
    mesh = dict(zip(program.axes, rng.choice(fitting), strict=True))
    segments = rng.choice((1, 2, 3))
    sizes = {name: rng.choice(SIZES) for name in "pqr"} | {"o": segments + 1, "t": segments}
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    inputs: dict[str, Array] = {}
    types = dict(zip(program.arguments, program.func.function_type.inputs, strict=True))
    for name, type in types.items():
        if name in program.offsets:
            size = extent(program.offsets[name], sizes)
            ends = sorted(rng.randint(0, size) for _ in range(segments - 1))
            inputs[name] = np.asarray([0, *ends, size], np.int64)
        else:
            inputs[name] = data(numbers, type, program.arguments[name], mesh, sizes)
    return mesh, inputs


def extent(dim: Dim, sizes: Mapping[str, int]) -> int:
    """The size of a dimension."""
    if isinstance(dim, int):
        return dim
    return sizes[dim] if isinstance(dim, str) else sizes[dim[0]] * dim[1]


def data(
    numbers: np.random.Generator,
    type: Attribute,
    dims: Sequence[Dim],
    mesh: Mapping[str, int],
    sizes: Mapping[str, int],
) -> Array:
    """A random argument, with a leading dimension for each axis on which it is local."""
    element = str(element_of(type))
    if as_tensor(type) is None:
        return np.asarray(7) if element == "i64" else np.asarray(0.5)
    local = [mesh[axis] for axis in mesh if isinstance(dist_of(type).by_axis.get(axis), Local)]
    shape = (*local, *(extent(dim, sizes) for dim in dims))
    if element in ("i32", "i64"):
        return numbers.integers(-4, 5, shape).astype(element.replace("i", "int"))
    return numbers.integers(-8, 9, shape) / 8


@dataclass
class Reference:
    """A copy of the program before it was rewritten, and what it is run on."""

    func: FuncOp
    mesh: Mapping[str, int]
    inputs: Mapping[str, Array]
    known: dict[bool, dict[str, Output]] = field(default_factory=dict[bool, dict[str, Output]])

    def outputs(self, exact: bool) -> dict[str, Output]:
        """What it computes, with every float as f64 if `exact`."""
        if exact not in self.known:
            self.known[exact] = run(self.func, self.mesh, self.inputs, exact=exact).outputs
        return self.known[exact]


def compare(func: FuncOp, reference: Reference, reassociated: bool) -> None:
    """Raise `Broken` unless the program still computes what it did."""
    before = reference.outputs(reassociated)
    after = run(func, reference.mesh, reference.inputs, exact=reassociated).outputs
    if before.keys() != after.keys():
        raise Broken(f"the outputs are {list(after)}")
    for name, old in before.items():
        new = after[name]
        same = close(new.array, old.array) if reassociated else same_bits(new.array, old.array)
        if new.type != old.type or not same:
            raise Broken(
                f"{name} : {new.type} is\n{new.array}\nbut was : {old.type}\n{old.array}\n"
                f"on {reference.mesh}"
            )


def close(new: Array, old: Array) -> bool:
    """Whether two arrays of f64 agree to 1e-12 of the largest magnitude."""
    if new.dtype != np.float64 or new.shape != old.shape:
        return same_bits(new, old)
    finite = np.isfinite(old)
    if not np.array_equal(new[~finite], old[~finite], equal_nan=True):
        return False
    bound = 1e-12 * float(np.max(np.abs(old), where=finite, initial=0.0))
    return bool(np.all(np.abs(new[finite] - old[finite]) <= bound))


# Rewriting


@dataclass
class Case:
    """A program that is being rewritten."""

    rng: random.Random
    program: Program
    reference: Reference
    tally: Tally
    each: bool
    """Whether to look at the program after each rewrite, not only after the last."""
    history: list[str] = field(default_factory=list[str])
    reassociated: bool = False
    made: coll.AllGatherOp | coll.BroadcastOp | None = None
    """The gather or broadcast that the last rewrite made."""

    @property
    def ops(self) -> list[Operation]:
        return [op for op in self.program.func.body.block.ops if name_of(op) is not None]

    def note(self, rewrite: str, op: str, remark: Remark) -> Remark:
        """Remember what came of a rewrite."""
        if remark.reason is None:
            self.tally.applied[rewrite, op] += 1
        else:
            self.tally.declined[rewrite, op, str(remark.reason)] += 1
        return remark

    def split(self, target: coll.AllReduceOp) -> Remark:
        """Split an all_reduce in one of its ways."""
        rng, axes = self.rng, target.axes.data
        op = f"all_reduce {target.kind.data}"
        if rng.random() < 0.25:
            root = tuple(rng.randrange(self.reference.mesh[axis]) for axis in axes)
            into: Into = "reduce-broadcast"
            self.history.append(f"split {name_of(target)} {into=} {root=}")
            remark = split(self.program.func, name_of(target) or "", into=into, root=root)
            return self.note("split reduce-broadcast", op, remark)
        rank = len(sizes_of(target.input.type))
        dim = rng.randrange(rank) if rank and rng.random() < 0.5 else None
        unit = rng.choice((1, 1, 1, 2, 3))
        part = tuple(rng.sample(axes, rng.randint(1, len(axes)))) if rng.random() < 0.3 else ()
        self.history.append(f"split {name_of(target)} {dim=} {unit=} axes={part}")
        remark = split(self.program.func, name_of(target) or "", dim=dim, unit=unit, axes=part)
        self.reassociated |= remark.applied and bool(part) and len(part) < len(axes)
        return self.note("split axes" if part else "split", op, remark)

    def slice(self, target: Operation) -> Remark:
        """Slice a value and gather it again."""
        rng = self.rng
        over = tuple(rng.sample(self.program.axes, rng.randint(1, len(self.program.axes))))
        dim = rng.randrange(len(sizes_of(target.results[0].type)))
        unit = rng.choice((1, 1, 2, 3))
        self.history.append(f"slice {name_of(target)} {over=} {dim=} {unit=}")
        kind = target.name
        remark = slice_value(self.program.func, name_of(target) or "", over, dim=dim, unit=unit)
        return self.note("slice", kind, remark)

    def reorder(self, target: coll.AllGatherOp | coll.BroadcastOp) -> Remark:
        """Move a gather or broadcast below operations that are named, or all that can move."""
        rng, func = self.rng, self.program.func
        readers = [use.operation for use in target.output.uses]
        named = [
            n for op in readers if op.parent is func.body.block and (n := name_of(op)) is not None
        ]
        ops = (rng.choice(named),) if named and rng.random() < 0.5 else ()
        if ops and rng.random() < 0.3:
            ops = tuple(dict.fromkeys((*ops, name_of(rng.choice(self.ops)) or "")))
        allow = rng.random() < 0.7
        rewrite = f"reorder {target.name.split('.')[1]}"
        first = next((op.name for op in self.ops if name_of(op) in ops), target.name)
        self.history.append(f"reorder {name_of(target)} {ops=} {allow=}")
        before = {op: [v.type for v in (*op.operands, *op.results)] for op in self.ops}
        reduces = sum(isinstance(op, coll.AllReduceOp) for op in func.walk())
        remark = reorder(func, name_of(target) or "", ops=ops, allow_more_bytes=allow)
        self.reassociated |= sum(isinstance(op, coll.AllReduceOp) for op in func.walk()) > reduces
        if not remark.applied:
            return self.note(rewrite, first, remark)
        for op, types in before.items():
            gone = op.parent is None and op is not target
            if gone or (op.parent and [v.type for v in (*op.operands, *op.results)] != types):
                self.tally.applied[rewrite, op.name] += 1
        return remark

    def rewrite(self) -> None:
        """Rewrite something. Raises `Broken`."""
        module, ops = self.program.module, self.ops
        sums = [op for op in ops if isinstance(op, coll.AllReduceOp)]
        moves = [op for op in ops if isinstance(op, coll.AllGatherOp | coll.BroadcastOp)]
        tensors = [op for op in ops if rank_of(op.results[0].type)]
        if self.rng.random() < 0.8:  # mostly what others compute with
            moves, sums = list(filter(is_read, moves)), list(filter(is_read, sums))
            tensors = [op for op in tensors if is_read(op) and not dist_of(op.results[0].type)]
        before = module.clone()
        choice = self.rng.random()
        remark: Remark | None = None
        if self.made is not None and self.made.parent and is_read(self.made):
            moves, sums = [self.made], []
        if sums and choice < 0.35:
            remark = self.split(self.rng.choice(sums))
        elif moves and choice < 0.8:
            remark = self.reorder(self.rng.choice(moves))
        elif choice < 0.97 and tensors:
            remark = self.slice(self.rng.choice(tensors))
        else:
            self.history.append("canonicalize")
            CanonicalizePass().apply(make_context(), module)
        new = [
            op
            for op in self.ops
            if op not in ops and isinstance(op, coll.AllGatherOp | coll.BroadcastOp)
        ]
        self.made = new[0] if new and remark is not None and remark.rewrite != "reorder" else None
        check(module)
        if remark is not None and remark.applied == module.is_structurally_equivalent(before):
            raise Broken(
                f"'{remark.render()}', but the program has {'not ' * remark.applied}changed"
            )
        no_stray_uses(module)
        if self.each:
            self.look()

    def look(self) -> None:
        """Raise `Broken` unless the program prints as it is and computes what it did."""
        round_trip(self.program.module)
        compare(self.program.func, self.reference, self.reassociated)


def infer_again(program: Program, reference: Reference, tally: Tally) -> None:
    """Take the layouts out of a copy's types and infer them. Raises `Broken` if that gives another program."""
    module = program.module.clone()
    func = the_function(module, None)
    if not any(dist_of(type) for type in (*func.function_type.inputs, *func.function_type.outputs)):
        return  # nothing says that it is to be inferred
    values = [*func.body.block.args, *(result for op in func.walk() for result in op.results)]
    marks = func.arg_attrs or [DictionaryAttr({})] * len(func.body.block.args)
    func.arg_attrs = ArrayAttr(
        DictionaryAttr({**mark.data, **layout_of(arg.type)})
        for mark, arg in zip(marks, func.body.block.args, strict=True)
    )
    outputs = func.function_type.outputs
    func.res_attrs = ArrayAttr(DictionaryAttr(layout_of(type)) for type in outputs)
    for value in values:
        set_type(value, with_dist(value.type, REPLICATED))
    inputs = [arg.type for arg in func.body.block.args]
    results = [with_dist(type, REPLICATED) for type in outputs]
    func.function_type = FunctionType.from_lists(inputs, results)
    check(module)
    try:
        infer(func)
    except IRError:  # a splat, or a broadcast, that was cut as nothing asks for
        tally.declined["infer", "func.func", "error"] += 1
        return
    tally.applied["infer", "func.func"] += 1
    check(module)
    round_trip(module)
    if dropped(func) == dropped(program.func):  # a splat that is local draws other elements
        compare(func, reference, reassociated=False)


def dropped(func: FuncOp) -> list[Dist]:
    """The layouts of what is dropped out of: their local axes decide what is drawn."""
    return [dist_of(op.input.type) for op in func.walk() if isinstance(op, DropoutOp)]


def layout_of(type: Attribute) -> dict[str, Attribute]:
    """The attribute that stands for the layout of a type."""
    dist = dist_of(type)
    return {LAYOUT_OF: DistAttr(dist)} if dist else {}


def is_read(op: Operation) -> bool:
    """Whether something computes with the first result."""
    readers = (use.operation for use in op.results[0].uses)
    return any(not isinstance(reader, ReturnOp | UpdateOp) for reader in readers)


def no_stray_uses(module: ModuleOp) -> None:
    """Raise `Broken` when operations outside the program, left by a plan that was dropped, read its values."""
    inside = set(module.walk())
    for op in inside:
        arguments = (arg for region in op.regions for block in region.blocks for arg in block.args)
        for value in (*op.results, *arguments):
            if any(use.operation not in inside for use in value.uses):
                raise Broken(f"something outside the program reads %{value.name_hint}")


def round_trip(module: ModuleOp) -> None:
    """Raise `Broken` unless the printed program parses to itself."""
    text = print_module(module)
    again = parse_program(make_context(), text, "again.mlir")
    if not again.is_structurally_equivalent(module):
        raise Broken("the printed program is another one")
    if print_module(again) != text:
        raise Broken("printing what was printed gives another text")


def run_case(seed: int, tally: Tally) -> None:
    """One random program and its rewrites. Raises `Broken` with all that is needed to see why."""
    try:
        _rewritten(seed, tally, each=False)
    except Broken:
        _rewritten(seed, Tally(), each=True)  # the first rewrite that shows
        raise


def _rewritten(seed: int, tally: Tally, each: bool, rewrites: int = 5) -> None:
    rng = random.Random(seed)
    program = Generator(rng).program(rng.choice((6, 8, 12, 16, 20)), STEPS)
    mesh, inputs = bind(rng, program)
    before = program.module.clone()
    reference = Reference(the_function(before, None), mesh, inputs)
    case = Case(rng, program, reference, tally, each)
    tally.programs += 1
    tally.operations += len(case.ops)
    try:
        check(program.module)
        if rng.random() < 0.3:
            infer_again(program, reference, tally)
        for _ in range(rewrites):
            case.rewrite()
        case.look()
    except Exception as error:
        steps = "".join(f"  {step}\n" for step in case.history)
        raise Broken(
            f"program {seed}:\n{print_module(before)}rewrites:\n{steps}now:\n"
            f"{print_module(program.module)}{describe(error)}"
        ) from error


def describe(error: Exception) -> str:
    """What went wrong, with the place if that is not plain."""
    if isinstance(error, Broken):
        return str(error)
    return "".join(traceback.format_exception(error)[-4:])


def main(arguments: Sequence[str] | None = None) -> int:
    """Rewrite random programs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="how many programs")
    parser.add_argument("--seed", type=int, default=1, help="the number of the first program")
    parser.add_argument(
        "--keep-going", action="store_true", help="do not stop at the first that breaks"
    )
    options = parser.parse_args(arguments)
    tally, broken, start = Tally(), 0, time.perf_counter()
    for seed in range(options.seed, options.seed + options.count):
        try:
            run_case(seed, tally)
        except Broken as error:
            broken += 1
            print(error, end="\n\n")
            if not options.keep_going:
                break
    print(tally.table())
    seconds = time.perf_counter() - start
    print(
        f"{tally.programs} programs of {tally.operations} operations in {seconds:.1f} s, {broken} broken"
    )
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
