"""Put all that computes on one rank into fused regions, each one kernel."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, OpResult
from xdsl.passes import ModulePass

from coconet_ir.dialects.comp import UpdateOp
from coconet_ir.dialects.regions import FusedOp
from coconet_ir.lowering.forming.groups import Apart, Group, Grouping, Level
from coconet_ir.lowering.forming.regions import Emitter, FormedKernel
from coconet_ir.lowering.levels import RANK, require_level
from coconet_ir.lowering.ranks.graph import Steps, ordered, simplify
from coconet_ir.lowering.ranks.reads import Access
from coconet_ir.lowering.ranks.shapes import RankShapes
from coconet_ir.passes.regions import dissolve
from coconet_ir.schedule.remarks import Remark, emit, location_of
from coconet_ir.schedule.selection import functions, label_of, name_of

PASS = "form-kernels"


class FormKernelsPass(ModulePass):
    """Put all that computes into fused regions, each of which is one kernel. Reads and leaves the level "rank".

    A fused region that can be one kernel stays; any other becomes as few as it can, and a remark says why. What stands
    alone joins what makes its operands, or what reads them too, wherever that is one kernel. Nothing is computed twice
    but splats, broadcasts, slices and the like, and casts of what is in memory anyway.
    """

    name = "coconet-form-kernels"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        require_level(op, RANK, self.name)
        for func in functions(op, None):
            _form(func)


@dataclass(eq=False)
class _Region:
    """A fused region of the program as it was."""

    name: str
    label: str
    location: LocationAttr
    place: str
    """Its location for remarks."""
    attributes: Mapping[str, Attribute]


def _form(func: FuncOp) -> None:
    regions = _open_regions(func)
    simplify(func)
    steps = Steps(func)
    former = _Former(steps, Grouping(RankShapes(func), steps.reads, steps.readers), regions)
    kernels, order = _kernels(former), _in_order(former)
    emitter = Emitter(func, steps)
    for step in order:
        if isinstance(step, Group):
            emitter.put_kernel(kernels[step])
        else:
            emitter.put(step)
    emitter.finish()
    _report(func, dict.fromkeys(regions.values()), former, kernels)


def _open_regions(func: FuncOp) -> dict[Operation, _Region]:
    """Dissolve the regions of a function; the region of each operation that stood in one."""
    found: dict[Operation, _Region] = {}
    for op in list(func.body.block.ops):
        if isinstance(op, FusedOp):
            name = name_of(op) or "fused"
            region = _Region(name, label_of(op), op.location, location_of(op), dict(op.attributes))
            found.update(dict.fromkeys(dissolve(op), region))
    return found


class _Former:
    """Groups the units of a function, in order; `regions` has those that stood in fused regions."""

    def __init__(self, steps: Steps, grouping: Grouping, regions: Mapping[Operation, _Region]):
        self._steps, self._grouping = steps, grouping
        self._group_of: dict[Operation, Group] = {}
        self._spans: dict[Group, tuple[int, int]] = {}
        """The first and the last step of each group."""
        self.regions: dict[Group, _Region | None] = {}
        self._apart: dict[Operation, str] = {}
        self._number = {op: number for number, op in enumerate(steps.order)}
        for op in steps.order:
            if op in steps.units:
                self._take(op, regions.get(op))
        while self._merge():
            pass

    @property
    def groups(self) -> list[Group]:
        """The groups by their last step."""
        return sorted(self._spans, key=lambda group: self._spans[group][1])

    def steps(self) -> list[Group | Operation]:
        """The groups, and all else that runs, by their last step."""
        return list(dict.fromkeys(self._step_of(op) for op in reversed(self._steps.order)))[::-1]

    def why(self, group: Group) -> str | None:
        """Why the first unit of a group did not join another one."""
        return self._apart.get(self._first(group))

    def _first(self, group: Group) -> Operation:
        return self._steps.order[self._spans[group][0]]

    def sorted(self, group: Group) -> list[Operation]:
        """The units of a group, each behind what it waits for."""
        return sorted(group.levels, key=self._number.__getitem__)

    # Joining

    def _take(self, op: Operation, region: _Region | None) -> None:
        for parts in self._choices(op, region):
            if self._join(parts, op) is not None:
                return
        group = self._grouping.join([], op)
        self._group_of[op] = group
        self._spans[group] = (self._number[op], self._number[op])
        self.regions[group] = region

    def _choices(self, op: Operation, region: _Region | None) -> Iterator[list[Group]]:
        """The groups that a unit might join: all that make its operands, else one of them, the latest first.

        An update may also join those that read what it overwrites; it follows its value into any region.
        """
        found = self._groups_of(self._steps.before[op])
        if isinstance(op, UpdateOp):
            sources = (read.source for read in self._steps.reads[op])
            makers = self._groups_of(s.op for s in sources if isinstance(s, OpResult))
            found = dict.fromkeys((*makers, *found))
        else:
            found = [group for group in found if self.regions[group] is region]
            if len(found) > 1:
                yield found
        for group in found:
            yield [group]

    def _groups_of(self, ops: Iterable[Operation]) -> list[Group]:
        found = {self._group_of[op] for op in ops if op in self._group_of}
        return sorted(found, key=lambda group: self._spans[group], reverse=True)

    def _join(self, parts: Sequence[Group], op: Operation | None = None) -> Group | None:
        """Make groups, and a unit, one if they can be; that one."""
        spans = [self._spans[part] for part in parts]
        if op is not None:
            spans.append((self._number[op], self._number[op]))
        try:
            self._check_convex(parts, op, min(spans)[0])
            group = self._grouping.join(parts, op)
        except Apart as apart:
            later = (
                self._first(max(parts, key=lambda part: self._spans[part])) if op is None else op
            )
            self._apart.setdefault(later, str(apart))
            return None
        region = self.regions[parts[0]]
        for part in parts:
            del self._spans[part], self.regions[part]
            if part is not group:
                self._group_of.update(dict.fromkeys(part.levels, group))
        if op is not None:
            self._group_of[op] = group
        self._spans[group] = (min(spans)[0], max(last for _, last in spans))
        self.regions[group] = region
        return group

    def _check_convex(self, parts: Sequence[Group], op: Operation | None, first: int) -> None:
        """Raise `Apart` when something has to run between members; `first` is the first step of all."""
        pending = [step for part in parts for step in self.waits_for(part)]
        if op is not None:
            pending += map(self._step_of, self._steps.before[op])
        pending = [step for step in pending if step not in parts]
        seen = set(pending)
        while pending:
            step = pending.pop()
            if self._last(step) < first:
                continue
            for earlier in self.waits_for(step):
                if earlier in parts:
                    raise Apart(f"'{self._label(step)}' has to run between them")
                if earlier not in seen:
                    seen.add(earlier)
                    pending.append(earlier)

    def waits_for(self, step: Group | Operation) -> set[Group | Operation]:
        """The groups and calls that must have run before."""
        if isinstance(step, Operation):
            return set(map(self._step_of, self._steps.before[step]))
        owners = [s.op for s in step.reads if isinstance(s, OpResult) and s.op in self._number]
        readers = [op for target in step.stores for op in self._steps.readers.get(target, ())]
        readers = [op for op in readers if not isinstance(op, ReturnOp)]
        return set(map(self._step_of, (*owners, *readers))) - {step}

    def _step_of(self, op: Operation) -> Group | Operation:
        return self._group_of.get(op, op)

    def _last(self, step: Group | Operation) -> int:
        return self._number[step] if isinstance(step, Operation) else self._spans[step][1]

    def _label(self, step: Group | Operation) -> str:
        return label_of(step if isinstance(step, Operation) else self._first(step))

    # Neighbours

    def _merge(self) -> bool:
        """Make those of a region one, and those that read the same elements or what one kernel makes."""
        neighbours: dict[object, list[Group]] = {}
        for group in self.groups:
            region = self.regions[group]
            for key in dict.fromkeys(self._ties(group)) if region is None else [region]:
                neighbours.setdefault(key, []).append(group)
        merged = False
        for groups in neighbours.values():
            heads: list[Group] = []
            for group in groups:
                if group in self._spans:
                    merged |= self._join_one(heads, group)
        return merged

    def _join_one(self, heads: list[Group], group: Group) -> bool:
        """Join a group with the first of others that it can join, else add it to them."""
        for index, head in enumerate(heads):
            if head in self._spans and (found := self._join([head, group])) is not None:
                heads[index] = found
                return True
        heads.append(group)
        return False

    def _ties(self, group: Group) -> Iterator[object]:
        """What a group makes, and what it reads once for each of its elements: the source, and who makes it."""
        yield group
        for source, readings in group.reads.items():
            if any(r.access is Access.SAME and r.level is Level.WHOLE for r in readings):
                yield source
                if isinstance(source, OpResult) and source.op in self._group_of:
                    yield self._group_of[source.op]


# The program written anew


def _in_order(former: _Former) -> list[Group | Operation]:
    """Kernels and calls, each behind what it waits for, else in the order in which they end."""
    return ordered({step: former.waits_for(step) for step in former.steps()})


def _kernels(former: _Former) -> dict[Group, FormedKernel]:
    """The kernels of the groups: named after their region, or what they compute last."""
    taken, found = set[str](), dict[Group, FormedKernel]()
    inside = dict[_Region, list[Group]]()
    for group in former.groups:
        if (region := former.regions[group]) is not None:
            inside.setdefault(region, []).append(group)
    for group in former.groups:
        ops, region = former.sorted(group), former.regions[group]
        if region is None:
            name = _fresh(name_of(ops[-1]) or "kernel", taken)
            found[group] = FormedKernel(ops, name, ops[0].location)
        else:
            phases = inside[region]
            number = f"_phase{phases.index(group) + 1}" if len(phases) > 1 else ""
            name = _fresh(region.name + number, taken)
            found[group] = FormedKernel(ops, name, region.location, region.attributes)
    return found


def _fresh(wanted: str, taken: set[str]) -> str:
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}{count}"
    taken.add(name)
    return name


def _report(
    func: FuncOp, regions: Iterable[_Region], former: _Former, kernels: Mapping[Group, FormedKernel]
) -> None:
    """Remark which regions are several kernels and why, and which kernels there are."""
    for region in regions:
        groups = [group for group in former.groups if former.regions[group] is region]
        if len(groups) > 1:
            named = ", ".join(f"'{kernels[group].name}'" for group in groups)
            reasons = [why for group in groups if (why := former.why(group)) is not None]
            why = "; ".join(dict.fromkeys(reasons))
            message = f"it is cut into {len(groups)} kernels, {named}: {why}"
            emit(Remark(PASS, region.label, region.place, message))
    listed = ", ".join(f"'{kernel.name}'" for kernel in kernels.values()) or "none"
    message = f"{len(kernels)} kernel(s): {listed}"
    emit(Remark(PASS, func.sym_name.data, location_of(func), message))
