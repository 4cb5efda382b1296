"""`cvt` against exact rounding, integers of Python, and the conversions of NumPy and ml_dtypes."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

Array = npt.NDArray[Any]
Evaluate = Callable[..., Any]
Numbers = Callable[..., tuple[Array, ...]]
Convert = Callable[..., Array]

FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52)}
MODES = ("rn", "rz", "rm", "rp")
pytestmark = pytest.mark.filterwarnings("ignore:invalid value", "ignore:overflow")
ALL = np.arange(1 << 16, dtype=np.uint16)
DTYPES: dict[str, Any] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip


def width(type: str) -> int:
    return np.dtype(DTYPES[type]).itemsize * 8


def samples(type: str, numbers: Numbers) -> Array:
    """All numbers of a format of 16 bits; of others edges, random ones, and those near ties of narrower formats."""
    if width(type) == 16:
        return ALL
    (bits,) = numbers(width(type), 1, 3001)
    generator = np.random.default_rng(3)
    near = np.concatenate(
        [ALL[::9].view(DTYPES[half]).astype(DTYPES[type]) for half in ("f16", "bf16")]
    )
    steps = generator.integers(-1, 2, near.size)
    halves = near.view(bits.dtype) + (1 << FORMATS[type][1] - 8) * generator.integers(
        0, 3, near.size
    )
    halves = (halves.astype(np.uint64) + steps.astype(np.uint64)).astype(bits.dtype)
    if type == "f64":
        singles = numbers(32, 1, 2001)[0].view(np.float32).astype(np.float64).view(np.uint64)
        halves = np.concatenate(
            [halves, singles + np.uint64(1 << 28), singles + np.uint64((1 << 28) - 1)]
        )
    return np.concatenate([bits, halves])


def one_nan(type: str, bits: Array) -> Array:
    """Bits, with the canonical NaN for every NaN."""
    nan = np.isnan(bits.view(DTYPES[type]))
    return np.where(nan, bits.dtype.type((1 << width(type) - 1) - 1), bits)


def nans(type: str, bits: Array) -> Array:
    """Which bits are NaN."""
    return np.isnan(bits.view(DTYPES[type]))


def quiet_nan(target: str, bits: Array) -> Array:
    """What f64 NaNs become: sign and upper payload stay, and the highest bit of the payload is set."""
    mantissa = FORMATS[target][1]
    infinity = (1 << sum(FORMATS[target])) - (1 << mantissa)
    kept = [
        int(x) >> 63 << width(target) - 1
        | infinity
        | 1 << mantissa - 1
        | (int(x) & (1 << 52) - 1) >> 52 - mantissa
        for x in bits
    ]
    return np.array(kept, f"u{width(target) // 8}")


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", FORMATS)
def test_between_floats(
    source: str, target: str, evaluate: Evaluate, numbers: Numbers, convert: Convert
) -> None:
    if source == target:
        return
    a = samples(source, numbers)
    exact = target == "f64" or (target == "f32" and source != "f64")
    for mode in MODES[:1] if exact else MODES:
        name = "cvt" if exact else f"cvt.{mode}"
        got = evaluate(f"{name}.{target}.{source} d, a;", d=f"b{width(target)}", a=a)
        nan = nans(source, a)
        if source == "f64":
            np.testing.assert_array_equal(got[nan], quiet_nan(target, a[nan]))
        if (source, target) == ("bf16", "f32"):
            np.testing.assert_array_equal(got[nan], a[nan].astype(np.uint32) << 16)
        if target == "f64" or source == "f64" or (source, target) == ("bf16", "f32"):
            got = one_nan(target, got)
        some = slice(None, None, 97 if exact else 17 if a is ALL else 3)
        want = convert(FORMATS[source], FORMATS[target], mode, a[some])
        np.testing.assert_array_equal(got[some], want, name)
        if mode == "rn" and (source, target) != ("f64", "bf16"):  # which the host rounds twice
            host = a.view(DTYPES[source]).astype(DTYPES[target]).view(got.dtype)
            np.testing.assert_array_equal(got, one_nan(target, host))


def test_modifiers_of_f32_to_halves(evaluate: Evaluate, numbers: Numbers, convert: Convert) -> None:
    a = samples("f32", numbers)[::3].copy()
    for target, greatest in (("f16", 0x7BFF), ("bf16", 0x7F7F)):
        for mode in ("rn", "rz"):
            plain = convert((8, 23), FORMATS[target], mode, a)
            finite = np.where(plain & 0x7FFF == greatest + 1, plain - 1, plain)
            positive = np.where(plain >> 15 == 1, 0, plain)
            wants = {
                "satfinite": finite,
                "relu": positive,
                "relu.satfinite": np.where(finite >> 15 == 1, 0, finite),
            }
            for name, want in wants.items():
                got = evaluate(f"cvt.{mode}.{name}.{target}.f32 d, a;", d="b16", a=a)
                np.testing.assert_array_equal(got, want, f"{mode}.{name}.{target}")
            b = a[::-1].copy()
            got = evaluate(f"cvt.{mode}.satfinite.{target}x2.f32 d, a, b;", d="b32", a=a, b=b)
            want = finite.astype(np.uint32) << 16 | finite[::-1]
            np.testing.assert_array_equal(got, want)


def test_tf32(evaluate: Evaluate, numbers: Numbers, convert: Convert) -> None:
    a = samples("f32", numbers)[::3].copy()
    for mode in ("rna", "rn", "rz"):
        plain = (convert((8, 23), (8, 10), mode, a).astype(np.uint64) << 13).astype(np.uint32)
        got = evaluate(f"cvt.{mode}.tf32.f32 d, a;", d="b32", a=a)
        upper = (mode == "rna") & nans("f32", a)  # a NaN keeps its bits
        np.testing.assert_array_equal(got, np.where(upper, a & ~np.uint32(0x1FFF), plain))
        got = evaluate(f"cvt.{mode}.satfinite.tf32.f32 d, a;", d="b32", a=a)
        infinite = plain & 0x7FFFFFFF == 0x7F800000
        np.testing.assert_array_equal(got, np.where(infinite, plain - (1 << 13), plain))
    got = evaluate("cvt.rn.relu.tf32.f32 d, a;", d="b32", a=np.array([0xBF800000], np.uint32))
    assert got[0] == 0


def f8_bits(type: str, convert: Convert, source: str, a: Array) -> Array:
    """Numbers rounded to f8, finite unless they are NaN."""
    wide = convert(FORMATS[source], (5, 2) if type == "e5m2" else (5, 3), "rn", a)
    if type == "e5m2":
        return np.where(wide & 0x7F == 0x7C, wide - 1, wide).astype(np.uint8)
    # e4m3 has the subnormal numbers of an exponent that is 8 higher, and one more binade instead of infinity
    values = [to_e4m3(0.0 if math.isnan(x) else x) for x in a.view(DTYPES[source]).astype(float)]
    nan = np.isnan(a.view(DTYPES[source]).astype(float))
    return np.where(nan, 0x7F, np.array(values, np.uint8))


def to_e4m3(value: float) -> int:
    """The nearest of the 127 magnitudes, the even one of two."""
    sign = 0x80 if math.copysign(1, value) < 0 else 0
    size = abs(value)
    if size >= 448:
        return sign | 0x7E
    below = bisect_right(_E4M3, size) - 1
    low, high = _E4M3[below], _E4M3[below + 1]
    up = Fraction(size) - Fraction(low) - (Fraction(high) - Fraction(size))
    return sign | below + int(up > 0 or (up == 0 and below % 2 == 1))


_E4M3 = [float(x) for x in np.arange(127, dtype=np.uint8).view(ml_dtypes.float8_e4m3fn)]


@pytest.mark.parametrize("type", ["e4m3", "e5m2"])
def test_f8(type: str, evaluate: Evaluate, numbers: Numbers, convert: Convert) -> None:
    a = samples("f32", numbers)[::3].copy()
    single = f8_bits(type, convert, "f32", a)
    got = evaluate(f"cvt.rn.satfinite.{type}x2.f32 d, a, b;", d="b16", a=a, b=a[::-1].copy())
    np.testing.assert_array_equal(got, single.astype(np.uint16) << 8 | single[::-1])
    finite = np.isfinite(a.view(np.float32)) & (single & 0x7F < (0x7E if type == "e4m3" else 0x7B))
    host = a.view(np.float32)[finite].astype(DTYPES[type]).view(np.uint8)
    np.testing.assert_array_equal(single[finite], host)

    got = evaluate(f"cvt.rn.satfinite.relu.{type}x2.f32 d, a, a;", d="b16", a=a)
    positive = np.where(single >> 7 == 1, 0, single).astype(np.uint16)
    np.testing.assert_array_equal(got, positive << 8 | positive)

    for half in ("f16", "bf16"):
        some = ALL[::3].copy()
        want = f8_bits(type, convert, half, some).astype(np.uint16)
        pairs = some.astype(np.uint32) << 16 | some[::-1]
        got = evaluate(f"cvt.rn.satfinite.{type}x2.{half}x2 d, a;", d="b16", a=pairs)
        np.testing.assert_array_equal(got, want << 8 | want[::-1], half)


@pytest.mark.parametrize("type", ["e4m3", "e5m2"])
def test_f8_to_f16(type: str, evaluate: Evaluate) -> None:
    """All pairs."""
    got = evaluate(f"cvt.rn.f16x2.{type}x2 d, a;", d="b32", a=ALL)
    halves = np.arange(256, dtype=np.uint8).view(DTYPES[type]).astype(np.float16).view(np.uint16)
    table = one_nan("f16", halves).astype(np.uint32)
    np.testing.assert_array_equal(got, table[ALL >> 8] << 16 | table[ALL & 0xFF])
    got = evaluate(f"cvt.rn.relu.f16x2.{type}x2 d, a;", d="b32", a=ALL)
    table = np.where(table >> 15 == 1, 0, table)
    np.testing.assert_array_equal(got, table[ALL >> 8] << 16 | table[ALL & 0xFF])


INTEGERS = [f"{kind}{bits}" for kind in "su" for bits in (8, 16, 32, 64)]


def limits(type: str) -> tuple[int, int]:
    n = int(type[1:])
    return (-(1 << n - 1), (1 << n - 1) - 1) if type[0] == "s" else (0, (1 << n) - 1)


def wrapped(values: list[int], type: str) -> Array:
    """Integers as the bits of a type."""
    n = int(type[1:])
    return np.array([value & (1 << n) - 1 for value in values], f"u{n // 8}")


def rounded(value: float, mode: str) -> int:
    whole = {"rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil, "rni": round}[mode]
    return whole(Fraction(value))


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", INTEGERS)
def test_to_integers(source: str, target: str, evaluate: Evaluate, numbers: Numbers) -> None:
    """Clamped; NaN is zero, or the highest bit if a type has 64 bits."""
    low, high = limits(target)
    edges = [float(low), float(high), low - 0.5, high + 0.5, low - 1.0, 0.5, 1.5, 2.5, -0.5, -1.5]
    with np.errstate(over="ignore"):
        exact = np.array(edges).astype(DTYPES[source])
    bits = samples(source, numbers)
    bits = bits[:: 29 if bits is ALL else 5]
    a = np.concatenate([exact.view(bits.dtype), bits])
    nan = 1 << int(target[1:]) - 1 if source == "f64" or target[1:] == "64" else 0
    modes = ("rni", "rzi", "rmi", "rpi")
    body = "\n".join(f"cvt.{mode}.{target}.{source} {mode}, a;" for mode in modes)
    results = evaluate(body, **dict.fromkeys(modes, f"b{target[1:]}"), a=a)
    for mode, got in zip(modes, results, strict=True):
        want = [
            nan if math.isnan(x)
            else (high if x > 0 else low) if math.isinf(x)
            else min(max(rounded(x, mode), low), high)
            for x in a.view(DTYPES[source]).astype(float).tolist()
        ]  # fmt: skip
        np.testing.assert_array_equal(got, wrapped(want, target), mode)


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", FORMATS)
def test_from_integers(
    source: str, target: str, evaluate: Evaluate, encode: Callable[..., int]
) -> None:
    low, high = limits(source)
    n = int(source[1:])
    generator = np.random.default_rng(n)
    powers = [1 << k for k in range(n)]
    near = [p + d for p in powers for d in (-1, 0, 1)] + [
        3 * p // 2 + d for p in powers for d in (-1, 0, 1)
    ]
    ties = [
        (1 << k) + (1 << k - m) + d
        for k in range(n)
        for m in (8, 11, 24, 53)
        if m <= k
        for d in (-1, 0, 1)
    ]
    random = [
        int(x) >> int(s)
        for x, s in zip(
            generator.integers(0, 1 << 63, 500), generator.integers(0, 63, 500), strict=True
        )
    ]
    values = [
        x
        for y in [0, *near, *ties, *random]
        for x in (y, -y, high - y, low + y)
        if low <= x <= high
    ]
    a = wrapped(values, source)
    body = "\n".join(f"cvt.{mode}.{target}.{source} {mode}, a;" for mode in MODES)
    results = evaluate(body, **dict.fromkeys(MODES, f"b{width(target)}"), a=a)
    for mode, got in zip(MODES, results, strict=True):
        want = [encode((int(x < 0), Fraction(abs(x))), *FORMATS[target], mode) for x in values]
        np.testing.assert_array_equal(got, np.array(want, got.dtype), mode)


@pytest.mark.parametrize("source", INTEGERS)
@pytest.mark.parametrize("target", INTEGERS)
def test_between_integers(source: str, target: str, evaluate: Evaluate) -> None:
    low, high = limits(source)
    edges = {0, 1, -1, low, high, *(x + d for t in INTEGERS for x in limits(t) for d in (-1, 0, 1))}
    values = sorted(x for x in edges if low <= x <= high)
    a = wrapped(values, source)
    d = f"b{target[1:]}"
    body = f"cvt.{target}.{source} low, a;\ncvt.sat.{target}.{source} near, a;"
    low_bits, near = evaluate(body, low=d, near=d, a=a)
    np.testing.assert_array_equal(low_bits, wrapped(values, target))
    least, greatest = limits(target)
    clamped = [min(max(x, least), greatest) for x in values]
    np.testing.assert_array_equal(near, wrapped(clamped, target))


def test_wider_registers(evaluate: Evaluate) -> None:
    """The low bits of a wider source count, and a wider destination is extended by the type's sign."""
    a = np.array([0x1234F6, 0xABCD80, 0x7F], np.uint32)
    signed = evaluate("cvt.s8.s8 d, a;", d="b64", a=a)
    np.testing.assert_array_equal(signed.view(np.int64), [-10, -128, 127])
    unsigned = evaluate("cvt.u8.u8 d, a;", d="b64", a=a)
    np.testing.assert_array_equal(unsigned, [0xF6, 0x80, 0x7F])
    clamped = evaluate(
        "cvt.rni.s8.f32 d, a;", d="b32", a=np.array([-300.0, 5.5], np.float32).view(np.uint32)
    )
    np.testing.assert_array_equal(clamped.view(np.int32), [-128, 6])


