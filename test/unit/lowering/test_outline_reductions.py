"""Reductions: exact where the order does not matter, else within the bound; bits that no grid or alignment changes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from coconet_ir.analysis.dist import Kind
from coconet_ir.lowering.kernels import buckets
from coconet_ir.sim.elements import ELEMENTS, F32
from coconet_ir.sim.reductions import identity
from coconet_ir.sim.segments import segment_reduce

Array = npt.NDArray[Any]
Same = Callable[..., dict[str, Array]]
Close = Callable[..., dict[str, Array]]


def numbers(shape: int | tuple[int, ...], name: str = "f32", seed: int = 0) -> Array:
    """Random elements of a type."""
    random = np.random.default_rng(seed)
    if name[0] == "i":
        return random.integers(-100, 100, shape).astype(ELEMENTS[name])
    return random.standard_normal(shape).astype(ELEMENTS[name])


SHAPES = ((1, 1), (3, 5), (5, 128), (2, 1030), (9, 300), (0, 4), (4, 0), (2, 3001))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dims", [0, 1])
@pytest.mark.parametrize(
    ("kind", "name"), [("sum", "i32"), ("max", "f32"), ("min", "f16"), ("max", "i64")]
)
def test_exact_reductions(
    same: Same, shape: tuple[int, int], dims: int, kind: str, name: str
) -> None:
    body = f"%y = comp.reduce {kind} %x dims [{dims}] : tensor<?x?x{name}> -> tensor<?x{name}>"
    same(body, {"x": numbers(shape, name)}, {"y": f"tensor<?x{name}>"})


SOFTMAX = """
%w = arith.extf %x : tensor<?x?xf16> to tensor<?x?xf32>
%h = comp.reduce max %w dims [DIM] : tensor<?x?xf32> -> tensor<?xf32>
%hs = comp.broadcast %h dims [KEPT] like %w : tensor<?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
%d = arith.subf %w, %hs : tensor<?x?xf32>
%e = math.exp %d : tensor<?x?xf32>
%s = comp.reduce sum %e dims [DIM] : tensor<?x?xf32> -> tensor<?xf32>
%ss = comp.broadcast %s dims [KEPT] like %w : tensor<?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
%q = arith.divf %e, %ss : tensor<?x?xf32>
%y = arith.truncf %q : tensor<?x?xf32> to tensor<?x?xf16>
"""


HELD = ((9, 1024), (2, 1032), (1, 8192), (1, 8200), (257, 48), (257, 296))
"""Rows of whole vectors: the most that lanes and a block hold in registers, a vector more, and many short rows."""


@pytest.mark.parametrize(
    ("shape", "dim"), [*product(SHAPES, (0, 1)), *((shape, 1) for shape in HELD)]
)
def test_softmax(close: Close, shape: tuple[int, int], dim: int) -> None:
    body = SOFTMAX.replace("DIM", str(dim)).replace("KEPT", str(1 - dim))
    inputs = {"x": numbers(shape, "f16")}
    outputs = {"y": "tensor<?x?xf16>", "s": "tensor<?xf32>"}
    terms = shape[dim]
    aligned = close(body, inputs, outputs, terms=terms)
    moved = close(body, inputs, outputs, offset=1, terms=terms)
    assert np.array_equal(aligned["s"], moved["s"])
    close(body, inputs, outputs, into={"y": "x"}, terms=terms)


RMS_NORM = """
%w = arith.extf %x : tensor<?x?xbf16> to tensor<?x?xf32>
%q = arith.mulf %w, %w : tensor<?x?xf32>
%s = comp.reduce sum %q dims [1] : tensor<?x?xf32> -> tensor<?xf32>
%c0 = arith.constant 0 : index
%c1 = arith.constant 1 : index
%rows = tensor.dim %x, %c0 : tensor<?x?xbf16>
%columns = tensor.dim %x, %c1 : tensor<?x?xbf16>
%n = arith.index_cast %columns : index to i64
%f = arith.sitofp %n : i64 to f32
%fs = tensor.splat %f[%rows] : tensor<?xf32>
%mean = arith.divf %s, %fs : tensor<?xf32>
%root = math.sqrt %mean : tensor<?xf32>
%roots = comp.broadcast %root dims [0] like %w : tensor<?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
%z = arith.divf %w, %roots : tensor<?x?xf32>
%gw = arith.extf %g : tensor<?xbf16> to tensor<?xf32>
%gs = comp.broadcast %gw dims [1] like %w : tensor<?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
%p = arith.mulf %z, %gs : tensor<?x?xf32>
%y = arith.truncf %p : tensor<?x?xf32> to tensor<?x?xbf16>
"""


@pytest.mark.parametrize("shape", [(3, 64), (2, 77), (1, 2048), (2, 1), (3, 0), (0, 3)])
def test_rms_norm(close: Close, shape: tuple[int, int]) -> None:
    inputs = {"x": numbers(shape, "bf16"), "g": numbers(shape[1], "bf16", 1)}
    outputs = {"y": "tensor<?x?xbf16>", "root": "tensor<?xf32>"}
    close(RMS_NORM, inputs, outputs, terms=shape[1])
    close(RMS_NORM, inputs, outputs, into={"y": "x"}, terms=shape[1])


@pytest.mark.parametrize("dims", [[0], [1], [2], [0, 1], [1, 2], [0, 2], [2, 1]])
@pytest.mark.parametrize("shape", [(3, 4, 8), (2, 5, 7), (130, 2, 3), (1, 1, 1), (2, 0, 3)])
def test_dimensions(close: Close, dims: list[int], shape: tuple[int, int, int]) -> None:
    """A reduction over any dimensions, and what follows from it for every element."""
    kept = [dim for dim in range(3) if dim not in dims]
    small = f"tensor<{'?x' * len(kept)}f32>"
    body = f"""
    %a = math.absf %x : tensor<?x?x?xf32>
    %s = comp.reduce sum %a dims {dims} : tensor<?x?x?xf32> -> {small}
    %b = comp.broadcast %s dims {kept} like %a : {small}, tensor<?x?x?xf32> -> tensor<?x?x?xf32>
    %y = arith.subf %x, %b : tensor<?x?x?xf32>
    %r = math.sqrt %s : {small}
    """
    terms = max(shape) * 3
    outputs = {"y": "tensor<?x?x?xf32>", "r": small}
    found = close(body, {"x": numbers(shape)}, outputs, terms=terms)
    moved = close(body, {"x": numbers(shape)}, outputs, terms=terms, offset=3)
    assert np.array_equal(found["r"], moved["r"])


def test_all_of_a_vector_for_each_of_its_elements(close: Close) -> None:
    body = """
    %c0 = arith.constant 0 : index
    %h = comp.reduce max %x dims [0] : tensor<?xf32> -> tensor<f32>
    %hs = comp.broadcast %h dims [] like %x : tensor<f32>, tensor<?xf32> -> tensor<?xf32>
    %y = arith.subf %x, %hs : tensor<?xf32>
    """
    for size in (0, 1, 5, 1500):
        close(body, {"x": numbers(size)}, {"y": "tensor<?xf32>"})


@pytest.mark.parametrize("accumulate", ["f64", "f16"])
def test_accumulation_type(close: Close, accumulate: str) -> None:
    body = f"%y = comp.reduce sum %x dims [1] {{accumulate = {accumulate}}} : tensor<?x?xf16> -> tensor<?x{accumulate}>"
    close(body, {"x": numbers((3, 40), "f16")}, {"y": f"tensor<?x{accumulate}>"}, terms=40)


@pytest.mark.parametrize("kind", ["sum", "prod"])
def test_wrapping_integers(same: Same, kind: str) -> None:
    body = f"""
    %y = comp.reduce {kind} %x dims [1] {{accumulate = i64}} : tensor<?x?xi32> -> tensor<?xi64>
    %z = comp.reduce {kind} %x dims [1] : tensor<?x?xi32> -> tensor<?xi32>
    """
    outputs = {"y": "tensor<?xi64>", "z": "tensor<?xi32>"}
    same(body, {"x": numbers((3, 70), "i32")}, outputs)


FULL = """
%q = arith.mulf %x, %x : tensor<?x?xf32>
%s = comp.reduce sum %q dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
%norm = math.sqrt %s : tensor<f32>
%h = comp.reduce max %x dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
%y = arith.addf %x, %q : tensor<?x?xf32>
"""


@pytest.mark.parametrize(
    "shape", [(0, 3), (1, 1), (1, 1023), (4, 256), (5, 205), (3, 1111), (2, 8192)]
)
def test_full_reductions(close: Close, shape: tuple[int, int]) -> None:
    outputs = {"norm": "tensor<f32>", "h": "tensor<f32>", "y": "tensor<?x?xf32>"}
    terms = shape[0] * shape[1]
    found = close(FULL, {"x": numbers(shape)}, outputs, terms=terms)
    moved = close(FULL, {"x": numbers(shape)}, outputs, terms=terms, offset=1)
    assert np.array_equal(found["norm"], moved["norm"])
    close(FULL, {"x": numbers(shape)}, outputs, into={"y": "x"}, terms=terms)


@pytest.mark.parametrize("shape", [(7, 1024), (5, 1500), (9, 1024)])
def test_blocks_that_take_several_buckets(
    monkeypatch: pytest.MonkeyPatch, close: Close, shape: tuple[int, int]
) -> None:
    monkeypatch.setattr(buckets, "PARTIALS", 4)
    outputs = {"norm": "tensor<f32>", "h": "tensor<f32>", "y": "tensor<?x?xf32>"}
    close(FULL, {"x": numbers(shape)}, outputs, terms=shape[0] * shape[1])


@pytest.mark.parametrize(
    "bounds",
    [
        [0, 3, 3, 700, 1024, 4000],
        [2, 2, 2900],
        [0, 5000],
        [5],
        [100, 1024, 2048, 2049],
        [0, 0, 1, 2],
    ],
)
@pytest.mark.parametrize(
    ("start", "size", "offset"), [(0, 3000, 0), (4, 1024, 0), (101, 2500, 1), (0, 0, 0), (0, 1, 0)]
)
def test_segments(
    launch: Callable[..., dict[str, Array]], bounds: list[int], start: int, size: int, offset: int
) -> None:
    """Norms by segment, next to an update in place and a reduction of all."""
    x, m = numbers(size), numbers(size, seed=1)
    body = """
    %m1 = arith.addf %m, %x : tensor<?xf32>
    %q = arith.mulf %m1, %m1 : tensor<?xf32>
    %s = comp.segment_reduce_block sum %q, %o at %start : tensor<?xf32>, tensor<?xi64> -> tensor<?xf32>
    %norm = math.sqrt %s : tensor<?xf32>
    %h = comp.segment_reduce_block max %x, %o at %start : tensor<?xf32>, tensor<?xi64> -> tensor<?xf32>
    %t = comp.reduce sum %q dims [0] : tensor<?xf32> -> tensor<f32>
    """
    offsets = np.array(bounds)
    m1 = m + x
    kinds = (m1 * m1, Kind.SUM), (x, Kind.MAX)
    sums, highest = (segment_reduce(v, offsets, k, start, F32, F32) for v, k in kinds)
    expected = {"norm": np.sqrt(sums), "h": highest, "t": np.sum(m1 * m1), "m1": m1}
    shapes = {**expected, "t": np.asarray(expected["t"])}
    inputs = {"x": x, "m": m, "o": offsets, "start": np.int64(start)}
    places = {"m1": "m", "norm": "norm", "h": "h", "t": "t"}
    types = {"start": "index"}
    found = launch(body, inputs, places, shapes, types=types, offset=offset)
    assert np.array_equal(found["m"], m1)
    assert np.array_equal(found["h"], highest)
    assert np.allclose(found["norm"], expected["norm"], rtol=1e-5)
    assert np.allclose(found["t"], expected["t"], rtol=1e-5)


def test_nothing_is_reduced(same: Same) -> None:
    body = """
    %a = comp.reduce sum %x dims [] : tensor<?x?xf32> -> tensor<?x?xf32>
    %y = math.absf %a : tensor<?x?xf32>
    """
    same(body, {"x": numbers((3, 5))}, {"y": "tensor<?x?xf32>"})
    body = "%y = comp.reduce max %x dims [] : tensor<f32> -> tensor<f32>"
    same(body, {"x": numbers(())}, {"y": "tensor<f32>"})


AVERAGE = """
%s = comp.reduce sum %x dims [0] : tensor<?xf32> -> tensor<f32>
%half = arith.constant dense<0.5> : tensor<f32>
%old = arith.mulf %m, %half : tensor<f32>
%m1 = arith.addf %old, %s : tensor<f32>
"""
CENTERED = """
%ss = comp.broadcast %s dims [] like %x : tensor<f32>, tensor<?xf32> -> tensor<?xf32>
%y = arith.subf %x, %ss : tensor<?xf32>
"""


@pytest.mark.parametrize("body", [AVERAGE, AVERAGE + CENTERED])
@pytest.mark.parametrize("size", [1, 7, 1024, 5000])
def test_one_result_in_place(close: Close, body: str, size: int) -> None:
    """The thread that overwrites an element is the one that loads it."""
    outputs = {"m1": "tensor<f32>"} | ({"y": "tensor<?xf32>"} if "%y" in body else {})
    close(body, {"x": numbers(size), "m": numbers(())}, outputs, into={"m1": "m"}, terms=size)


@pytest.mark.parametrize("name", ["f8E4M3FN", "f8E5M2", "bf16", "f64"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 3), (1, 1030), (1030, 2)])
@pytest.mark.parametrize("dims", [[0], [1], [0, 1]])
def test_extremes_of_nothing_and_of_the_least(
    same: Same, dims: list[int], shape: tuple[int, int], name: str
) -> None:
    """What nothing reduces to is what the element has least and greatest, infinity or not; NaNs stay."""
    small = f"tensor<{'?x' * (2 - len(dims))}{name}>"
    body = f"""
    %low = comp.reduce max %x dims {dims} : tensor<?x?x{name}> -> {small}
    %high = comp.reduce min %x dims {dims} : tensor<?x?x{name}> -> {small}
    """
    least = identity(Kind.MAX, ELEMENTS[name])
    for value in (least, -least, ELEMENTS[name].type(np.nan)):
        x = np.full(shape, value, ELEMENTS[name])
        same(body, {"x": x}, {"low": small, "high": small})


@pytest.mark.parametrize("name", ["f8E4M3FN", "f16", "f32", "f64"])
@pytest.mark.parametrize(
    "shape", [(0, 3), (3, 0), (2, 3), (5, 1024), (1, 1030), (2, 8200), (1030, 2), (130, 4)]
)
@pytest.mark.parametrize("dims", [[0], [1], [0, 1]])
def test_sums_of_zeros_have_their_sign(
    same: Same, dims: list[int], shape: tuple[int, int], name: str
) -> None:
    """A sum of -0 is -0, one with a +0 is +0, and so is one of nothing; mere places without elements count not."""
    small = f"tensor<{'?x' * (2 - len(dims))}{name}>"
    body = f"%s = comp.reduce sum %x dims {dims} : tensor<?x?x{name}> -> {small}"
    x = np.full(shape, -0.0, ELEMENTS[name])
    some = x.copy()
    some[-1:, -1:] = 0
    for values, offset in ((x, 0), (x, 1), (some, 0)):
        same(body, {"x": values}, {"s": small}, offset=offset)


@pytest.mark.parametrize("name", ["f8E4M3FN", "f32"])
@pytest.mark.parametrize(("start", "size"), [(0, 3000), (4, 1024), (101, 2500), (0, 0)])
def test_segments_of_nothing_and_of_zeros(
    launch: Callable[..., dict[str, Array]],
    as_bits: Callable[[Array], object],
    start: int,
    size: int,
    name: str,
) -> None:
    dtype = ELEMENTS[name]
    x, offsets = np.full(size, -0.0, dtype), np.array([0, 3, 3, 700, 1024, 1024, 2048, 9000, 9000])
    kinds = {"sum": Kind.SUM, "max": Kind.MAX, "min": Kind.MIN}
    body = "".join(
        f"%{kind} = comp.segment_reduce_block {kind} %x, %o at %start : "
        f"tensor<?x{name}>, tensor<?xi64> -> tensor<?x{name}>\n"
        for kind in kinds
    )
    want = {
        word: segment_reduce(x, offsets, kind, start, F32 if kind is Kind.SUM else dtype, dtype)
        for word, kind in kinds.items()
    }
    inputs = {"x": x, "o": offsets, "start": np.int64(start)}
    found = launch(body, inputs, {kind: kind for kind in kinds}, want, types={"start": "index"})
    for kind in kinds:
        assert as_bits(found[kind]) == as_bits(want[kind]), kind


ORDERED = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
LENGTHS = (1, 31, 32, 33, 255, 256, 257, 1023, 1024, 1025, 8191, 8193)


def in_stated_order(rows: Array, kind: str) -> Array:
    """Each row reduced as `reductions` states, from what nothing reduces to; rows of 16-byte vectors."""
    combine, count = ORDERED[kind], rows.shape[1]
    width, wide = 16 // rows.itemsize, F32 if rows.itemsize == 2 else rows.dtype
    limits = np.iinfo(wide) if wide.kind == "i" else None
    ends = (limits.min, limits.max) if limits else (-np.inf, np.inf)
    nothing = {"sum": 0 if limits else -0.0, "prod": 1, "max": ends[0], "min": ends[1]}[kind]

    def strided(parts: list[Array], step: int) -> list[Array]:
        totals = [np.full(len(rows), nothing, wide) for _ in range(step)]
        for number, part in enumerate(parts):
            totals[number % step] = combine(totals[number % step], part)
        return totals

    parts: list[Array] = []
    for first in range(0, count, width):
        part = rows[:, first].astype(wide)
        for at in range(first + 1, min(first + width, count)):
            part = combine(part, rows[:, at].astype(wide))
        parts.append(part)
    lanes = 1
    while lanes < min(32, count / 32):
        lanes *= 2
    parts = strided(strided(parts, 256) if count > 1024 else parts, lanes)
    while len(parts) > 1:
        parts = [combine(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0].astype(rows.dtype)


@pytest.mark.parametrize("name", ["f32", "bf16", "f16", "f64", "i32"])
@pytest.mark.parametrize("count", LENGTHS)
def test_order_of_rows(
    launch: Callable[..., dict[str, Array]],
    as_bits: Callable[[Array], object],
    count: int,
    name: str,
) -> None:
    """A row's bits are those of the stated order, be there few rows or many, aligned or not."""
    rows = numbers((5, count), name)
    rows[1] = -0.0
    if name[0] != "i":
        rows[2, count // 2] = np.nan
    lines = [
        f"%{kind} = comp.reduce {kind} %x dims [1] : tensor<?x?x{name}> -> tensor<?x{name}>"
        for kind in ORDERED
    ]
    with np.errstate(all="ignore"):
        expected = {kind: in_stated_order(rows, kind) for kind in ORDERED}
    many = np.tile(rows, (52, 1))  # more than take a block each
    for x, offset in ((rows, 0), (rows, 1), *([(many, 0), (many, 1)] if count < 1025 else [])):
        want = {kind: np.tile(value, len(x) // 5) for kind, value in expected.items()}
        places = {kind: kind for kind in ORDERED}
        found = launch("\n".join(lines), {"x": x}, places, want, offset=offset)
        for kind in ORDERED:
            assert as_bits(found[kind]) == as_bits(want[kind]), (kind, len(x), offset)
