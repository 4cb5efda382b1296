"""Random rewrites of random programs, each checked as soon as it is done."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

from random_chunks import check_chunks
from random_generator import Program
from random_invariants import (
    Waits,
    check_remark,
    check_taken_in,
    no_stray_uses,
    require_same,
    round_trip,
)
from random_running import Broken, Reference, compare
from random_tally import Tally
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation
from xdsl.transforms.canonicalize import CanonicalizePass

from coconet_ir.analysis.bytes import CollectiveOp
from coconet_ir.analysis.rules import rank_of
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects import coll
from coconet_ir.dialects.attributes import dist_of, sizes_of
from coconet_ir.dialects.comp import Conv2dOp, MatmulOp, UpdateOp
from coconet_ir.dialects.layout import SliceOp
from coconet_ir.dialects.regions import RegionOp, YieldOp
from coconet_ir.frontend import check, make_context
from coconet_ir.passes.combine import combine, combine_all
from coconet_ir.passes.fuse import fuse
from coconet_ir.passes.inline import inline_schedule
from coconet_ir.passes.overlap import overlap
from coconet_ir.passes.reorder import reorder
from coconet_ir.passes.slice import slice_argument, slice_value
from coconet_ir.passes.slice_state import slice_state
from coconet_ir.passes.split import Into, split
from coconet_ir.program import Program as CheckedProgram
from coconet_ir.schedule.remarks import Reason, Remark
from coconet_ir.schedule.selection import argument_name, name_of
from coconet_ir.sim.binding import the_function
from coconet_ir.xdsl_compat import print_module

STAGES = (MatmulOp, Conv2dOp, CollectiveOp, coll.FusedOp)


class Nothing(Exception):
    """The program has nothing that this rewrite could be tried on."""


@dataclass(frozen=True)
class Step:
    """A rewrite as a schedule makes it: the method and what it is given."""

    method: str
    arguments: tuple[object, ...]
    options: Mapping[str, object]

    def __str__(self) -> str:
        options = (f"{name}={value}" for name, value in self.options.items())
        return " ".join([self.method, *map(str, self.arguments), *options])


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
    """What was tried."""
    steps: list[Step] = field(default_factory=list[Step])
    """What was applied, but for canonicalize."""
    canonical: bool = False
    """Whether canonicalize ran."""
    reassociated: bool = False

    @property
    def func(self) -> FuncOp:
        return self.program.func

    @property
    def ops(self) -> list[Operation]:
        """The operations that a rewrite could name."""
        return [op for op in self.func.body.block.ops if name_of(op) is not None]

    def named(self, name: str) -> Operation:
        """The operation of a name. Raises `Nothing` if it is gone."""
        for op in self.ops:
            if name_of(op) == name:
                return op
        raise Nothing

    def choose(self, ops: Sequence[Operation]) -> Operation:
        """One of them, mostly one that others compute with."""
        read = [op for op in ops if is_read(op)] if self.rng.random() < 0.8 else ()
        if not (read or ops):
            raise Nothing
        return self.rng.choice(read or ops)

    def perform(self, rewrite: Callable[[], Sequence[Remark]]) -> None:
        """Do a rewrite and check what holds after any. Raises `Broken`, and `Nothing` if there is none to do."""
        module = self.program.module
        before = module.clone()
        remarks = rewrite()
        no_stray_uses(module)
        applied = any(remark.applied for remark in remarks)
        if remarks and applied == module.is_structurally_equivalent(before):
            raise Broken(f"'{remarks[0].render()}', but the program has {'not ' * applied}changed")
        if remarks and not applied:
            require_same(module, before, "a declined rewrite")  # names too
            return
        check(module)
        if len(remarks) == 1:
            check_remark(remarks[0], self.func, the_function(before, None))
        groups = ("fuse", "overlap", "combine")
        made = [op for remark in remarks if remark.rewrite in groups for op in remark.made]
        if made:
            self.check_regions(made, before)
        if self.each:
            self.look()

    def look(self) -> None:
        """Raise `Broken` unless the program prints as it is and computes what it did."""
        round_trip(self.program.module)
        compare(self.func, self.reference, self.reassociated)

    def replay(self) -> None:
        """Raise `Broken` unless a schedule of the same steps, kept as text, gives the same program."""
        before = self.reference.func.parent_op()
        if self.canonical or not isinstance(before, ModuleOp):
            return
        program = CheckedProgram(before)
        schedule = program.schedule()
        for step in self.steps:
            getattr(schedule, step.method)(*step.arguments, **step.options)
        again = program.parse_schedule(str(schedule))
        for module in (schedule.program.module, again.program.module):
            if print_module(module) != print_module(self.program.module):
                raise Broken(f"as a schedule it gives\n{print_module(module)}")

    def check_regions(self, made: Sequence[Operation], before: ModuleOp) -> None:
        """Raise `Broken` unless new regions hold what was there, which is no target of rewrites then."""
        copy = self.program.module.clone()
        for region in made:
            inline_schedule(the_function(copy, None), name_of(region))
        require_same(copy, before, "inlining it again")
        inside = [name_of(op) for op in made[0].regions[0].block.ops]
        name = self.rng.choice(inside[:-1])
        if name is None or any(name_of(op) == name for op in self.ops):
            return
        for rewrite in (
            lambda: fuse(self.func, (name_of(made[0]) or "", name)),
            lambda: slice_value(self.func, name, self.program.axes[:1]),
        ):
            try:
                rewrite()
            except IRError as error:
                if "stands in a region" in str(error):
                    continue
            raise Broken(f"'{name}' stands in a region, but is a target")

    def step(self, method: str, *arguments: object, **options: object) -> Step:
        """A rewrite that is to be tried now."""
        step = Step(method, arguments, options)
        self.history.append(str(step))
        return step

    def note(
        self, rewrite: str, ops: Iterable[str], remark: Remark, step: Step
    ) -> Sequence[Remark]:
        """Count what came of a rewrite, and remember it as a step of a schedule."""
        self.tally.note(rewrite, ops, remark)
        if remark.applied:
            self.steps.append(step)
        return (remark,)

    # One rewrite each

    def split(self, target: Operation | None = None) -> Sequence[Remark]:
        """Split an all_reduce in one of its ways."""
        rng = self.rng
        target = target or self.choose([op for op in self.ops if isinstance(op, coll.AllReduceOp)])
        if not isinstance(target, coll.AllReduceOp):
            raise Nothing
        name, axes = name_of(target) or "", target.axes.data
        ops = (target.name, f"{target.name} {target.kind.data}")
        if rng.random() < 0.25:
            root = tuple(rng.randrange(self.reference.mesh[axis]) for axis in axes)
            into: Into = "reduce-broadcast"
            step = self.step("split", name, into=into, root=root)
            remark = split(self.func, name, into=into, root=root)
            return self.note("split reduce-broadcast", ops, remark, step)
        rank = len(sizes_of(target.input.type))
        dim = rng.randrange(rank) if rank and rng.random() < 0.5 else None
        unit = rng.choice((1, 1, 1, 2, 3))
        part = tuple(rng.sample(axes, rng.randint(1, len(axes)))) if rng.random() < 0.3 else ()
        step = self.step("split", name, dim=dim, unit=unit, axes=part or None)
        remark = split(self.func, name, dim=dim, unit=unit, axes=part)
        self.reassociated |= remark.applied and bool(part) and len(part) < len(axes)
        return self.note("split axes" if part else "split", ops, remark, step)

    def slice(self, target: Operation | None = None) -> Sequence[Remark]:
        """Slice a value and gather it again."""
        tensors = [op for op in self.ops if op.results and rank_of(op.results[0].type)]
        if self.rng.random() < 0.8:
            tensors = [op for op in tensors if not dist_of(op.results[0].type)]
        target = target or self.choose(tensors)
        name, kind, rank = name_of(target) or "", target.name, rank_of(target.results[0].type)
        over, dim, unit = self.cut(rank)
        step = self.step("slice", name, over, dim=dim, unit=unit)
        remark = slice_value(self.func, name, over, dim=dim, unit=unit)
        return self.note("slice", (kind,), remark, step)

    def slice_argument(self, target: BlockArgument | None = None) -> Sequence[Remark]:
        """Slice an argument and gather it again."""
        tensors = [arg for arg in self.func.body.block.args if rank_of(arg.type)]
        target = target or self.rng.choice(tensors)
        name = argument_name(self.func, target)
        over, dim, unit = self.cut(rank_of(target.type))
        step = self.step("slice_argument", name, over, dim=dim, unit=unit)
        remark = slice_argument(self.func, name, over, dim=dim, unit=unit)
        return self.note("slice", ("argument",), remark, step)

    def cut(self, rank: int | None) -> tuple[tuple[str, ...], int, int]:
        """Axes, a dimension of so many, and a unit."""
        axes, rng = self.program.axes, self.rng
        over = tuple(rng.sample(axes, rng.choice((1, rng.randint(1, len(axes))))))
        return over, rng.randrange(rank or 1), rng.choice((1, 1, 2, 3))

    def reorder(
        self, target: Operation | None = None, reader: Operation | None = None
    ) -> Sequence[Remark]:
        """Move a gather or broadcast below a reader and maybe others, or below all that can move."""
        rng = self.rng
        gathers = [op for op in self.ops if isinstance(op, coll.AllGatherOp | coll.BroadcastOp)]
        target = target or self.choose(gathers)
        if not isinstance(target, coll.AllGatherOp | coll.BroadcastOp):
            raise Nothing
        readers = [reader] if reader else [use.operation for use in target.output.uses]
        named = [n for op in readers if op in self.ops and (n := name_of(op)) is not None]
        ops = (rng.choice(named),) if named and rng.random() < 0.5 else ()
        if ops and reader is None and rng.random() < 0.3:
            ops = tuple(dict.fromkeys((*ops, name_of(rng.choice(self.ops)) or "")))
        allow = reader is not None or rng.random() < 0.7
        rewrite = f"reorder {target.name.split('.')[1]}"
        first = next((op.name for op in self.ops if name_of(op) in ops), target.name)
        before = {op: [v.type for v in (*op.operands, *op.results)] for op in self.ops}
        reduces = self.count(coll.AllReduceOp)
        step = self.step("reorder", name_of(target), ops=ops or None, allow_more_bytes=allow)
        remark = reorder(self.func, name_of(target) or "", ops=ops, allow_more_bytes=allow)
        self.reassociated |= self.count(coll.AllReduceOp) > reduces
        if not remark.applied:
            return self.note(rewrite, (first,), remark, step)
        moved = [
            op.name
            for op, types in before.items()
            if (op.parent is None and op is not target)
            or (op.parent and [v.type for v in (*op.operands, *op.results)] != types)
        ]
        return self.note(rewrite, moved, remark, step)

    def count(self, kind: type[Operation]) -> int:
        """How many operations of a kind there are."""
        return sum(isinstance(op, kind) for op in self.func.walk())

    def slice_state(self, target: BlockArgument | None = None) -> Sequence[Remark]:
        """Keep an argument in slices, mostly one that is read so."""
        tensors = [arg for arg in self.func.body.block.args if rank_of(arg.type)]
        read = [arg for arg in tensors if any(isinstance(u.operation, SliceOp) for u in arg.uses)]
        target = target or self.rng.choice(read if read and self.rng.random() < 0.8 else tensors)
        name = argument_name(self.func, target)
        step = self.step("slice_state", name)
        ops = ["argument"]
        ops += [use.operation.name for use in target.uses if isinstance(use.operation, UpdateOp)]
        (remark,) = slice_state(self.func, (name,))
        return self.note("slice-state", ops, remark, step)

    def fuse(self, chosen: Sequence[Operation] = ()) -> Sequence[Remark]:
        """Fuse operations that hang together."""
        chosen = chosen or self.neighbours(lambda op: not isinstance(op, MatmulOp | Conv2dOp))
        between, waits = self.rng.random() < 0.4, Waits(self.func)
        names = [name_of(op) or "" for op in chosen]
        named = f"kernel{len(self.history)}" if self.rng.random() < 0.2 else None
        step = self.step("fuse", *names, between=between, named=named)
        remark = fuse(self.func, names, between=between, named=named)
        return self.note_set(step, chosen, remark, waits)

    def overlap(self, chosen: Sequence[Operation] = ()) -> Sequence[Remark]:
        """Overlap operations of which one reads what the other makes."""
        rng = self.rng
        chosen = chosen or self.neighbours(lambda op: isinstance(op, STAGES))
        between, waits = rng.random() < 0.6, Waits(self.func)
        names = [name_of(op) or "" for op in chosen]
        first = next(op for op in self.ops if op in chosen)
        rank = rank_of(first.results[0].type) or 0
        dim = None
        if rank and isinstance(first, MatmulOp | Conv2dOp | CollectiveOp) and rng.random() < 0.3:
            if any(use.operation in chosen for use in first.results[0].uses):
                dim = rng.randrange(rank)
        chunks = rng.choice((None, None, 1, 2, 8))
        step = self.step("overlap", *names, dim=dim, chunks=chunks, between=between)
        remark = overlap(self.func, names, dim=dim, chunks=chunks, between=between)
        if remark.applied:
            check_chunks(rng, self.program, remark.made[0])
        return self.note_set(step, chosen, remark, waits)

    def combine(self, chosen: Sequence[Operation] = ()) -> Sequence[Remark]:
        """Combine collectives that are mostly alike."""
        rng = self.rng
        collectives = [op for op in self.ops if isinstance(op, CollectiveOp)]
        if len(collectives) < 2:
            raise Nothing
        first = rng.choice(collectives)
        alike = [op for op in collectives if op.name == first.name and op.axes == first.axes]
        if len(alike) < 2 or rng.random() < 0.1:
            alike = collectives
        chosen = chosen or rng.sample(alike, min(len(alike), rng.choice((2, 2, 3))))
        waits = Waits(self.func)
        names = [name_of(op) or "" for op in chosen]
        step = self.step("combine", *names)
        remark = combine(self.func, names)
        dependent = any(one in waits.all[other] for one in chosen for other in chosen)
        if dependent < (remark.reason is Reason.DEPENDENT) or (dependent and remark.applied):
            raise Broken(f"'{remark.render()}', but they are {'in' * (not dependent)}dependent")
        return self.note("combine", [op.name for op in chosen], remark, step)

    def combine_all(self) -> Sequence[Remark]:
        """Combine all collectives that can be."""
        self.history.append("combine all")
        remarks = combine_all(self.func)
        for remark in remarks:
            if remark.reason not in (None, Reason.NOTHING_TO_COMBINE):
                raise Broken(f"'{remark.render()}', but it was not asked for")
            inside = [op for group in remark.made for op in group.walk()]
            members = [op for op in inside if isinstance(op, CollectiveOp)]
            step = Step("combine", tuple(name_of(op) for op in members), {})
            self.note("combine", [op.name for op in members] or ["func.func"], remark, step)
        return remarks

    def note_set(
        self, step: Step, chosen: Sequence[Operation], remark: Remark, waits: Waits
    ) -> Sequence[Remark]:
        """Count a rewrite of several operations. Raises `Broken` when it is wrong about whether they are convex."""
        between = bool(step.options["between"])
        members: Collection[Operation] = chosen
        if remark.applied:
            body = remark.made[0].regions[0].block.ops
            members = [op for op in body if not isinstance(op, YieldOp)]
            if not set(chosen).issubset(members) or not (between or len(chosen) == len(members)):
                raise Broken("the region does not hold what it was asked to")
            if not waits.are_convex(members):
                raise Broken("the operations of the region are not convex")
            check_taken_in(remark.made[0], chosen, waits)
        elif (remark.reason is Reason.NOT_CONVEX) == (between or waits.are_convex(chosen)):
            raise Broken(f"'{remark.render()}', but that is not so")
        if remark.reason is Reason.NOT_CONVEX:
            waits.check_path(remark.message, chosen)
        return self.note(step.method, [op.name for op in members], remark, step)

    def inline(self) -> Sequence[Remark]:
        """Inline a region, or all."""
        regions = [op for op in self.ops if isinstance(op, RegionOp)]
        if not regions:
            raise Nothing
        name = name_of(self.rng.choice(regions)) if self.rng.random() < 0.7 else None
        kinds = {name_of(op): op.name for op in self.func.walk() if isinstance(op, RegionOp)}
        self.history.append(f"inline {name or 'all'}")
        remarks = inline_schedule(self.func, name)
        if name is None and self.count(RegionOp):
            raise Broken("a region is left")
        for remark in remarks:
            step = Step("inline", (remark.operation,), {})
            self.note("inline-schedule", [kinds[remark.operation]], remark, step)
        return remarks

    def canonicalize(self) -> Sequence[Remark]:
        """Fold what can be folded."""
        self.history.append("canonicalize")
        self.canonical = True
        CanonicalizePass().apply(make_context(), self.program.module)
        return ()

    def rewrite(self) -> None:
        """Rewrite something. Raises `Broken`."""
        kinds = list(WEIGHTS)
        while kinds:
            (kind,) = self.rng.choices(kinds, [WEIGHTS[kind] for kind in kinds])
            try:
                self.perform(partial(kind, self))
            except Nothing:
                kinds.remove(kind)
                continue
            return

    def neighbours(self, fits: Callable[[Operation], bool]) -> list[Operation]:
        """Operations that one reaches from one of them along uses, mostly such that fit."""
        rng, block = self.rng, self.func.body.block
        known = self.ops
        strict = rng.random() < 0.8
        start = [op for op in known if fits(op)] if strict else known
        if not start:
            raise Nothing
        found = [rng.choice(start)]
        for _ in range(rng.choice((1, 2, 2, 3, 4, 6)) * 2):
            op = rng.choice(found)
            after = (use.operation for result in op.results for use in result.uses)
            before = (value.owner for value in op.operands if isinstance(value.owner, Operation))
            near = [o for o in chain(after, before) if o.parent is block and name_of(o) is not None]
            near = [o for o in near if not strict or fits(o)]
            if near and (step := rng.choice(near)) not in found:
                found.append(step)
        if len(found) > 2 and rng.random() < 0.1:
            found.pop(rng.randrange(len(found)))
        if len(found) < 2:
            raise Nothing
        return found


def is_read(op: Operation) -> bool:
    """Whether something computes with the first result."""
    readers = (use.operation for use in op.results[0].uses) if op.results else ()
    return any(not isinstance(reader, ReturnOp | UpdateOp) for reader in readers)


WEIGHTS: dict[Callable[[Case], Sequence[Remark]], float] = {
    Case.split: 20,
    Case.reorder: 30,
    Case.slice: 10,
    Case.slice_argument: 5,
    Case.slice_state: 6,
    Case.fuse: 16,
    Case.overlap: 8,
    Case.combine: 6,
    Case.combine_all: 2,
    Case.inline: 6,
    Case.canonicalize: 3,
}
"""How often each rewrite is tried."""
