"""Each optimizer of examples/, simulated, against a float64 computation written from the algorithm's definition.

A reference computes with `Number`s: a float64 value together with a bound of the error that the program may make, since
it rounds to its own types (running error analysis, first order, one rounding an operation). The plain run must stay
within that bound, the exact run within 1e-12 of the output's largest magnitude.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

Array: TypeAlias = npt.NDArray[Any]
Mesh: TypeAlias = dict[str, int]
Simulate: TypeAlias = Callable[[str, Mesh, Mapping[str, Array], bool], Mapping[str, Array]]

RANKS = (1, 2, 3, 5, 7, 8)
SIZES = (0, 1, 23, 24, 35)
DTYPE = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16}
UNIT = {"f32": 2.0**-24, "f16": 2.0**-11, "bf16": 2.0**-8}
TINY = {"f32": 2.0**-150, "f16": 2.0**-25, "bf16": 2.0**-134}


@dataclass(frozen=True)
class Number:
    """A tensor: its float64 value, and for each element a bound of the error of the program's own."""

    value: Array
    error: Array

    def to(self, kind: str) -> Number:
        """Rounded once to the element type `kind`."""
        return Number(
            self.value, self.error + (abs(self.value) + self.error) * UNIT[kind] + TINY[kind]
        )

    def __add__(self, other: Number) -> Number:
        return Number(self.value + other.value, self.error + other.error).to("f32")

    def __sub__(self, other: Number) -> Number:
        return self + Number(-other.value, other.error)

    def __mul__(self, other: Number) -> Number:
        error = abs(self.value) * other.error + self.error * (abs(other.value) + other.error)
        return Number(self.value * other.value, error).to("f32")

    def __truediv__(self, other: Number) -> Number:
        value = self.value / other.value
        error = (self.error + abs(value) * other.error) / (abs(other.value) - other.error)
        return Number(value, error).to("f32")

    def __getitem__(self, key: Any) -> Number:
        return Number(self.value[key], self.error[key])

    def __pow__(self, other: Number) -> Number:
        """Exact operands to a power, good to 4 roundings."""
        value = self.value**other.value
        return Number(value, 4 * UNIT["f32"] * abs(value))

    def sqrt(self) -> Number:
        value = np.sqrt(self.value)
        low = np.sqrt(np.maximum(self.value - self.error, 0))
        return Number(value, np.sqrt(self.value + self.error) - low).to("f32")

    def sum(self, axis: int | None = None) -> Number:
        """Added up in f32."""
        terms = self.value.size if axis is None else self.value.shape[axis]
        error = self.error.sum(axis) + terms * UNIT["f32"] * abs(self.value).sum(axis)
        return Number(self.value.sum(axis), error)


def exactly(value: Array | float) -> Number:
    """A number that the program has without error."""
    array = np.asarray(value, np.float64)
    return Number(array, np.zeros_like(array))


ONE = exactly(1.0)


def average(grad: Array, kind: str, axis: int = 0) -> Number:
    """The mean over the ranks, rounded once to `kind`."""
    return (exactly(grad).sum(axis) / exactly(float(grad.shape[axis]))).to(kind)


@dataclass(frozen=True)
class Draw:
    """Inputs: a random generator that rounds what it draws to element types."""

    rng: np.random.Generator

    @staticmethod
    def of(mesh: Mesh, *sizes: int) -> Draw:
        return Draw(np.random.default_rng([*mesh.values(), *sizes]))

    def normal(self, kind: str, *shape: int) -> Array:
        return self.rng.standard_normal(shape).astype(DTYPE[kind])

    def positive(self, kind: str, *shape: int) -> Array:
        return self.rng.uniform(0.5, 2.0, shape).astype(DTYPE[kind])


SCALARS = {
    name: np.asarray(value, np.float32)
    for name, value in {
        "lr": 0.03,
        "beta1": 0.9,
        "beta2": 0.99,
        "eps": 1e-6,
        "decay": 0.1,
        "inv_scale": 0.3,
        "step": 5.0,
        "momentum": 0.8,
        "max_norm": 1.5,
    }.items()
}
LR, B1, B2, EPS, DECAY, INV_SCALE, STEP, MOMENTUM, MAX_NORM = map(exactly, SCALARS.values())


def scalars(names: str) -> dict[str, Array]:
    return {name: SCALARS[name] for name in names.split()}


@dataclass(frozen=True)
class Adam:
    """The moments after a step and the direction that they give, bias corrected."""

    m: Number
    v: Number
    direction: Number

    @staticmethod
    def of(g: Number, m: Number, v: Number) -> Adam:
        m = B1 * m + (ONE - B1) * g
        v = B2 * v + (ONE - B2) * g * g
        bias1 = ONE - B1**STEP
        bias2 = ONE - B2**STEP
        return Adam(m, v, (m / bias1) / ((v / bias2).sqrt() + EPS))


