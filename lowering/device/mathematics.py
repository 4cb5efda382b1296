"""The functions of `math` that devices have no instruction for, by name, for f32 and for f64."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import f32, f64

from coconet_ir.lowering.device import (
    angles,
    double_angles,
    double_arcs,
    doubles,
    powers,
    remainders,
    singles,
)
from coconet_ir.lowering.device.arithmetic import Formula
from coconet_ir.lowering.device.exponentials import reciprocal_root
from coconet_ir.lowering.device.number import Number


def _through_double(formula: Formula) -> Formula:
    """A function of f32 that f64 computes, to be rounded once more."""

    def call(*operands: Number) -> Number:
        return formula(*(x.widened(f64) for x in operands)).rounded(f32)

    return call


DOUBLE: Mapping[str, Formula] = {
    "arith.remf": remainders.remainder,
    "math.acos": double_arcs.acos,
    "math.acosh": double_arcs.acosh,
    "math.asin": double_arcs.asin,
    "math.asinh": double_arcs.asinh,
    "math.atan": double_arcs.atan,
    "math.atan2": double_arcs.atan2,
    "math.atanh": double_arcs.atanh,
    "math.cbrt": doubles.cbrt,
    "math.cos": double_angles.cos,
    "math.cosh": doubles.cosh,
    "math.erf": doubles.erf,
    "math.exp": doubles.EXPONENTIALS.exp,
    "math.exp2": doubles.EXPONENTIALS.exp2,
    "math.expm1": doubles.EXPONENTIALS.expm1,
    "math.log": doubles.log,
    "math.log10": doubles.log10,
    "math.log1p": doubles.log1p,
    "math.log2": doubles.log2,
    "math.powf": powers.power,
    "math.rsqrt": reciprocal_root,
    "math.sin": double_angles.sin,
    "math.sinh": doubles.sinh,
    "math.tan": double_angles.tan,
    "math.tanh": doubles.tanh,
}
"""Functions of f64."""

SINGLE: Mapping[str, Formula] = {
    "math.erf": singles.erf,
    "math.exp": singles.EXPONENTIALS.exp,
    "math.exp2": singles.EXPONENTIALS.exp2,
    "math.expm1": singles.EXPONENTIALS.expm1,
    "math.log": singles.log,
    "math.log10": _through_double(doubles.log10),
    "math.log1p": singles.log1p,
    "math.log2": singles.log2,
    "math.rsqrt": reciprocal_root,
    "math.tanh": singles.tanh,
    "arith.remf": _through_double(doubles.remainder),
    "math.acos": _through_double(angles.acos),
    "math.acosh": _through_double(angles.acosh),
    "math.asin": _through_double(angles.asin),
    "math.asinh": _through_double(angles.asinh),
    "math.atan": _through_double(angles.atan),
    "math.atan2": _through_double(angles.atan2),
    "math.atanh": _through_double(angles.atanh),
    "math.cbrt": _through_double(doubles.cbrt),
    "math.cos": _through_double(angles.cos),
    "math.cosh": _through_double(doubles.cosh),
    "math.powf": _through_double(doubles.power),
    "math.sin": _through_double(angles.sin),
    "math.sinh": _through_double(doubles.sinh),
    "math.tan": _through_double(angles.tan),
}
"""Functions of f32; of fewer bits too, which are widened."""

POWER = doubles.power
"""`x` to the `y` as f64, of numbers that come from f32."""