@pytest.mark.parametrize("type", FORMATS)
def test_floats_to_whole_floats(type: str, evaluate: Evaluate, numbers: Numbers) -> None:
    a = samples(type, numbers)
    x = a.view(DTYPES[type]).astype(np.float64)
    for mode, function in (
        ("rni", np.rint),
        ("rzi", np.trunc),
        ("rmi", np.floor),
        ("rpi", np.ceil),
    ):
        got = evaluate(f"cvt.{mode}.{type}.{type} d, a;", d=f"b{width(type)}", a=a)
        with np.errstate(all="ignore"):
            want = function(x).astype(DTYPES[type]).view(a.dtype)
        np.testing.assert_array_equal(one_nan(type, got), one_nan(type, want))


def test_without_modifiers_the_bits_move(evaluate: Evaluate, numbers: Numbers) -> None:
    a = samples("f32", numbers)
    np.testing.assert_array_equal(evaluate("cvt.f32.f32 d, a;", d="b32", a=a), a)
    small = a & np.uint32(0x7FFFFFFF) < 0x00800000
    flushed = one_nan("f32", np.where(small, a & np.uint32(1 << 31), a))
    np.testing.assert_array_equal(evaluate("cvt.ftz.f32.f32 d, a;", d="b32", a=a), flushed)
    wide = ALL.astype(np.uint32) << 16
    np.testing.assert_array_equal(evaluate("cvt.f32.bf16 d, a;", d="b32", a=ALL), wide)
    small = wide & np.uint32(0x7FFFFFFF) < 0x00800000
    flushed = one_nan("f32", np.where(small, wide & np.uint32(1 << 31), wide))
    np.testing.assert_array_equal(evaluate("cvt.ftz.f32.bf16 d, a;", d="b32", a=ALL), flushed)


