"""Operations that send nothing, whole and sliced, against NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from coconet_ir.sim.elements import BF16, ELEMENTS, F16, F32, F64, round_to, same_bits
from coconet_ir.sim.philox import dropout

Array = npt.NDArray[Any]
Outputs = Callable[..., dict[str, Array]]

SHARED = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
RANKS = [1, 2, 3, 5, 8]


def _random(*shape: int, seed: int = 0, dtype: Any = F32) -> Array:
    rng = np.random.default_rng([seed, *shape])
    return round_to(np.asarray(rng.standard_normal(shape)), np.dtype(dtype))


# Computation: slicing what is parallel changes no bit


PARALLEL = [
    # the operation, names of the dimensions of operands and result, and those that are parallel
    ("comp.matmul {x}, {y}", ["mk", "kn"], "mn", ["m", "n"]),
    ("comp.matmul {x}, {y}", ["bmk", "bkn"], "bmn", ["b", "m", "n"]),
    ("comp.matmul {x}, {y}", ["abmk", "kn"], "abmn", ["a", "m"]),
    ("comp.conv2d {x}, {y} {{strides = array<i64: 2, 1>, padding = array<i64: 1, 0>}}",
     ["nhwc", "33cf"], "nhwf", ["n", "f"]),
    ("comp.reduce sum {x} dims [0, 2]", ["abcd"], "bd", ["b", "d"]),
    ("comp.reduce max {x} dims [1]", ["ab"], "a", ["a"]),
    ("comp.norm {x} dims [1]", ["ab"], "a", ["a"]),
    ("comp.mean {x} dims [0]", ["ab"], "b", ["b"]),
    ("comp.softmax {x} dim 1", ["abc"], "abc", ["a", "c"]),
    ("comp.rms_norm {x}, {y} {{eps = 1.0e-6 : f32}}", ["abn", "n"], "abn", ["a", "b"]),
    ("comp.transpose {x} perm [2, 0, 1]", ["abc"], "cab", ["a", "b", "c"]),
    ("math.exp {x}", ["ab"], "ab", ["a", "b"]),
    ("math.powf {x}, {y}", ["ab", "ab"], "ab", ["a", "b"]),
]  # fmt: skip
EXTENTS = {"3": 3, "h": 5, "w": 6}


def _tensor(names: str, element: str, cut: str | None = None) -> str:
    extents = "x".join(n if n.isdigit() else "?" for n in names)
    layout = (
        ""
        if cut is None or cut not in names
        else (f", #layout.dist<dp = sliced({names.index(cut)})>")
    )
    return f"tensor<{extents}x{element}{layout}>"


def _both(operation: str, shapes: list[str], result: str, name: str, element: str) -> str:
    """The operation on whole operands, and on operands sliced along `name`, gathered again."""
    same_type = operation.split()[0] in {"comp.softmax", "math.exp", "math.powf"}
    single = len(shapes) == 1

    def typed(values: list[str], cut: str | None) -> str:
        types = [_tensor(shape, element, cut) for shape in shapes]
        out = _tensor(result, element, cut)
        text = operation.format(x=values[0], y=values[-1])
        if same_type:
            return f"{text} : {out}"
        return f"{text} : {types[0] if single else '(' + ', '.join(types) + ')'} -> {out}"

    lines: list[str] = []
    sliced: list[str] = []
    for i, shape in enumerate(shapes):
        if name in shape:
            lines.append(
                f"%s{i} = layout.slice %a{i} over [dp] dim {shape.index(name)} : "
                f"{_tensor(shape, element)} -> {_tensor(shape, element, name)}"
            )
        sliced.append(f"%s{i}" if name in shape else f"%a{i}")
    arguments = ", ".join(f"%a{i}: {_tensor(s, element)}" for i, s in enumerate(shapes))
    whole, part = _tensor(result, element), _tensor(result, element, name)
    return "\n".join(
        [
            "layout.mesh @mesh(dp = 2)",
            f"func.func @f({arguments}) -> ({whole}, {part}) {{",
            f"%whole = {typed([f'%a{i}' for i in range(len(shapes))], None)}",
            *lines,
            f"%part = {typed(sliced, name)}",
            f"func.return %whole, %part : {whole}, {part}",
            "}",
        ]
    )


@SHARED
@given(st.data())
@pytest.mark.parametrize(
    ("operation", "shapes", "result", "names"), PARALLEL, ids=[p[0].split()[0] for p in PARALLEL]
)
def test_slicing_what_is_parallel_changes_no_bit(
    outputs: Outputs,
    operation: str,
    shapes: list[str],
    result: str,
    names: list[str],
    data: st.DataObject,
) -> None:
    name = data.draw(st.sampled_from(names))
    element = data.draw(st.sampled_from(["f64", "f32", "f16", "bf16"]))
    extents = {n: data.draw(st.sampled_from([0, 1, 2, 5, 13])) for n in "".join(shapes)} | EXTENTS
    arrays = {
        f"a{i}": np.abs(_random(*(extents[n] for n in shape), seed=i, dtype=ELEMENTS[element]))
        for i, shape in enumerate(shapes)
    }
    ranks = data.draw(st.sampled_from(RANKS))
    got = outputs(_both(operation, shapes, result, name, element), {"dp": ranks}, **arrays)
    assert same_bits(got["result0"], got["result1"])


@pytest.mark.parametrize("element", ["f64", "f32", "f16", "bf16"])
def test_composites_against_numpy(outputs: Outputs, element: str) -> None:
    dtype, eps = (
        ELEMENTS[element],
        {"f64": 1e-12, "f32": 1e-5, "f16": 2e-3, "bf16": 1.6e-2}[element],
    )
    x, w = _random(4, 6, 11, seed=8, dtype=dtype) * 3, _random(11, seed=9, dtype=dtype)
    wide, weight = x.astype(F64), w.astype(F64)
    t = f"tensor<4x6x11x{element}>"
    text = f"""func.func @f(%x: {t}, %w: tensor<11x{element}>) -> ({t}, {t}, tensor<6x{element}>,
        tensor<{element}>, tensor<4x11x{element}>) {{
      %s = comp.softmax %x dim 1 : {t}
      %r = comp.rms_norm %x, %w {{eps = 1.0e-3 : f32}} : ({t}, tensor<11x{element}>) -> {t}
      %n = comp.norm %x dims [0, 2] : {t} -> tensor<6x{element}>
      %a = comp.norm %x : {t} -> tensor<{element}>
      %m = comp.mean %x dims [1] : {t} -> tensor<4x11x{element}>
      func.return %s, %r, %n, %a, %m : {t}, {t}, tensor<6x{element}>, tensor<{element}>,
        tensor<4x11x{element}>
    }}"""
    got = outputs(text, {}, x=x, w=w)
    power = np.exp(wide - wide.max(1, keepdims=True))
    want = {
        "result0": power / power.sum(1, keepdims=True),
        "result1": wide
        / np.sqrt((wide**2).mean(-1, keepdims=True) + float(np.float32(1e-3)))
        * weight,
        "result2": np.sqrt((wide**2).sum((0, 2))),
        "result3": np.sqrt((wide**2).sum()),
        "result4": wide.mean(1),
    }
    for name, value in want.items():
        assert got[name].dtype == dtype
        np.testing.assert_allclose(got[name].astype(F64), value, rtol=eps, atol=eps)


def test_of_nothing(outputs: Outputs) -> None:
    got = outputs(
        """func.func @f(%x: tensor<?x3xf16>, %y: tensor<2x?xf16>) -> (tensor<3xf16>, tensor<f16>,
            tensor<f16>, tensor<2x?xf16>) {
          %a = comp.mean %x dims [0] : tensor<?x3xf16> -> tensor<3xf16>
          %b = comp.norm %x : tensor<?x3xf16> -> tensor<f16>
          %c = comp.mean %x : tensor<?x3xf16> -> tensor<f16>
          %d = comp.softmax %y dim 1 : tensor<2x?xf16>
          func.return %a, %b, %c, %d : tensor<3xf16>, tensor<f16>, tensor<f16>, tensor<2x?xf16>
        }""",
        {},
        x=np.zeros((0, 3), F16),
        y=np.zeros((2, 0), F16),
    )
    assert got["result0"].tolist() == [0, 0, 0]
    assert got["result1"] == got["result2"] == 0
    assert got["result3"].shape == (2, 0)


def test_conv2d_sizes(outputs: Outputs) -> None:
    text = """func.func @f(%x: tensor<?x?x?x?xf32>, %w: tensor<?x?x?x?xf32>) -> tensor<?x?x?x?xf32> {
      %y = comp.conv2d %x, %w {strides = array<i64: 2, 2>} : (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>)
        -> tensor<?x?x?x?xf32>
      func.return %y : tensor<?x?x?x?xf32>
    }"""
    x, w = _random(2, 7, 5, 3, seed=1), _random(3, 2, 3, 4, seed=2)
    got = outputs(text, {}, x=x, w=w)["result0"]
    assert got.shape == (2, 3, 2, 4)
    windows = np.lib.stride_tricks.sliding_window_view(x.astype(F64), (3, 2), (1, 2))[:, ::2, ::2]
    want = np.einsum("nijcrs,rscf->nijf", windows, w.astype(F64))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("ranks", RANKS)
def test_dropout_of_every_layout(outputs: Outputs, ranks: int) -> None:
    x = _random(9, 10, seed=10)
    got = outputs(
        """layout.mesh @mesh(dp = 2, tp = 2)
        !x = tensor<?x?xf32>
        !l = tensor<?x?xf32, #layout.dist<dp = local>>
        !s = tensor<?x?xf32, #layout.dist<dp = sliced(0)>>
        !c = tensor<?x?xf32, #layout.dist<dp = local, tp = sliced(1)>>
        func.func @f(%x: !x, %seed: i64) -> (!x, !s, !l, !c) {
          %s = layout.slice %x over [dp] dim 0 : !x -> !s
          %l = layout.relax %x over [dp] : !x -> !l
          %c = layout.slice %l over [tp] dim 1 : !l -> !c
          %a = comp.dropout %x, %seed {p = 0.25 : f32, id = 7 : i64} : !x
          %b = comp.dropout %s, %seed {p = 0.25 : f32, id = 8 : i64} : !s
          %d = comp.dropout %l, %seed {p = 0.25 : f32, id = 9 : i64} : !l
          %e = comp.dropout %c, %seed {p = 0.25 : f32, id = 10 : i64} : !c
          func.return %a, %b, %d, %e : !x, !s, !l, !c
        }""",
        {"dp": ranks},
        x=x,
        seed=1234,
    )

    def want(id: int, coordinate: int) -> Array:
        return dropout(x, 0.25, 1234, id, start=(0, 0), shape=x.shape, coordinate=coordinate)

    assert same_bits(got["result0"], want(7, 0))
    assert same_bits(got["result1"], want(8, 0))
    assert same_bits(got["result2"], np.stack([want(9, rank) for rank in range(ranks)]))
    assert same_bits(got["result3"], np.stack([want(10, rank) for rank in range(ranks)]))


@pytest.mark.parametrize("ranks", RANKS)
def test_shapes_and_scalars(outputs: Outputs, ranks: int) -> None:
    x, b = _random(5, 12, seed=11), _random(12, seed=12)
    got = outputs(
        """layout.mesh @mesh(tp = 2)
        !x = tensor<?x?xf32>
        !s = tensor<?x?xf32, #layout.dist<tp = sliced(1, 4)>>
        !h = tensor<?x?x4xf32, #layout.dist<tp = sliced(1)>>
        !t = tensor<?x?x4xf32, #layout.dist<tp = sliced(0)>>
        func.func @f(%x: !x, %b: tensor<?xf32>, %k: f32) -> (!s, !h, !t, !s, !s, index, f32, index) {
          %c1 = arith.constant 1 : index
          %s = layout.slice %x over [tp] dim 1 {unit = 4 : i64} : !x -> !s
          %h = comp.reshape %s [a, (h d)] -> [a, h, d] : !s -> !h
          %t = comp.transpose %h perm [1, 0, 2] : !h -> !t
          %bt = comp.broadcast %b dims [1] like %x : tensor<?xf32>, !x -> !x
          %bs = layout.slice %bt over [tp] dim 1 {unit = 4 : i64} : !x -> !s
          %k2 = comp.scale %s by %k : !s
          %r = coll.all_gather %s over [tp] : !s -> !x
          %n = tensor.dim %s, %c1 : !s
          %e = tensor.extract %x[%c1, %c1] : !x
          %ranks = layout.axis_size over [tp] : index
          func.return %s, %h, %t, %bs, %k2, %n, %e, %ranks : !s, !h, !t, !s, !s, index, f32, index
        }""",
        {"tp": ranks},
        x=x,
        b=b,
        k=0.1,
    )
    assert same_bits(got["result0"], x)
    assert same_bits(got["result1"], x.reshape(5, 3, 4))
    assert same_bits(got["result2"], x.reshape(5, 3, 4).transpose(1, 0, 2))
    assert same_bits(got["result3"], np.broadcast_to(b, (5, 12)))
    assert same_bits(got["result4"], x * np.float32(0.1))
    assert (int(got["result5"]), float(got["result6"]), int(got["result7"])) == (12, x[1, 1], ranks)


@pytest.mark.parametrize("ranks", RANKS)
def test_segments(outputs: Outputs, ranks: int) -> None:
    x, offsets = _random(20, seed=13), np.array([0, 3, 3, 11, 20])
    got = outputs(
        """layout.mesh @mesh(dp = 2)
        !x = tensor<?xf32>
        !s = tensor<?xf32, #layout.dist<dp = sliced(0)>>
        !p = tensor<?xf32, #layout.dist<dp = partial(sum)>>
        func.func @f(%x: !x, %o: tensor<?xi64>) -> (!x, !s) {
          %s = layout.slice %x over [dp] dim 0 : !x -> !s
          %p = comp.segment_reduce sum %s, %o : (!s, tensor<?xi64>) -> !p
          %r = coll.all_reduce sum %p over [dp] : !p -> !x
          %b = comp.segment_broadcast %r, %o like %s : (!x, tensor<?xi64>, !s) -> !s
          func.return %r, %b : !x, !s
        }""",
        {"dp": ranks},
        x=x,
        o=offsets,
    )
    sums = [x[a:b].astype(F64).sum() for a, b in itertools.pairwise(offsets)]
    np.testing.assert_allclose(got["result0"], sums, rtol=1e-5, atol=1e-6)
    assert same_bits(got["result1"], np.repeat(got["result0"], np.diff(offsets)))


CONSTANTS = """func.func @f() -> (tensor<2x2xf16>, tensor<3xbf16>, tensor<2xf8E4M3FN>, tensor<2xi8>,
    tensor<3xi1>, tensor<2xindex>, f64, i1) {
  %a = arith.constant dense<[[1.5, -2.0], [0.1, 65504.0]]> : tensor<2x2xf16>
  %b = arith.constant dense<0.1> : tensor<3xbf16>
  %c = arith.constant dense<[0.5, 3.0]> : tensor<2xf8E4M3FN>
  %d = arith.constant dense<[-1, 127]> : tensor<2xi8>
  %e = arith.constant dense<[true, false, true]> : tensor<3xi1>
  %g = arith.constant dense<[5, -1]> : tensor<2xindex>
  %h = arith.constant 2.5e-3 : f64
  %i = arith.constant true
  func.return %a, %b, %c, %d, %e, %g, %h, %i : tensor<2x2xf16>, tensor<3xbf16>, tensor<2xf8E4M3FN>,
    tensor<2xi8>, tensor<3xi1>, tensor<2xindex>, f64, i1
}"""


def test_constants(outputs: Outputs) -> None:
    got = outputs(CONSTANTS, {})
    assert same_bits(got["result0"], np.array([[1.5, -2.0], [0.1, 65504]], F16))
    assert same_bits(got["result1"], np.full(3, 0.1, BF16))
    assert got["result2"].astype(F32).tolist() == [0.5, 3.0]
    assert got["result3"].tolist() == [-1, 127]
    assert got["result4"].tolist() == [True, False, True]
    assert got["result5"].tolist() == [5, -1]
    assert float(got["result6"]) == 2.5e-3
    assert bool(got["result7"]) is True


def test_sliced_constants(outputs: Outputs) -> None:
    got = outputs(
        """layout.mesh @mesh(dp = 3)
        !s = tensor<4xi32, #layout.dist<dp = sliced(0)>>
        func.func @f(%k: i32) -> (!s, !s) {
          %a = arith.constant dense<[1, 2, 3, 4]> : !s
          %b = tensor.splat %k : !s
          func.return %a, %b : !s, !s
        }""",
        {},
        k=9,
    )
    assert (got["result0"].tolist(), got["result1"].tolist()) == ([1, 2, 3, 4], [9] * 4)


@pytest.mark.parametrize("width", [8, 32, 64])
def test_extended_arithmetic(outputs: Outputs, width: int) -> None:
    rng, t = np.random.default_rng(width), f"tensor<50xi{width}>"
    info = np.iinfo(f"i{width // 8}")
    x, y = (rng.integers(info.min, info.max, 50, f"i{width // 8}", endpoint=True) for _ in "xy")
    got = outputs(
        f"""func.func @f(%x: {t}, %y: {t}) -> ({t}, tensor<50xi1>, {t}, {t}, {t}, {t}) {{
          %s, %o = arith.addui_extended %x, %y : {t}, tensor<50xi1>
          %ul, %uh = arith.mului_extended %x, %y : {t}
          %sl, %sh = arith.mulsi_extended %x, %y : {t}
          func.return %s, %o, %ul, %uh, %sl, %sh : {t}, tensor<50xi1>, {t}, {t}, {t}, {t}
        }}""",
        {},
        x=x,
        y=y,
    )
    mask = (1 << width) - 1
    for i, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        ua, ub = a & mask, b & mask
        assert int(got["result0"][i]) & mask == (ua + ub) & mask
        assert bool(got["result1"][i]) == (ua + ub > mask)
        assert int(got["result2"][i]) & mask == (ua * ub) & mask
        assert int(got["result3"][i]) & mask == (ua * ub) >> width
        assert int(got["result4"][i]) & mask == (a * b) & mask
        assert int(got["result5"][i]) & mask == ((a * b) >> width) & mask
