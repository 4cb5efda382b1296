"""Every example, as it stands and as each of its schedules makes it, all the way down for every target.

The text of each stage is read again, upstream's tools take it, and the kernels assemble without spills. What several
forms of an example have in common is judged once.
"""

from __future__ import annotations

import gc
import re
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest
from xdsl.dialects import gpu
from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr, UnitAttr
from xdsl.dialects.memref import GetGlobalOp, GlobalOp
from xdsl.ir import Block, Operation, Region

from coconet_ir.analysis.verifier import LEVEL
from coconet_ir.frontend import make_context, parse_program
from coconet_ir.lowering.kernels.kernel import MODULE
from coconet_ir.lowering.lower import LowerPass
from coconet_ir.lowering.lower_kernels import LowerKernelsPass
from coconet_ir.lowering.targets import TARGETS, Target, device_module, translate
from coconet_ir.program import Program
from coconet_ir.xdsl_compat import print_module

EXAMPLES = Path(__file__).parents[3] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.mlir"))
*TO_KERNELS, LOWER_KERNELS = LowerPass("sm_80").stages()

CONTRACTED = re.compile(r"\b(?:add|sub|mul)(?:\.ftz)?\.(?:b?f16(?:x2)?|f32|f64)\b.*")
"""What ptxas may make one operation with another: it does not round as stated."""

Scheduled = Callable[[str], Mapping[str, Program]]


@pytest.fixture(autouse=True)
def no_collections() -> Iterator[None]:
    """A module is one large live graph: collections only cost time."""
    gc.disable()
    yield
    gc.enable()


@cache
def to_kernels(program: Program) -> tuple[ModuleOp, ...]:
    """What each stage but the last makes of a program."""
    ctx, module = make_context(), program.module
    stages: list[ModuleOp] = []
    for stage in TO_KERNELS:
        module = module.clone()
        stage.apply(ctx, module)
        stages.append(module)
    return tuple(stages)


def forms(name: str, scheduled: Scheduled) -> Iterator[tuple[ModuleOp, ...]]:
    """The stages, but for the last, of an example and of what its schedules make of it."""
    for program in (Program.load(str(EXAMPLES / f"{name}.mlir")), *scheduled(name).values()):
        yield to_kernels(program)


@pytest.mark.parametrize("name", NAMES)
def test_every_stage_is_read_again_here_and_upstream(
    name: str,
    scheduled: Scheduled,
    mlir_opt: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    found: dict[str, ModuleOp] = {}
    for stages in forms(name, scheduled):
        LOWER_KERNELS.apply(make_context(), last := stages[-1].clone())
        found.update((print_module(module), module) for module in (*stages, last))
    for text in found:
        assert print_module(parse_program(make_context(), text, name)) == text
    generic = [print_module(module, generic=True) for module in found.values()]
    options = ("--allow-unregistered-dialect", "--split-input-file", "-o", "/dev/null")
    ran = mlir_opt("// -----\n".join(generic), *options)
    assert ran.returncode == 0, ran.stderr


def kernels(modules: Iterable[ModuleOp]) -> ModuleOp:
    """The kernels of several modules as one module, those that differ in their names alone once."""
    found: dict[str, list[Operation]] = {}
    for module in modules:
        for func in device_module(module).regions[0].block.ops:
            if isinstance(func, gpu.FuncOp):
                text = str(func).replace(func.sym_name.data, "kernel")
                if text not in found:
                    found[text] = renamed(func, f"kernel{len(found)}")
    block = Block([op for ops in found.values() for op in ops])
    together = gpu.ModuleOp.create(
        properties={"sym_name": StringAttr(MODULE)}, regions=[Region(block)]
    )
    return ModuleOp([together], {LEVEL: StringAttr("kernel")})


def renamed(func: gpu.FuncOp, name: str) -> list[Operation]:
    """A copy of a kernel under another name, behind copies of the memory that its blocks share."""
    copy, before = func.clone(), func.sym_name.data
    copy.sym_name = StringAttr(name)
    memory: list[Operation] = []
    for op in copy.walk():
        if isinstance(op, GetGlobalOp):
            op.name_ = SymbolRefAttr(op.name_.string_value().replace(before, name, 1))
            memory.append(GlobalOp.get(op.name_.root_reference, op.memref.type, UnitAttr()))
    return [*memory, copy]


@pytest.mark.parametrize("name", NAMES)
def test_kernels_assemble_for_every_target(
    name: str,
    scheduled: Scheduled,
    upstream: Callable[[ModuleOp], str],
    assemble: Callable[[str, Target], str],
) -> None:
    together = kernels(stages[-1] for stages in forms(name, scheduled))
    for target in TARGETS.values():
        LowerKernelsPass(target.name).apply(make_context(), lowered := together.clone())
        said = assemble(ptx := translate(lowered, "ptx"), target)
        assert f".version {target.version}\n.target {target.name}\n" in ptx
        assert CONTRACTED.findall(ptx) == []
        frames = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill", said)
        assert frames, said
        assert set(frames) == {("0", "0")}, said
        device = device_module(lowered).regions[0].block
        upstream(ModuleOp([op.clone() for op in device.ops]))
