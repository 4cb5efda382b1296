"""Kernels that are formed compute what the program computed, on every rank, and are as few as one may expect."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from coconet_ir.dialects import nccl
from coconet_ir.dialects.attributes import as_tensor
from coconet_ir.dialects.comp import MatmulOp, UpdateOp
from coconet_ir.dialects.regions import FusedOp
from coconet_ir.dialects.tensor import ExtractOp
from coconet_ir.frontend import check, make_context, parse_program
from coconet_ir.lowering.bufferize import BufferizePass
from coconet_ir.lowering.form_kernels import FormKernelsPass
from coconet_ir.lowering.lower_to_ranks import LowerToRanksPass
from coconet_ir.lowering.outline_kernels import OutlineKernelsPass
from coconet_ir.lowering.ranks.reads import RENAMES
from coconet_ir.sim.binding import bind_mesh, the_function
from coconet_ir.sim.compare import compare
from coconet_ir.sim.inputs import generate
from coconet_ir.sim.ranks import run_ranks
from coconet_ir.xdsl_compat import print_module

EXAMPLES = Path(__file__).parents[3] / "examples"

KERNELS = {
    "adam": ["avg_f32", "pu"],
    "adam_f32": ["wu"],
    "attention": ["sum_f32", "y"],
    "attention_full": ["q", "k", "v", "probs", "mixed_split", "sum_f32", "y"],
    "clip": ["avg_f32", "gn", "pu"],
    "hierarchical": ["wu"],
    # The check of overflow, the moments with both norms, the step: m and v are updated once it is known that all is
    # finite, and w once the norms are.
    "lamb": ["avg_f32", "least", "rn", "pu"],
    "lamb_segments": ["avg_f32", "trust", "pu"],
    "mlp": ["h", "sum_f32", "y"],
    "moe": ["arrived_pack", "arrived_t", "h", "back_pack", "back"],
    "pipeline": ["sum_f32", "o"],
    "rmsnorm": ["sum_f32", "y"],
    "sgd": ["wu"],
    "two_axes": ["avg_pack", "avg_avg", "wu"],
}
"""The kernels of each example: what collectives send is cast or packed in one of its own."""


def on_ranks(module: ModuleOp) -> ModuleOp:
    low = module.clone()
    LowerToRanksPass().apply(make_context(), low)
    check(low)
    return low


def formed(module: ModuleOp) -> ModuleOp:
    """The kernels of a program of one rank, as its text says it; forming them again changes nothing."""
    copy = module.clone()
    FormKernelsPass().apply(make_context(), copy)
    check(copy)
    text = print_module(copy)
    again = parse_program(make_context(), text, "formed.mlir")
    assert print_module(again) == text
    return again


def kernels(module: ModuleOp) -> dict[str, FusedOp]:
    """The kernels of a module by their names."""
    found: dict[str, FusedOp] = {}
    for op in module.walk():
        if isinstance(op, FusedOp):
            name = op.attributes["coconet.name"]
            assert isinstance(name, StringAttr)
            assert name.data not in found
            found[name.data] = op
    return found


def check_formed(func: FuncOp) -> None:
    """Fail unless everything that computes stands in a kernel."""
    for op in func.body.block.ops:
        on_tensors = any(as_tensor(value.type) for value in (*op.operands, *op.results))
        if on_tensors and not isinstance(op, FusedOp):
            assert _is_outside(op), op


def _is_outside(op: Operation) -> bool:
    """Whether an operation computes nothing: calls, results of calls that are stored, buffers seen otherwise."""
    if isinstance(op, UpdateOp):
        return isinstance(op.value.owner, nccl.CallOp | nccl.GroupOp | MatmulOp)
    outside = (nccl.CallOp, nccl.GroupOp, MatmulOp, ExtractOp, *RENAMES)
    return isinstance(op, outside) or op.name in ("tensor.empty", "func.return")


@pytest.mark.parametrize("name", KERNELS)
def test_examples(name: str) -> None:
    path = EXAMPLES / f"{name}.mlir"
    low = on_ranks(parse_program(make_context(), path.read_text(), str(path)))
    module = formed(low)
    assert list(kernels(module)) == KERNELS[name]
    assert print_module(formed(low)) == print_module(module)
    check_formed(the_function(module, None))


@pytest.mark.parametrize(
    "name", ["adam", "adam.reorder", "lamb_segments.reorder", "moe", "rmsnorm.reorder"]
)
@pytest.mark.parametrize(("ranks", "size"), [(1, 1), (3, 7), (2, 0)])
def test_kernels_compute_the_same_on_every_rank(name: str, ranks: int, size: int) -> None:
    path = EXAMPLES / ("expected" if "." in name else "") / f"{name}.mlir"
    module = parse_program(make_context(), path.read_text(), str(path))
    func, low = the_function(module, None), on_ranks(module)
    mesh = dict.fromkeys(bind_mesh(func, {}).axes, ranks)
    argument = {"moe": "x", "rmsnorm": "stream"}.get(name.split(".")[0], "w")
    shape = (size, *(None for _ in as_tensor_shape(func, argument)[1:]))
    inputs = generate(func, bind_mesh(func, mesh), {}, {argument: shape}, size)
    before, after = the_function(low, None), the_function(formed(low), None)
    rows = compare(run_ranks(before, mesh, inputs), run_ranks(after, mesh, inputs))
    assert rows
    assert all(row.within(None) for row in rows), rows


def as_tensor_shape(func: FuncOp, name: str) -> tuple[int, ...]:
    arg = next(arg for arg in func.body.block.args if arg.name_hint == name)
    tensor = as_tensor(arg.type)
    assert tensor is not None
    return tensor.get_shape()


def form_text(text: str) -> ModuleOp:
    return formed(parse_program(make_context(), text, "test.mlir"))


def test_a_kernel_reads_no_more_tensors_than_a_launch_takes() -> None:
    count = 300
    arguments = ", ".join(f"%x{i}_a: tensor<?xf32>" for i in range(count))
    sums = "\n".join(
        f"%s{i}_a = arith.addf %{f's{i - 1}' if i > 1 else 'x0'}_a, %x{i}_a : tensor<?xf32>"
        for i in range(1, count)
    )
    module = form_text(
        f"""module attributes {{coconet.level = "rank"}} {{
        func.func @f({arguments}) -> tensor<?xf32> {{
          {sums}
          func.return %s{count - 1}_a : tensor<?xf32>
        }}
        }}"""
    )
    reads = [
        {
            value
            for step in op.body.block.ops
            for value in step.operands
            if value.owner is not step.parent
        }
        for op in kernels(module).values()
    ]
    assert len(reads) == 3
    assert all(len(op.results) == 1 for op in kernels(module).values())


def test_what_two_threads_share_is_not_overwritten() -> None:
    """The mean of each row is updated where the rows are reduced, but not if all threads of a row read it."""
    text = """module attributes {{coconet.level = "rank"}} {{
      func.func @f(%x: tensor<?x?xf32>, %mean: tensor<?xf32>) -> tensor<?x?xf32> {{
        %sum = comp.reduce sum %x dims [1] : tensor<?x?xf32> -> tensor<?xf32>
        %new = arith.addf %sum, %mean : tensor<?xf32>
        %mu = comp.update %mean, %new : tensor<?xf32>
        %new_t = comp.broadcast {spread} dims [0] like %x : tensor<?xf32>, tensor<?x?xf32> -> tensor<?x?xf32>
        %y = arith.subf %x, %new_t : tensor<?x?xf32>
        func.return %y : tensor<?x?xf32>
      }}
    }}"""
    for spread, count in (("%sum", 1), ("%new", 2)):
        module = form_text(text.format(spread=spread))
        assert len(kernels(module)) == count
        BufferizePass().apply(make_context(), module)
        OutlineKernelsPass().apply(make_context(), module)


def test_random_programs(random_programs: Any) -> None:
    programs, generator, steps = random_programs
    for seed in range(3000, 3012):
        rng = random.Random(seed)
        program = generator.Generator(rng).program(rng.choice((8, 12, 20)), steps.STEPS)
        mesh, inputs = programs.bind(rng, program)
        check(program.module)
        low = on_ranks(program.module)
        module = formed(low)
        check_formed(the_function(module, None))
        before, after = (the_function(one, None) for one in (low, module))
        rows = compare(run_ranks(before, mesh, inputs), run_ranks(after, mesh, inputs))
        assert all(row.within(None) for row in rows), (seed, rows)
