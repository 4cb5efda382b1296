"""What a bound plan says, against the simulator: run by a model of a device, and piece by piece."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import StringAttr

from coconet_ir.diagnostics import IRError
from coconet_ir.program import Program
from coconet_ir.runtime.plan import Bound, Plan
from coconet_ir.runtime.steps import ARENA, Buffer, Clear, Copy, Launch, Matmul, Place
from coconet_ir.sim.elements import ELEMENTS, element_name
from coconet_ir.sim.mesh import Shape

Array = npt.NDArray[Any]
Split = Callable[..., tuple[dict[str, Array], dict[str, Any]]]

EPS = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}


def plan_of(text: str) -> Plan:
    """The plan of a program."""
    return Program.parse(text).compile(cache=False).plan


def one(text: str, shapes: Mapping[str, Shape], **scalars: Any) -> Bound:
    """A program bound."""
    return plan_of(text).bind(shapes, scalars)


def check(
    program: Program, split: Split, model: Any, shapes: Mapping[str, Sequence[int]], **given: Any
) -> None:
    """Assert that the model of a device gives what the simulator gives."""
    plan = program.compile(cache=False).plan
    mesh = dict.fromkeys(plan.entry.single.axes, 1)
    inputs = program.generate(mesh, given, shapes, seed=7)
    wanted = program.run(mesh, inputs).outputs
    tensors, scalars = split(program, inputs)
    tensors = {name: array.copy() for name, array in tensors.items()}
    bound = plan.bind({name: array.shape for name, array in tensors.items()}, scalars)
    numbered = {plan.arguments[name]: array for name, array in tensors.items()}
    results = model(program).run(bound, numbered)
    found = {f"result{i}": array for i, array in enumerate(results)}
    found |= {name: tensors[name] for name in plan.entry.updated}
    assert found.keys() == wanted.keys()
    for name, out in wanted.items():
        want = out.array.reshape(found[name].shape)
        assert found[name].dtype == want.dtype, name
        a, b = found[name].astype(np.float64), want.astype(np.float64)
        bound_ = 64 * EPS.get(element_name(want.dtype), 0) * np.max(np.abs(b), initial=1.0)
        assert np.max(np.abs(a - b), initial=0.0) <= bound_, name


@pytest.mark.parametrize("n", [0, 1, 7, 1024, 2051])
@pytest.mark.parametrize("name", ["adam", "lamb", "sgd"])
def test_optimizers_on_the_model(
    name: str, n: int, example: Callable[[str], Program], split: Split, model: Any
) -> None:
    """Launches, the arena, and the collective of one rank."""
    check(example(name), split, model, {"grad": (n,)})


@pytest.mark.parametrize("name", ["attention", "mlp", "rmsnorm", "moe", "pipeline", "two_axes"])
def test_examples_on_the_model(
    name: str, example: Callable[[str], Program], split: Split, model: Any
) -> None:
    """Products, permutations, packed blocks, and results in buffers of their own."""
    check(example(name), split, model, {})


def test_sizes_are_zero(split: Split, model: Any) -> None:
    """A product of nothing, a sum over nothing, and a result without elements."""
    program = Program.parse("""
    func.func @f(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?xf32>) {
      %y = comp.matmul %a, %b : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
      %s = comp.reduce sum %y dims [1] : tensor<?x?xf32> -> tensor<?xf32>
      func.return %y, %s : tensor<?x?xf32>, tensor<?xf32>
    }""")
    for m, k, n in ((0, 3, 2), (2, 0, 3), (2, 3, 0), (0, 0, 0), (3, 1, 5)):
        check(program, split, model, {"a": (m, k), "b": (k, n)})


def test_custom_operations(split: Split, model: Any) -> None:
    """Their bodies are part of the program, and give shapes too."""
    program = Program.parse("""
    comp.define @rows rule [m, k] -> [m], k = reduction(sum) {
    ^bb0(%v: tensor<?x?xf32>):
      %y = comp.reduce sum %v dims [1] : tensor<?x?xf32> -> tensor<?xf32>
      comp.yield %y : tensor<?xf32>
    }
    func.func @f(%x: tensor<?x?xf32>) -> tensor<?xf32> {
      %y = comp.custom @rows(%x) : (tensor<?x?xf32>) -> tensor<?xf32>
      func.return %y : tensor<?xf32>
    }""")
    for shape in ((5, 7), (0, 3), (3, 0)):
        check(program, split, model, {"x": shape})


@pytest.mark.parametrize("shape", [(5, 9), (4, 3), (1, 6), (2, 0), (0, 3)])
def test_a_size_that_is_part_of_another(shape: Shape, split: Split, model: Any) -> None:
    """A kernel whose buffers have 3*h elements in a dimension, and no h: the host divides."""
    blocks = "tensor<?x?xf32, #layout.dist<a = sliced(1)>>"
    program = Program.parse(f"""
    layout.mesh @mesh(a = 2)
    func.func @f(%x: tensor<?x?xf32>) -> {blocks} {{
      %part = layout.slice %x over [a] dim 1 : tensor<?x?xf32> -> {blocks}
      %y = math.exp %part : {blocks}
      %whole = coll.all_gather %y over [a] : {blocks} -> tensor<?x?xf32>
      %cut = comp.reshape %whole [d, (h e)] -> [d, h, e] : tensor<?x?xf32> -> tensor<?x?x3xf32>
      %flat = comp.reshape %cut [d, h, e] -> [d, (h e)] : tensor<?x?x3xf32> -> tensor<?x?xf32>
      %z = layout.slice %flat over [a] dim 1 : tensor<?x?xf32> -> {blocks}
      func.return %z : {blocks}
    }}""")
    check(program, split, model, {"x": shape})


SCALARS = """
func.func @f(%x: tensor<?xTYPE>, %a: TYPE) -> tensor<?xTYPE> {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xTYPE>
  %s = tensor.splat %a[%n] : tensor<?xTYPE>
  %y = OP %x, %s : tensor<?xTYPE>
  func.return %y : tensor<?xTYPE>
}"""


@pytest.mark.parametrize(
    ("type", "op", "value"),
    [
        ("f64", "arith.addf", 0.1),
        ("f32", "arith.addf", 0.1),
        ("f16", "arith.addf", 0.1),
        ("bf16", "arith.addf", 0.1),
        ("i64", "arith.addi", -(2**63)),
        ("i32", "arith.addi", -(2**31)),
        ("i1", "arith.ori", True),
    ],
)
def test_scalars_as_they_lie_in_memory(type: str, op: str, value: Any) -> None:
    """Each type has its width, and Python's numbers are rounded as the simulator rounds them."""
    bound = one(SCALARS.replace("TYPE", type).replace("OP", op), {"x": (5,)}, a=value)
    (launch,) = bound.steps
    assert isinstance(launch, Launch)
    packed = np.asarray(value).astype(ELEMENTS[type]).tobytes()
    count = (5).to_bytes(8, "little")
    assert sorted(a for a in launch.arguments if isinstance(a, bytes)) == sorted([packed, count])


