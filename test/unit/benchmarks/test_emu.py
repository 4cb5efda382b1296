"""What `benchmarks/emu.py` counts, and how `benchmarks/emu_gpu.py` compares."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from coconet_ir.emu.job import Job, Memory, Rank
from coconet_ir.emu.machine import Emulator
from coconet_ir.runtime.steps import Launch, Place

FOLDER = Path(__file__).parents[3] / "benchmarks"

LOOP = """
.version 8.1
.target sm_90
.address_size 64
.visible .entry loop(
    .param .u64 loop_out,
    .param .u32 loop_rounds
)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [loop_out];
    ld.param.u32 %r1, [loop_rounds];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd2, %r2, 4;
    add.s64 %rd1, %rd1, %rd2;
AGAIN:
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p1, %r2, %r1;
    @%p1 bra AGAIN;
    st.global.u32 [%rd1], %r2;
    ret;
}
"""


@pytest.fixture(scope="module")
def benchmark() -> Any:
    """Both modules, which need no GPU to be read."""
    sys.path.insert(0, str(FOLDER))
    try:
        return import_module("emu"), import_module("emu_gpu")
    finally:
        sys.path.remove(str(FOLDER))


@pytest.mark.parametrize("rounds", [1, 5])
def test_instructions_are_counted(benchmark: Any, rounds: int) -> None:
    """Five before the loop, three each time, two after it. Thread i goes round max(1, rounds - i) times."""
    emu, _ = benchmark
    threads = 3
    step = Launch("loop", (1, 1, 1), (threads, 1, 1), (Place(0), np.int32(rounds).tobytes()))
    job = Job(LOOP, (Rank({0: Memory("out", 4 * threads)}, (step,)),))
    turns = sum(max(1, rounds - thread) for thread in range(threads))
    assert emu.instructions(job, threads) * threads == 7 * threads + 3 * turns
    outcome = Emulator(job).run(0)
    assert outcome.findings == ()


def test_adam_is_run_and_counted(benchmark: Any) -> None:
    """Four elements a thread, whatever the number of blocks; what is short takes another way."""
    emu, _ = benchmark
    each = emu.instructions(emu.adam(512), 128)
    assert each == emu.instructions(emu.adam(1024), 256)
    assert 100 < each < 300
    assert each != emu.instructions(emu.adam(511), 128)


def test_schedules_are_checked(benchmark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    emu, _ = benchmark
    assert emu.schedules(1) > 0
    assert "1 schedules of 4 ranks x 2 blocks x 64 threads" in capsys.readouterr().out


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, ml_dtypes.bfloat16])
def test_distances_in_units_in_the_last_place(benchmark: Any, dtype: Any) -> None:
    _, emu_gpu = benchmark
    one, bits = np.ones(1, dtype), f"i{np.dtype(dtype).itemsize}"
    near, tiny = (one.view(bits) + 3).view(dtype), np.ones(1, bits).view(dtype)
    assert emu_gpu.steps_between(one, near) == emu_gpu.steps_between(-near, -one) == 3
    assert emu_gpu.steps_between(tiny, -tiny) == 2
    assert emu_gpu.steps_between(one - one, -(one - one)) == 0
    nan = np.full(1, np.nan, dtype)
    assert emu_gpu.steps_between(nan, -nan) == 0
    assert emu_gpu.steps_between(nan, one) > 100


@pytest.mark.parametrize("name", ["cast", "rmsnorm"])
def test_kernels_of_ours_are_run(benchmark: Any, name: str) -> None:
    """The emulator gives what the references of the benchmark give."""
    _, emu_gpu = benchmark
    kernel = emu_gpu.ours(name, 130)
    (rank,) = kernel.job.ranks
    left, (output,) = emu_gpu.on_cpu(kernel), kernel.outputs
    case = next(one for one in emu_gpu.CASES if one.name == name)
    given = {one.name: number for number, one in rank.memory.items()}
    shape = {"n": 127, "r": 13, "c": 11}
    arrays = case.draw(shape, 0)
    for argument, array in arrays.items():
        assert rank.memory[given[argument]].content == array.tobytes()
    want = np.asarray(case.reference(arrays, case.scalars)["out"]).reshape(-1)
    found = output.of(left).astype(np.float64)
    np.testing.assert_allclose(found, want, rtol=2**-7, atol=1e-3)


def test_foreign_kernels_are_run(benchmark: Any) -> None:
    """At least ten, with nothing found, by the emulator; f32 is compared a function at a time."""
    _, emu_gpu = benchmark
    random = np.random.default_rng(0)
    kernels = [*emu_gpu.by_nvcc(194, random), *emu_gpu.by_triton(194, random)]
    assert len(kernels) >= 10
    outputs = {output.name: output for kernel in kernels for output in kernel.outputs}
    assert outputs["singles:fma"].exact
    assert not outputs["singles:exp"].exact
    for kernel in kernels:
        left = emu_gpu.on_cpu(kernel)
        assert all(output.of(left).size for output in kernel.outputs)
