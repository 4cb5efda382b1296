"""Runs of one job: the same seed is the same run, and none leaves anything behind."""

from __future__ import annotations

import gc
import pickle
import resource
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.job import Job, Memory, Rank
from coconet_ir.emu.machine import Emulator
from coconet_ir.emu.memory.weak import Weak
from coconet_ir.runtime.steps import Launch, Place

MIXED = """setp.eq.u32 %p1, %tid, 0;
.shared .u32 s;
@%p1 st.shared.u32 [s], 0;
bar.sync 0;
atom.shared.add.u32 %r3, [s], 1;
atom.global.add.u32 %r0, [%x], 1;
mul.wide.u32 %l0, %r0, 4;
add.u64 %l0, %y, %l0;
mad.lo.u32 %r1, %block, 100, %tid;
mad.lo.u32 %r1, %r3, 10000, %r1;
st.global.u32 [%l0], %r1;
bar.sync 0;
ld.relaxed.gpu.global.u32 %r2, [%x];
setp.gt.u32 %p0, %r2, {limit};
@%p0 st.global.u32 [%x+4], 1;"""
"""What it leaves depends on the schedule; with a low limit many store at one place."""


def mixed(machine: Any, limit: int) -> Any:
    x = np.zeros(2, np.uint32)
    return machine(MIXED.format(limit=limit), {"x": x, "y": 4 * 40}, grid=4, block=10, sms=2)


@pytest.mark.parametrize("limit", [1000, 38])
def test_a_seed_is_a_run(machine: Any, limit: int) -> None:
    found = mixed(machine, limit)
    first = [found.emulator.run(seed) for seed in range(8)]
    again = {seed: found.emulator.run(seed) for seed in (5, 0, 7, 5, 1)}
    assert all(first[seed] == outcome for seed, outcome in again.items())
    assert [Emulator(found.emulator.job).run(seed) for seed in range(8)] == first
    assert len({repr(one) for one in first}) > 3


def test_another_process_gives_the_same(machine: Any) -> None:
    found = mixed(machine, 38)
    code = """import pickle, sys
from coconet_ir.emu.machine import Emulator
emulator = Emulator(pickle.load(sys.stdin.buffer))
pickle.dump([emulator.run(seed) for seed in range(6)], sys.stdout.buffer)"""
    ran = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps(found.emulator.job),
        stdout=subprocess.PIPE,
        check=True,
        env={"PYTHONHASHSEED": "77", "PYTHONPATH": ":".join(sys.path)},
    )
    assert pickle.loads(ran.stdout) == [found.emulator.run(seed) for seed in range(6)]


ENDS = {
    "race": "st.global.u32 [%x], %tid;",
    "hang": "setp.eq.u32 %p0, %tid, 0;\n@%p0 bar.sync 0;\nbar.sync 1;",
    "fault": "bar.sync 0;\nld.global.u32 %r0, [%x+64];",
}


@pytest.mark.parametrize("how", ENDS)
def test_a_finding_leaves_nothing_behind(machine: Any, how: str) -> None:
    """One emulator runs clean, with a finding in the middle of everything, and clean again."""
    body = f"""ld.global.u32 %r1, [%y];
setp.ne.u32 %p2, %r1, 0;
bar.sync 0;
atom.global.add.u32 %r2, [%x], 1;
@%p2 bra DONE;
{ENDS[how]}
DONE:"""
    found = machine(body, {"x": np.zeros(1, np.uint32), "y": np.zeros(1, np.uint32)}, block=40)
    emulator = found.emulator
    place = emulator.space.buffers[0][1].offset
    fine = emulator.space.first_bytes
    outcomes: list[Any] = []
    for value in (1, 0, 1, 0, 0, 1):
        fine[place] = value
        outcomes.append(emulator.run(0))
        assert not emulator.handles.any()
    clean, wrong = outcomes[0], outcomes[1]
    assert clean.findings == ()
    assert len(wrong.findings) == 1
    assert outcomes == [clean, wrong, clean, wrong, wrong, clean]
    assert np.frombuffer(clean.memory[0][0], np.uint32)[0] == 40


def test_runs_keep_no_memory(machine: Any) -> None:
    """Threads with much state, of which most have not ended when a run does."""
    registers = "".join(
        f".reg .b64 %q{n};\nld.global.u64 %q{n}, [%y+{8 * n}];\n" for n in range(256)
    )
    uses = "".join(f"st.global.u64 [%l0], %q{n};\n" for n in range(256))
    body = f"""mul.wide.u32 %l0, %tid, 8;
add.u64 %l0, %x, %l0;
{registers}
bar.sync 0;
{uses}
bar.sync 0;
setp.eq.u32 %p0, %tid, 200;
@%p0 trap;"""
    found = machine(body, {"x": 8 * 256, "y": np.zeros(512, np.uint32)}, block=256)

    def most() -> int:
        for seed in range(20):
            gc.collect()
            assert [one.kind for one in found.run(seed).findings] == ["invalid"]
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    first = most()
    assert most() - first < 5120  # KiB; the frames of 20 runs have 20 x 256 x 256 x 8 bytes


def test_what_goes_wrong_in_a_callback_is_raised(
    machine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise ZeroDivisionError

    body = "ld.global.u32 %r0, [%x];\nbar.sync 0;\nst.volatile.global.u32 [%x], 1;\nst.global.u32 [%x], 1;"
    for name, threads in (("_may_access", 1), ("_new_table", 9)):
        found = machine(body, {"x": np.zeros(1, np.uint32)}, block=threads)
        with monkeypatch.context() as patch:
            patch.setattr(Weak, name, fail)
            with pytest.raises(ZeroDivisionError):
                found.run()
        assert len(found.run().findings) == (threads > 1)


PTX = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u32 n) {directives}
{{
ret;
}}
"""


def refused(directives: str = "", **changes: Any) -> str:
    launch = replace(Launch("k", (1, 1, 1), (32, 1, 1), (Place(0), bytes(4))), **changes)
    job = Job(PTX.format(directives=directives), (Rank({0: Memory("x", 4)}, (launch,)),))
    with pytest.raises(Refused) as raised:
        Emulator(job)
    return raised.value.what


def test_launches_that_do_not_fit_the_kernel() -> None:
    name = "step 0 launches k"
    assert refused(block=(1025, 1, 1)) == f"{name} with 1025 threads a block, but it declares 1024"
    assert refused(block=(0, 1, 1)) == f"{name} with 0 threads a block, but it declares 1024"
    assert "declares 64" in refused(directives=".maxntid 64", block=(8, 9, 1))
    assert "declares 64" in refused(directives=".reqntid 64")
    assert refused(arguments=(Place(0),)) == f"{name} with 1 argument, but it takes 2"
    bytes_given = refused(arguments=(Place(0), bytes(8)))
    assert bytes_given == f"{name} with 8 bytes for arguments[1] (n), but it takes 4"
    assert refused(kernel="m") == "step 0 launches m, but there is no such kernel; there are: k"
    assert "more than" in refused(grid=(1 << 15, 1, 1))


def test_more_memory_than_there_is(machine: Any) -> None:
    for space in ("shared", "local"):
        with pytest.raises(MemoryError):
            machine(f".{space} .b8 a[{1 << 50}];\nst.{space}.u8 [a], 1;", {"x": 4}, block=4)
