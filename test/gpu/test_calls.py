"""Arrays of other libraries, streams, graphs and their scalars, on a GPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coconet_ir.diagnostics import IRError
from coconet_ir.program import Program
from coconet_ir.runtime.executable import DeviceArray
from coconet_ir.sim.compare import difference, rounding

torch: Any = pytest.importorskip("torch")
ROOT = Path(__file__).parents[2]
ADAM = ROOT / "examples" / "adam_f32.mlir"


def adam_inputs(program: Program, n: int, seed: int = 0) -> dict[str, Any]:
    """Inputs of one rank, tensors without the dimension in front."""
    inputs = program.generate({"dp": 1}, {"step": 2.0}, {"w": (n,)}, seed)
    return {name: np.asarray(v)[0] if name == "grad" else v for name, v in inputs.items()}


def on_device(inputs: dict[str, Any]) -> dict[str, Any]:
    """The tensors as torch's, on the device."""
    return {
        name: torch.from_numpy(np.array(v)).cuda() if np.ndim(v) else v
        for name, v in inputs.items()
    }


def expected(program: Program, inputs: dict[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """What the simulator gives."""
    whole = {name: np.asarray(v)[None] if name == "grad" else v for name, v in inputs.items()}
    return {name: out.array for name, out in program.run({"dp": 1}, whole).outputs.items()}


def same(want: np.ndarray[Any, Any], have: np.ndarray[Any, Any]) -> None:
    """Assert that arrays agree within rounding."""
    gap = difference("array", want, have.reshape(want.shape))
    assert gap.within(rounding(want.dtype)), gap


@pytest.mark.parametrize("n", [1, 1000, 4099])
def test_tensors_of_torch_are_used_where_they_are(n: int, target: str) -> None:
    """Updated in place on torch's stream, which need not be the default one."""
    program = Program.load(str(ADAM)).infer()
    executable = program.compile(target).load()
    inputs = adam_inputs(program, n)
    want = expected(program, inputs)
    for stream in (None, torch.cuda.Stream()):
        given = on_device(inputs)
        pointers = {name: v.data_ptr() for name, v in given.items() if hasattr(v, "data_ptr")}
        torch.cuda.synchronize()
        with torch.cuda.stream(stream):
            executable(0 if stream is None else stream.cuda_stream, **given)
        torch.cuda.synchronize()
        for name in ("w", "m", "v"):
            assert given[name].data_ptr() == pointers[name]
            same(want[name], given[name].cpu().numpy())


@pytest.mark.parametrize("element", ["f64", "f32", "f16", "bf16", "i64", "i32", "i8", "i1"])
def test_results_are_taken_by_torch(element: str, target: str) -> None:
    """Without a copy, in every type that both have; from an address that no vector fits."""
    text = f"""
    func.func @f(%x: tensor<?x3x{element}>) -> tensor<3x?x{element}> {{
      %y = comp.transpose %x perm [1, 0] : tensor<?x3x{element}> -> tensor<3x?x{element}>
      func.return %y : tensor<3x?x{element}>
    }}"""
    executable = Program.parse(text).compile(target).load()
    names = {"f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16"}
    names |= {"i64": "int64", "i32": "int32", "i8": "int8", "i1": "bool"}
    whole = torch.randint(0, 2, (303,), device="cuda").to(getattr(torch, names[element]))
    for start in (0, 3):
        x = whole[start : start + 300].reshape(100, 3)
        (found,) = executable(x=x)
        assert isinstance(found, DeviceArray)
        taken = torch.from_dlpack(found)
        assert taken.data_ptr() == found.address
        assert torch.equal(taken, x.t())


def test_numpy_is_written_back(target: str) -> None:
    """Arrays of NumPy, not contiguous ones too."""
    program = Program.load(str(ADAM)).infer()
    executable = program.compile(target).load()
    inputs = {n: np.array(v) if np.ndim(v) else v for n, v in adam_inputs(program, 999).items()}
    want = expected(program, inputs)
    strided = np.zeros(2 * 999, np.float32)[::2]
    strided[:] = inputs["w"]
    executable(**{**inputs, "w": strided})
    same(want["w"], np.array(strided))
    same(want["m"], inputs["m"])


def test_a_graph_sees_new_scalars(target: str) -> None:
    """Learning rates and steps change from replay to replay, as the host computes them."""
    program = Program.load(str(ADAM)).infer()
    executable = program.compile(target).load()
    inputs = adam_inputs(program, 4099)
    given = on_device(inputs)
    call = executable.prepare(**given)
    graph = call.capture()
    state = {name: np.array(v) if np.ndim(v) else v for name, v in inputs.items()}
    for step in range(1, 6):
        scalars = {"step": float(step), "lr": 0.1 / step}
        want = expected(program, {**state, **scalars})
        graph.replay(**scalars)
        torch.cuda.synchronize()
        state.update(want)
        for name in ("w", "m", "v"):
            same(want[name], given[name].cpu().numpy())
            given[name].copy_(torch.from_numpy(np.array(want[name])))  # or errors would add up


@pytest.mark.parametrize(
    "name", ["lamb", "attention", "mlp", "rmsnorm", "moe", "clip", "pipeline", "two_axes"]
)
def test_graphs_of_examples(name: str, checked: Callable[[Program], Any]) -> None:
    """Kernels, products and copies in a graph give the bits of a plain launch."""
    one = checked(Program.load(str(ROOT / "examples" / f"{name}.mlir")).infer())
    inputs = one.inputs({}, {}, 5)
    found: list[list[bytes]] = []
    for in_graph in (False, True):
        given = {n: np.array(v) if np.ndim(v) else v for n, v in inputs.items()}
        call = one.executable.prepare(**given)
        call.poison()
        if in_graph:
            graph = call.capture()
            graph.replay()
        else:
            call.launch()
        arrays = [call.arguments[name] for name in one.executable.plan.entry.updated]
        arrays += [result for result in call.results if isinstance(result, DeviceArray)]
        found.append([array.numpy().tobytes() for array in arrays])
    assert found[0] == found[1]


def test_launches_repeat(checked: Callable[[Program], Any]) -> None:
    """The same bits every time: reductions add in one order."""
    one = checked(Program.load(str(ROOT / "examples" / "lamb.mlir")).infer())
    inputs = one.inputs({"w": (100_003,)}, {}, 7)
    seen: set[bytes] = set()
    for _ in range(5):
        given = {n: np.array(v) if np.ndim(v) else v for n, v in inputs.items()}
        one.executable(**given)
        seen.add(given["w"].tobytes())
    assert len(seen) == 1


def test_what_is_refused(target: str) -> None:
    """Tensors of another type, shape, order or place."""
    program = Program.load(str(ADAM)).infer()
    executable = program.compile(target).load()
    given = on_device(adam_inputs(program, 64))

    def say(**changes: Any) -> str:
        with pytest.raises(IRError) as caught:
            executable(**{**given, **changes})
        return caught.value.message

    assert "is given f16 for %w, but f32 is needed" in say(w=given["w"].half())
    assert "needs equal sizes" in say(w=given["w"][:63].clone())
    assert "with gaps or in another order" in say(w=torch.zeros(128, device="cuda")[::2])
    assert "stores into %w, but %w and %m" in say(m=given["w"])
    assert "cannot be exchanged" in say(w=given["w"].clone().requires_grad_())
    assert "give an array of f32 elements" in say(w=given["w"].cpu())
