"""PTX from a module of `llvm` and `nvvm`, by LLVM in a process of its own.

LLVM ends its process where it has no instruction for something. Here that becomes an error at the kernel, and the next
kernel gets a new process.
"""

from __future__ import annotations

import json
import re

from xdsl.ir import Operation

from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.llvm_functions import FuncOp
from coconet_ir.lowering import ptx_worker
from coconet_ir.lowering.emit.module import emit
from coconet_ir.lowering.targets import Target
from coconet_ir.process import Ended, Service, TimedOut

TIME_LIMIT = 60.0
"""Seconds that a module may take."""


class CompilerFailed(Exception):
    """LLVM made no PTX; the message says why."""


_service = Service(ptx_worker.__file__)


def start() -> None:
    """Start the process that compiles: it is ready when there is something to compile, as it starts meanwhile."""
    with _service.worker():
        pass


def compile_ptx(container: Operation, target: Target) -> str:
    """The PTX of the kernels in a module. Raises `IRError`."""
    try:
        return compile_llvm(emit(container, target), target)
    except CompilerFailed as failure:
        raise _blame(container, target, failure) from None


def compile_llvm(text: str, target: Target) -> str:
    """The PTX for a module of LLVM IR. Raises `CompilerFailed`."""
    request = {"ir": text, "cpu": target.name, "features": f"+ptx{target.ptx}"}
    with _service.worker() as worker:
        try:
            answer = json.loads(worker.ask(json.dumps(request).encode(), TIME_LIMIT))
        except TimedOut:
            raise CompilerFailed(f"LLVM took longer than {TIME_LIMIT:g} s") from None
        except Ended as end:
            raise CompilerFailed(_first_line(end.said) or f"LLVM ended with {end}") from None
    if "error" in answer:
        raise CompilerFailed(_first_line(answer["error"]))
    ptx = answer["ptx"]
    header = f".version {target.version}\n.target {target.name}\n"
    if header not in ptx[:200]:
        found = " ".join(re.findall(r"^\.(?:version|target) \S+", ptx, re.MULTILINE))
        raise CompilerFailed(
            f"this LLVM makes '{found}', not PTX {target.version} of {target.name}"
        )
    return ptx


def _blame(container: Operation, target: Target, failure: CompilerFailed) -> IRError:
    """The error at the first kernel that fails alone too."""
    kernels = [op for op in container.walk() if isinstance(op, FuncOp) and op.is_kernel]
    for kernel in kernels if len(kernels) > 1 else ():
        try:
            compile_llvm(emit(container, target, only=kernel.sym_name.data), target)
        except CompilerFailed as alone:
            return IRError(f"cannot be compiled: {alone}", kernel)
    return IRError(f"cannot be compiled: {failure}", kernels[0] if kernels else container)


def _first_line(text: str) -> str:
    """What LLVM said, without its own prefix and what follows."""
    said = re.sub(r"^(?:LLVM IR parsing error\s+<string>:|LLVM ERROR: |error: )", "", text.strip())
    return said.partition("\n")[0].strip()[:300]
