"""Programs run on simulated ranks, against NumPy computations on the whole tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from coconet_ir.analysis.dist import Kind
from coconet_ir.sim.elements import BF16, F32, F64, round_to, same_bits

Array = npt.NDArray[Any]
Outputs = Callable[..., dict[str, Array]]

RANKS = [1, 2, 3, 5, 8]
SIZES = [0, 1, 7, 24]


def _random(*shape: int, seed: int = 0, dtype: Any = F32) -> Array:
    rng = np.random.default_rng([seed, *shape])
    return round_to(np.asarray(rng.standard_normal(shape)), np.dtype(dtype))


# Collectives


def _reduced(x: Array, kind: str) -> Array:
    """The reduction over the first dimension in f64."""
    wide = x.astype(F64)
    table = {"sum": wide.sum(0), "avg": wide.mean(0), "prod": wide.prod(0)}
    return table[kind] if kind in table else getattr(wide, kind)(0)


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("size", SIZES)
def test_all_reduce_and_its_split(outputs: Outputs, kind: str, ranks: int, size: int) -> None:
    x = _random(ranks, size, 3, seed=1)
    whole = outputs(
        f"""layout.mesh @mesh(dp = 2)
        !x = tensor<?x3xf32, #layout.dist<dp = local>>
        !s = tensor<?x3xf32, #layout.dist<dp = sliced(0)>>
        !y = tensor<?x3xf32>
        func.func @f(%x: !x) -> (!y, !y, !s) {{
          %a = coll.all_reduce {kind} %x over [dp] : !x -> !y
          %s = coll.reduce_scatter {kind} %x over [dp] dim 0 : !x -> !s
          %g = coll.all_gather %s over [dp] : !s -> !y
          func.return %a, %g, %s : !y, !y, !s
        }}""",
        {"dp": ranks},
        x=x,
    )
    np.testing.assert_allclose(whole["result0"], _reduced(x, kind), rtol=1e-5, atol=1e-6)
    assert same_bits(whole["result0"], whole["result1"])
    assert same_bits(whole["result0"], whole["result2"])


@pytest.mark.parametrize("ranks", RANKS)
def test_sum_is_in_rank_order_and_rounded_where_it_says(outputs: Outputs, ranks: int) -> None:
    x = _random(ranks, 50, seed=2)
    got = outputs(
        """layout.mesh @mesh(dp = 2)
        !x = tensor<?xf32, #layout.dist<dp = local>>
        func.func @f(%x: !x) -> (tensor<?xf32>, tensor<?xf64>) {
          %a = coll.all_reduce sum %x over [dp] {wire = bf16, accumulate = f32} : !x -> tensor<?xf32>
          %b = coll.all_reduce sum %x over [dp] {accumulate = f64} : !x -> tensor<?xf64>
          func.return %a, %b : tensor<?xf32>, tensor<?xf64>
        }""",
        {"dp": ranks},
        x=x,
    )
    sent = round_to(x, BF16).astype(F32)
    total = sent[0]
    for row in sent[1:]:
        total = total + row
    assert same_bits(got["result0"], total)
    wide = x[0].astype(F64)
    for row in x[1:]:
        wide = wide + row.astype(F64)
    assert same_bits(got["result1"], wide)


TWO_AXES = """layout.mesh @mesh(a = 2, b = 3)
!local = tensor<?xf32, #layout.dist<a = local, b = local>>
!outer = tensor<?xf32, #layout.dist<b = local>>
!ab = tensor<?xf32, #layout.dist<[a, b] = sliced(0)>>
!ba = tensor<?xf32, #layout.dist<[b, a] = sliced(0)>>
!a = tensor<?xf32, #layout.dist<a = sliced(0)>>
!all = tensor<?xf32>
"""


@pytest.mark.parametrize("mesh", [(1, 1), (2, 3), (3, 2), (5, 2)])
@pytest.mark.parametrize("size", SIZES)
def test_two_axes(outputs: Outputs, mesh: tuple[int, int], size: int) -> None:
    x = _random(*mesh, size, seed=3)
    got = outputs(
        TWO_AXES
        + """func.func @f(%x: !local, %w: !all) -> (!all, !outer, !ab, !ba, !all) {
          %sum = coll.all_reduce sum %x over [b, a] : !local -> !all
          %one = coll.all_reduce max %x over [a] : !local -> !outer
          %ab = layout.slice %w over [a, b] dim 0 : !all -> !ab
          %ba = coll.reduce_scatter min %x over [b, a] dim 0 : !local -> !ba
          %half = coll.all_gather %ab over [b] : !ab -> !a
          %back = coll.all_gather %half over [a] : !a -> !all
          func.return %sum, %one, %ab, %ba, %back : !all, !outer, !ab, !ba, !all
        }""",
        {"a": mesh[0], "b": mesh[1]},
        x=x,
        w=x[0, 0],
    )
    np.testing.assert_allclose(got["result0"], x.sum((0, 1)), rtol=1e-5, atol=1e-5)
    assert same_bits(got["result1"], x.max(0))
    assert same_bits(got["result2"], x[0, 0])
    assert same_bits(got["result3"], x.min((0, 1)))
    assert same_bits(got["result4"], x[0, 0])


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("shape", [(0, 4), (1, 1), (7, 10), (16, 3)])
def test_all_to_all(outputs: Outputs, ranks: int, shape: tuple[int, int]) -> None:
    x = _random(*shape, seed=4)
    got = outputs(
        """layout.mesh @mesh(ep = 2)
        !rows = tensor<?x?xf32, #layout.dist<ep = sliced(0)>>
        !columns = tensor<?x?xf32, #layout.dist<ep = sliced(1, 2)>>
        func.func @f(%x: !rows) -> (!columns, !rows) {
          %y = coll.all_to_all %x over [ep] from 0 to 1 {unit = 2 : i64} : !rows -> !columns
          %z = coll.all_to_all %y over [ep] from 1 to 0 : !columns -> !rows
          func.return %y, %z : !columns, !rows
        }""",
        {"ep": ranks},
        x=x,
    )
    assert same_bits(got["result0"], x)
    assert same_bits(got["result1"], x)


def test_permutations(outputs: Outputs) -> None:
    x = _random(4, 3, 6, seed=5)
    got = outputs(
        """layout.mesh @mesh(pp = 4, tp = 2)
        !x = tensor<3x6xf32, #layout.dist<pp = local, tp = sliced(1)>>
        func.func @f(%x: !x) -> (!x, !x, !x) {
          %a = coll.permute %x over [pp] shift 1 : !x -> !x
          %b = coll.permute %x over [pp] shift -1 : !x -> !x
          %c = coll.permute %x over [pp] pairs [[0, 1], [1, 3]] : !x -> !x
          func.return %a, %b, %c : !x, !x, !x
        }""",
        {},
        x=x,
    )
    assert same_bits(got["result0"], np.roll(x, 1, 0))
    assert same_bits(got["result1"], np.roll(x, -1, 0))
    assert same_bits(
        got["result2"], np.stack([np.zeros_like(x[0]), x[0], np.zeros_like(x[0]), x[1]])
    )


@pytest.mark.parametrize("root", [0, 2])
def test_roots(outputs: Outputs, root: int) -> None:
    x, y = _random(3, 2, 5, seed=6), _random(5, seed=7)
    got = outputs(
        f"""layout.mesh @mesh(dp = 3, tp = 2)
        !x = tensor<5xf32, #layout.dist<dp = local, tp = local>>
        !r = tensor<5xf32, #layout.dist<dp = root({root}), tp = local>>
        !w = tensor<5xf32, #layout.dist<tp = local>>
        !o = tensor<5xf32, #layout.dist<dp = root({root})>>
        !s = tensor<5xf32, #layout.dist<dp = root({root}), tp = sliced(0)>>
        func.func @f(%x: !x, %y: tensor<5xf32>, %o: !o) -> (!r, !w, !s, tensor<5xf32>) {{
          %r = coll.reduce sum %x over [dp] root {root} : !x -> !r
          %yr = layout.relax %y over [dp] root {root} : tensor<5xf32> -> !o
          %d = arith.divf %yr, %o : !o
          %t = layout.relax %d over [tp] : !o -> !r
          %m = arith.mulf %r, %t : !r
          %b = coll.broadcast %m over [dp] root {root} : !r -> !w
          %s = coll.reduce_scatter sum %m over [tp] dim 0 : !r -> !s
          %g = coll.all_gather %s over [tp] : !s -> !o
          %a = coll.broadcast %g over [dp] root {root} : !o -> tensor<5xf32>
          func.return %m, %b, %s, %a : !r, !w, !s, tensor<5xf32>
        }}""",
        {},
        x=x,
        y=y,
        o=y * 2,
    )
    want = x.sum(0) * np.float32(0.5)
    np.testing.assert_allclose(got["result0"], want, rtol=1e-5, atol=1e-6)
    assert same_bits(got["result0"], got["result1"])
    np.testing.assert_allclose(got["result2"], want.sum(0), rtol=1e-5, atol=1e-6)
    assert same_bits(got["result2"], got["result3"])


def test_what_is_undefined_shows(outputs: Outputs) -> None:
    """A local broadcast takes the root's value; integers off the root divide nothing by zero."""
    got = outputs(
        """layout.mesh @mesh(dp = 3)
        !r = tensor<2xi32, #layout.dist<dp = root(1)>>
        func.func @f(%x: !r, %z: tensor<2xi32>) -> tensor<2xi32> {
          %zr = layout.relax %z over [dp] root 1 : tensor<2xi32> -> !r
          %sub = arith.subi %x, %zr : !r
          %div = arith.divsi %zr, %sub : !r
          %b = coll.broadcast %div over [dp] root 1 : !r -> tensor<2xi32>
          func.return %b : tensor<2xi32>
        }""",
        {},
        x=np.array([3, 4], np.int32),
        z=np.array([2, 3], np.int32),
    )
    assert got["result0"].tolist() == [2, 3]


