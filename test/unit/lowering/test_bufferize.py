"""Programs on buffers compute what the distributed program computes, and overwrite nothing that is still read."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from coconet_ir.analysis.rules import rank_of
from coconet_ir.frontend import check, make_context, parse_program
from coconet_ir.lowering.bufferize import BufferizePass
from coconet_ir.lowering.form_kernels import FormKernelsPass
from coconet_ir.lowering.levels import RESULT, SIZE
from coconet_ir.lowering.lower_to_ranks import LowerToRanksPass
from coconet_ir.schedule.selection import argument_names
from coconet_ir.sim.binding import Input, bind_mesh, the_function, typed
from coconet_ir.sim.executor import Outcome, run
from coconet_ir.sim.inputs import generate
from coconet_ir.sim.kernels import Numbers
from coconet_ir.xdsl_compat import print_module

Array = npt.NDArray[Any]
EXAMPLES = Path(__file__).parents[3] / "examples"
OPEN = 0


def buffered(module: ModuleOp) -> ModuleOp:
    """A distributed program with memory, as its text says it."""
    low = module.clone()
    for stage in (LowerToRanksPass, FormKernelsPass, BufferizePass):
        stage().apply(make_context(), low)
        check(low)
    text = print_module(low)
    again = parse_program(make_context(), text, "buffered.mlir")
    assert print_module(again) == text
    return again


def marks_of(func: FuncOp) -> list[Mapping[str, Any]]:
    """The marks of each argument."""
    return [entry.data for entry in func.arg_attrs or ()] or [{}] * len(func.body.block.args)


def bound(
    plan: Any, source: FuncOp, func: FuncOp, inputs: Mapping[str, Input], expected: Outcome
) -> dict[str, Array]:
    """The arguments of a program on buffers, on one rank: copies of inputs, poisoned results."""
    arrays: dict[str, Array] = {}
    numbers, types = Numbers(False), {n: a.type for n, a in argument_names(source).items()}
    for name, marks in zip(argument_names(func), marks_of(func), strict=True):
        if isinstance(place := marks.get(SIZE), StringAttr):
            of, dim = place.data.rsplit(".", 1)
            arrays[name] = np.asarray(arrays[of].shape[int(dim)])
        elif isinstance(number := marks.get(RESULT), IntegerAttr):
            output = expected.outputs[f"result{number.value.data}"]
            like = np.asarray(output.array)
            shape = like.shape[like.ndim - (rank_of(output.type) or 0) :]
            arrays[name] = np.empty(shape, like.dtype)
            arrays[name].reshape(-1).view(np.uint8)[:] = plan.POISON
        else:
            array = typed(name, inputs[name], numbers.dtype(types[name]), source)
            rank = rank_of(types[name]) or 0
            arrays[name] = array.reshape(array.shape[array.ndim - rank :]).copy()
    return arrays


def check_on_one_rank(
    plan: Any, source: FuncOp, func: FuncOp, mesh: Mapping[str, int], inputs: Mapping[str, Input]
) -> None:
    """Fail unless a program on buffers computes the same bits as the distributed one."""
    expected = run(source, mesh, inputs)
    arrays = bound(plan, source, func, inputs, expected)
    scalars = iter(plan.Machine(func, list(mesh)).run(list(arrays.values())))
    results = {
        f"result{marks[RESULT].value.data}": array
        for array, marks in zip(arrays.values(), marks_of(func), strict=True)
        if RESULT in marks
    }
    for name, output in expected.outputs.items():
        is_result = name.startswith("result")
        found = results[name] if name in results else next(scalars) if is_result else arrays[name]
        wanted = np.asarray(output.array).reshape(found.shape)
        assert _bits(found) == _bits(wanted), name


def _bits(array: Array) -> tuple[str, bytes]:
    """An array as something that compares by bits, but for NaNs, which are all one."""
    if array.dtype.kind not in "biu":
        array = np.where(np.isnan(array.astype(np.float64)), np.zeros((), array.dtype), array)
    return str(array.dtype), array.tobytes()


# Examples

SHAPES: dict[str, Mapping[str, Sequence[int | None]]] = {
    **{
        name: {"w": (OPEN,)}
        for name in ("sgd", "adam", "adam_f32", "lamb", "lamb_segments", "clip", "hierarchical")
    },
    **{
        name: {"residual": (2, OPEN, 3)}
        for name in ("attention", "attention_full", "mlp", "pipeline")
    },
    "two_axes": {"w": (OPEN, 5)},
    "rmsnorm": {"stream": (2, OPEN, 5)},
    "moe": {"x": (OPEN, 3, 2), "w_up": (OPEN, None, 3)},
}
"""The shape of arguments of each example, `OPEN` where it takes each size."""

PEAKS = {
    "adam": "4*grad.0",
    "attention": "6*w.1*x.0*x.1",
    "lamb": "12 + 4*grad.0",
    "rmsnorm": "4*in.0*in.1*in.2",
    "sgd": "4*grad.0",
}


def check_example(plan: Any, path: Path, sizes: Sequence[int]) -> FuncOp:
    module = parse_program(make_context(), path.read_text(), str(path))
    source, func = the_function(module, None), the_function(buffered(module), None)
    mesh = dict.fromkeys(bind_mesh(source, {}).axes, 1)
    for size in sizes:
        shapes = {
            name: tuple(size if extent == OPEN else extent for extent in shape)
            for name, shape in SHAPES[path.stem.split(".")[0]].items()
        }
        inputs = generate(source, bind_mesh(source, mesh), {}, shapes, size)
        check_on_one_rank(plan, source, func, mesh, inputs)
    return func


@pytest.mark.parametrize("name", SHAPES)
def test_examples(plan: Any, name: str) -> None:
    func = check_example(plan, EXAMPLES / f"{name}.mlir", (0, 1, 7, 23, 64))
    peak = func.attributes["coconet.peak"]
    assert isinstance(peak, StringAttr)
    assert peak.data == PEAKS.get(name, peak.data)


@pytest.mark.parametrize(
    "name", ["adam", "attention", "lamb", "lamb_segments", "rmsnorm", "two_axes"]
)
def test_examples_with_slices(plan: Any, name: str) -> None:
    check_example(plan, EXAMPLES / "expected" / f"{name}.reorder.mlir", (0, 7))


# The machine finds what is wrong


def run_rows(plan: Any, before: str = "", after: str = "") -> None:
    """Run a program on buffers, changed at one place."""
    text = """module attributes {coconet.level = "rank"} {
layout.mesh @mesh(dp = 2)
func.func @f(%x: tensor<?x?xf32>) -> (tensor<?x?xf32>, tensor<?x?xf32>) {
  %a = coll.fused {
    %a = math.absf %x : tensor<?x?xf32>
    coll.yield %a : tensor<?x?xf32>
  }
  %t = coll.fused {
    %t = comp.transpose %a perm [1, 0] : tensor<?x?xf32> -> tensor<?x?xf32>
    coll.yield %t : tensor<?x?xf32>
  }
  %b = nccl.permute %t over [dp] shift 1 : tensor<?x?xf32>
  %c = coll.fused {
    %s = arith.addf %t, %t : tensor<?x?xf32>
    %n = comp.reduce sum %s dims [1] : tensor<?x?xf32> -> tensor<?xf32>
    %n_t = comp.broadcast %n dims [0] like %s : tensor<?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
    %c = arith.subf %s, %n_t : tensor<?x?xf32>
    coll.yield %c : tensor<?x?xf32>
  }
  %d = nccl.permute %c over [dp] shift 1 : tensor<?x?xf32>
  func.return %b, %d : tensor<?x?xf32>, tensor<?x?xf32>
}
}"""
    module = parse_program(make_context(), text, "rows.mlir")
    BufferizePass().apply(make_context(), module)
    changed = print_module(module)
    assert before in changed
    changed = changed.replace(before, after) if before else changed
    func = the_function(parse_program(make_context(), changed, "changed.mlir"), None)
    x = np.arange(-6, 6, dtype=np.float32).reshape(3, 4)
    b, d = np.zeros((4, 3), np.float32), np.zeros((4, 3), np.float32)
    plan.Machine(func, ["dp"]).run([x, b, d])
    turned = np.abs(x).T
    assert np.array_equal(b, turned)
    assert np.array_equal(d, 2 * turned - 2 * turned.sum(1, keepdims=True))


def test_what_is_read_last_is_overwritten(plan: Any) -> None:
    run_rows(plan)


SAME_PLACE = "%z = memref.view %arena[%3][%x_d1, %x_d0] : memref<?xi8> to memref<?x?xf32>"


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("%t_m = memref.view %arena[%3]", "%t_m = memref.view %arena[%c0]", "another thread reads"),
        ("memref.alloc(%slot1_end)", "memref.alloc(%3)", "of an arena of"),
        (
            "nccl.permute_into %t_m, %result0",
            f"{SAME_PLACE} nccl.permute_into %t_m, %z",
            "what it reads",
        ),
        ("%t_m = memref.view %arena[%3]", "%t_m = memref.view %arena[%c4]", "of an arena of"),
        ("%c in writable %t_m", "%c in writable %a_m", "in a buffer of"),
    ],
)
def test_the_machine_finds_what_is_wrong(plan: Any, before: str, after: str, fault: str) -> None:
    with pytest.raises(plan.Fault, match=fault):
        run_rows(plan, before, after)


# Random programs


def test_random_programs(plan: Any, random_programs: Any) -> None:
    programs, generator, steps = random_programs
    for seed in range(4000, 4016):
        rng = random.Random(seed)
        program = generator.Generator(rng).program(rng.choice((8, 12, 20)), steps.STEPS)
        if max(program.least.values()) > 1:  # a root that one rank alone does not have
            continue
        mesh, inputs = programs.bind(rng, program)
        types = dict(zip(program.arguments, program.func.function_type.inputs, strict=True))
        for name, array in inputs.items():
            if (rank := rank_of(types[name])) is not None:
                inputs[name] = array[(slice(0, 1),) * (array.ndim - rank)]
        func = the_function(buffered(program.module), None)
        check_on_one_rank(plan, program.func, func, dict.fromkeys(mesh, 1), inputs)
