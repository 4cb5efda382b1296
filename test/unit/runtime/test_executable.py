"""Calls, prepared calls and graphs, on a driver whose device is this process, against the simulator."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from coconet_ir.diagnostics import IRError
from coconet_ir.program import Program
from coconet_ir.runtime import dlpack
from coconet_ir.runtime.executable import DeviceArray

Array = npt.NDArray[Any]

ADD = """
func.func @f(%w: tensor<?xf32>, %x: tensor<?xf32>, %a: f32) -> (tensor<?xf32>, f32) {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  %s = tensor.splat %a[%n] : tensor<?xf32>
  %y = arith.mulf %x, %s : tensor<?xf32>
  %new = arith.addf %w, %y : tensor<?xf32>
  %u = comp.update %w, %new : tensor<?xf32>
  %b = arith.addf %a, %a : f32
  func.return %y, %b : tensor<?xf32>, f32
}"""


def expected(program: Program, **arguments: Any) -> dict[str, Array]:
    """What the simulator gives."""
    return {name: out.array for name, out in program.run({}, arguments).outputs.items()}


def numbers(n: int, seed: int = 1) -> tuple[Array, Array]:
    """Two arrays."""
    rng = np.random.default_rng(seed)
    return rng.random(n, np.float32), rng.random(n, np.float32)


@pytest.mark.parametrize("n", [0, 1, 5, 1300])
def test_arrays_of_numpy_are_copied_there_and_back(n: int, device: Any) -> None:
    """What the function stores into is updated; results are arrays of the device."""
    program = Program.parse(ADD)
    w, x = numbers(n)
    want = expected(program, w=w, x=x, a=0.5)
    y, b = device.load(program)(w=w, x=x, a=0.5)
    assert isinstance(y, DeviceArray)
    assert np.array_equal(w, want["w"])
    assert np.array_equal(y.numpy(), want["result0"])
    assert b == np.float32(1.0)
    assert y.numpy().dtype == np.float32


def test_arrays_of_the_device_are_used_where_they_are(device: Any) -> None:
    """On the stream that is named, without a copy and without waiting."""
    program = Program.parse(ADD)
    w, x = numbers(700)
    want = expected(program, w=w, x=x, a=0.25)
    loaded = device.load(program)
    given = device.put(w), device.put(x)
    device.driver.log.clear()
    y, _ = loaded(77, w=given[0], x=given[1], a=0.25)
    assert device.driver.log == [("launch u", 77)]
    assert [one.streams for one in given] == [[77], [77]]
    assert set(device.core.allocated) == {77}
    assert np.array_equal(w, want["w"])
    assert isinstance(y, DeviceArray)
    assert np.array_equal(y.numpy(), want["result0"])
    loaded(w=given[0], x=given[1], a=0.25)
    assert given[0].streams == [77, 1]  # the default stream, as DLPack writes it


def test_results_are_exchanged_in_order(device: Any) -> None:
    """Who takes a result on another stream waits for the one that makes it."""
    w, x = numbers(4)
    loaded = device.load(Program.parse(ADD))

    def make() -> DeviceArray:
        y, _ = loaded(77, w=device.put(w), x=device.put(x), a=1.0)
        assert isinstance(y, DeviceArray)
        return y

    y = make()
    assert y.__dlpack_device__() == (dlpack.CUDA, 0)
    device.driver.log.clear()
    view = dlpack.take(y, 5)
    assert (view.shape, view.address) == ((4,), y.address)
    assert device.driver.log == [("order", 77, 5)]
    dlpack.take(y, 77)
    dlpack.take(y, -1)
    assert device.driver.log == [("order", 77, 5)]
    address, before = y.address, len(device.driver.memory)
    del y
    gc.collect()
    assert np.array_equal(device.array_at(address, (4,), x.dtype), x)
    del view
    gc.collect()
    assert len(device.driver.memory) < before
    with pytest.raises(BufferError, match="without a copy"):
        make().__dlpack__(copy=True)


def test_a_prepared_call(device: Any) -> None:
    """Bound once; a launch is one call of the driver for each kernel, and scalars may change."""
    program = Program.parse(ADD)
    w, x = numbers(2000)
    kept = w.copy()
    loaded = device.load(program)
    call = loaded.prepare(w=device.put(w), x=device.put(x), a=0.5)
    call.poison()
    (y, _) = call.results
    assert isinstance(y, DeviceArray)
    assert y.numpy().tobytes() == b"\xa5" * y.numpy().nbytes
    device.driver.log.clear()
    call.launch(9)
    assert device.driver.log == [("launch u", 9)]
    first = expected(program, w=kept, x=x, a=0.5)
    assert np.array_equal(w, first["w"])
    call.launch(a=2.0)
    second = expected(program, w=first["w"], x=x, a=2.0)
    assert np.array_equal(w, second["w"])
    assert np.array_equal(y.numpy(), second["result0"])
    assert call.results[1] == np.float32(4.0)
    assert call.arguments["w"].address == w.ctypes.data
    device.driver.log.clear()
    del call
    gc.collect()
    assert ("idle",) in device.driver.log


def test_a_prepared_call_of_numpy(device: Any) -> None:
    """What was copied lies on the device from launch to launch."""
    program = Program.parse(ADD)
    w, x = numbers(3)
    call = device.load(program).prepare(w=w, x=x, a=1.0)
    call.launch()
    call.launch()
    once = expected(program, w=w, x=x, a=1.0)["w"]
    twice = expected(program, w=once, x=x, a=1.0)["w"]
    assert np.array_equal(call.arguments["w"].numpy(), twice)


CHAIN = """
func.func @f(%x: tensor<?x?xf32>, %m: tensor<?x?xf32>, %a: f32, %b: f32) -> (tensor<?x?xf32>, tensor<f32>) {
  %xs = comp.scale %x by %a : tensor<?x?xf32>
  %y = comp.matmul %xs, %m : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  %ys = comp.scale %y by %b : tensor<?x?xf32>
  %r = comp.reduce sum %ys dims [0, 1] : tensor<?x?xf32> -> tensor<f32>
  func.return %ys, %r : tensor<?x?xf32>, tensor<f32>
}"""


def test_a_graph(device: Any) -> None:
    """Any order that its nodes allow gives the results; only nodes whose scalars changed are changed."""
    program = Program.parse(CHAIN)
    rng = np.random.default_rng(5)
    x, m = rng.random((7, 5), np.float32), rng.random((5, 3), np.float32)
    call = device.load(program).prepare(x=x, m=m, a=1.0, b=1.0)
    graph = call.capture()
    y, r = call.results
    assert isinstance(y, DeviceArray)
    assert isinstance(r, DeviceArray)
    for a, b, updates in ((1.0, 1.0, 0), (0.5, 1.0, 1), (0.5, 3.0, 1), (2.0, 2.0, 2)):
        call.poison()
        device.driver.log.clear()
        graph.replay(8, a=a, b=b)
        assert [word for word, *_ in device.driver.log] == ["update"] * updates + ["replay"]
        want = expected(program, x=x, m=m, a=a, b=b)
        assert np.array_equal(y.numpy(), want["result0"])
        assert np.allclose(r.numpy(), want["result1"], rtol=1e-6)
    graph.replay()
    with pytest.raises(IRError, match="has no scalar 'x'; there are: a, b"):
        graph.replay(x=1.0)


def test_a_graph_and_its_call_have_the_same_scalars(device: Any) -> None:
    """A value that either was given holds for both, and for a second graph."""
    program = Program.parse(ADD)
    w, x = np.zeros(3, np.float32), np.ones(3, np.float32)
    call = device.load(program).prepare(w=device.put(w), x=device.put(x), a=1.0)
    one, other = call.capture(), call.capture()
    call.launch(a=2.0)
    one.replay()
    other.replay(a=3.0)
    one.replay()
    assert w.tolist() == [2.0 + 2.0 + 3.0 + 3.0] * 3


@pytest.mark.parametrize("name", ["adam", "lamb", "attention", "rmsnorm", "pipeline"])
def test_examples_in_a_graph(
    name: str, device: Any, example: Callable[[str], Program], split: Any
) -> None:
    """Against a plain call, bit for bit."""
    program = example(name)
    loaded = device.load(program)
    inputs = program.generate(dict.fromkeys(loaded.plan.entry.single.axes, 1), {}, {}, seed=2)
    tensors, scalars = split(program, inputs)
    plain = {name: array.copy() for name, array in tensors.items()}
    results = loaded(**plain, **scalars)
    call = loaded.prepare(**tensors, **scalars)
    call.poison()
    call.capture().replay()
    for name in loaded.plan.entry.updated:
        assert plain[name].tobytes() == call.arguments[name].numpy().tobytes()
    for one, other in zip(results, call.results, strict=True):
        assert isinstance(one, DeviceArray)
        assert isinstance(other, DeviceArray)
        assert one.numpy().tobytes() == other.numpy().tobytes()


def test_dimensions_of_axes_in_front(device: Any, example: Callable[[str], Program]) -> None:
    """A local tensor is taken as the rank has it, and as the simulator takes it."""
    program = example("sgd")
    loaded = device.load(program)
    inputs = program.generate({"dp": 1}, {}, {"grad": (5,)})
    assert np.shape(inputs["grad"]) == (1, 5)
    found: list[bytes] = []
    for grad in (inputs["grad"], np.asarray(inputs["grad"])[0]):
        given = {name: np.array(value) for name, value in inputs.items()}
        loaded(**{**given, "grad": grad})
        found.append(given["w"].tobytes())
    assert found[0] == found[1]


def refused(call: Callable[[], object]) -> str:
    """What is said instead of a call."""
    with pytest.raises(IRError) as caught:
        call()
    return caught.value.message


def test_arguments_that_do_not_fit(device: Any) -> None:
    """Each is refused by its name."""
    loaded = device.load(Program.parse(ADD))
    w, x = numbers(6)
    put = device.put

    def say(**given: Any) -> str:
        return refused(lambda: loaded(**{"w": put(w), "x": put(x), "a": 1.0, **given}))

    assert say(x=put(x.astype(np.float64))) == "is given f64 for %x, but f32 is needed"
    assert say(x=put(x, 3)) == "is given %x on device 3, but runs on device 0"
    assert "needs equal sizes: dimension 0 of %x is 5, but dimension 0 of %w is 6" in say(
        x=put(x[1:])
    )
    assert "takes %x with 1 dimension(s), but the shape 2x3" in say(x=put(x.reshape(2, 3)))
    assert say(x=put(w)).startswith("stores into %w, but %w and %x are given in one memory")
    assert say(w=w.tolist()) == "stores into %w: give an array of f32 elements to store into"
    assert say(w=w.astype(np.float64)).startswith("stores into %w: give an array of f32")
    frozen = w.copy()
    frozen.flags.writeable = False
    assert say(w=frozen) == "stores into %w, which is given read-only: give a copy"
    assert say(a=x).startswith("takes %a as a scalar, but its input has 1 dimension(s)")
    assert "has no argument 'z'; there are: w, x, a" in say(z=1)
    assert say(x=object()) == "is given object elements for %x, not numbers"
    assert refused(lambda: loaded(w=w, x=x)) == "has no input for argument(s) a"
    message = refused(lambda: loaded("no stream", w=w, x=x, a=1.0))  # pyright: ignore
    assert message.startswith("takes a stream as an object with __cuda_stream__")


def test_arrays_described_by_an_attribute(device: Any) -> None:
    """The array interface of CUDA: gaps, types, and the stream of who made it."""

    class Described:
        def __init__(self, array: Array, **facts: Any):
            data = {"data": (array.ctypes.data, False), "typestr": array.dtype.str}
            self.__cuda_array_interface__ = {"shape": array.shape, "version": 3, **data, **facts}
            device.driver.memory[array.ctypes.data] = range(array.nbytes)

    program = Program.parse(ADD)
    loaded = device.load(program)
    w, x = numbers(6)
    want = expected(program, w=w, x=x, a=2.0)
    device.driver.log.clear()
    loaded(5, w=Described(w), x=Described(x, stream=4), a=2.0)
    assert device.driver.log == [("order", 4, 5), ("launch u", 5)]
    assert np.array_equal(w, want["w"])
    gaps = Described(np.zeros(12, np.float32)[::2], strides=(8,))
    assert "with gaps" in refused(lambda: loaded(w=Described(w), x=gaps, a=1.0))
    wrong = Described(np.zeros(6, np.int32))
    assert refused(lambda: loaded(w=Described(w), x=wrong, a=1.0)).startswith("is given i32 for %x")
    constant = Described(w, data=(w.ctypes.data, True))
    assert "read-only" in refused(lambda: loaded(w=constant, x=Described(x), a=1.0))


def test_what_the_driver_refuses(device: Any) -> None:
    """Its error is named, and what its compiler said."""
    program = Program.parse(ADD)
    compiled = program.compile(cache=False)
    broken = type(compiled)(compiled.plan, "nothing", compiled.target)
    message = refused(broken.load)
    assert message == "device 0 failed: CUDA_ERROR_INVALID_VALUE (what it means): no kernel"
    device.core.compute_capability = (9, 0)
    other = program.compile("sm_80", cache=False)
    assert "the kernels are for sm_80, but device 0 takes those for sm_90a" in refused(other.load)
    device.core.compute_capability = (12, 0)
    assert "device 0 has compute capability 12.0" in refused(compiled.load)
    assert "there is no CUDA device 1: there are 1" in refused(lambda: compiled.load(1))
