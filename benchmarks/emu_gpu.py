"""Kernels by the emulator and by a GPU of compute capability 9.0, on the same inputs.

    python benchmarks/emu_gpu.py [--elements 16384]

Ours are compiled from `kernels/`; nvcc's and Triton's are those of the emulator's tests. Integers, copies, additions,
fused multiplications and additions, divisions, roots and conversions must be bit-equal: the program ends with 1 if one
is not. Of the rest the table says how far they are apart, in units in the last place: approximations are the
hardware's own, and what is made of them differs too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from kernel_cases import CASES

from coconet_ir.api import Program
from coconet_ir.emu.job import Job, Memory, Rank
from coconet_ir.emu.machine import Emulator
from coconet_ir.runtime.cuda import Device, address_of
from coconet_ir.runtime.packing import Packed
from coconet_ir.runtime.steps import ARENA, Launch, Place

FOREIGN = Path(__file__).parent.parent / "test/unit/emu/foreign/ptx"
OURS = ("adam_f32", "cast", "bias_dropout_residual", "sum", "rmsnorm", "softmax")
POISON = 0xA5

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Output:
    """What a kernel leaves in a buffer, or a row of it."""

    name: str
    owner: int
    dtype: Any
    exact: bool
    row: int = 0
    rows: int = 1

    def of(self, memory: Mapping[int, bytes]) -> Array:
        """The elements."""
        return np.frombuffer(memory[self.owner], self.dtype).reshape(self.rows, -1)[self.row]


@dataclass(frozen=True)
class Kernel:
    """A run, and what of it is compared."""

    job: Job
    outputs: tuple[Output, ...]


def on_gpu(device: Device, kernel: Kernel) -> dict[int, bytes]:
    """The buffers after the run."""
    (rank,) = kernel.job.ranks
    stream, module = device.stream(0), device.load(kernel.job.ptx)
    buffers = {owner: device.allocate(max(1, one.bytes), 0) for owner, one in rank.memory.items()}
    bases = {owner: address_of(buffer) for owner, buffer in buffers.items()}
    for owner, one in rank.memory.items():
        content = bytes([POISON]) * one.bytes if one.content is None else one.content
        device.upload(bases[owner], np.frombuffer(content, np.uint8), stream)
    for step in rank.steps:
        assert isinstance(step, Launch), step
        function, packed = device.function(module, step.kernel), Packed(step, bases)
        launched = device.driver.cuLaunchKernel(
            function, *step.grid, *step.block, step.shared, stream, packed.pointer, 0
        )
        if launched[0]:
            device.fail(launched[0])
        device.wait(0)
    found: dict[int, bytes] = {}
    for owner, one in rank.memory.items():
        left = np.empty(one.bytes, np.uint8)
        device.download(left, bases[owner], 0)
        found[owner] = left.tobytes()
    return found


def on_cpu(kernel: Kernel) -> Mapping[int, bytes]:
    """The same, emulated."""
    outcome = Emulator(kernel.job).run(0)
    assert outcome.findings == (), outcome.findings
    return outcome.memory[0]


def steps_between(a: Array, b: Array) -> int:
    """The largest distance of two arrays of floats in units in the last place; of NaN only to what is none."""
    kind = np.dtype(f"i{a.itemsize}")

    def places(x: Array) -> list[int]:
        bits = [int(one) for one in x.view(kind)]
        least = -(2 ** (8 * x.itemsize - 1))
        return [one if one >= 0 else least - one for one in bits]

    nan = np.isnan(a.astype(np.float64)), np.isnan(b.astype(np.float64))
    far = zip(places(a), places(b), *(one.tolist() for one in nan), strict=True)
    return max((0 if n and m else abs(x - y) for x, y, n, m in far), default=0)


# Kernels


def ours(name: str, elements: int) -> Kernel:
    """A program of ours."""
    case = next(one for one in CASES if one.name == name)
    compiled: Any = Program.load(case.path).compile("sm_90a", cache=False)
    shape = {"n": elements - 3, "r": 13, "c": elements // 13 + 1}
    arrays, types = case.draw(shape, 0), case.arrays(shape)
    shapes = {name: one.shape for name, one in arrays.items()}
    bound = compiled.plan.bind(shapes, case.scalars)
    numbers = dict(compiled.plan.arguments)
    for result, number in compiled.plan.results.items():
        assert result == 0
        numbers["out"] = number
    memory = {ARENA: Memory("arena", bound.arena)} if bound.arena else dict[int, Memory]()
    for argument in types:
        buffer, array = bound.buffers[numbers[argument]], arrays.get(argument)
        content = None if array is None else array.tobytes()
        memory[numbers[argument]] = Memory(argument, buffer.bytes, content)
    written = [one for one in types if one == "out" or one in compiled.plan.entry.updated]
    outputs = tuple(
        Output(f"{name}: {one}", numbers[one], bound.buffers[numbers[one]].dtype, True)
        for one in written
    )
    return Kernel(Job(compiled.ptx, (Rank(memory, bound.steps),)), outputs)


Argument = Array | int | float | np.generic | tuple[int, Any]
"""An array, a number (i32, or f32, or what NumPy says), or how many elements of what type nobody has written."""

Sizes = int | tuple[int, int]


def three(sizes: Sizes) -> tuple[int, int, int]:
    """Of a grid or a block."""
    return (sizes, 1, 1) if isinstance(sizes, int) else (*sizes, 1)


def foreign(
    file: str,
    kernel: str,
    threads: tuple[Sizes, Sizes],
    arguments: tuple[Argument, ...],
    *outputs: Output,
) -> Kernel:
    """A launch of a kernel of nvcc or Triton; the numbers of buffers are those of arguments."""
    memory, given = dict[int, Memory](), list[Place | bytes]()
    for number, one in enumerate(arguments):
        if isinstance(one, np.ndarray):
            memory[number] = Memory(str(number), one.nbytes, one.tobytes())
            given.append(Place(number))
        elif isinstance(one, tuple):
            memory[number] = Memory(str(number), one[0] * np.dtype(one[1]).itemsize)
            given.append(Place(number))
        elif isinstance(one, np.generic):
            given.append(one.tobytes())
        else:
            small = np.int32(one) if isinstance(one, int) else np.float32(one)
            given.append(small.tobytes())
    grid, block = threads
    step = Launch(kernel, three(grid), three(block), tuple(given))
    ptx = (FOREIGN / f"{file}.ptx").read_text()
    return Kernel(Job(ptx, (Rank(memory, (step,)),)), outputs)


def rows(names: str, owner: int, dtype: Any, exact: str = "") -> Iterator[Output]:
    """An output a row, by the words of `names`; those of `exact` must be bit-equal."""
    each = names.split()
    for row, name in enumerate(each):
        yield Output(name, owner, dtype, name in exact.split(), row, len(each))


def by_nvcc(n: int, random: np.random.Generator) -> Iterator[Kernel]:
    """Kernels of nvcc."""
    grid = -(-n // 128)
    x, y = random.standard_normal((2, n)) * 2.0 ** random.integers(-12, 12, (2, n))
    f, g = x.astype(np.float32), y.astype(np.float32)
    small = random.uniform(-8, 8, n).astype(np.float32)
    words = random.integers(0, 2**32, (2, n), dtype=np.uint32)
    longs = random.integers(-(2**63), 2**63, (2, n)) >> random.integers(0, 50, (2, n)) | 1
    halves, floats16 = random.uniform(-8, 8, n * 2), (ml_dtypes.bfloat16, np.float16)

    yield foreign(
        *("elementwise", "saxpy", (grid, 128), (np.int64(n), 0.7, f, g)),
        Output("saxpy (fma)", 3, np.float32, True),
    )
    yield foreign(
        *("elementwise", "bits", (grid, 128), (n, *words, (24 * n, np.uint32))),
        Output("bits of i32", 3, np.uint32, True),
    )
    yield foreign(
        *("numbers", "longs", (grid, 128), (n, *longs, (12 * n, np.int64))),
        Output("i64", 3, np.int64, True),
    )
    tall, tiles = n // 97, (4, -(-n // 97 // 32) + 1)
    yield foreign(
        *("memory", "transpose", (tiles, (32, 8)), (tall, 97, f, (97 * tall, np.float32))),
        Output("transpose (copy)", 3, np.float32, True),
    )
    counts = (132, np.float64), np.zeros(1, np.uint32), (1, np.float64)
    yield foreign(
        *("reductions", "sum", (132, 128), (n, f, *counts)),
        Output("sum (f64 additions)", 4, np.float64, True),
    )
    yield foreign(
        *("numbers", "conversions", (grid, 128), (n, f, (20 * n, np.int32))),
        Output("conversions", 2, np.int32, True),
    )
    pairs = [half.astype(type) for type in floats16[::-1] for half in np.split(halves * 2, 2)]
    a, b, c, d = pairs
    arguments = (n // 2, a, b, (11 * n, np.float16), c, d, (7 * n, ml_dtypes.bfloat16))
    yield foreign(
        *("numbers", "packed", (grid, 128), arguments),
        Output("pairs of f16", 3, np.float16, True),
        Output("pairs of bf16", 6, ml_dtypes.bfloat16, True),
    )
    names = "x/y sqrt rsqrt sin exp log fma pow floor min copysign tanh cos(large) rint".split()
    for kernel, type, one, two in (
        ("doubles", np.float64, x, y),
        ("singles", np.float32, f, small),
    ):
        named = " ".join(f"{kernel}:{name}" for name in names)
        exact = " ".join(f"{kernel}:{names[row]}" for row in (0, 1, 6, 8, 9, 10, 13))
        yield foreign(
            *("numbers", kernel, (grid, 128), (n, one, two, (14 * n, type))),
            *rows(named, 3, type, exact),
        )
    names = "ex2 lg2 rsqrt rcp sqrt tanh sin cos div exp log"
    named = " ".join(f"{name}.approx" for name in names.split())
    packed = halves.astype(np.float16)
    arguments = (n, small, packed, (11 * n, np.float32), (4 * 2 * n, np.float16))
    yield foreign(
        *("numbers", "approximations", (grid, 128), arguments),
        *rows(named, 3, np.float32),
        *list(rows("ex2.f16x2 tanh.f16x2 - -", 4, np.float16))[:2],
    )
    arguments = (n, halves[:n].astype(ml_dtypes.bfloat16), (n, ml_dtypes.bfloat16))
    yield foreign(
        *("elementwise", "gelu_bf16", (grid, 128), arguments),
        Output("gelu (erf, bf16)", 2, ml_dtypes.bfloat16, False),
    )


def by_triton(n: int, random: np.random.Generator) -> Iterator[Kernel]:
    """Kernels of Triton, which take two addresses more."""
    x, y = random.uniform(-4, 4, (2, n)).astype(ml_dtypes.bfloat16)
    unused = (1, np.uint64)
    yield foreign(
        "triton_activations",
        "activations",
        (-(-n // 512), 64),
        (x, y, (n, ml_dtypes.bfloat16), n, unused, unused),
        Output("triton: tanh, erf, bf16", 2, ml_dtypes.bfloat16, False),
    )
    f = random.standard_normal(n).astype(np.float32)
    yield foreign(
        "triton_dropout",
        "dropout",
        (-(-n // 512), 64),
        (f, (n, np.float32), (n, np.int32), n, 0.3, 77, unused, unused),
        Output("triton: dropout (div.full)", 1, np.float32, False),
        Output("triton: Philox", 2, np.int32, True),
    )


def compare(kernels: Callable[[], Iterator[Kernel]], device: Device) -> list[str]:
    """Print a row for each output; those that are not bit-equal and must be."""
    wrong: list[str] = []
    print(f"{'kernel':32} {'elements':>9} {'must be':>9}  found")
    for kernel in kernels():
        cpu, gpu = on_cpu(kernel), on_gpu(device, kernel)
        for output in kernel.outputs:
            mine, theirs = output.of(cpu), output.of(gpu)
            equal = mine.tobytes() == theirs.tobytes()
            if output.exact and not equal:
                wrong.append(output.name)
            differ = int(np.sum(mine.view(f"u{mine.itemsize}") != theirs.view(f"u{mine.itemsize}")))
            far = f"{differ} differ"
            if np.dtype(output.dtype).kind not in "iu":
                far += f", by at most {steps_between(mine, theirs)} ulp"
            must = "bit-equal" if output.exact else ""
            print(f"{output.name:32} {mine.size:9} {must:>9}  {'bit-equal' if equal else far}")
    return wrong


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--elements", type=int, default=1 << 14, help="an even number")
    options = arguments.parse_args()
    device, total = Device(0), 0

    def kernels() -> Iterator[Kernel]:
        nonlocal total
        random = np.random.default_rng(0)
        for name in OURS:
            yield ours(name, options.elements)
        for kernel in (*by_nvcc(options.elements, random), *by_triton(options.elements, random)):
            total += 1
            yield kernel

    wrong = compare(kernels, device)
    print(f"not bit-equal, and must be: {', '.join(wrong) or 'nothing'}")
    print(f"figure: emu_gpu_kernels = {total + len(OURS)}")
    print(f"figure: emu_gpu_wrong = {len(wrong)} (bound 0)")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