def test_host_arithmetic_is_that_of_the_simulator() -> None:
    """Functions of scalars have the simulator's bits, before and after scalars change."""
    text = """
    func.func @f(%x: tensor<4xf32>, %a: f32, %b: f32) -> (tensor<4xf32>, f32, f32) {
      %p = math.powf %a, %b : f32
      %e = math.exp %p : f32
      %s = tensor.splat %e : tensor<4xf32>
      %y = arith.mulf %x, %s : tensor<4xf32>
      func.return %y, %p, %e : tensor<4xf32>, f32, f32
    }"""
    program = Program.parse(text)
    plan = program.compile(cache=False).plan
    rng = np.random.default_rng(3)
    bound = plan.bind({"x": (4,)}, {"a": 0.5, "b": 2.0})
    for a, b in rng.random((20, 2)) * 3:
        found = program.run({}, {"x": np.ones(4, np.float32), "a": a, "b": b}).outputs
        again = plan.rebind(bound, {"a": a, "b": b})
        anew = plan.bind({"x": (4,)}, {"a": a, "b": b})
        assert again.steps == anew.steps
        for result in (again, anew):
            _, p, e = result.results
            assert isinstance(p, np.ndarray)
            assert isinstance(e, np.ndarray)
            assert (p.tobytes(), e.tobytes()) == (
                found["result1"].array.tobytes(),
                found["result2"].array.tobytes(),
            )


