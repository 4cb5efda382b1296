"""What tests of the emulator's core share: small kernels, run on arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from coconet_ir.emu.job import Job, Memory, Rank
from coconet_ir.emu.machine import Emulator, Outcome
from coconet_ir.emu.reports.findings import Finding
from coconet_ir.runtime.steps import Launch, Place, Step

Array = npt.NDArray[Any]
Buffers: TypeAlias = Mapping[str, "Array | int"]
"""Arrays, and how many bytes those have that nobody has written."""

HEAD = ".version 8.6\n.target sm_90\n.address_size 64\n"
REGISTERS = """.reg .pred %p<8>;
.reg .b16 %h<8>;
.reg .b32 %r<16>;
.reg .b64 %l<16>;
.reg .b32 %rank, %tid, %block;
"""


def _kernel(name: str, body: str, buffers: Buffers, ranks: int) -> str:
    names = [*buffers, *(f"{one}s" for one in buffers if ranks > 1)]
    parameters = ", ".join([*(f".param .u64 {one}" for one in names), ".param .u32 rank"])
    loads = [f".reg .b64 %{one};\nld.param.u64 %{one}, [{one}];" for one in names]
    loads += [
        "ld.param.u32 %rank, [rank];",
        "mov.u32 %tid, %tid.x;",
        "mov.u32 %block, %ctaid.x;",
    ]
    start = "\n".join(loads)
    return f".visible .entry {name}({parameters})\n{{\n{REGISTERS}{start}\n{body}\nret;\n}}\n"


def _shape(sizes: int | tuple[int, ...]) -> tuple[int, int, int]:
    x, y, z = (*((sizes,) if isinstance(sizes, int) else sizes), 1, 1)[:3]
    return x, y, z


@dataclass(frozen=True)
class Ran:
    """A run."""

    ptx: str
    names: Sequence[str]
    outcome: Outcome

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong."""
        return self.outcome.findings

    @property
    def finding(self) -> Finding:
        """What is wrong: one thing."""
        (found,) = self.outcome.findings
        return found

    def array(self, name: str, dtype: Any = np.uint32, rank: int = 0) -> Array:
        """A buffer, after a run without findings."""
        assert self.findings == ()
        return np.frombuffer(self.outcome.memory[rank][self.names.index(name)], dtype)

    def line(self, mark: str) -> int:
        """The line that ends with a comment."""
        lines = enumerate(self.ptx.splitlines(), 1)
        (found,) = [number for number, line in lines if line.endswith(f"// {mark}")]
        return found


class Machine:
    """Kernels and arrays, ready to run.

    Each kernel has the address of each buffer `x` in `%x` and, of several ranks, that of a table of all ranks' ones in
    `%xs`; `%rank`, `%tid` and `%block` say who a thread is; there are registers `%p`, `%h`, `%r` and `%l` of 1, 16, 32
    and 64 bits.
    """

    def __init__(
        self,
        kernels: str | Mapping[str, str],
        buffers: Buffers,
        *,
        grid: int | tuple[int, ...] = 1,
        block: int | tuple[int, ...] = 1,
        ranks: int = 1,
        steps: Callable[[Launch], Sequence[Step]] | None = None,
        module: str = "",
        shared: int = 0,
        sms: int = 78,
    ):
        """`kernels` is the body of the kernel `k`, or bodies by names. `steps` makes each rank's steps of a launch of
        the first one; without it there is no other step."""
        bodies = {"k": kernels} if isinstance(kernels, str) else kernels
        texts = [_kernel(name, body, buffers, ranks) for name, body in bodies.items()]
        self.ptx, self.names = "".join((HEAD, module, *texts)), list(buffers)
        count = len(self.names)
        places: list[Place] = [Place(n) for n in range(count * (2 if ranks > 1 else 1))]
        found: list[Rank] = []
        for rank in range(ranks):
            memory = {n: _memory(name, buffers[name]) for n, name in enumerate(self.names)}
            if ranks > 1:
                for n, name in enumerate(self.names):
                    peers = tuple(Place(n, rank=one) for one in range(ranks))
                    memory[count + n] = Memory(f"{name}s", 8 * ranks, pointers=peers)
            arguments = (*places, np.uint32(rank).tobytes())
            launch = Launch(
                next(iter(bodies)), _shape(grid), _shape(block), arguments, shared=shared
            )
            found.append(Rank(memory, tuple(steps(launch)) if steps else (launch,)))
        self.emulator = Emulator(Job(self.ptx, tuple(found), sms))

    def run(self, seed: int = 0) -> Ran:
        """Run one schedule."""
        return Ran(self.ptx, self.names, self.emulator.run(seed))

    def findings(self, seeds: int) -> list[Finding]:
        """What is wrong in many schedules."""
        return [one for seed in range(seeds) for one in self.emulator.run(seed).findings]


def _memory(name: str, what: Array | int) -> Memory:
    if isinstance(what, int):
        return Memory(name, what)
    return Memory(name, what.nbytes, what.tobytes())


@pytest.fixture(scope="session")
def machine() -> type[Machine]:
    """What makes kernels ready to run."""
    return Machine


@pytest.fixture(scope="session")
def run() -> Callable[..., Ran]:
    """Runs kernels under one schedule: the arguments of a `Machine`, and `seed`."""

    def run(*given: Any, seed: int = 0, **options: Any) -> Ran:
        return Machine(*given, **options).run(seed)

    return run
