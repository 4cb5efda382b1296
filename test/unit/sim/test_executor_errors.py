"""What the executor refuses, with its place, and custom operations."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.func import FuncOp

from coconet_ir.analysis import customs
from coconet_ir.diagnostics import IRError
from coconet_ir.frontend import make_context, parse_program
from coconet_ir.sim.binding import bind_inputs, bind_mesh, the_function
from coconet_ir.sim.elements import BF16, F32, F64, same_bits
from coconet_ir.sim.exchange import InProcess
from coconet_ir.sim.executor import Machine, run
from coconet_ir.sim.kernels import Numbers
from coconet_ir.sim.mesh import Mesh

Array = npt.NDArray[Any]
Outputs = Callable[..., dict[str, Array]]
Program = Callable[[str], FuncOp]

ADD = """layout.mesh @mesh(dp = 2)
!l = tensor<?xf32, #layout.dist<dp = local>>
func.func @f(%x: !l, %w: tensor<?xf32>, %k: f32, %n: i32) -> tensor<?xf32> {
  %a = coll.all_reduce sum %x over [dp] : !l -> tensor<?xf32>
  %b = arith.addf %a, %w : tensor<?xf32>
  func.return %b : tensor<?xf32>
}"""

GOOD: dict[str, Any] = {
    "x": np.ones((2, 5), F32), "w": np.ones(5, F32), "k": 0.5, "n": 3,
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"w": None}, r"test.mlir:3:1: error: 'func.func' op has no input for argument\(s\) w"),
        ({"z": 1}, "has no argument 'z'; there are: x, w, k, n"),
        (
            {"w": np.ones(6, F32)},
            "needs equal sizes: dimension 0 of %w is 6, but dimension 0 of %x is 5",
        ),
        ({"x": np.ones((3, 5), F32)}, r"needs 2x\? for %x \(dp = 2 in front\), but is given 3x5"),
        ({"x": np.ones(5, F32)}, r"needs 2x\? for %x \(dp = 2 in front\), but is given 5"),
        (
            {"w": np.full(5, 0.1)},
            "is given f64 for %w with values that f32 does not hold: convert them first",
        ),
        ({"w": np.ones(5, np.int32)}, "is given i32 for %w, but f32 is needed"),
        ({"w": ["a"] * 5}, "not numbers"),
        ({"w": np.full(5, 0.1, BF16).view("V2")}, "is given \\|V2 elements for %w, not numbers"),
        ({"k": np.ones(2, F32)}, r"takes %k as a scalar, but its input has 1 dimension\(s\)"),
        ({"n": 2**31}, "is given a number for %n that is out of range for i32"),
        ({"n": -(10**5000)}, "is given a number for %n that is out of range for i32"),
        ({"k": 1e50}, "is given a number for %k that is out of range for f32"),
        ({"k": -(10**400)}, "is given a number for %k that is out of range for f32"),
        ({"n": np.int64(2**31)}, "is given i64 for %n with values that i32 does not hold"),
        ({"n": 0.5}, "is given f64 for %n, but i32 is needed"),
    ],
)
def test_inputs_that_do_not_fit(program: Program, change: Mapping[str, Any], message: str) -> None:
    inputs = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
    with pytest.raises(IRError) as error:
        run(program(ADD), {}, inputs)
    assert re.search(message, error.value.render()), error.value.render()


def test_inputs_that_fit_exactly_are_taken(outputs: Outputs) -> None:
    got = outputs(ADD, {}, **{**GOOD, "w": np.full(5, 0.5), "k": 1, "n": np.int64(3)})
    assert got["result0"].tolist() == [2.5] * 5
    bits = np.ones(3, BF16).view("V2")
    got = outputs("func.func @f(%x: tensor<3xbf16>) -> tensor<3xbf16> {\n  "
                  "func.return %x : tensor<3xbf16>\n}", {}, x=bits)  # fmt: skip
    assert same_bits(got["result0"], np.ones(3, BF16))


@pytest.mark.parametrize(
    ("mesh", "message"),
    [
        ({"tp": 2}, "the program's mesh has no axis 'tp'; there are: dp"),
        ({"dp": 0}, "axis 'dp' must have at least 1 rank, not 0"),
        ({"dp": -3}, "axis 'dp' must have at least 1 rank, not -3"),
        ({"dp": 10**9}, "a mesh of 1000000000 ranks is more than"),
    ],
)
def test_meshes_that_do_not_fit(program: Program, mesh: dict[str, int], message: str) -> None:
    with pytest.raises(IRError, match=message):
        run(program(ADD), mesh, GOOD)


ROOTED = """layout.mesh @mesh(dp = 8)
!l = tensor<4xf32, #layout.dist<dp = local>>
!r = tensor<4xf32, #layout.dist<dp = root(3)>>
"""


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            "func.func @f(%x: !r) {\n  func.return\n}",
            "test.mlir:4:1: error: 'func.func' op root 3 is out of range: axis 'dp' has 2",
        ),
        (
            "func.func @f(%x: tensor<4xf32>) {\n"
            "  %r = layout.relax %x over [dp] root 3 : tensor<4xf32> -> !r\n  func.return\n}",
            "test.mlir:5:3: error: 'layout.relax' op root 3 is out of range",
        ),
        (
            "func.func @f(%x: !l) {\n"
            "  %r = coll.reduce sum %x over [dp] root 3 : !l -> !r\n  func.return\n}",
            "test.mlir:5:3: error: 'coll.reduce' op root 3 is out of range",
        ),
        (
            "func.func @f(%x: !l) {\n"
            "  %r = coll.broadcast %x over [dp] root 5 : !l -> tensor<4xf32>\n  func.return\n}",
            "'coll.broadcast' op root 5 is out of range",
        ),
        (
            "func.func @f(%x: !l) {\n"
            "  %r = coll.permute %x over [dp] pairs [[0, 4]] : !l -> !l\n  func.return\n}",
            "'coll.permute' op coordinate 4 is out of range: axis 'dp' has 2",
        ),
    ],
)
def test_roots_and_pairs_out_of_range(program: Program, function: str, message: str) -> None:
    func = program(ROOTED + function)
    with pytest.raises(IRError) as error:
        run(func, {"dp": 2}, {})
    assert message in error.value.render()


@pytest.mark.parametrize(
    ("body", "inputs", "message"),
    [
        ("%r = arith.divsi %n, %z : i32", {}, "'arith.divsi' op divides by zero"),
        ("%r = tensor.splat %n[%i] : tensor<?xi32>", {"i": -1}, "is given the size -1"),
        ("%r = tensor.splat %n[%i] : tensor<?xi32>", {"i": 1 << 62}, "elements, more than"),
        (
            "%r = tensor.extract %t[%i] : tensor<?xi32>",
            {"i": 4},
            "takes index 4 of dimension 0, which has 4",
        ),
        (
            "%r = tensor.dim %t, %i : tensor<?xi32>",
            {"i": 1},
            r"asks for dimension 1 of a tensor of 1 dimension",
        ),
        (
            "%r = comp.reshape %t [(a b)] -> [a, b] : tensor<?xi32> -> tensor<?x3xi32>",
            {},
            "needs a multiple of 3 for dimension 0 of %t, not 4",
        ),
        (
            "%s = tensor.splat %n[%i] : tensor<?xi32>\n%r = arith.addi %s, %t : tensor<?xi32>",
            {"i": 3},
            "needs equal sizes: dimension 0 of operand 1 is 4, but dimension 0 of operand 0 is 3",
        ),
        (
            "%r = comp.segment_reduce sum %t, %o : (tensor<?xi32>, tensor<?xi64>) -> tensor<?xi32>",
            {},
            "needs offsets that never fall and lie between 0 and 4",
        ),
        ("%c = arith.constant 1.0 : f80", {}, "has elements of type f80, which are not simulated"),
    ],
)
def test_operations_without_a_result(
    program: Program, body: str, inputs: dict[str, Any], message: str
) -> None:
    func = program(
        "func.func @f(%n: i32, %z: i32, %i: index, %t: tensor<?xi32>, %o: tensor<?xi64>) {\n"
        f"{body}\nfunc.return\n}}"
    )
    given = {"n": 1, "z": 0, "i": 0, "t": np.arange(4, dtype=np.int32), "o": np.array([0, 5])}
    with pytest.raises(IRError) as error:
        run(func, {}, {**given, **inputs})
    assert re.search(rf"test.mlir:\d+:\d+: error: .*{message}", error.value.render())


def test_bitcasts_are_refused_in_the_exact_mode(outputs: Outputs) -> None:
    text = """func.func @f(%x: tensor<2xf32>) -> tensor<2xi32> {
      %y = arith.bitcast %x : tensor<2xf32> to tensor<2xi32>
      func.return %y : tensor<2xi32>
    }"""
    assert outputs(text, {}, x=np.ones(2, F32))["result0"].tolist() == [0x3F800000] * 2
    with pytest.raises(IRError, match="has no meaning in the exact mode"):
        outputs(text, {}, exact=True, x=np.ones(2, F32))


TWO = """func.func @g(%y: tensor<?xf32>) {
  func.return
}
func.func @neg(%y: tensor<?xf32>) {
  func.return
}
"""


def test_one_of_several_functions_is_chosen_by_name() -> None:
    module = parse_program(make_context(), TWO, "test.mlir")
    assert the_function(module, "neg").sym_name.data == "neg"
    with pytest.raises(IRError, match="the module has several functions; choose one: g, neg"):
        the_function(module, None)
    with pytest.raises(IRError, match="no function named 'h'; there are: g, neg"):
        the_function(module, "h")


# Custom operations


@pytest.fixture
def declare(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Declare custom operations for one test, without the check of their rules."""
    monkeypatch.setattr(customs, "_registered", {})
    return customs.custom