def check(
    simulate: Simulate,
    name: str,
    mesh: Mesh,
    inputs: Mapping[str, Array],
    expected: Mapping[str, Number],
) -> None:
    """Both runs of an example give the outputs expected and no others."""
    plain = simulate(name, mesh, inputs, False)
    exact = simulate(name, mesh, inputs, True)
    assert plain.keys() == exact.keys() == expected.keys()
    for output, want in expected.items():
        assert plain[output].shape == exact[output].shape == want.value.shape, output
        far = abs(plain[output].astype(np.float64) - want.value) - 1.5 * want.error
        assert (far <= 0).all(), (output, far.max())
        largest = abs(want.value).max(initial=0.0)
        assert (abs(exact[output] - want.value) <= 1e-12 * largest).all(), (output, "exact")


flat = pytest.mark.parametrize("size", SIZES)
over_ranks = pytest.mark.parametrize("ranks", RANKS)
MESHES_OF_TWO = [(1, 1), (2, 1), (1, 3), (2, 2), (5, 1), (3, 2), (1, 7), (2, 4)]
over_two = pytest.mark.parametrize(("outer", "inner"), MESHES_OF_TWO)


@flat
@over_ranks
def test_sgd(simulate: Simulate, ranks: int, size: int) -> None:
    draw = Draw.of({"dp": ranks}, size)
    grad, w, u = draw.normal("f32", ranks, size), draw.normal("f32", size), draw.normal("f32", size)
    velocity = MOMENTUM * exactly(u) + (average(grad, "f32") + DECAY * exactly(w))
    check(
        simulate,
        "sgd",
        {"dp": ranks},
        {"grad": grad, "w": w, "u": u, **scalars("lr momentum decay")},
        {"u": velocity, "w": exactly(w) - LR * velocity},
    )


def adam_inputs(mesh: Mesh, kind: str, size: int) -> dict[str, Array]:
    """A gradient a rank of type `kind`, parameters of that type, and f32 state."""
    draw = Draw.of(mesh, size)
    return {
        "grad": draw.normal(kind, *mesh.values(), size),
        "p": draw.normal(kind, size),
        "w": draw.normal("f32", size),
        "m": draw.normal("f32", size),
        "v": draw.positive("f32", size),
    }


@flat
@over_ranks
def test_adam(simulate: Simulate, ranks: int, size: int) -> None:
    inputs = adam_inputs({"dp": ranks}, "f16", size)
    w, m, v = (exactly(inputs[name]) for name in "wmv")
    adam = Adam.of(average(inputs["grad"], "f16") * INV_SCALE, m, v)
    w = w - LR * (adam.direction + DECAY * w)
    names = "lr beta1 beta2 eps decay inv_scale step"
    check(
        simulate,
        "adam",
        {"dp": ranks},
        inputs | scalars(names),
        {"m": adam.m, "v": adam.v, "w": w, "p": w.to("f16")},
    )


@pytest.mark.parametrize("wrong", ["a shifted block", "a missing term"])
def test_bounds_of_the_plain_run_see_an_error(simulate: Simulate, wrong: str) -> None:
    inputs = adam_inputs({"dp": 3}, "f32", 23)
    del inputs["p"]
    w, m, v = (exactly(inputs[name]) for name in "wmv")
    adam = Adam.of(average(inputs["grad"], "f32"), m, v)
    direction = adam.direction
    if wrong == "a shifted block":
        direction = Number(np.roll(direction.value, 1), direction.error)
    w = w - LR * (direction if wrong == "a missing term" else direction + DECAY * w)
    given = inputs | scalars("lr beta1 beta2 eps decay step")
    with pytest.raises(AssertionError) as error:
        check(simulate, "adam_f32", {"dp": 3}, given, {"m": adam.m, "v": adam.v, "w": w})
    assert "exact" not in str(error.value)


@flat
@over_ranks
def test_adam_f32(simulate: Simulate, ranks: int, size: int) -> None:
    inputs = adam_inputs({"dp": ranks}, "f32", size)
    del inputs["p"]
    w, m, v = (exactly(inputs[name]) for name in "wmv")
    adam = Adam.of(average(inputs["grad"], "f32"), m, v)
    check(
        simulate,
        "adam_f32",
        {"dp": ranks},
        inputs | scalars("lr beta1 beta2 eps decay step"),
        {"m": adam.m, "v": adam.v, "w": w - LR * (adam.direction + DECAY * w)},
    )


def trust(w: Number, r: Number) -> Number:
    """|w| / |r|, or 1 where a norm is 0."""
    norm_w, norm_r = (w * w).sum().sqrt(), (r * r).sum().sqrt()
    return norm_w / norm_r if norm_w.value > 0 and norm_r.value > 0 else ONE


LAMB = "lr beta1 beta2 eps decay inv_scale step"