def test_sat_and_ftz(evaluate: Evaluate, numbers: Numbers) -> None:
    a = samples("f32", numbers)
    x = a.view(np.float32)
    unit = (np.where(np.isnan(x), 0, np.clip(x, 0, 1)) + np.float32(0)).astype(np.float32)
    got = evaluate("cvt.sat.f32.f32 d, a;", d="b32", a=a)
    np.testing.assert_array_equal(got, unit.view(np.uint32))
    got = evaluate("cvt.rn.sat.f16.f32 d, a;", d="b16", a=a)
    np.testing.assert_array_equal(got, unit.astype(np.float16).view(np.uint16))
    got = evaluate("cvt.sat.f64.f32 d, a;", d="b64", a=a)
    np.testing.assert_array_equal(got, unit.astype(np.float64).view(np.uint64))

    small = a & np.uint32(0x7FFFFFFF) < 0x00800000
    flushed = np.where(small, a & np.uint32(1 << 31), a)
    with np.errstate(all="ignore"):
        wide = flushed.view(np.float32).astype(np.float64).view(np.uint64)
    got = evaluate("cvt.ftz.f64.f32 d, a;", d="b64", a=a)
    np.testing.assert_array_equal(one_nan("f64", got), one_nan("f64", wide))
    got = evaluate("cvt.rpi.ftz.s32.f32 d, a;", d="b32", a=np.array([1, 0x00800000], np.uint32))
    np.testing.assert_array_equal(got, [0, 1])
    tiny = np.array([2.0**-127, 2.0**-126, -(2.0**-130)]).view(np.uint64)
    got = evaluate("cvt.rn.ftz.f32.f64 d, a;", d="b32", a=tiny)
    np.testing.assert_array_equal(got, [0, 0x00800000, 0x80000000])
    ends = (0x380FFFFFE0000000, 0x380FFFFFE0000001, 0x380FFFFFEFFFFFFF, 0x380FFFFFF0000000)
    below = np.array([end | sign << 63 for sign in (0, 1) for end in ends], np.uint64)
    normal = {  # by a mode: how many of the last ends, which are below 2^-126, are it after rounding
        "rn": (1, 1),
        "rz": (0, 0),
        "rm": (0, 3),
        "rp": (3, 0),
    }
    for mode, counts in normal.items():
        got = evaluate(f"cvt.{mode}.ftz.f32.f64 d, a;", d="b32", a=below)
        want = [
            (sign << 31) + (0x00800000 if k >= 4 - count else 0)
            for sign, count in enumerate(counts)
            for k in range(4)
        ]
        np.testing.assert_array_equal(got, np.array(want, np.uint32), mode)


