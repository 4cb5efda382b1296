"""How messages name what a selector could have meant."""

from __future__ import annotations

import pytest

from coconet_ir.diagnostics import IRError
from coconet_ir.frontend import make_context
from coconet_ir.passes.slice import SlicePass, slice_value
from coconet_ir.program import Program

TEXT = """layout.mesh @mesh(tp = 2)
func.func @f(%w: tensor<?xf32>) -> tensor<?xf32> {
  %y = arith.addf %w, %w : tensor<?xf32>
  func.return %y : tensor<?xf32>
}"""

MESSAGE = (
    "has 'w' (op=w) as an argument, not as an operation: coconet-slice takes it as arg=w, coconet-slice-state as "
    "args=w; there are: y"
)


def test_an_argument_is_no_operation() -> None:
    module = Program.parse(TEXT, "p.mlir").module
    with pytest.raises(IRError) as error:
        SlicePass(("tp",), op="w").apply(make_context(), module)
    assert error.value.message == MESSAGE
    with pytest.raises(IRError) as error:
        slice_value(Program(module).function(), "w", ("tp",))
    assert error.value.message == MESSAGE
