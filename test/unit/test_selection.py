"""How messages name what a selector could have meant."""

from __future__ import annotations

import pytest

from coconet_ir import api
from coconet_ir.diagnostics import IRError
from coconet_ir.frontend import make_context
from coconet_ir.passes.slice import SlicePass

TEXT = """layout.mesh @mesh(tp = 2)
func.func @f(%w: tensor<?xf32>) -> tensor<?xf32> {
  %y = arith.addf %w, %w : tensor<?xf32>
  func.return %y : tensor<?xf32>
}"""

MESSAGE = "has 'w' (op=w) as an argument, and passes take only results of operations; there are: y"


def test_an_argument_is_no_operation() -> None:
    module = api.parse(TEXT, "p.mlir")
    with pytest.raises(IRError) as error:
        SlicePass("w", ("tp",)).apply(make_context(), module)
    assert error.value.message == MESSAGE
    with pytest.raises(IRError) as error:
        api.slice_value(api.function(module), "w", ("tp",))
    assert error.value.message == MESSAGE
