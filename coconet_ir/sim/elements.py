"""Element types of the simulator: names, NumPy types, and conversion between floats, rounded once.

Two values are *the same bits* when their bits are equal or both are NaN: which NaN an operation
gives is not defined (as in LLVM), so nothing here depends on a NaN's sign or payload.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
DType = np.dtype[Any]

FLOATS: dict[str, DType] = {
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8E3M4": np.dtype(ml_dtypes.float8_e3m4),
    "f8E4M3": np.dtype(ml_dtypes.float8_e4m3),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E4M3FNUZ": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "f8E4M3B11FNUZ": np.dtype(ml_dtypes.float8_e4m3b11fnuz),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E5M2FNUZ": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "f8E8M0FNU": np.dtype(ml_dtypes.float8_e8m0fnu),
}
"""NumPy type of each floating-point element type, by its name in the IR."""

INTEGERS: dict[str, DType] = {
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "i16": np.dtype(np.int16),
    "i8": np.dtype(np.int8),
    "i1": np.dtype(np.bool_),
    "index": np.dtype(np.int64),
}
"""NumPy type of each integer element type; `i1` is a boolean, `index` has 64 bits."""

ELEMENTS: dict[str, DType] = FLOATS | INTEGERS

_NAMES = {dtype: name for name, dtype in reversed(ELEMENTS.items())}


def element_name(dtype: DType) -> str:
    """What the IR calls a type; NumPy's name for one that the IR lacks."""
    return _NAMES.get(dtype, str(dtype))


F64, F32, F16, BF16 = FLOATS["f64"], FLOATS["f32"], FLOATS["f16"], FLOATS["bf16"]
I64, I1 = INTEGERS["i64"], INTEGERS["i1"]

_FLOAT_TYPES = frozenset(FLOATS.values())
_NUMPY_FLOATS = frozenset((F64, F32, F16))


def is_float(dtype: DType) -> bool:
    """Whether elements of this type are floating-point numbers."""
    return dtype in _FLOAT_TYPES


def numpy_knows(dtype: DType) -> bool:
    """Whether the type is NumPy's own, not one of `ml_dtypes`."""
    return dtype in _NUMPY_FLOATS or not is_float(dtype)


def default_accumulate(dtype: DType) -> DType:
    """The type in which `dtype` is summed: f32 for floats of 16 bits and fewer, else itself."""
    return F32 if is_float(dtype) and dtype.itemsize <= 2 else dtype


def compute_type(dtype: DType) -> DType:
    """The type in which an operation on `dtype` is computed before it is rounded: f32, f64."""
    return default_accumulate(dtype)


def unsigned(dtype: DType) -> DType:
    """The unsigned integer of the same width as `dtype`."""
    return np.dtype(f"u{dtype.itemsize}")


def round_to(x: Array, dtype: DType) -> Array:
    """Floats `x` in the float type `dtype`, each rounded once to nearest, ties to even.

    What is too large becomes an infinity, or NaN in the types that have none.
    """
    if x.dtype == dtype:
        return x
    with np.errstate(all="ignore"):
        if x.dtype not in _NUMPY_FLOATS:
            x = x.astype(F32)  # exact: every such type is a subset of f32
        if x.dtype == F64 and dtype not in _NUMPY_FLOATS:
            x = odd_f32(x)  # ml_dtypes goes through f32 and would round twice
        return x.astype(dtype)


def odd_f32(x: Array) -> Array:
    """Doubles `x` in f32, rounded to odd.

    Rounding that again to at most 22 bits equals rounding `x` once. Boldo and Melquiond,
    "Emulation of a FMA and correctly rounded sums using proved algorithms", IEEE TC 2008.
    """
    near = np.asarray(x.astype(F32))
    inexact = (near.astype(F64) != x) & np.isfinite(x)
    away = inexact & (np.abs(near.astype(F64)) > np.abs(x))
    bits = (near.view(np.uint32) - away.astype(np.uint32)) | inexact.astype(np.uint32)
    return bits.view(F32)


def lowest(dtype: DType) -> Array:
    """The identity of max as a 0-d array: -inf, or the least value of a type without infinity."""
    return _extreme(dtype, -1)


def highest(dtype: DType) -> Array:
    """The identity of min as a 0-d array: +inf, or the greatest value of a type without it."""
    return _extreme(dtype, 1)


def _extreme(dtype: DType, sign: int) -> Array:
    if dtype == I1:  # as a signed number, true is -1
        return np.array(sign < 0)
    if not is_float(dtype):
        info = np.iinfo(dtype)
        return np.array(info.max if sign > 0 else info.min, dtype)
    with np.errstate(all="ignore"):
        infinite = np.array(sign * np.inf, F32).astype(dtype)
    if np.isinf(infinite.astype(F64)):
        return infinite
    limits = float_limits(dtype)
    return np.array(limits.max if sign > 0 else limits.min, dtype)


def float_limits(dtype: DType) -> Any:
    """`max`, `min`, `smallest_normal` and so on of a float type, as of `numpy.finfo`."""
    finfo: Any = ml_dtypes.finfo
    return finfo(dtype)


def describe(x: Array) -> str:
    """Element type and shape: `f32 3x5`, `i64 scalar`."""
    return f"{element_name(x.dtype)} {'x'.join(map(str, x.shape)) or 'scalar'}"


def poison(shape: tuple[int, ...], dtype: DType) -> Array:
    """A value for what is undefined: NaN, or a bit pattern that shows."""
    if is_float(dtype):
        return np.full(shape, np.nan, F32).astype(dtype)
    if dtype == I1:
        return np.ones(shape, dtype)
    return np.full(shape, 0xDEADBEEFDEADBEEF, np.uint64).astype(unsigned(dtype)).view(dtype)


def same_bits(a: Array, b: Array) -> bool:
    """Whether two arrays have the same type, shape and bits, where every NaN equals every other."""
    if a is b:
        return True
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    equal = a.view(unsigned(a.dtype)) == b.view(unsigned(b.dtype))
    if bool(equal.all()):
        return True
    if not is_float(a.dtype):
        return False
    return bool((equal | (np.isnan(a) & np.isnan(b))).all())
