"""All steps down as one pass."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from coconet_ir.frontend import check_after
from coconet_ir.lowering.targets import find_target


@dataclass(frozen=True)
class LowerPass(ModulePass):
    """Lower a program to kernels of a device and what the host does with them: coconet-lower-to-ranks,
    coconet-form-kernels, coconet-bufferize, coconet-outline-kernels and coconet-lower-kernels, and nothing else.
    Reads the distributed level and leaves the level `device`.

    In a pipeline of coconet-opt it stands for these passes, so that each is timed and can be seen with
    `--print-between-passes`.
    """

    name = "coconet-lower"

    target: str = field(default="sm_90a", metadata={"help": "the device, as ptxas names it"})

    def __post_init__(self) -> None:
        find_target(self.target)

    def stages(self) -> tuple[ModulePass, ...]:
        """The passes for which it stands."""
        from coconet_ir.lowering.bufferize import BufferizePass
        from coconet_ir.lowering.form_kernels import FormKernelsPass
        from coconet_ir.lowering.lower_kernels import LowerKernelsPass
        from coconet_ir.lowering.lower_to_ranks import LowerToRanksPass
        from coconet_ir.lowering.outline_kernels import OutlineKernelsPass

        return (
            LowerToRanksPass(),
            FormKernelsPass(),
            BufferizePass(),
            OutlineKernelsPass(),
            LowerKernelsPass(self.target),
        )

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for stage in self.stages():
            stage.apply(ctx, op)
            check_after(stage, op)


def stages(one: ModulePass) -> tuple[ModulePass, ...]:
    """The passes for which a pass stands: mostly itself."""
    return one.stages() if isinstance(one, LowerPass) else (one,)
