"""The emulator: a job that is compiled once and runs under any number of schedules."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from coconet_ir.emu.code.compile import Code, Kernel, compile_ptx, kernel_names
from coconet_ir.emu.code.layout import MOST_THREADS, RECORD
from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.execution import host
from coconet_ir.emu.execution.polls import polls
from coconet_ir.emu.execution.run import Run
from coconet_ir.emu.execution.streams import Slots, place_launches
from coconet_ir.emu.job import Job
from coconet_ir.emu.memory.space import Space
from coconet_ir.emu.reports.findings import Finding
from coconet_ir.emu.reports.updates import updates
from coconet_ir.emu.schedules.explore import Repeated, Search
from coconet_ir.emu.schedules.schedule import Name, Schedule, Seeded
from coconet_ir.runtime.steps import Launch, as_bytes


def _granule(job: Job) -> int:
    """The most bytes, 4 at most, that divide all that hosts access."""
    found = 4
    for rank in job.ranks:
        for step in rank.steps:
            if not isinstance(step, Launch):
                for place, count in (*host.reads(step), host.writes(step)):
                    found |= place.offset | count
    return found & -found


@dataclass(frozen=True)
class Outcome:
    """What a run showed."""

    findings: tuple[Finding, ...]
    """What is wrong: a run ends with the first finding."""
    memory: tuple[Mapping[int, bytes], ...]
    """The buffers of each rank afterwards, by their owners."""


class Emulator:
    """A job that is ready to run. Runs of one emulator do not overlap, as they use one memory."""

    def __init__(self, job: Job):
        """Raises `PTXError` and `Refused`."""
        self.job = job
        launches = [step for rank in job.ranks for step in rank.steps if isinstance(step, Launch)]
        names = frozenset(step.kernel for step in launches)
        self.code: Code = compile_ptx(job.ptx, names, _granule(job))
        kernels = self.code.kernels
        for number, launch in self._launches():
            if launch.kernel not in kernels:
                known = ", ".join(kernel_names(self.code.module)) or "none"
                raise Refused(
                    f"{self._names(number, launch)}, but there is no such kernel; there are: {known}",
                    0,
                )
        self._updates: dict[str, Mapping[int, frozenset[int]]] = {}
        self.slots: list[Slots] = []
        count = len(job.ranks)
        for rank in job.ranks:
            self.slots.append(place_launches(rank.steps, count))
            count = self.slots[-1].end
        if count >= MOST_THREADS:
            raise Refused(f"the job has {count} threads, more than {MOST_THREADS - 1}", 0)
        shared = max((kernels[s.kernel].shared + s.shared for s in launches), default=0)
        local = max((kernel.local for kernel in kernels.values()), default=0)
        self.resident = self._residents()
        self.space = Space(job, self.code, sum(self.resident), shared, count, local)
        self.threads = count
        self.records = np.zeros(count, RECORD)
        self.handles = np.zeros(count, np.uint64)
        for number, launch in self._launches():
            self._check(self._names(number, launch), launch, kernels[launch.kernel])

    def _launches(self) -> Iterator[tuple[int, Launch]]:
        """The launches of all ranks, with the numbers of their steps."""
        for rank in self.job.ranks:
            yield from ((n, step) for n, step in enumerate(rank.steps) if isinstance(step, Launch))

    def _names(self, number: int, launch: Launch) -> str:
        """What messages call a launch."""
        return f"{self.job.labels.get(number, f'step {number}')} launches {launch.kernel}"

    def most_blocks(self, kernel: Kernel) -> int:
        """How many blocks of a kernel a device has at once."""
        (each,) = kernel.function.directives.get("minnctapersm", (1,))[:1]
        return self.job.sms * max(each, 1)

    def _residents(self) -> list[int]:
        """How many blocks of each rank are there at once at most."""
        found: list[int] = []
        for rank in self.job.ranks:
            steps = [step for step in rank.steps if isinstance(step, Launch)]
            most = [min(prod(s.grid), self.most_blocks(self.code.kernels[s.kernel])) for s in steps]
            found.append(sum(sorted(most)[-2:]))
        return found

    def _check(self, name: str, launch: Launch, kernel: Kernel) -> None:
        threads, bounds = prod(launch.block), kernel.function.directives
        most = prod(bounds.get("reqntid", bounds.get("maxntid", (1024,))))
        if not 0 < threads <= most or ("reqntid" in bounds and threads != most):
            raise Refused(f"{name} with {threads} threads a block, but it declares {most}", 0)
        if prod(bounds.get("reqnctapercluster", (1,))) > 1:
            raise Refused(f"{name}, a kernel of clusters of several blocks", kernel.function.line)
        if launch.virtual and launch.grid[2] != len(self.job.ranks):
            raise Refused(
                f"{name} for {launch.grid[2]} of {len(self.job.ranks)} ranks",
                0,
            )
        parameters = kernel.function.parameters
        if len(parameters) != len(launch.arguments):
            count = len(launch.arguments)
            given = f"{count} argument{'' if count == 1 else 's'}"
            raise Refused(f"{name} with {given}, but it takes {len(parameters)}", 0)
        for number, parameter in enumerate(parameters):
            given = launch.arguments[number]
            have = len(as_bytes(given, lambda _: 0))
            if have != parameter.bytes:
                raise Refused(
                    f"{name} with {have} bytes for arguments[{number}] ({parameter.name}), but it takes "
                    f"{parameter.bytes}",
                    0,
                )

    @cached_property
    def polls(self) -> Mapping[int, int]:
        """The loads of loops that only wait, with the lines of the branches that repeat the loops."""
        return polls(self.code)

    def is_reduction(self, site: int) -> bool:
        """Whether an access is `red`."""
        return self.code.sites[site].instruction.opcode == "red"

    def updates(self, site: int) -> frozenset[int]:
        """The sites of the strong loads that the value of a strong store is computed from."""
        kernel = self.code.sites[site].kernel
        if kernel not in self._updates:
            self._updates[kernel] = updates(self.code.kernels[kernel].function, self.code.sites)
        return self._updates[kernel].get(site, frozenset())

    def run(self, schedule: Schedule | Name, *, traced: bool = False) -> Outcome:
        """Run under a schedule, or that of a name; with a trace a race says what is missing.

        Raises `Repeated` if a search of the job has no schedule of that name.
        """
        name = schedule
        if isinstance(schedule, int):
            schedule = Seeded(schedule)
        elif isinstance(schedule, str):
            schedule = Search(schedule)
        run = Run(self, schedule, traced)
        answer = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * 4)(
            run.weak.on_access
        )
        more = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(
            run.weak.on_many_readers
        )
        self._set("on_access", ctypes.cast(answer, ctypes.c_void_p).value)
        self._set("new_readers", ctypes.cast(more, ctypes.c_void_p).value)
        try:
            run.go()
        finally:
            self.code.call("destroy")(self.handles.ctypes.data, 0, self.threads)
        if isinstance(name, str) and schedule.name != name:
            raise Repeated
        memory = tuple(
            {
                owner: self.space.bytes[r.offset : r.offset + r.bytes].tobytes()
                for owner, r in buffers.items()
            }
            for buffers in self.space.buffers
        )
        return Outcome(tuple(run.findings), memory)

    def _set(self, name: str, value: Any) -> None:
        ctypes.c_int64.from_address(self.code.call(name)).value = value