# Structure


def test_regions_and_calls_mean_their_bodies(outputs: Outputs) -> None:
    text = """layout.mesh @mesh(dp = 4)
    !x = tensor<?xf32, #layout.dist<dp = local>>
    !s = tensor<?xf32, #layout.dist<dp = sliced(0)>>
    !w = tensor<?xf32>
    func.func @f(%x: !x, %w: !w) -> !w {
      %r = coll.overlap {
        %rs = coll.reduce_scatter avg %x over [dp] dim 0 : !x -> !s
        %f = coll.fused over [dp] {
          %ws = layout.slice %w over [dp] dim 0 : !w -> !s
          %n = arith.addf %rs, %ws : !s
          %ag = coll.all_gather %n over [dp] : !s -> !w
          %u = comp.update %w, %ag : !w
          coll.yield %ag : !w
        }
        coll.yield %f : !w
      } {dim = 0 : i64, chunks = 2 : i64}
      %g = coll.group over [dp] {
        %a = coll.all_reduce sum %x over [dp] : !x -> !w
        coll.yield %a : !w
      }
      %sum = arith.addf %r, %g : !w
      func.return %sum : !w
    }"""
    x, w = _random(4, 10, seed=14), _random(10, seed=15)
    got = outputs(text, {}, x=x, w=w)
    np.testing.assert_allclose(got["w"], x.mean(0) + w, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(got["result0"], got["w"] + x.sum(0), rtol=1e-5, atol=1e-6)


def test_exact_is_f64_throughout(outputs: Outputs) -> None:
    text = """layout.mesh @mesh(dp = 3)
    !x = tensor<?xbf16, #layout.dist<dp = local>>
    func.func @f(%x: !x) -> (tensor<?xf32>, tensor<f32>) {
      %a = coll.all_reduce sum %x over [dp] {wire = f8E4M3FN, accumulate = bf16} : !x -> tensor<?xbf16>
      %b = arith.extf %a : tensor<?xbf16> to tensor<?xf32>
      %c = math.exp %b : tensor<?xf32>
      %n = comp.norm %c : tensor<?xf32> -> tensor<f32>
      func.return %c, %n : tensor<?xf32>, tensor<f32>
    }"""
    x = _random(3, 20, seed=16, dtype=BF16)
    got = outputs(text, {}, exact=True, x=x)
    want = np.exp(x.astype(F64).sum(0))
    assert got["result0"].dtype == F64
    np.testing.assert_allclose(got["result0"], want, rtol=1e-14)
    np.testing.assert_allclose(got["result1"], math.sqrt((want**2).sum()), rtol=1e-14)
    wide = x.astype(F64) + 1e-9  # no bf16: only the exact mode takes it
    np.testing.assert_allclose(
        outputs(text, {}, exact=True, x=wide)["result0"], np.exp(wide.sum(0)), rtol=1e-14
    )
