"""Upstream MLIR's `llvm`, as of release 22: what kernels become, spelt as upstream spells it.

Ours under upstream's names, with xDSL's types and attributes: xDSL's operations know no atomic or volatile load, no
vector of conditions and no kernel, and stop at some texts. Each has its text in LLVM IR in
`coconet_ir.lowering.emit.module`; upstream's others are left out, as device code needs none and LLVM turns some into
nothing that PTX has.
"""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.llvm import CallIntrinsicOp
from xdsl.ir import Dialect

from coconet_ir.dialects.llvm_arith import ARITHMETIC
from coconet_ir.dialects.llvm_atomics import ATOMICS
from coconet_ir.dialects.llvm_branches import BRANCHES
from coconet_ir.dialects.llvm_casts import CASTS
from coconet_ir.dialects.llvm_functions import FUNCTIONS
from coconet_ir.dialects.llvm_intrinsics import INTRINSICS
from coconet_ir.dialects.llvm_memory import MEMORY
from coconet_ir.dialects.llvm_types import ConstantRangeAttr
from coconet_ir.dialects.llvm_values import VALUES

LLVM = Dialect(
    "llvm",
    [
        *ARITHMETIC,
        *ATOMICS,
        *BRANCHES,
        *CASTS,
        *FUNCTIONS,
        *INTRINSICS,
        *MEMORY,
        *VALUES,
        CallIntrinsicOp,
    ],
    [*llvm.LLVM.attributes, ConstantRangeAttr],
)