def test_rebinding_changes_what_depends_on_a_scalar_alone(
    example: Callable[[str], Program],
) -> None:
    """A new learning rate reaches the kernel that uses it; the other launches stay what they were."""
    plan = example("adam").compile(cache=False).plan
    scalars = dict.fromkeys(plan.entry.scalars, 0.5)
    bound = plan.bind({name: (3000,) for name in plan.entry.tensors}, scalars)
    again = plan.rebind(bound, {"lr": 0.25})
    differ = [a != b for a, b in zip(bound.steps, again.steps, strict=True)]
    assert differ == [False, True]
    assert (
        again.steps
        == plan.bind({name: (3000,) for name in plan.entry.tensors}, {**scalars, "lr": 0.25}).steps
    )
    assert plan.rebind(again, {"lr": 0.5}).steps == bound.steps


SIZED = """
func.func @f(%x: tensor<?xf32>, %n: index, %s: f32) -> tensor<?xf32> {
  %t = tensor.splat %s[%n] : tensor<?xf32>
  %y = arith.addf %t, %x : tensor<?xf32>
  func.return %y : tensor<?xf32>
}"""


def test_a_scalar_that_is_a_size() -> None:
    """It must fit the tensors, and only a new call changes it."""
    plan = plan_of(SIZED)
    bound = plan.bind({"x": (4,)}, {"n": 4, "s": 1.0})
    assert [b.shape for b in bound.results if isinstance(b, Buffer)] == [(4,)]
    assert plan.rebind(bound, {"n": 4, "s": 2.0}).steps != bound.steps
    with pytest.raises(IRError, match=r"takes %n for a size"):
        plan.rebind(bound, {"n": 5})
    with pytest.raises(IRError, match=r"needs equal sizes: .* is 4, but .* is 5"):
        plan.bind({"x": (4,)}, {"n": 5, "s": 1.0})


def test_shapes_that_contradict() -> None:
    """The simulator's messages."""
    text = """
    func.func @f(%x: tensor<?x4xf32>, %y: tensor<?x4xf32>) -> tensor<?x4xf32> {
      %z = arith.addf %x, %y : tensor<?x4xf32>
      func.return %z : tensor<?x4xf32>
    }"""
    plan = plan_of(text)
    with pytest.raises(IRError, match=r"needs equal sizes: dimension 0 of %y is 3, but .* is 2"):
        plan.bind({"x": (2, 4), "y": (3, 4)}, {})
    with pytest.raises(IRError, match=r"needs 4 for dimension 1 of %x, not 5"):
        plan.bind({"x": (2, 5), "y": (2, 4)}, {})
    with pytest.raises(IRError, match=r"takes %x with 2 dimension\(s\), but the shape 2"):
        plan.bind({"x": (2,), "y": (2, 4)}, {})
    with pytest.raises(IRError, match=r"has no input for argument\(s\) y"):
        plan.bind({"x": (2, 4)}, {})
    with pytest.raises(IRError, match=r"has no argument 'z'; there are: x, y"):
        plan.bind({"x": (2, 4), "y": (2, 4), "z": (1,)}, {})


SCALED = """
func.func @f(%x: tensor<?xf32>, %a: f32) -> tensor<?xf32> {
  %y = comp.scale %x by %a : tensor<?xf32>
  func.return %y : tensor<?xf32>
}"""


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        *(
            (shape, r"takes a shape for %x, .* not ")
            for shape in (3, None, ("a",), "5", (1.5,), (None,))
        ),
        ((-1,), "needs at least 0 for dimension 0 of %x, not -1"),
        ((2**60,), f"makes a tensor of the shape {2**60}: all tensors together have more than"),
        *(((2**n,), f"takes %x of the shape {2**n}: all tensors") for n in (61, 62, 63, 64, 70)),
    ],
)
def test_shapes_that_are_none(shape: Any, message: str) -> None:
    with pytest.raises(IRError, match=message):
        plan_of(SCALED).bind({"x": shape}, {"a": 1.0})


def test_scalars_and_shapes_by_each_others_names() -> None:
    plan = plan_of(SCALED)
    with pytest.raises(IRError, match="takes %a as a scalar, which has no shape"):
        plan.bind({"x": (3,), "a": ()}, {})
    with pytest.raises(IRError, match="takes %x as a tensor, so its shape is to be given"):
        plan.bind({}, {"x": 1.0, "a": 1.0})
    wrong: list[Any] = ["q", None, [1, [2, 3]]]
    for given in wrong:
        with pytest.raises(IRError, match=r"%a"):
            plan.bind({"x": (3,)}, {"a": given})