CUSTOM = """layout.mesh @mesh(dp = 3)
func.func @f(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = comp.custom @twice(%x) : (tensor<?xf32>) -> tensor<?xf32>
  func.return %y : tensor<?xf32>
}"""

DEFINED = """layout.mesh @mesh(dp = 3)
!s = tensor<?x?xf32, #layout.dist<dp = sliced(0)>>
comp.define @shift rule [m, n] -> [m, n], n = whole {
^bb0(%x: tensor<?x?xf32>):
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : tensor<?x?xf32>
  %i = arith.index_cast %n : index to i32
  %f = arith.sitofp %i : i32 to f32
  %r = comp.scale %x by %f : tensor<?x?xf32>
  comp.yield %r : tensor<?x?xf32>
}
func.func @f(%x: !s) -> !s {
  %y = comp.custom @shift(%x) : (!s) -> !s
  func.return %y : !s
}"""


def test_defined_operations_run_on_each_rank(outputs: Outputs) -> None:
    x = np.arange(20, dtype=F32).reshape(5, 4)
    assert same_bits(outputs(DEFINED, {}, x=x)["result0"], x * np.float32(4))


def test_python_operations(program: Program, declare: Callable[..., Any]) -> None:
    def twice(x: Array) -> Array:
        return x * 2

    declare("twice", "[n] -> [n]", twice)
    got = run(program(CUSTOM), {}, {"x": np.ones(3, F32)})
    assert got.outputs["result0"].array.tolist() == [2, 2, 2]


