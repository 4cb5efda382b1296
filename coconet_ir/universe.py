"""The xDSL plug-in: with this package installed, plain `xdsl-opt` reads our dialects and runs our passes.

It holds what is ours alone. The extended `arith`, `math` and `tensor` are left to our own tools: a
name that xDSL has too would stop every xDSL tool at its start.
"""

from xdsl.universe import XDSL_UNIVERSE, Universe

from coconet_ir.dialects import OWN
from coconet_ir.lowering import get_all_passes as get_lowering_passes
from coconet_ir.passes import get_all_passes

UNIVERSE = Universe(
    all_dialects={
        name: load for name, load in OWN.items() if name not in XDSL_UNIVERSE.all_dialects
    },
    all_passes={
        name: load
        for name, load in (get_all_passes() | get_lowering_passes()).items()
        if name not in XDSL_UNIVERSE.all_passes
    },
)
"""What the entry point `xdsl.universe` announces."""