def test_an_empty_tensor_has_sizes_of_64_bits_too() -> None:
    plan = plan_of(SCALED.replace("?xf32", "?x?xf32"))
    assert plan.bind({"x": (0, 2**59)}, {"a": 1.0}).buffers[0].shape == (0, 2**59)
    with pytest.raises(IRError, match=f"of the shape 0x{2**70}"):
        plan.bind({"x": (0, 2**70)}, {"a": 1.0})


def test_more_elements_than_are_simulated() -> None:
    """Arguments, results, what stands between them, and offsets of segments."""
    n = 2**33 + 1
    bound = one(SCALED, {"x": (n,)}, a=1.0)
    assert [buffer.shape for buffer in bound.buffers.values()] == [(n,), (n,)]
    (launch,) = bound.steps
    assert isinstance(launch, Launch)
    assert math.prod(launch.grid) * 1024 >= n
    text = """
    func.func @f(%x: tensor<?xf32>, %o: tensor<?xi64>) -> tensor<?xf32> {
      %n = comp.segment_reduce sum %x, %o : (tensor<?xf32>, tensor<?xi64>) -> tensor<?xf32>
      %y = comp.segment_broadcast %n, %o like %x : (tensor<?xf32>, tensor<?xi64>, tensor<?xf32>) -> tensor<?xf32>
      func.return %y : tensor<?xf32>
    }"""
    (result,) = one(text, {"x": (n,), "o": (2**31,)}).results
    assert isinstance(result, Buffer)
    assert result.shape == (n,)


def test_an_element_that_is_not_there() -> None:
    """Where an element is taken is checked with the simulator's words."""
    text = """
    func.func @f(%x: tensor<?xf32>, %i: index) -> f32 {
      %e = tensor.extract %x[%i] : tensor<?xf32>
      func.return %e : f32
    }"""
    plan = plan_of(text)
    (result,) = plan.bind({"x": (3,)}, {"i": 2}).results
    assert isinstance(result, Buffer)
    assert (result.shape, element_name(result.dtype)) == ((), "f32")
    with pytest.raises(IRError, match=r"takes index 3 of dimension 0, which has 3 element\(s\)"):
        plan.bind({"x": (3,)}, {"i": 3})


def test_a_place_that_only_the_device_knows() -> None:
    """It is refused when the program is compiled."""
    text = """
    func.func @f(%x: tensor<?xf32>, %i: tensor<i64>) -> f32 {
      %e = tensor.extract %i[] : tensor<i64>
      %n = arith.index_cast %e : i64 to index
      %y = tensor.extract %x[%n] : tensor<?xf32>
      func.return %y : f32
    }"""
    with pytest.raises(IRError, match="which only the device knows") as caught:
        plan_of(text)
    assert "<text>:3:7: error: 'tensor.extract' op" in caught.value.render()


def test_scalars_that_cannot_be_computed() -> None:
    """A division by zero on the host, at first and later."""
    text = """
    func.func @f(%x: tensor<4xi32>, %a: i32, %b: i32) -> tensor<4xi32> {
      %q = arith.divsi %a, %b : i32
      %s = tensor.splat %q : tensor<4xi32>
      %y = arith.addi %x, %s : tensor<4xi32>
      func.return %y : tensor<4xi32>
    }"""
    plan = plan_of(text)
    bound = plan.bind({"x": (4,)}, {"a": 7, "b": 2})
    for call in (
        lambda: plan.bind({"x": (4,)}, {"a": 7, "b": 0}),
        lambda: plan.rebind(bound, {"b": 0}),
    ):
        with pytest.raises(IRError, match="divides by zero") as caught:
            call()
        assert "arith.divsi" in caught.value.render()
    with pytest.raises(IRError, match=r"has no scalar 'x'; there are: a, b"):
        plan.rebind(bound, {"x": 1})
    with pytest.raises(IRError, match="out of range for i32"):
        plan.rebind(bound, {"a": 2**31})


COLLECTIVES = """
!x = tensor<6xf32, #layout.dist<dp = local>>
module {
  layout.mesh @mesh(dp = 4)
  func.func @f(%x: !x) -> !x {
    %y = coll.permute %x over [dp] pairs PAIRS : !x -> !x
    func.return %y : !x
  }
}"""


