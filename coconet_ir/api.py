"""What Python programs import: parse a program, rewrite its functions, run it, declare operations.

    from coconet_ir import api

    module = api.load("examples/adam.mlir")
    adam = api.function(module, "adam")
    api.split(adam, "avg")
    api.reorder(adam, "avg_ag")
    print(api.show(module))

Every error of a program is a `DiagnosticException` (ours: `IRError`) or a `ParseError`; `explain` turns either
into the lines that the tools print. `custom` raises `RuleError` for a rule that does not parse, and `ValueError` for a
name that is taken.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from coconet_ir.analysis.customs import custom
from coconet_ir.diagnostics import diagnose, render
from coconet_ir.frontend import check, make_context, parse_program, read_source, source_name
from coconet_ir.passes.infer import infer
from coconet_ir.passes.reorder import reorder
from coconet_ir.passes.slice import slice_value
from coconet_ir.passes.split import split
from coconet_ir.schedule.remarks import Remark, collect
from coconet_ir.sim import inputs
from coconet_ir.sim.binding import Input, bind_mesh, the_function
from coconet_ir.sim.compare import Difference, compare
from coconet_ir.sim.executor import Outcome, Output, run
from coconet_ir.sim.inputs import load as read_arrays
from coconet_ir.sim.inputs import save as write_arrays
from coconet_ir.xdsl_compat import print_module

__all__ = [
    "Difference",
    "Outcome",
    "Output",
    "Remark",
    "check",
    "collect",
    "compare",
    "custom",
    "explain",
    "function",
    "generate",
    "infer",
    "load",
    "parse",
    "read_arrays",
    "reorder",
    "run",
    "show",
    "slice_value",
    "split",
    "write_arrays",
]


def parse(text: str, name: str = "<text>") -> ModuleOp:
    """The checked program that `text` is; diagnostics call it `name`.

    Raises `ParseError` or `IRError`.
    """
    return parse_program(make_context(), text, name)


def load(path: str) -> ModuleOp:
    """The checked program in a file. Raises `ParseError` or `IRError`, also when it cannot be read."""
    return parse(read_source(path), source_name(path))


def function(module: ModuleOp, name: str | None = None) -> FuncOp:
    """The function of that name, or the only one. Raises `IRError` when there is none."""
    return the_function(module, name)


def generate(
    func: FuncOp,
    mesh: Mapping[str, int],
    given: Mapping[str, Input] | None = None,
    shapes: Mapping[str, Sequence[int | None]] | None = None,
    seed: int = 0,
) -> dict[str, Input]:
    """Inputs for `run`: those `given`, the others at random, as `coconet-run` makes them.

    `mesh` gives sizes of axes, `shapes` global shapes of arguments with None for what is open. Raises `IRError`.
    """
    return inputs.generate(func, bind_mesh(func, mesh), given or {}, shapes or {}, seed)


def show(module: ModuleOp) -> str:
    """The program as text, as `coconet-opt` prints it."""
    return print_module(module)


def explain(error: Exception, module: ModuleOp | None = None) -> str:
    """What the tools print for an error of a program. Raises `error` itself when it is none."""
    found = diagnose(error, module)
    if found is None:
        raise error
    return render(found)
