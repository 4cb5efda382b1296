"""Operations on f32 and f64 that round to zero, down or up: the host's own, in its rounding mode.

The mode holds inside these functions alone, so that nothing else is compiled for it.
"""

from __future__ import annotations

from collections.abc import Mapping

DIRECTED: Mapping[str, int] = {"rz": 0, "rp": 2, "rm": 3}
"""The rounding modifiers of PTX, beside rn, by what `llvm.set.rounding` calls them."""

_OPERATIONS = {
    "add": "fadd",
    "sub": "fsub",
    "mul": "fmul",
    "div": "fdiv",
    "fma": "fma",
    "sqrt": "sqrt",
}
_COUNT = {"fma": 3, "sqrt": 1}
_LLVM = {"f32": "float", "f64": "double"}


def _directed(name: str, result: str, types: list[str], intrinsic: str, mode: int) -> str:
    parameters = ", ".join(f"{type} %x{k}" for k, type in enumerate(types))
    how = 'metadata !"round.dynamic", metadata !"fpexcept.strict"'
    return f"""define internal {result} @{name}({parameters}) noinline strictfp {{
call void @llvm.set.rounding(i32 {mode}) strictfp
%result = call {result} @llvm.experimental.constrained.{intrinsic}({parameters}, {how}) strictfp
call void @llvm.set.rounding(i32 1) strictfp
ret {result} %result
}}"""


HELPERS: Mapping[str, str] = {
    f"{operation}.{type}.{mode}": _directed(
        f"{operation}.{type}.{mode}",
        llvm,
        [llvm] * _COUNT.get(operation, 2),
        f"{intrinsic}.{type}",
        code,
    )
    for operation, intrinsic in _OPERATIONS.items()
    for type, llvm in _LLVM.items()
    for mode, code in DIRECTED.items()
} | {
    f"{conversion}.f64.{mode}": _directed(
        f"{conversion}.f64.{mode}", "double", ["i64"], f"{conversion}.f64.i64", code
    )
    for conversion in ("sitofp", "uitofp")
    for mode, code in DIRECTED.items()
}