def test_pack(evaluate: Evaluate) -> None:
    values = [-(1 << 31), -40000, -129, -9, -8, -3, -2, -1, 0, 1, 2, 3, 7, 8, 15, 16, 300, 70000]
    a = wrapped([x for x in values for _ in values], "s32")
    b = wrapped([y for _ in values for y in values], "s32")
    c = np.arange(a.size, dtype=np.uint32) * np.uint32(0x9E3779B9)
    for type in ("u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"):
        n = int(type[1:])
        low, high = limits(type)
        kept = "" if n == 16 else ".b32"
        operands = "d, a, b" if n == 16 else "d, a, b, c"
        got = evaluate(f"cvt.pack.sat.{type}.s32{kept} {operands};", d="b32", a=a, b=b, c=c)
        clamped = [
            np.clip(x.view(np.int32), low, high).astype(np.uint32) & ((1 << n) - 1) for x in (a, b)
        ]
        want = clamped[0] << n | clamped[1]
        np.testing.assert_array_equal(got, want if n == 16 else want | c << 2 * n, type)


@pytest.mark.parametrize(
    ("instruction", "message"),
    [
        ("cvt.f16.f32 d, a", "does not say how it rounds"),
        ("cvt.s32.f32 d, a", "does not say how it rounds"),
        ("cvt.f32.s32 d, a", "does not say how it rounds"),
        ("cvt.u32.b32 d, a", "converts .b32 to .u32"),
        ("cvt.rs.f16x2.f32 d, a, b, c", "does not say how it rounds"),
        ("cvt.rz.e4m3x2.f32 d, a, b", "other than by .rn.satfinite"),
        ("cvt.rp.satfinite.bf16.f32 d, a", ".satfinite"),
        ("cvt.rna.relu.tf32.f32 d, a", ".relu"),
        ("cvt.rn.satfinite.e2m1x2.f32 d, a, b", "e2m1x2"),
        ("cvt.rn.f32.f16 d, a", ".rn"),
        ("cvt.rna.f32.f64 d, a", "does not say how it rounds"),
        ("cvt.rn.f16x2.bf16x2 d, a", "converts .bf16x2 to .f16x2"),
        ("cvt.pack.sat.u8.s32 d, a, b", "packs to a type"),
    ],
)
def test_refusals(instruction: str, message: str, refuse: Callable[[str], str]) -> None:
    assert message in refuse(f"{instruction};")
