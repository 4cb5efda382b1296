"""Elementwise kernels give what the simulator gives, bit for bit, for every size, type and alignment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from coconet_ir.sim.elements import ELEMENTS
from coconet_ir.sim.philox import dropout
from coconet_ir.sim.segments import segment_broadcast

Array = npt.NDArray[Any]
Same = Callable[..., dict[str, Array]]

SIZES = (0, 1, 3, 127, 1021, 1024, 1025, 2048, 3001)

ADAM = """
%gw = arith.extf %g : tensor<?xf16> to tensor<?xf32>
%c0 = arith.constant 0 : index
%n = tensor.dim %m, %c0 : tensor<?xf32>
%b = tensor.splat %beta[%n] : tensor<?xf32>
%old = arith.mulf %m, %b : tensor<?xf32>
%m1 = arith.addf %old, %gw : tensor<?xf32>
%square = arith.mulf %gw, %gw : tensor<?xf32>
%v1 = arith.addf %v, %square : tensor<?xf32>
%root = math.sqrt %v1 : tensor<?xf32>
%step = arith.divf %m1, %root : tensor<?xf32>
%w1 = arith.subf %w, %step : tensor<?xf32>
%h = arith.truncf %w1 : tensor<?xf32> to tensor<?xbf16>
"""


def numbers(shape: int | tuple[int, ...], name: str = "f32", seed: int = 0) -> Array:
    """Random elements of a type."""
    random = np.random.default_rng(seed)
    if name == "i1":
        return random.integers(0, 2, shape).astype(np.bool_)
    if name[0] == "i":
        return random.integers(-100, 100, shape).astype(ELEMENTS[name])
    return random.standard_normal(shape).astype(ELEMENTS[name])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("offset", [0, 1])
def test_updates_of_mixed_types(same: Same, size: int, offset: int) -> None:
    inputs = {"g": numbers(size, "f16", 1), "beta": np.float32(0.9)}
    inputs |= {name: np.abs(numbers(size, "f32", i)) for i, name in enumerate("mvw")}
    outputs = {"m1": "tensor<?xf32>", "v1": "tensor<?xf32>", "w1": "tensor<?xf32>"}
    same(
        ADAM,
        inputs,
        {**outputs, "h": "tensor<?xbf16>"},
        into={"m1": "m", "v1": "v", "w1": "w"},
        offset=offset,
    )


@pytest.mark.parametrize("name", ["f64", "f32", "f16", "bf16", "i64", "i32"])
@pytest.mark.parametrize("size", [1, 1000, 4097])
def test_elements(same: Same, name: str, size: int) -> None:
    kind, suffix = f"tensor<?x{name}>", "f" if "f" in name else "i"
    compare = f"cmp{suffix} {'olt' if suffix == 'f' else 'slt'}"
    body = f"""
    %s = arith.add{suffix} %x, %y : {kind}
    %less = arith.{compare}, %x, %y : {kind}
    %z = arith.select %less, %s, %x : tensor<?xi1>, {kind}
    """
    inputs = {"x": numbers(size, name, 1), "y": numbers(size, name, 2)}
    same(body, inputs, {"z": kind, "less": "tensor<?xi1>"})


@pytest.mark.parametrize("name", ["f8E4M3FN", "f8E5M2", "i8", "i1"])
def test_elements_that_are_converted(same: Same, name: str) -> None:
    if name[0] == "f":
        cast = f"arith.extf %x : tensor<?x{name}> to tensor<?xf32>"
    else:
        cast = f"arith.uitofp %x : tensor<?x{name}> to tensor<?xf32>"
    same(f"%y = {cast}", {"x": numbers(3001, name)}, {"y": "tensor<?xf32>"})


BROADCAST = """
%rows = comp.broadcast %r dims [0] like %x : tensor<?xf32>, tensor<?x?x?xf32> -> tensor<?x?x?xf32>
%columns = comp.broadcast %c dims [2] like %x : tensor<?xf32>, tensor<?x?x?xf32> -> tensor<?x?x?xf32>
%matrix = comp.broadcast %m dims [0, 2] like %x : tensor<?x?xf32>, tensor<?x?x?xf32> -> tensor<?x?x?xf32>
%a = arith.addf %x, %rows : tensor<?x?x?xf32>
%b = arith.mulf %a, %columns : tensor<?x?x?xf32>
%y = arith.subf %b, %matrix : tensor<?x?x?xf32>
"""


@pytest.mark.parametrize("shape", [(3, 5, 8), (2, 3, 7), (5, 0, 4), (1, 1, 1), (4, 9, 100)])
def test_broadcasts(same: Same, shape: tuple[int, int, int]) -> None:
    inputs = {
        "x": numbers(shape),
        "r": numbers(shape[0], seed=1),
        "c": numbers(shape[2], seed=2),
        "m": numbers((shape[0], shape[2]), seed=3),
    }
    same(BROADCAST, inputs, {"y": "tensor<?x?x?xf32>"})


@pytest.mark.parametrize("shape", [(3, 5, 8), (2, 3, 7), (5, 0, 4), (1, 1, 1), (4, 9, 36)])
@pytest.mark.parametrize("order", [(0, 2, 1), (1, 0, 2), (2, 1, 0)])
def test_transposes(same: Same, shape: tuple[int, int, int], order: tuple[int, ...]) -> None:
    body = f"""
    %t = comp.transpose %x perm {list(order)} : tensor<?x?x?xf16> -> tensor<?x?x?xf16>
    %y = arith.addf %t, %z : tensor<?x?x?xf16>
    """
    other = tuple(shape[dim] for dim in order)
    inputs = {"x": numbers(shape, "f16"), "z": numbers(other, "f16", 1)}
    same(body, inputs, {"y": "tensor<?x?x?xf16>"})


@pytest.mark.parametrize("batch", [0, 1, 3])
def test_heads_are_moved(same: Same, batch: int) -> None:
    body = """
    %h = comp.reshape %x [b, s, (h d)] -> [b, s, h, d] : tensor<?x?x12xf32> -> tensor<?x?x3x4xf32>
    %t = comp.transpose %h perm [0, 2, 1, 3] : tensor<?x?x3x4xf32> -> tensor<?x3x?x4xf32>
    %y = comp.reshape %t [b, h, s, d] -> [(b h), s, d] : tensor<?x3x?x4xf32> -> tensor<?x?x4xf32>
    """
    types = {"x": "tensor<?x?x12xf32>"}
    same(body, {"x": numbers((batch, 5, 12))}, {"y": "tensor<?x?x4xf32>"}, types=types)


@pytest.mark.parametrize("start", [0, 3, 4])
@pytest.mark.parametrize("size", [1, 5, 512])
def test_slices(launch: Callable[..., dict[str, Array]], start: int, size: int) -> None:
    """The simulator's programs slice by layouts; here starts are numbers of the host."""
    x = numbers((6, 1024))
    body = """
    %part = tensor.extract_slice %x[2, %start] [3, %size] [1, 1] : tensor<6x?xf32> to tensor<3x?xf32>
    %y = math.absf %part : tensor<3x?xf32>
    """
    inputs = {"x": x, "start": np.int64(start), "size": np.int64(size)}
    expected = np.abs(x[2:5, start : start + size])
    types = {"x": "tensor<6x?xf32>", "y": "tensor<3x?xf32>", "start": "index", "size": "index"}
    found = launch(body, inputs, {"y": "y"}, {"y": expected}, types=types)
    assert np.array_equal(found["y"], expected)


