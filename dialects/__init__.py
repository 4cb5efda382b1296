"""The dialects, each in its own file, imported only when a tool registers it."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Dialect


def get_layout() -> Dialect:
    from coconet_ir.dialects.layout import Layout

    # With layouts come the rules of upstream operations on tensors, in plain xdsl-opt too.
    for upstream in (get_arith, get_math, get_tensor):
        upstream()
    return Layout


def get_coll() -> Dialect:
    from coconet_ir.dialects.coll import Coll

    return Coll


def get_comp() -> Dialect:
    from coconet_ir.dialects.comp import Comp

    return Comp


def get_nccl() -> Dialect:
    from coconet_ir.dialects.nccl import Nccl

    return Nccl


def get_arith() -> Dialect:
    from coconet_ir.dialects.arith import Arith

    return Arith


def get_math() -> Dialect:
    from coconet_ir.dialects.math import Math

    return Math


def get_tensor() -> Dialect:
    from coconet_ir.dialects.tensor import Tensor

    return Tensor


def get_gpu() -> Dialect:
    from coconet_ir.dialects.gpu import GPU

    return GPU


def get_llvm() -> Dialect:
    from coconet_ir.dialects.llvm import LLVM

    return LLVM


def get_nvvm() -> Dialect:
    from coconet_ir.dialects.nvvm import NVVM

    return NVVM


def get_transform() -> Dialect:
    from coconet_ir.dialects.transform import Transform

    return Transform


OWN: dict[str, Callable[[], Dialect]] = {
    "layout": get_layout,
    "coll": get_coll,
    "comp": get_comp,
    "nccl": get_nccl,
}
"""The dialects whose names are ours alone; plain xdsl-opt sees these too."""


def get_all_dialects() -> dict[str, Callable[[], Dialect]]:
    """Our dialects, and those of upstream that our tools extend or that xDSL lacks."""
    return {
        **OWN,
        "arith": get_arith,
        "math": get_math,
        "tensor": get_tensor,
        "gpu": get_gpu,
        "llvm": get_llvm,
        "nvvm": get_nvvm,
        "transform": get_transform,
    }
