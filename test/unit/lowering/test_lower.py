"""The whole way down as one pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from coconet_ir.diagnostics import IRError
from coconet_ir.frontend import check_after, make_context
from coconet_ir.lowering.lower import LowerPass
from coconet_ir.program import Program
from coconet_ir.tools.pipeline import available_passes, parse_passes
from coconet_ir.xdsl_compat import print_module

EXAMPLES = Path(__file__).parents[3] / "examples"
STAGES = (
    "coconet-lower-to-ranks,coconet-form-kernels,coconet-bufferize,coconet-outline-kernels,"
    "coconet-lower-kernels{target=sm_80}"
)


def test_it_is_its_stages_and_nothing_else() -> None:
    found = parse_passes("coconet-lower{target=sm_80}", available_passes())
    assert found == parse_passes(STAGES, available_passes())
    program = Program.load(str(EXAMPLES / "adam.mlir"))
    whole, by_stage = program.module.clone(), program.module.clone()
    LowerPass("sm_80").apply(make_context(), whole)
    for stage in found:
        stage.apply(make_context(), by_stage)
    assert print_module(whole) == print_module(by_stage)
    assert 'coconet.level = "device"' in print_module(whole)


def test_an_unknown_target_is_refused_before_anything_runs() -> None:
    with pytest.raises(IRError, match="there is no target 'sm_70': there are sm_80, sm_90a"):
        LowerPass("sm_70")
    with pytest.raises(IRError, match="there is no target 'sm_70'"):
        parse_passes("coconet-lower{target=sm_70}", available_passes())


def test_what_a_stage_leaves_is_checked() -> None:
    program = Program.load(str(EXAMPLES / "sgd.mlir"))
    module = program.module.clone()
    stages = LowerPass().stages()
    stages[0].apply(make_context(), module)
    module.attributes.clear()
    with pytest.raises(IRError, match=r"\(after pass 'coconet-lower-to-ranks'\)"):
        check_after(stages[0], module)