@flat
@over_ranks
@pytest.mark.parametrize("zero", ["", "w", "r"])
def test_lamb(simulate: Simulate, ranks: int, size: int, zero: str) -> None:
    inputs = adam_inputs({"dp": ranks}, "f16", size)
    for name in {"": [], "w": ["w"], "r": ["w", "m", "grad"]}[zero]:
        inputs[name] = np.zeros_like(inputs[name])
    w, m, v = (exactly(inputs[name]) for name in "wmv")
    adam = Adam.of(average(inputs["grad"], "f16") * INV_SCALE, m, v)
    r = adam.direction + DECAY * w
    w = w - LR * trust(w, r) * r
    check(
        simulate,
        "lamb",
        {"dp": ranks},
        inputs | scalars(LAMB),
        {"m": adam.m, "v": adam.v, "w": w, "p": w.to("f16")},
    )


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
@over_ranks
def test_lamb_keeps_everything_on_overflow(simulate: Simulate, ranks: int, bad: float) -> None:
    inputs = adam_inputs({"dp": ranks}, "f16", 7)
    inputs["grad"][ranks - 1, 6] = bad
    kept = {name: exactly(inputs[name]) for name in "pwmv"}
    check(simulate, "lamb", {"dp": ranks}, inputs | scalars(LAMB), kept)


@pytest.mark.parametrize(
    "lengths", [(), (0,), (1,), (7,), (5, 0, 3), (1, 1, 1), (11, 2, 0, 0, 13), (8, 8, 8)]
)
@over_ranks
def test_lamb_segments(simulate: Simulate, ranks: int, lengths: tuple[int, ...]) -> None:
    inputs = adam_inputs({"dp": ranks}, "f16", sum(lengths))
    offsets = np.cumsum([0, *lengths], dtype=np.int64)
    inputs["w"][: offsets[len(lengths) // 2]] = 0
    w, m, v = (exactly(inputs[name]) for name in "wmv")
    adam = Adam.of(average(inputs["grad"], "f16") * INV_SCALE, m, v)
    r = adam.direction + DECAY * w
    value, error = w.value.copy(), w.error.copy()
    for start, end in pairwise(offsets):
        part = slice(start, end)
        new = w[part] - LR * trust(w[part], r[part]) * r[part]
        value[part], error[part] = new.value, new.error
    w = Number(value, error)
    check(
        simulate,
        "lamb_segments",
        {"dp": ranks},
        {**inputs, "offsets": offsets, **scalars(LAMB)},
        {"m": adam.m, "v": adam.v, "w": w, "p": w.to("f16")},
    )


@pytest.mark.parametrize("large", [0.0, 0.01, 1.0])
@flat
@over_ranks
def test_clip(simulate: Simulate, ranks: int, size: int, large: float) -> None:
    inputs = adam_inputs({"dp": ranks}, "bf16", size)
    inputs["grad"] = (inputs["grad"] * large).astype(DTYPE["bf16"])
    w, m, v = (exactly(inputs[name]) for name in "wmv")
    a = average(inputs["grad"], "f32")
    factor = MAX_NORM / ((a * a).sum().sqrt() + exactly(float(np.float32(1e-6))))
    adam = Adam.of(a * (factor if factor.value < 1 else ONE), m, v)
    w = w - LR * (adam.direction + DECAY * w)
    check(
        simulate,
        "clip",
        {"dp": ranks},
        inputs | scalars("max_norm lr beta1 beta2 eps decay step"),
        {"m": adam.m, "v": adam.v, "w": w, "p": w.to("bf16")},
    )


@flat
@over_two
def test_hierarchical(simulate: Simulate, outer: int, inner: int, size: int) -> None:
    mesh = {"node": outer, "gpu": inner}
    draw = Draw.of(mesh, size)
    grad, w = draw.normal("f32", outer, inner, size), draw.normal("f32", size)
    g = average(grad.reshape(outer * inner, size), "f32")
    inputs = {"grad": grad, "w": w, **scalars("lr")}
    check(simulate, "hierarchical", mesh, inputs, {"w": exactly(w) - LR * g})


@pytest.mark.parametrize(("rows", "cols"), [(0, 3), (3, 0), (1, 1), (5, 7), (8, 4), (13, 3)])
@over_two
def test_two_axes(simulate: Simulate, outer: int, inner: int, rows: int, cols: int) -> None:
    mesh = {"dp": outer, "tp": inner}
    draw = Draw.of(mesh, rows, cols)
    inputs = {
        "grad": draw.normal("f32", outer, rows, cols),
        "w": draw.normal("f32", rows, cols),
        "m": draw.normal("f32", rows, cols),
        "v": draw.positive("f32", rows, cols),
    }
    w, m, v = (exactly(inputs[name]) for name in "wmv")
    sent = exactly(inputs["grad"]).to("bf16")
    adam = Adam.of(sent.sum(0) / exactly(float(outer)), m, v)
    check(
        simulate,
        "two_axes",
        mesh,
        inputs | scalars("lr beta1 beta2 eps step"),
        {"m": adam.m, "v": adam.v, "w": w - LR * adam.direction},
    )