@pytest.mark.parametrize("name", ["f64", "f32", "f16"])
@pytest.mark.parametrize(
    ("block", "start"), [((4, 16), (0, 0)), ((3, 7), (2, 5)), ((5, 8), (1, 8))]
)
def test_dropout(
    launch: Callable[..., dict[str, Array]],
    name: str,
    block: tuple[int, int],
    start: tuple[int, int],
) -> None:
    x, whole, seed = numbers(block, name), (9, 24), 0x123456789ABCDEF
    body = f"""
    %i = arith.constant {start[0]} : index
    %j = arith.constant {start[1]} : index
    %m = arith.constant 9 : index
    %c = arith.constant 3 : index
    %y = comp.dropout_block %x, %seed at [%i, %j] of [%m, %n] coordinate %c {{p = 0.3, id = 7}} : tensor<?x?x{name}>
    """
    inputs = {"x": x, "seed": np.int64(seed), "n": np.int64(whole[1])}
    expected = dropout(x, 0.3, seed, 7, start=start, shape=whole, coordinate=3)
    types = {"n": "index"}
    found = launch(body, inputs, {"y": "y"}, {"y": expected}, types=types)
    assert np.array_equal(found["y"], expected)


def test_scalars_are_read_from_tensors(same: Same) -> None:
    body = """
    %i = arith.constant 2 : index
    %c0 = arith.constant 0 : index
    %norm = tensor.extract %s[] : tensor<f32>
    %weight = tensor.extract %r[%i] : tensor<?xf32>
    %factor = arith.mulf %norm, %weight : f32
    %n = tensor.dim %x, %c0 : tensor<?xf32>
    %f = tensor.splat %factor[%n] : tensor<?xf32>
    %a = arith.mulf %x, %f : tensor<?xf32>
    %y = comp.scale %a by %norm : tensor<?xf32>
    """
    inputs = {"x": numbers(1500), "s": numbers((), seed=1), "r": numbers(4, seed=2)}
    same(body, inputs, {"y": "tensor<?xf32>"})


