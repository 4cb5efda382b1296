"""How the host launches a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import SSAValue

from coconet_ir.lowering.kernels.code import Code
from coconet_ir.lowering.kernels.kernel import Kernel

Block = tuple[SSAValue, SSAValue]
"""The threads of a block in x and y."""


@dataclass(frozen=True)
class Launch:
    """A kernel, and its blocks, at least one, and threads a block, as the host computes them."""

    kernel: Kernel
    family: str
    """What kind of kernel it is, for remarks."""
    grid: Callable[[Code], SSAValue]
    block: Callable[[Code], Block] | None = None
    """By default the most that the kernel has, in x."""

    def threads(self, host: Code) -> Block:
        """The threads of a block in x and y."""
        if self.block is not None:
            return self.block(host)
        return host.number(self.kernel.threads), host.number(1)
