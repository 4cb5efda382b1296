"""A plan: how the kernels of a PTX file are run on n ranks, as JSON. `docs/checker.md` has the format."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any, get_args

import numpy as np

from coconet_ir.analysis.dist import Kind
from coconet_ir.emu.checks.contents import content, element
from coconet_ir.emu.checks.expected import Expected, Memories, difference
from coconet_ir.emu.checks.reader import Node, parse
from coconet_ir.emu.execution.host import writes
from coconet_ir.emu.job import Job, Memory, Rank
from coconet_ir.emu.reports.findings import Finding
from coconet_ir.runtime.steps import (
    Argument,
    Clear,
    Collective,
    CollectiveKind,
    Copy,
    Launch,
    Place,
    Step,
)
from coconet_ir.sim.elements import (
    ELEMENTS,
    FLOATS,
    Array,
    DType,
    compute_type,
    element_name,
    is_float,
    round_to,
)

TYPES: dict[str, DType] = {
    **{f"u{bits}": np.dtype(f"u{bits // 8}") for bits in (8, 16, 32, 64)},
    **{f"s{bits}": ELEMENTS[f"i{bits}"] for bits in (8, 16, 32, 64)},
    **{name: FLOATS[name] for name in ("f16", "bf16", "f32", "f64")},
    **{"e4m3": FLOATS["f8E4M3FN"], "e5m2": FLOATS["f8E5M2"]},
}
"""NumPy types by what PTX calls them."""

REDUCING = ("all_reduce", "reduce", "reduce_scatter")
"""Collectives that reduce."""

MOST_RANKS = 64
MOST_BYTES = 1 << 30
"""Of all buffers of all ranks."""

MOST_TIMES = 10_000
"""That steps are repeated."""

_POINTER = np.dtype(np.uint64)
_MOST_BLOCKS = (2**31 - 1, 65535, 65535)
_MOST_THREADS = (1024, 1024, 64)
_REDUCTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


@dataclass(frozen=True)
class Plan:
    """What is run, and what should come out of it."""

    job: Job
    expected: tuple[Expected, ...]

    def differences(self, memory: Memories) -> Iterator[Finding]:
        """How memory differs from what is expected of it."""
        found = (difference(one, memory) for one in self.expected)
        return (one for one in found if one is not None)


def read_plan(text: str, ptx: str, file: str = "plan", folder: str = ".") -> Plan:
    """The plan that a JSON text is, for the kernels of `ptx`.

    Messages call it `file`; files that it names lie in `folder`. Raises `IRError`.
    """
    return _Reader(parse(text, file), Path(folder)).plan(ptx)


def make_plan(plan: Mapping[str, Any], ptx: str, folder: str = ".") -> Plan:
    """The same, from the JSON as Python data. Raises `IRError`."""
    return _Reader(Node(plan, "plan"), Path(folder)).plan(ptx)


@dataclass(frozen=True)
class _Buffer:
    """A buffer of one rank."""

    name: str
    owner: int
    dtype: DType
    count: int
    content: Array | None
    pointers: tuple[Place, ...] = ()

    @property
    def bytes(self) -> int:
        return self.count * self.dtype.itemsize

    def memory(self) -> Memory:
        content = None if self.content is None else self.content.tobytes()
        return Memory(self.name, self.bytes, content, self.pointers)


class _Reader:
    """Reads one plan."""

    def __init__(self, root: Node, folder: Path):
        self.parts = root.object(("ranks", "buffers", "steps"), ("sms", "repeat", "expect"))
        self.folder = folder
        self.ranks = self.parts["ranks"].integer(1, MOST_RANKS)
        self.buffers: list[dict[str, _Buffer]] = [{} for _ in range(self.ranks)]
        """Of each rank, by their names."""

    def plan(self, ptx: str) -> Plan:
        """The whole."""
        self._read_buffers()
        times = self.parts["repeat"].integer(1, MOST_TIMES) if "repeat" in self.parts else 1
        sms = self.parts["sms"].integer(1) if "sms" in self.parts else Job.sms
        streams = [_in_order(self._stream(rank) * times) for rank in range(self.ranks)]
        ranks = (
            Rank({one.owner: one.memory() for one in buffers.values()}, steps)
            for buffers, steps in zip(self.buffers, streams, strict=True)
        )
        expected = self._expected(self.parts["expect"]) if "expect" in self.parts else ()
        labels = _agreed([self._labels(rank, times) for rank in range(self.ranks)])
        return Plan(Job(ptx, tuple(ranks), sms, labels), tuple(expected))

    def _on(self, node: Node, rank: int) -> Node:
        """What a value is on a rank."""
        if not node.has("per_rank"):
            return node
        each = node.object(("per_rank",))["per_rank"]
        items = each.items()
        if len(items) != self.ranks:
            each.fail(
                f"has {len(items)} value{'s' * (len(items) != 1)}, but needs one for each rank: {self.ranks}"
            )
        return items[rank]

    def _whose(self, parts: Mapping[str, Node]) -> Sequence[int]:
        """The ranks that something is for."""
        if "ranks" not in parts:
            return range(self.ranks)
        found = [one.integer(0, self.ranks - 1) for one in parts["ranks"].items()]
        if len(set(found)) < len(found):
            parts["ranks"].fail("has a rank twice")
        return found

    # Buffers

    def _read_buffers(self) -> None:
        nodes = self.parts["buffers"].members()
        tables: list[tuple[str, Mapping[str, Node]]] = []
        for owner, (name, node) in enumerate(nodes.items()):
            if node.has("pointers"):
                parts = node.object(("pointers",), ("offset", "ranks"))
                tables.append((name, parts))
                for rank in self._whose(parts):
                    self.buffers[rank][name] = _Buffer(name, owner, _POINTER, self.ranks, None)
            else:
                parts = node.object(("type", "count"), ("content", "ranks"))
                for rank in self._whose(parts):
                    self.buffers[rank][name] = self._buffer(owner, rank, name, parts)
        for name, parts in tables:  # one may point to another
            for rank in self._whose(parts):
                table = self.buffers[rank][name]
                self.buffers[rank][name] = replace(table, pointers=self._pointers(parts, rank))

    def _buffer(self, owner: int, rank: int, name: str, parts: Mapping[str, Node]) -> _Buffer:
        dtype = TYPES[self._on(parts["type"], rank).one_of(TYPES, "a type of elements")]
        node = self._on(parts["count"], rank)
        count = node.integer(0)
        held = sum(one.bytes for mine in self.buffers for one in mine.values())
        if held + count * dtype.itemsize > MOST_BYTES:
            node.fail(
                f"buffers are larger than {MOST_BYTES >> 20} MiB in all: check a smaller size"
            )
        first = None
        if "content" in parts:
            given = self._on(parts["content"], rank)
            first = content(given, rank, name, dtype, count, self.folder)
        return _Buffer(name, owner, dtype, count, first)

    def _pointers(self, parts: Mapping[str, Node], rank: int) -> tuple[Place, ...]:
        target = self._on(parts["pointers"], rank)
        name = target.one_of({one: 0 for mine in self.buffers for one in mine}, "a buffer")
        for there, buffers in enumerate(self.buffers):
            if name not in buffers:
                target.fail(f"rank {there} has no buffer '{name}' to point to")
        offset = 0
        if "offset" in parts:
            least = min(buffers[name].bytes for buffers in self.buffers)
            offset = self._on(parts["offset"], rank).integer(0, least)
        owner = self.buffers[0][name].owner
        return tuple(Place(owner, offset, there) for there in range(self.ranks))

    # Steps

    def _stream(self, rank: int) -> list[Step]:
        """The steps of a rank, once."""
        return [
            step
            for node in self.parts["steps"].items()
            if (step := self._step(node, rank)) is not None
        ]

    def _step(self, node: Node, rank: int) -> Step | None:
        """The step on a rank, if it has it."""
        if node.has("kernel"):
            needed, optional = (
                ("kernel", "grid", "block", "arguments"),
                ("shared", "cooperative", "dependent"),
            )
            read = self._launch
        elif node.has("collective"):
            needed = ("collective", "of", "to")
            optional = ("count", "reduction", "root", "pairs")
            read = self._collective
        elif node.has("copy"):
            needed, optional, read = ("copy", "to"), ("bytes",), self._copy
        elif node.has("clear"):
            needed, optional, read = ("clear",), ("bytes",), self._clear
        else:
            node.expected("an object with 'kernel', 'collective', 'copy' or 'clear'")
        parts = node.object(needed, ("ranks", *optional))
        if rank not in self._whose(parts):
            return None
        return read({name: self._on(one, rank) for name, one in parts.items()}, rank)

    def _launch(self, parts: Mapping[str, Node], rank: int) -> Launch:
        return Launch(
            parts["kernel"].text("the name of a kernel"),
            _extent(parts["grid"], _MOST_BLOCKS),
            _extent(parts["block"], _MOST_THREADS),
            tuple(self._argument(self._on(one, rank), rank) for one in parts["arguments"].items()),
            (),
            parts["shared"].integer(0) if "shared" in parts else 0,
            "cooperative" in parts and parts["cooperative"].flag(),
            "dependent" in parts and parts["dependent"].flag(),
        )

    def _argument(self, node: Node, rank: int) -> Argument:
        if node.is_list:
            return tuple(self._part(self._on(one, rank), rank) for one in node.items())
        return self._part(node, rank)

    def _part(self, node: Node, rank: int) -> Place | bytes:
        """An argument, or what is in one that is a structure."""
        if node.is_text or node.has("buffer"):
            return self._place(node, rank)[0]
        members = node.members() if node.is_object else {}
        if len(members) != 1 or (type := next(iter(members))) not in TYPES:
            node.expected('a buffer, or a scalar with its type, as {"s32": 70}')
        value, dtype = self._on(members[type], rank), TYPES[type]
        if value.value in ("rank", "ranks"):
            value = replace(value, value=rank if value.value == "rank" else self.ranks)
        return np.array(element(value, dtype), dtype).tobytes()

    def _copy(self, parts: Mapping[str, Node], rank: int) -> Copy:
        source, left = self._place(parts["copy"], rank)
        target, room = self._place(parts["to"], rank)
        bytes = parts["bytes"].integer(0, left) if "bytes" in parts else left
        if bytes > room:
            parts["to"].fail(f"has {room} bytes for {bytes}: say with 'bytes' how many are moved")
        return Copy(source, target, bytes)

    def _collective(self, parts: Mapping[str, Node], rank: int) -> Collective:
        group = tuple(self._whose(parts))
        kind: Any = parts["collective"].one_of(get_args(CollectiveKind), "a collective")
        source, left = self._place(parts["of"], rank)
        target, room = self._place(parts["to"], rank)
        for name in ("of", "to"):
            if parts[name].has("rank"):
                parts[name].fail("a collective takes and gives buffers of the rank itself")
        dtype = self._dtype(source, rank)
        if self._dtype(target, rank) != dtype:
            parts["to"].fail("holds elements of another type")
        count = left // dtype.itemsize
        if "count" in parts:
            count = parts["count"].integer(0, count)
        if kind in ("reduce_scatter", "all_to_all") and count % len(group):
            parts["collective"].fail(f"{count} elements are no {len(group)} parts of one size")
        reduction = ""
        if kind in REDUCING:
            reduction = self._reduction(parts, dtype)
        elif "reduction" in parts:
            parts["reduction"].fail(f"{kind} reduces nothing")
        members = len(group) - 1
        root = parts["root"].integer(0, members) if "root" in parts else 0
        pairs = (
            tuple(self._pair(one, members) for one in parts["pairs"].items())
            if "pairs" in parts
            else ()
        )
        if "root" in parts and kind not in ("reduce", "broadcast"):
            parts["root"].fail(f"{kind} has no root")
        if len({taker for _, taker in pairs}) < len(pairs):
            parts["pairs"].fail("has two who give to one")
        if (kind == "permute") != ("pairs" in parts):
            parts["collective"].fail("'pairs' are what permute takes, and nothing else")
        found = Collective(
            kind, group, source, target, count, _element_name(dtype), reduction, root, pairs
        )
        needs = writes(found)[1]
        if needs > room:
            parts["to"].fail(f"has {room} bytes for {needs}")
        return found

    def _reduction(self, parts: Mapping[str, Node], dtype: DType) -> str:
        if "reduction" not in parts:
            parts["collective"].fail(f"needs 'reduction': {', '.join(Kind)}")
        name = parts["reduction"].one_of([kind.value for kind in Kind], "a reduction")
        if name == Kind.AVG and not is_float(dtype):
            parts["reduction"].fail("averages are of floats")
        if name in (Kind.MAX, Kind.MIN) and dtype.kind == "u":
            parts["reduction"].fail("is not there for unsigned integers")
        return name

    def _pair(self, node: Node, most: int) -> tuple[int, int]:
        items = node.items()
        if len(items) != 2:
            node.expected("two positions in the group: who gives, and who takes")
        giver, taker = (one.integer(0, most) for one in items)
        return giver, taker

    def _dtype(self, place: Place, rank: int) -> DType:
        return next(one.dtype for one in self.buffers[rank].values() if one.owner == place.owner)

    def _clear(self, parts: Mapping[str, Node], rank: int) -> Clear:
        target, left = self._place(parts["clear"], rank)
        return Clear(target, parts["bytes"].integer(0, left) if "bytes" in parts else left)

    def _place(self, node: Node, rank: int) -> tuple[Place, int]:
        """A place in a buffer of the rank, and how many bytes are left from there."""
        if node.is_text:
            buffer = self._named(node, rank)
            return Place(buffer.owner), buffer.bytes
        parts = node.object(("buffer",), ("offset", "rank"))
        whose = None
        if "rank" in parts:
            whose = self._on(parts["rank"], rank).integer(0, self.ranks - 1)
        buffer = self._named(self._on(parts["buffer"], rank), rank if whose is None else whose)
        offset = 0
        if "offset" in parts:
            offset = self._on(parts["offset"], rank).integer(0, buffer.bytes)
        return Place(buffer.owner, offset, whose), buffer.bytes - offset

    def _named(self, node: Node, rank: int) -> _Buffer:
        return self.buffers[rank][node.one_of(self.buffers[rank], f"a buffer of rank {rank}")]

    def _labels(self, rank: int, times: int) -> list[str]:
        """What the steps of a rank are called."""
        names: list[str] = []
        for number, node in enumerate(self.parts["steps"].items()):
            parts = node.members()
            if rank in self._whose(parts):
                kind = next(k for k in ("kernel", "collective", "copy", "clear") if k in parts)
                what = {"kernel": "", "copy": ", a copy", "clear": ", a clear"}.get(kind)
                if what is None:
                    what = f", {self._on(parts[kind], rank).text()}"
                names.append(f"step {number}{what}")
        behind = [f", time {time + 1} of {times}" if times > 1 else "" for time in range(times)]
        return [f"{name}{end}" for end in behind for name in names]

    # What is expected

    def _expected(self, node: Node) -> Iterator[Expected]:
        for name, one in node.members().items():
            parts = one.object(("value",), ("tolerance", "ranks"))
            tolerance = parts["tolerance"].number() if "tolerance" in parts else 0.0
            if not 0 <= tolerance < float("inf"):
                parts["tolerance"].expected("a number of at least 0")
            for rank in self._whose(parts):
                buffer = self._named(replace(one, value=name), rank)
                value = self._value(self._on(parts["value"], rank), rank, buffer)
                if tolerance and not is_float(buffer.dtype):
                    parts["tolerance"].fail(f"'{name}' holds integers, which are equal or not")
                yield Expected(rank, Place(buffer.owner), name, value, float(tolerance))

    def _value(self, node: Node, rank: int, buffer: _Buffer) -> Array:
        """The elements that a buffer should hold."""
        kind = next((one for one in ("initial", "gather", *_REDUCTIONS) if node.has(one)), None)
        if kind is None:
            return content(node, rank, buffer.name, buffer.dtype, buffer.count, self.folder)
        parts = node.object((kind,), ("rank",) if kind == "initial" else ())
        source = parts[kind]
        if kind == "initial":
            found = self._initial(
                source, parts["rank"].integer(0, self.ranks - 1) if "rank" in parts else rank
            )
        elif kind == "gather":
            found = np.concatenate([self._initial(source, one) for one in range(self.ranks)])
        else:
            found = self._reduced(source, _REDUCTIONS[kind])
        if found.dtype != buffer.dtype or found.size != buffer.count:
            have, want = f"{found.size} x {found.dtype}", f"{buffer.count} x {buffer.dtype}"
            node.fail(f"gives {have} for '{buffer.name}', which has {want}")
        return found

    def _initial(self, node: Node, rank: int) -> Array:
        buffer = self._named(node, rank)
        if buffer.content is None:
            node.fail(f"'{buffer.name}' has no content on rank {rank} before the first step")
        return buffer.content

    def _reduced(self, node: Node, reduction: Callable[[Array, Array], Array]) -> Array:
        each = [self._initial(node, rank) for rank in range(self.ranks)]
        if len({(one.dtype, one.size) for one in each}) > 1:
            node.fail("its type and count differ between ranks")
        dtype = each[0].dtype
        with np.errstate(all="ignore"):
            found = reduce(reduction, (one.astype(compute_type(dtype)) for one in each))
        return round_to(found, dtype) if is_float(dtype) else found


def _in_order(steps: Sequence[Step]) -> tuple[Step, ...]:
    """The steps, each launch behind all launches before it: a dependent one may end before those that it did not wait
    for are known."""
    found: list[Step] = []
    running: tuple[int, ...] = ()
    """The launches since the last step that is none."""
    for number, step in enumerate(steps):
        if not isinstance(step, Launch):
            running = ()
        else:
            step = replace(step, after=running)
            running = (*running, number) if step.dependent else (number,)
        found.append(step)
    return tuple(found)


def _element_name(dtype: DType) -> str:
    """What a collective calls a type: sums and products of unsigned integers have the bits of those of signed ones."""
    return f"i{8 * dtype.itemsize}" if dtype.kind == "u" else element_name(dtype)


def _agreed(labels: Sequence[Sequence[str]]) -> dict[int, str]:
    """The names by number that no rank has another for."""
    found: dict[int, set[str]] = {}
    for mine in labels:
        for number, name in enumerate(mine):
            found.setdefault(number, set()).add(name)
    return {number: names.pop() for number, names in found.items() if len(names) == 1}


def _extent(node: Node, most: tuple[int, int, int]) -> tuple[int, int, int]:
    """A grid or a block: a number, or up to three."""
    if not node.is_list:
        return node.integer(1, most[0]), 1, 1
    items = node.items()
    if not 1 <= len(items) <= 3:
        node.expected("one to three numbers")
    x, y, z = (*(one.integer(1, limit) for one, limit in zip(items, most)), 1, 1)[:3]
    return x, y, z