@pytest.mark.parametrize("shape", [(2, 7, 3), (1, 12, 4), (2, 0, 4), (3, 5, 1)])
@pytest.mark.parametrize("blocks", [(4,), (2, 3)])
def test_blocks_are_packed_and_unpacked(
    launch: Callable[..., dict[str, Array]], shape: tuple[int, int, int], blocks: tuple[int, ...]
) -> None:
    sizes, extent = list[int](), shape[1]
    for count in blocks:
        extent = -(-extent // count)
        sizes.append(extent)
    levels = "".join(
        f"%n{i} = arith.constant {n} : index\n%b{i} = arith.constant {b} : index\n"
        for i, (n, b) in enumerate(zip(blocks, sizes, strict=True))
    )
    counts, extents = (", ".join(f"%{c}{i}" for i in range(len(blocks))) for c in "nb")
    pack = f"""{levels}%y = nccl.pack %x dim 1 blocks [{counts}] of [{extents}]
      : tensor<?x?x?xf32> -> tensor<?x?x?x?xf32>"""
    x = numbers(shape)
    packed = _packed(x, blocks, sizes)
    inputs = {"x": x}
    found = launch(pack, inputs, {"y": "y"}, {"y": packed})["y"]
    assert np.array_equal(found, packed)
    unpack = f"""{levels}%y = nccl.unpack %x dim 1 blocks [{counts}] of [{extents}] to %size
      : tensor<?x?x?x?xf32> -> tensor<?x?x?xf32>"""
    inputs = {"x": packed, "size": np.int64(shape[1])}
    found = launch(unpack, inputs, {"y": "y"}, {"y": x}, types={"size": "index"})["y"]
    assert np.array_equal(found, x)


def _packed(x: Array, counts: tuple[int, ...], sizes: list[int]) -> Array:
    """Blocks of dimension 1, in front, each filled with zeros at its end."""
    blocks = [x]
    for count, size in zip(counts, sizes, strict=True):
        cut = [block[:, i * size : (i + 1) * size] for block in blocks for i in range(count)]
        blocks = cut
    whole = np.zeros((len(blocks), x.shape[0], sizes[-1], x.shape[2]), x.dtype)
    for where, block in zip(whole, blocks, strict=True):
        where[:, : block.shape[1]] = block
    return whole


def test_padding(launch: Callable[..., dict[str, Array]]) -> None:
    x = numbers((3, 5))
    expected = np.zeros((3, 8), np.float32)
    expected[:, :5] = x
    body = "%y = nccl.pad %x dim 1 to %n : tensor<?x?xf32> -> tensor<?x?xf32>"
    inputs = {"x": x, "n": np.int64(8)}
    found = launch(body, inputs, {"y": "y"}, {"y": expected}, types={"n": "index"})
    assert np.array_equal(found["y"], expected)


@pytest.mark.parametrize("bounds", [[0, 3, 3, 700, 1000], [2, 2, 900], [0, 1000], [5]])
@pytest.mark.parametrize("start", [0, 4, 101])
def test_segments_are_spread(
    launch: Callable[..., dict[str, Array]], bounds: list[int], start: int
) -> None:
    values, size = numbers(len(bounds) - 1, seed=3), 513
    expected = segment_broadcast(values, np.array(bounds), start, size)
    body = """
    %y = comp.segment_broadcast_block %v, %o at %start size [%n] : tensor<?xf32>, tensor<?xi64> -> tensor<?xf32>
    """
    inputs = {"v": values, "o": np.array(bounds), "start": np.int64(start), "n": np.int64(size)}
    types = {"start": "index", "n": "index"}
    found = launch(body, inputs, {"y": "y"}, {"y": expected}, types=types)
    assert np.array_equal(found["y"], expected)


@pytest.mark.parametrize("shape", [(33, 40), (64, 31), (1, 70), (70, 1)])
def test_transposes_of_two(same: Same, shape: tuple[int, int]) -> None:
    body = """
    %t = comp.transpose %x perm [1, 0] : tensor<?x?xf32> -> tensor<?x?xf32>
    %u = comp.transpose %w perm [1, 0] : tensor<?x?xf32> -> tensor<?x?xf32>
    %b = comp.broadcast %r dims [0] like %t : tensor<?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
    %a = arith.addf %t, %b : tensor<?x?xf32>
    %y = arith.mulf %a, %u : tensor<?x?xf32>
    """
    inputs = {"x": numbers(shape), "w": numbers(shape, seed=1), "r": numbers(shape[1], seed=2)}
    same(body, inputs, {"y": "tensor<?x?xf32>"})


def test_constants_and_tensors_of_one_element(same: Same) -> None:
    body = """
    %two = arith.constant dense<2.0> : tensor<f32>
    %y = arith.mulf %x, %two : tensor<f32>
    """
    same(body, {"x": numbers(())}, {"y": "tensor<f32>"})
    body = """
    %two = arith.constant dense<2> : tensor<4x3xi32>
    %b = comp.broadcast %r dims [1] : tensor<1xi32> -> tensor<4x1xi32>
    %c = comp.reshape %b [a, b] -> [(a b)] : tensor<4x1xi32> -> tensor<4xi32>
    %d = comp.broadcast %c dims [0] : tensor<4xi32> -> tensor<4x3xi32>
    %y = arith.muli %d, %two : tensor<4x3xi32>
    """
    types = {"r": "tensor<1xi32>"}
    same(body, {"r": numbers(1, "i32")}, {"y": "tensor<4x3xi32>"}, types=types)


@pytest.mark.parametrize("shape", ["", "1x"])
def test_one_element_in_place(same: Same, shape: str) -> None:
    """One thread loads what it overwrites, and the others do not."""
    type = f"tensor<{shape}f32>"
    x = np.full((1,) if shape else (), 2, np.float32)
    same(f"%y = math.sqrt %x : {type}", {"x": x}, {"y": type}, into={"y": "x"}, types={"x": type})
