"""Programs as cases of a check: what their outputs are compared with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from coconet_ir.emu.checks.case import ProgramCase, program_case
from coconet_ir.emu.checks.check import check
from coconet_ir.program import Program

TEXT = """
layout.mesh @mesh(dp = 2)
func.func @f(%x: tensor<2x3xf32, #layout.dist<dp = local>>, %w: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %s = coll.all_reduce sum %x over [dp] : tensor<2x3xf32, #layout.dist<dp = local>> -> tensor<2x3xf32>
  %new = arith.addf %w, %s : tensor<2x3xf32>
  %stored = comp.update %w, %new : tensor<2x3xf32>
  %out = arith.mulf %s, %s : tensor<2x3xf32>
  func.return %out : tensor<2x3xf32>
}
"""


@pytest.fixture
def case() -> ProgramCase:
    program = Program.parse(TEXT)
    return program_case(program.function(), {"dp": 3}, program.generate({"dp": 3}), repeat=2)


def test_updates_of_earlier_calls_count(case: ProgramCase) -> None:
    program = Program.parse(TEXT)
    inputs = program.generate({"dp": 3})
    once = program.run({"dp": 3}, inputs).outputs["w"].array
    twice = program.run({"dp": 3}, {**inputs, "w": once}).outputs["w"].array
    assert case.expected.outputs["w"].array.tolist() == twice.tolist()
    assert check(case, schedules=2).clean


def test_wrong_values_of_outputs(case: ProgramCase) -> None:
    output = case.expected.outputs["result0"]
    wrong = np.array(output.array)
    wrong[1, 2] += 0.5
    right = float(output.array[1, 2])
    outputs = {**case.expected.outputs, "result0": replace(output, array=wrong)}
    report = check(replace(case, expected=replace(case.expected, outputs=outputs)), schedules=3)
    (found,) = report.findings
    assert (found.finding.kind, found.finding.buffer, found.count) == ("wrong value", "result0", 3)
    values = f"element (1, 2) of result0 is {np.float32(right)}, not {wrong[1, 2]}"
    assert found.finding.message == f"{values}; 1 of 6 elements are wrong"


def test_ranks_that_differ_where_all_have_the_same(case: ProgramCase) -> None:
    memory = [
        {owner: memory.content or bytes(memory.bytes) for owner, memory in rank.memory.items()}
        for rank in case.job.ranks
    ]
    (owner,) = (n for n, one in case.job.ranks[0].memory.items() if one.name == "%w")
    memory[1][owner] = bytes(len(memory[1][owner]))
    (found,) = case.differences(memory)
    assert found.kind == "wrong value"
    assert "differ" in found.message