def test_a_permutation_of_one_rank() -> None:
    """To itself it is a copy; a rank that nobody sends to gets zeros."""
    for pairs, kind in (("[[0, 0]]", Copy), ("[]", Clear)):
        bound = one(COLLECTIVES.replace("PAIRS", pairs), {"x": (6,)})
        (step,) = bound.steps
        assert isinstance(step, kind)
        assert step.bytes == 24
        assert step.target == Place(1)


MATMUL = """
!a = tensor<STACK?x?xELEMENT>
!b = tensor<OTHER?x?xELEMENT>
!y = tensor<STACK?x?xRESULT>
func.func @f(%a: !a, %b: !b) -> !y {
  %y = comp.matmul %a, %b {accumulate = SUM} : (!a, !b) -> !y
  func.return %y : !y
}"""


def matmul(element: str, total: str, result: str, stack: str = "", other: str = "") -> str:
    """A program of one product."""
    names = {"ELEMENT": element, "SUM": total, "RESULT": result, "STACK": stack, "OTHER": other}
    text = MATMUL
    for name, value in names.items():
        text = text.replace(name, value)
    return text


def test_products() -> None:
    """A stack times one matrix is one product, times a stack a product each."""
    (step,) = one(matmul("f32", "f32", "f32", "?x"), {"a": (3, 4, 5), "b": (5, 6)}).steps
    assert step == Matmul(Place(0), Place(1), Place(2), 1, 12, 6, 5, "f32", "f32", "f32")
    (step,) = one(matmul("f16", "f32", "f16", "?x", "?x"), {"a": (3, 4, 5), "b": (3, 5, 6)}).steps
    assert isinstance(step, Matmul)
    assert (step.batch, step.m, step.n, step.k) == (3, 4, 6, 5)


@pytest.mark.parametrize(
    ("element", "total", "result"),
    [("i32", "i32", "i32"), ("f32", "f64", "f32"), ("f16", "f64", "f16")],
)
def test_products_that_the_library_lacks(element: str, total: str, result: str) -> None:
    """They are refused before anything is compiled."""
    with pytest.raises(IRError, match=f"multiplies {element} elements, adds in {total}"):
        plan_of(matmul(element, total, result))


PEAKS = {
    "adam": "4*grad.0",
    "clip": "4 + 4*grad.0 + 4*min(ceil(grad.0/1024), 32768)",
    "lamb": "12 + 4*grad.0 + 12*min(ceil(grad.0/1024), 32768)",
}


@pytest.mark.parametrize("n", [1, 1023, 5000])
@pytest.mark.parametrize("name", PEAKS)
def test_what_is_set_aside_is_what_the_peak_says(
    name: str, n: int, example: Callable[[str], Program]
) -> None:
    """But for at most 255 bytes that align each of up to eight parts."""
    plan = example(name).compile(cache=False).plan
    peak = plan.host.attributes["coconet.peak"]
    assert isinstance(peak, StringAttr)
    assert peak.data == PEAKS[name]
    stated = eval(peak.data.replace("grad.0", str(n)), {"ceil": math.ceil, "min": min})
    scalars = dict.fromkeys(plan.entry.scalars, 0.5)
    arena = plan.bind(dict.fromkeys(plan.entry.tensors, (n,)), scalars).arena
    assert stated <= arena < stated + 8 * 256


def test_launches_say_what_they_wait_for(example: Callable[[str], Program]) -> None:
    """Numbers of launches before them, and the arena is as large as what lies in it."""
    plan = example("lamb").compile(cache=False).plan
    scalars = dict.fromkeys(plan.entry.scalars, 0.5)
    bound = plan.bind({name: (5000,) for name in plan.entry.tensors}, scalars)
    for number, step in enumerate(bound.steps):
        if isinstance(step, Launch):
            assert all(isinstance(bound.steps[one], Launch) for one in step.after)
            assert all(one < number for one in step.after)
            places = [a for a in step.arguments if isinstance(a, Place) and a.owner == ARENA]
            assert all(place.offset % 256 == 0 and place.offset < bound.arena for place in places)
    assert any(step.after for step in bound.steps if isinstance(step, Launch))
    assert bound.arena >= 4 * 5000
