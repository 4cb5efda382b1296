"""What coconet-outline-kernels makes of a program: kernels, launches and their order; and what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects import gpu
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from coconet_ir.diagnostics import IRError
from coconet_ir.frontend import check, make_context, parse_program
from coconet_ir.lowering.lower_kernels import LowerKernelsPass
from coconet_ir.lowering.targets import find_target, translate
from coconet_ir.schedule.remarks import collect
from coconet_ir.xdsl_compat import print_module

Outline = Callable[[str], ModuleOp]
Array = npt.NDArray[Any]

STORE = "bufferization.materialize_in_destination"


def program(*regions: str, arguments: str = "") -> str:
    """A program at the level of buffers, with 1-d buffers %a to %d of f32."""
    buffers = ", ".join(f"%{name}: memref<?xf32>" for name in "abcd")
    return f"""module attributes {{coconet.level = "buffer"}} {{
      func.func @f({buffers}{arguments}) {{
        {chr(10).join(regions)}
        func.return
      }}
    }}"""


def copy(source: str, target: str, name: str = "k", op: str = "math.absf") -> str:
    """A region that computes one buffer from another one."""
    return f"""coll.fused {{
      %x = bufferization.to_tensor %{source} : memref<?xf32> to tensor<?xf32>
      %y = {op} %x : tensor<?xf32>
      bufferization.materialize_in_destination %y in writable %{target} : (tensor<?xf32>, memref<?xf32>) -> ()
      coll.yield
    }} {{coconet.name = "{name}"}}"""


NORM = f"""coll.fused {{
  %x = bufferization.to_tensor %a : memref<?xf32> to tensor<?xf32>
  %y = comp.reduce sum %x dims [0] : tensor<?xf32> -> tensor<f32>
  {STORE} %y in writable %z : (tensor<f32>, memref<f32>) -> ()
  coll.yield
}} {{coconet.name = "norm"}}"""


def launches(module: ModuleOp) -> list[gpu.LaunchFuncOp]:
    """The launches of a module."""
    return [op for op in module.walk() if isinstance(op, gpu.LaunchFuncOp)]


def kernels(module: ModuleOp) -> list[str]:
    """The names of the kernels of a module."""
    return [op.sym_name.data for op in module.walk() if isinstance(op, gpu.FuncOp)]


def waits(module: ModuleOp) -> list[list[int]]:
    """The launches, by number, that each launch waits for."""
    order = launches(module)
    tokens: list[SSAValue] = [op.results[0] for op in order]
    return [[tokens.index(token) for token in op.asyncDependencies] for op in order]


def test_launches_wait_for_those_whose_buffers_they_share(outline: Outline) -> None:
    module = outline(
        program(
            copy("a", "b", "k0"),  # 0
            copy("b", "c", "k1"),  # 1 reads what 0 stores
            copy("a", "d", "k2"),  # 2 shares nothing that is stored
            copy("d", "a", "k3"),  # 3 reads what 2 stores, stores what 0 reads
            copy("c", "b", "k4"),  # 4 waits for 1, which waited for 0
        )
    )
    assert waits(module) == [[], [0], [], [2, 0], [1]]


def test_kernels_that_are_alike_are_one(outline: Outline) -> None:
    module = outline(
        program(
            copy("a", "b", "first"), copy("c", "d", "second"), copy("a", "b", "first", "math.sqrt")
        )
    )
    assert kernels(module) == ["first", "first_2"]
    names = [op.kernel.string_value() for op in launches(module)]
    assert names == ["kernels.first", "kernels.first", "kernels.first_2"]


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("step-1.x", "step_1_x"),
        ("_", "kernel__"),
        ("$", "kernel__"),
        ("WARP_SZ", "kernel_WARP_SZ"),
        ("add", "add"),
        ("_0a", "_0a"),
    ],
)
def test_a_name_that_ptx_lacks(
    outline: Outline, assemble: Callable[..., str], name: str, kernel: str
) -> None:
    module = outline(program(copy("a", "b", name)))
    assert kernels(module) == [kernel]
    LowerKernelsPass("sm_90a").apply(make_context(), module)
    assert f"'{kernel}'" in assemble(translate(module, "ptx"), find_target("sm_90a"))


def test_no_kernel_has_the_name_of_anothers_memory(outline: Outline) -> None:
    parts = (NORM, copy("a", "b", "norm_shared"))
    module = outline(program(*parts, arguments=", %z: memref<f32>"))
    check(module)
    assert kernels(module) == ["norm", "norm_2", "norm_shared"]


def test_what_is_made_parses_and_verifies(outline: Outline) -> None:
    module = outline(program(copy("a", "b"), NORM, arguments=", %z: memref<f32>"))
    for generic in (False, True):
        text = print_module(module, generic=generic)
        assert print_module(parse_program(make_context(), text, "again"), generic=generic) == text


def test_line_numbers_are_kept(outline: Outline) -> None:
    text = print_module(outline(program(copy("a", "b"))), debuginfo=True)
    made = next(line for line in text.splitlines() if "math.absf" in line and "vector" in line)
    assert 'loc("test.mlir":5' in made


def test_remarks(outline: Outline) -> None:
    with collect() as remarks:
        outline(program(copy("a", "b", "step"), NORM, "", arguments=", %z: memref<f32>"))
    assert [remark.message for remark in remarks] == [
        "@kernels.step computes elements",
        "@kernels.norm reduces buckets, then @kernels.norm_2 reduces what buckets gave, with "
        "4*min(ceil(a.0/1024), 32768) bytes between them",
    ]


def test_a_long_chain(outline: Outline) -> None:
    chain = "\n".join(
        f"%v{i + 1} = arith.addf %v{i}, %v{i // 2} : tensor<?xf32>" for i in range(500)
    )
    region = f"""coll.fused {{
      %v0 = bufferization.to_tensor %a : memref<?xf32> to tensor<?xf32>
      {chain}
      {STORE} %v500 in writable %b : (tensor<?xf32>, memref<?xf32>) -> ()
      coll.yield
    }}"""
    assert kernels(outline(program(region))) == ["kernel"]


REFUSED = {
    "stores nothing": (
        "%x = bufferization.to_tensor %a : memref<?xf32> to tensor<?xf32>",
        "stores nothing",
    ),
    "two sizes": (
        f"""%x = bufferization.to_tensor %a : memref<?xf32> to tensor<?xf32>
        %y = bufferization.to_tensor %b : memref<?xf32> to tensor<?xf32>
        {STORE} %x in writable %c : (tensor<?xf32>, memref<?xf32>) -> ()
        {STORE} %y in writable %d : (tensor<?xf32>, memref<?xf32>) -> ()""",
        "one kernel runs over one space of elements",
    ),
    "stores twice": (
        f"""%x = bufferization.to_tensor %a : memref<?xf32> to tensor<?xf32>
        {STORE} %x in writable %c : (tensor<?xf32>, memref<?xf32>) -> ()
        {STORE} %x in writable %c : (tensor<?xf32>, memref<?xf32>) -> ()""",
        "stores twice into one buffer",
    ),
    "reads elsewhere": (
        f"""%x = bufferization.to_tensor %m : memref<4x4xf32> to tensor<4x4xf32>
        %t = comp.transpose %x perm [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
        {STORE} %t in writable %m : (tensor<4x4xf32>, memref<4x4xf32>) -> ()""",
        "overwrites a buffer that it reads at other places",
    ),
    "two reductions": (
        f"""%x = bufferization.to_tensor %m : memref<4x4xf32> to tensor<4x4xf32>
        %r = comp.reduce sum %x dims [0] : tensor<4x4xf32> -> tensor<4xf32>
        %u = comp.reduce sum %x dims [1] : tensor<4x4xf32> -> tensor<4xf32>
        %t = arith.addf %r, %u : tensor<4xf32>
        {STORE} %t in writable %e : (tensor<4xf32>, memref<4xf32>) -> ()""",
        "one kernel reduces one shape",
    ),
    "read in another order": (
        f"""%x = bufferization.to_tensor %m : memref<4x4xf32> to tensor<4x4xf32>
        %r = comp.reduce sum %x dims [1] : tensor<4x4xf32> -> tensor<4xf32>
        %w = comp.broadcast %r dims [1] : tensor<4xf32> -> tensor<4x4xf32>
        {STORE} %w in writable %n : (tensor<4x4xf32>, memref<4x4xf32>) -> ()""",
        "is read at other places than those that are reduced together",
    ),
    "several numbers": (
        f"""%x = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
        {STORE} %x in writable %e : (tensor<4xf32>, memref<4xf32>) -> ()""",
        "kernels have constants of one number",
    ),
    "matmul": (
        f"""%x = bufferization.to_tensor %m : memref<4x4xf32> to tensor<4x4xf32>
        %p = comp.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
        {STORE} %p in writable %n : (tensor<4x4xf32>, memref<4x4xf32>) -> ()""",
        "cannot stand in a kernel",
    ),
    "narrow accumulation": (
        f"""%x = bufferization.to_tensor %q : memref<4xf8E5M2> to tensor<4xf8E5M2>
        %r = comp.reduce sum %x dims [0] {{accumulate = f8E5M2}} : tensor<4xf8E5M2> -> tensor<f8E5M2>
        {STORE} %r in writable %z : (tensor<f8E5M2>, memref<f8E5M2>) -> ()""",
        "adds in f8E5M2, in which kernels have no arithmetic: accumulate in f32",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals(outline: Outline, case: str) -> None:
    body, message = REFUSED[case]
    arguments = (
        ", %m: memref<4x4xf32>, %n: memref<4x4xf32>, %e: memref<4xf32>, "
        "%q: memref<4xf8E5M2>, %z: memref<f8E5M2>"
    )
    with pytest.raises(IRError, match=message):
        outline(program(f"coll.fused {{\n{body}\ncoll.yield\n}}", arguments=arguments))


VIEWS = """
func.func @views(%m: memref<4x4xf32>, %arena: memref<?xi8>, %at: index) {{
  %c = arith.constant 0 : index
  %c2 = arith.constant 0 : index
  %v = memref.view %arena[%c][] : memref<?xi8> to memref<4x4xf32>
  %w = memref.view %arena[{at}][] : memref<?xi8> to memref<4x4x{name}>
  %r = memref.reinterpret_cast %m to offset: [0], sizes: [4, 4], strides: [4, 1] : memref<4x4xf32> to memref<4x4xf32>
  coll.fused {{
    %x = bufferization.to_tensor {source} : memref<4x4xf32> to tensor<4x4xf32>
    {body}
    bufferization.materialize_in_destination %y in writable {to} : (tensor<4x4x{name}>, memref<4x4x{name}>) -> ()
    coll.yield
  }}
  func.return
}}
"""
TURNED = "%y = comp.transpose %x perm [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>"
NEGATED = "%y = arith.negf %x : tensor<4x4xf32>"
WIDE = "%y = arith.extf %x : tensor<4x4xf32> to tensor<4x4xf64>"


def views(body: str, source: str, to: str, at: str = "%c2", name: str = "f32") -> str:
    """A kernel from one view to another."""
    text = VIEWS.format(body=body, source=source, to=to, at=at, name=name)
    return f'module attributes {{coconet.level = "buffer"}} {{{text}}}'


@pytest.mark.parametrize(
    ("body", "source", "to", "name"),
    [
        (TURNED, "%v", "%w", "f32"),
        (TURNED, "%r", "%m", "f32"),
        (TURNED, "%m", "%r", "f32"),
        (WIDE, "%v", "%w", "f64"),
    ],
)
def test_two_views_of_one_place_are_one_buffer(
    outline: Outline, body: str, source: str, to: str, name: str
) -> None:
    with pytest.raises(IRError, match="overwrites a buffer that it reads at other places"):
        outline(views(body, source, to, name=name))


def test_views_element_by_element_or_of_two_places(outline: Outline) -> None:
    assert kernels(outline(views(NEGATED, "%v", "%w"))) == ["kernel"]
    assert kernels(outline(views(NEGATED, "%r", "%m"))) == ["kernel"]
    assert kernels(outline(views(TURNED, "%v", "%w", at="%at"))) == ["kernel"]


def test_another_level_is_refused(outline: Outline) -> None:
    with pytest.raises(IRError, match='reads level "buffer"'):
        outline("module {\n}")


def test_indices_beyond_32_bits(outline: Outline, machine: Any) -> None:
    """The last block of a buffer of 2^33 + 5 elements, of which the test has those that it uses."""
    module = outline(program(copy("a", "b")))
    func = next(op for op in module.walk() if isinstance(op, gpu.FuncOp))
    count = 2**33 + 5
    block, base = count // 1024, count // 1024 * 1024
    source = np.arange(5, dtype=np.float32) - 2
    memories = [machine.Memory(x, 4096, base) for x in (source, np.zeros_like(source))]
    names = [arg.name_hint for arg in func.body.blocks[0].args]
    values = [memories["ab".index(name)] if name in ("a", "b") else count for name in names]
    machine.run_block(module, func, values, block)
    assert np.array_equal(memories[1].elements, np.abs(source))


PLANTED = {
    "a race": (
        """%t = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
        %zero = arith.constant 0 : index
        %x = arith.constant 1.0 : f32
        memref.store %x, %a[%zero] : memref<?xf32>""",
        "two threads store one element",
    ),
    "a neighbour": (
        """%t = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
        %one = arith.constant 1 : index
        %n = arith.addi %t, %one : index
        %x = memref.load %a[%n] : memref<?xf32>
        memref.store %x, %a[%t] : memref<?xf32>""",
        "a thread stores what another one uses",
    ),
    "beyond the end": (
        """%n = arith.constant 64 : index
        %x = memref.load %a[%n] : memref<?xf32>""",
        "an access at 64",
    ),
    "not aligned": (
        """%n = arith.constant 1 : index
        %x = vector.load %a[%n] : memref<?xf32>, vector<4xf32>""",
        "is not aligned",
    ),
    "a barrier for some": (
        """%t = "gpu.thread_id"() <{dimension = #gpu<dim x>}> : () -> index
        %n = arith.constant 3 : index
        %c = arith.cmpi ult, %t, %n : index
        scf.if %c {
          "gpu.barrier"() : () -> ()
        }""",
        "do not reach a barrier",
    ),
}


@pytest.mark.parametrize("case", PLANTED)
def test_the_machine_finds_faults(machine: Any, case: str) -> None:
    body, message = PLANTED[case]
    text = f"""module attributes {{coconet.level = "kernel", gpu.container_module}} {{
      "gpu.module"() <{{sym_name = "kernels"}}> ({{
        "gpu.func"() <{{function_type = (memref<?xf32>) -> ()}}> ({{
        ^bb0(%a: memref<?xf32>):
          {body}
          "gpu.return"() : () -> ()
        }}) {{sym_name = "k", gpu.kernel, coconet.threads = 32 : i64}} : () -> ()
      }}) : () -> ()
    }}"""
    module = parse_program(make_context(), text, "test.mlir")
    func = next(op for op in module.walk() if isinstance(op, gpu.FuncOp))
    with pytest.raises(machine.Fault, match=message):
        machine.run_block(module, func, [machine.memory_of(np.zeros(64, np.float32))], 0)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%x = tensor.empty() : tensor<4xf32>", "cannot stand in a kernel"),
        ("%x = arith.constant dense<0.0> : vector<2x2xf32>", "of one dimension"),
    ],
)
def test_the_level_of_kernels_is_checked(line: str, message: str) -> None:
    text = f"""module attributes {{coconet.level = "kernel", gpu.container_module}} {{
      "gpu.module"() <{{sym_name = "kernels"}}> ({{
        "gpu.func"() <{{function_type = () -> ()}}> ({{
          {line}
          "gpu.return"() : () -> ()
        }}) {{sym_name = "k", gpu.kernel, coconet.threads = 32 : i64}} : () -> ()
      }}) : () -> ()
    }}"""
    with pytest.raises(IRError, match=message):
        parse_program(make_context(), text, "test.mlir")
