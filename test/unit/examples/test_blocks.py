"""Each model block of examples/, simulated, against a float64 computation written from the block's definition.

The exact run must agree within 1e-12 of the output's largest magnitude. The plain run rounds to 16 bits: it must stay
within `ROUNDINGS` units in the last place of the largest sum of magnitudes that a reference adds up (its `reach`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

Array: TypeAlias = npt.NDArray[Any]
Mesh: TypeAlias = dict[str, int]
Simulate: TypeAlias = Callable[[str, Mesh, Mapping[str, Array], bool], Mapping[str, Array]]

DTYPE = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
UNIT = {"f16": 2.0**-11, "bf16": 2.0**-8}
ROUNDINGS = 6
P = float(np.float32(0.1))
SEED = 0x1234_5678_9ABC_DEF0

over_ranks = pytest.mark.parametrize("ranks", [1, 2, 3, 5, 7, 8])


def philox(counter: tuple[int, int, int, int], key: tuple[int, int]) -> tuple[int, int, int, int]:
    """Philox4x32-10 of one counter (Salmon et al., SC 2011)."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        left, right = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1 = (right >> 32) ^ c1 ^ k0, right & 0xFFFFFFFF
        c2, c3 = (left >> 32) ^ c3 ^ k1, left & 0xFFFFFFFF
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1, c2, c3