FAULTS: list[tuple[Callable[[Array], Any], str]] = [
    (
        lambda x: x.astype(F64),
        "runs a Python function that returned f64 7, where elements of f32 are needed",
    ),
    (lambda x: x[:-1], "gives f32 6 where f32 7 is needed"),
    (lambda x: x[None], r"gives 2 dimension\(s\), not 1"),
    (lambda x: (x, x), r"runs a Python function that gives 2 result\(s\), not 1"),
    (lambda x: x[9], "runs a Python function that raised IndexError"),
    (lambda x: np.copyto(x, 1), "runs a Python function that raised ValueError: assignment"),
]


@pytest.mark.parametrize(("function", "message"), FAULTS)
def test_wrong_python_operations(
    program: Program, declare: Callable[..., Any], function: Callable[..., Any], message: str
) -> None:
    def only_when_run(x: Array) -> Any:
        return function(x) if x.size == 7 else x

    declare("twice", "[n] -> [n]", only_when_run)
    with pytest.raises(IRError, match=message) as error:
        run(program(CUSTOM), {}, {"x": np.ones(7, F32)})
    assert "test.mlir:3:3" in error.value.render()


def test_replicated_values_must_agree(program: Program, declare: Callable[..., Any]) -> None:
    calls = iter(range(10**6))

    def unlike(x: Array) -> Array:
        return x + np.float32(next(calls) % 3) if x.size == 7 else x

    declare("twice", "[n] -> [n]", unlike)
    with pytest.raises(IRError) as error:
        run(program(CUSTOM), {}, {"x": np.ones(7, F32)})
    assert error.value.render() == (
        "test.mlir:3:3: error: 'comp.custom' op gives different bits on ranks that must agree: "
        "rank(s) 1, 2 differ from rank 0"
    )


# Bookkeeping


def test_values_are_dropped_after_their_last_use(program: Program) -> None:
    lines = "\n".join(f"%a{i + 1} = arith.addf %a{i}, %a{i} : tensor<?xf32>" for i in range(50))
    func = program(
        f"func.func @f(%a0: tensor<?xf32>) -> tensor<?xf32> {{\n{lines}\n"
        "func.return %a50 : tensor<?xf32>\n}"
    )
    mesh, alive = bind_mesh(func, {}), list[int]()
    ways = InProcess(1)

    def count(done: int, total: int) -> None:
        alive.append(machine.alive)

    machine = Machine(mesh, Numbers(), ways, count)
    values = bind_inputs(func, mesh, {"a0": np.ones(3, F32)}, Numbers(), ways.ranks)
    (result,) = machine.run_block(func.body.block, values)
    assert max(alive) == 1
    assert machine.alive == 0
    assert result.arrays[0][0] == 2.0**50


def test_progress_counts_all_operations(program: Program) -> None:
    seen: list[tuple[int, int]] = []

    def note(done: int, total: int) -> None:
        seen.append((done, total))

    run(program(ADD), {}, GOOD, progress=note)
    assert [done for done, _ in seen] == [1, 2]
    assert all(done <= total for done, total in seen)


def test_many_ranks_share_what_is_replicated(program: Program) -> None:
    got = run(program(ADD), {"dp": 1000}, {**GOOD, "x": np.ones((1000, 5), F32)})
    assert got.outputs["result0"].array.tolist() == [1001] * 5
    assert got.mesh == Mesh(("dp",), (1000,))