@pytest.mark.parametrize(
    ("word", "want"),
    [
        (0x00000000, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        (0xFFFFFFFF, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    ],
)
def test_philox_gives_the_published_answers(word: int, want: tuple[int, ...]) -> None:
    assert philox((word, word, word, word), (word, word)) == want


def dropout(x: Array, id: int, coordinate: int = 0) -> Array:
    """Drop each element with probability 0.1 by its row-major index, scale the others."""
    drawn: list[int] = []
    for block in range(-(-x.size // 4)):
        counter = (block & 0xFFFFFFFF, block >> 32, id, coordinate)
        drawn += philox(counter, (SEED & 0xFFFFFFFF, SEED >> 32))
    kept = np.array([u >= math.floor(P * 2**32) for u in drawn[: x.size]], bool)
    return np.where(kept.reshape(x.shape), x * float(np.float32(1 / (1 - P))), 0.0)


@dataclass(frozen=True)
class Draw:
    """Rank-distinct random inputs, each rounded to its element type."""

    rng: np.random.Generator

    @staticmethod
    def of(*numbers: int) -> Draw:
        return Draw(np.random.default_rng(numbers))

    def normal(self, kind: str, *shape: int) -> Array:
        return self.rng.standard_normal(shape).astype(DTYPE[kind])


def wide(inputs: Mapping[str, Array], names: str) -> list[Array]:
    return [inputs[name].astype(np.float64) for name in names.split()]


def largest(*terms: Array) -> float:
    """The largest magnitude that the sum of the terms could reach."""
    return sum(float(abs(term).max(initial=0.0)) for term in terms)


def check(
    simulate: Simulate,
    name: str,
    mesh: Mesh,
    inputs: dict[str, Array],
    expected: Mapping[str, tuple[Array, float]],
    kind: str,
) -> None:
    """Both runs of an example give the outputs expected (value and reach) and no others."""
    plain = simulate(name, mesh, inputs, False)
    exact = simulate(name, mesh, inputs, True)
    assert plain.keys() == exact.keys() == expected.keys()
    for output, (want, reach) in expected.items():
        assert plain[output].shape == exact[output].shape == want.shape, output
        far = abs(plain[output].astype(np.float64) - want).max(initial=0.0)
        assert far <= ROUNDINGS * UNIT[kind] * reach, (output, far, reach)
        far = abs(exact[output] - want).max(initial=0.0)
        assert far <= 1e-12 * largest(want), (output, far, "exact")


# batch, sequence, features into a matmul, features out of it
SHAPES = [
    (0, 3, 5, 2),
    (2, 0, 5, 2),
    (2, 3, 0, 5),
    (2, 3, 5, 0),
    (1, 1, 1, 1),
    (2, 7, 5, 3),
    (1, 8, 16, 8),
    (3, 5, 7, 11),
]
shapes = pytest.mark.parametrize("shape", SHAPES)


@shapes
@over_ranks
def test_attention(simulate: Simulate, ranks: int, shape: tuple[int, int, int, int]) -> None:
    b, s, k, h = shape
    draw = Draw.of(ranks, *shape)
    inputs = {
        "x": draw.normal("f16", b, s, k),
        "w": draw.normal("f16", k, h),
        "bias": draw.normal("f16", h),
        "residual": draw.normal("f16", b, s, h),
        "seed": np.asarray(SEED),
    }
    x, w, bias, residual = wide(inputs, "x w bias residual")
    y = dropout(x @ w + bias, 1) + residual
    reach = largest(abs(x) @ abs(w), bias, residual)
    check(simulate, "attention", {"tp": ranks}, inputs, {"result0": (y, reach)}, "f16")


@pytest.mark.parametrize("wrong", ["bias", "residual"])
def test_bounds_of_the_plain_run_see_an_error(simulate: Simulate, wrong: str) -> None:
    draw = Draw.of(3)
    inputs = {
        "x": draw.normal("f16", 2, 7, 5),
        "w": draw.normal("f16", 5, 3),
        "bias": draw.normal("f16", 3),
        "residual": draw.normal("f16", 2, 7, 3),
        "seed": np.asarray(SEED),
    }
    x, w, bias, residual = wide(inputs | {wrong: np.roll(inputs[wrong], 1)}, "x w bias residual")
    y = dropout(x @ w + bias, 1) + residual
    expected = {"result0": (y, largest(abs(x) @ abs(w), bias, residual))}
    with pytest.raises(AssertionError) as error:
        check(simulate, "attention", {"tp": 3}, inputs, expected, "f16")
    assert "exact" not in str(error.value)


@pytest.mark.parametrize("heads", [0, 1, 3, 8])
@pytest.mark.parametrize("shape", [(0, 3, 5), (2, 0, 5), (1, 4, 0), (1, 1, 1), (2, 5, 3)])
@over_ranks
def test_attention_full(
    simulate: Simulate, ranks: int, shape: tuple[int, int, int], heads: int
) -> None:
    b, s, e = shape
    draw = Draw.of(ranks, *shape, heads)
    inputs = {
        "x": draw.normal("bf16", b, s, e),
        "wq": draw.normal("bf16", e, heads * 64),
        "wk": (draw.normal("f32", e, heads * 64) / 16).astype(DTYPE["bf16"]),
        "wv": draw.normal("bf16", e, heads * 64),
        "wo": draw.normal("bf16", heads * 64, e),
        "bias": draw.normal("bf16", e),
        "mask": np.triu(np.full((s, s), -np.inf, np.float32), 1),
        "residual": draw.normal("bf16", b, s, e),
        "seed": np.asarray(SEED),
    }
    x, wq, wk, wv, wo, bias, mask, residual = wide(inputs, "x wq wk wv wo bias mask residual")
    probs, steep = np.zeros((b, heads, s, s)), 1.0
    for i in range(heads):
        own = slice(64 * i, 64 * (i + 1))
        q, k = x @ wq[:, own], (x @ wk[:, own]).swapaxes(1, 2)
        # Where q and k are a unit off each, a score is off by 2 of this and its exponential by that factor.
        steep = max(steep, largest(abs(q) @ abs(k) / 8))
        scores = q @ k / 8 + mask
        powers = np.exp(scores - scores.max(2, keepdims=True, initial=-np.inf))
        probs[:, i] = powers / powers.sum(2, keepdims=True)
    probs = dropout(probs, 1)
    total, reach = np.zeros((b, s, e)), np.zeros((b, s, e))
    for i in range(heads):
        own = slice(64 * i, 64 * (i + 1))
        total += probs[:, i] @ (x @ wv[:, own]) @ wo[own]
        reach += probs[:, i] @ (abs(x) @ abs(wv[:, own])) @ abs(wo[own])
    y = dropout(total + bias, 2) + residual
    reached = steep * largest(reach) + largest(bias, residual)
    expected = {"result0": (y, reached)}
    check(simulate, "attention_full", {"tp": ranks}, inputs, expected, "bf16")


@shapes
@over_ranks
def test_mlp(simulate: Simulate, ranks: int, shape: tuple[int, int, int, int]) -> None:
    b, s, e, f = shape
    draw = Draw.of(ranks, *shape)
    inputs = {
        "x": draw.normal("bf16", b, s, e),
        "w_up": draw.normal("bf16", e, f),
        "b_up": draw.normal("bf16", f),
        "w_down": draw.normal("bf16", f, e),
        "b_down": draw.normal("bf16", e),
        "residual": draw.normal("bf16", b, s, e),
        "seed": np.asarray(SEED),
    }
    x, w_up, b_up, w_down, b_down, residual = wide(inputs, "x w_up b_up w_down b_down residual")
    z = x @ w_up + b_up
    gelu = z * np.reshape([(1 + math.erf(t / math.sqrt(2))) / 2 for t in z.flat], z.shape)
    y = dropout(gelu @ w_down + b_down, 1) + residual
    reach = largest(abs(gelu) @ abs(w_down), b_down, residual)
    check(simulate, "mlp", {"tp": ranks}, inputs, {"result0": (y, reach)}, "bf16")


@pytest.mark.parametrize(
    "shape", [(0, 3, 2), (2, 0, 5), (2, 3, 0), (1, 1, 1), (2, 7, 5), (1, 8, 4)]
)
@pytest.mark.parametrize(
    ("stages", "ranks"), [(1, 1), (2, 1), (1, 3), (2, 2), (5, 1), (3, 2), (1, 7), (2, 4)]
)
def test_pipeline(simulate: Simulate, stages: int, ranks: int, shape: tuple[int, int, int]) -> None:
    b, s, h = shape
    draw = Draw.of(stages, ranks, *shape)
    inputs = {
        "in": draw.normal("f16", stages, ranks, b, s, h),
        "bias": draw.normal("f16", stages, h),
        "residual": draw.normal("f16", stages, b, s, h),
        "seed": np.asarray(SEED),
    }
    terms, bias, residual = wide(inputs, "in bias residual")
    o = [
        dropout(terms[stage].sum(0) + bias[stage], 1, stage) + residual[stage]
        for stage in range(stages)
    ]
    received = np.stack([o[stage - 1] for stage in range(stages)])
    expected = {"result0": (received, largest(abs(terms).sum(1), bias, residual))}
    check(simulate, "pipeline", {"pp": stages, "tp": ranks}, inputs, expected, "f16")


@pytest.mark.parametrize(
    "shape", [(0, 3, 2), (2, 0, 5), (2, 3, 0), (1, 1, 1), (2, 7, 5), (1, 8, 4)]
)
@over_ranks
def test_rmsnorm(simulate: Simulate, ranks: int, shape: tuple[int, int, int]) -> None:
    b, s, h = shape
    draw = Draw.of(ranks, *shape)
    inputs = {
        "in": draw.normal("bf16", ranks, b, s, h),
        "stream": draw.normal("bf16", b, s, h),
        "weight": draw.normal("bf16", h),
    }
    terms, stream, weight = wide(inputs, "in stream weight")
    stream = stream + terms.sum(0)
    root = np.sqrt((stream**2).sum(2, keepdims=True) / max(h, 1) + float(np.float32(1e-6)))
    y = stream / root * weight
    reach = largest(abs(terms).sum(0), inputs["stream"].astype(np.float64))
    expected = {
        "stream": (stream, reach),
        "result0": (y, largest(y) + reach * largest(weight / root)),
    }
    check(simulate, "rmsnorm", {"tp": ranks}, inputs, expected, "bf16")


# groups, tokens, experts, features in, hidden features
@pytest.mark.parametrize(
    "shape",
    [
        (0, 3, 2, 5, 2),
        (3, 0, 2, 5, 2),
        (3, 4, 0, 5, 2),
        (3, 4, 2, 0, 3),
        (3, 4, 2, 3, 0),
        (1, 1, 1, 1, 1),
        (8, 5, 8, 3, 4),
        (7, 11, 3, 5, 2),
        (3, 13, 7, 2, 5),
    ],
)
@over_ranks
def test_moe(simulate: Simulate, ranks: int, shape: tuple[int, int, int, int, int]) -> None:
    groups, tokens, experts, m, f = shape
    capacity = 4
    draw = Draw.of(ranks, *shape)
    inputs = {
        "x": draw.normal("bf16", groups, tokens, m),
        "dispatch": np.zeros((groups, experts * capacity, tokens), DTYPE["bf16"]),
        "combine": np.zeros((groups, tokens, experts * capacity), DTYPE["bf16"]),
        "w_up": draw.normal("bf16", experts, m, f),
        "w_down": draw.normal("bf16", experts, f, m),
    }
    x, w_up, w_down = wide(inputs, "x w_up w_down")
    y, reach = np.zeros_like(x), np.zeros_like(x)
    for g in range(groups):
        used = [0] * experts
        for s in range(tokens):
            for e in map(int, draw.rng.permutation(experts)[:2]):
                if used[e] == capacity:
                    continue
                slot = capacity * e + used[e]
                used[e] += 1
                weight = draw.rng.uniform(0.5, 1.0)
                inputs["dispatch"][g, slot, s] = 1
                inputs["combine"][g, s, slot] = weight
                weight = float(inputs["combine"][g, s, slot])
                up = x[g, s] @ w_up[e]
                hidden = up / (1 + np.exp(-up))
                y[g, s] += weight * (hidden @ w_down[e])
                reach[g, s] += weight * (abs(hidden) @ abs(w_down[e]))
    check(simulate, "moe", {"ep": ranks}, inputs, {"result0": (y, largest(reach))}, "bf16")
