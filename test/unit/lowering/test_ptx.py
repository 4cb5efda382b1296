"""The process that compiles: what ends it is an error at the kernel, and the next kernel compiles all the same."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

from coconet_ir import process as process_module
from coconet_ir.diagnostics import IRError
from coconet_ir.lowering import ptx
from coconet_ir.lowering.emit.module import emit
from coconet_ir.lowering.ptx import CompilerFailed, compile_llvm, compile_ptx
from coconet_ir.lowering.targets import TARGETS, Target

Kernel = Callable[..., ModuleOp]

SM_90A = TARGETS["sm_90a"]
STORE = "llvm.store %x, %p : f32, !llvm.ptr<1>"
REFUSED = 'llvm.inline_asm has_side_effects "mov.b32 $9, 1;", "r" %a : (i32) -> ()'
ABORTS = """
target triple = "nvptx64-nvidia-cuda"
declare half @llvm.log.f16(half)
define ptx_kernel void @k(ptr addrspace(1) %p, half %x) {
  %y = call half @llvm.log.f16(half %x)
  store half %y, ptr addrspace(1) %p
  ret void
}
"""


def process() -> subprocess.Popen[bytes]:
    """The one that compiles, which runs."""
    internals: Any = ptx
    return internals._service._worker._process


# What LLVM refuses


def test_a_kernel_that_llvm_refuses_is_named(kernel: Kernel) -> None:
    module = kernel(REFUSED)
    with pytest.raises(IRError, match=r"cannot be compiled: Invalid \$ operand number") as caught:
        compile_ptx(module, SM_90A)
    assert caught.value.op is module.body.block.first_op
    assert "st.global" in compile_ptx(kernel(STORE), SM_90A)


def test_of_several_kernels_the_one_at_fault_is_named(parse: Callable[[str], ModuleOp]) -> None:
    kernel = "llvm.func @{}(%a: i32) attributes {{nvvm.kernel}} {{\n{}\nllvm.return\n}}\n"
    texts = [("one", ""), ("two", REFUSED), ("three", "")]
    module = parse("".join(kernel.format(name, body) for name, body in texts))
    with pytest.raises(IRError, match="cannot be compiled") as caught:
        compile_ptx(module, SM_90A)
    _, second, _ = module.ops
    assert caught.value.op is second
    assert (rendered := caught.value.render()).startswith("test.mlir:5:1: error: 'llvm.func' op")
    assert "\n" not in rendered


def test_the_death_of_the_process_is_an_error(kernel: Kernel) -> None:
    compile_ptx(kernel(STORE), SM_90A)
    before = process()
    with pytest.raises(CompilerFailed, match="Can't create an unknown libcall!"):
        compile_llvm(ABORTS, SM_90A)
    assert before.returncode == -signal.SIGABRT
    compile_ptx(kernel(STORE), SM_90A)
    assert process().pid != before.pid


def test_text_that_is_no_llvm_ir_is_an_error_and_the_process_stays(kernel: Kernel) -> None:
    compile_ptx(kernel(STORE), SM_90A)
    before = process()
    with pytest.raises(CompilerFailed, match=r"^1:1: error: expected top-level entity$"):
        compile_llvm("nonsense", SM_90A)
    with pytest.raises(CompilerFailed, match=r"^2:7: error: value doesn't match"):
        compile_llvm("define i32 @f() {\n  ret void\n}", SM_90A)
    compile_ptx(kernel(STORE), SM_90A)
    assert process() is before


def test_a_version_of_ptx_that_is_not_the_targets_is_an_error(kernel: Kernel) -> None:
    text = emit(kernel(STORE), SM_90A)
    message = r"this LLVM makes '\.version \S+ \.target sm_90a', not PTX 9\.9 of sm_90a"
    with pytest.raises(CompilerFailed, match=message):
        compile_llvm(text, Target("sm_90a", 90, 99))


def test_time_is_limited(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_ptx(kernel(STORE), SM_90A)
    os.kill(process().pid, signal.SIGSTOP)
    monkeypatch.setattr(ptx, "TIME_LIMIT", 0.1)
    with pytest.raises(IRError, match=r"cannot be compiled: LLVM took longer than 0\.1 s"):
        compile_ptx(kernel(STORE), SM_90A)
    monkeypatch.undo()
    assert "st.global" in compile_ptx(kernel(STORE), SM_90A)


# The process


def test_one_process_compiles_for_all_threads(kernel: Kernel) -> None:
    modules = [
        kernel(STORE.replace("%x", f"%x{i}"), f"%p: !llvm.ptr<1>, %x{i}: f32") for i in range(8)
    ]
    targets = list(TARGETS.values()) * 3
    alone = [compile_ptx(module, target) for module, target in zip(modules, targets)]
    before = process()
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(compile_ptx, modules, targets)) == alone
    assert process() is before


def test_the_process_may_start_before_there_is_something_to_compile(kernel: Kernel) -> None:
    ptx.start()
    before = process()
    ptx.start()
    assert "st.global" in compile_ptx(kernel(STORE), SM_90A)
    assert process() is before


def test_a_process_that_is_gone_is_replaced(kernel: Kernel) -> None:
    compile_ptx(kernel(STORE), SM_90A)
    process().kill()
    process().wait()
    assert "st.global" in compile_ptx(kernel(STORE), SM_90A)


def test_an_interrupt_leaves_no_half_message(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    compile_ptx(kernel(STORE), SM_90A)
    before = process()
    monkeypatch.setattr(process_module, "read_message", interrupt)
    with pytest.raises(KeyboardInterrupt):
        compile_ptx(kernel(STORE), SM_90A)
    monkeypatch.undo()
    assert before.returncode == -signal.SIGKILL
    assert "st.global" in compile_ptx(kernel(STORE), SM_90A)


ALONE = """
import os, sys
from coconet_ir.frontend import make_context
from coconet_ir.lowering import ptx, targets
from coconet_ir.xdsl_compat import LocatedParser

text = "llvm.func @k() attributes {nvvm.kernel} { llvm.return }"
module = LocatedParser(make_context(), text).parse_module()
expected = targets.translate(module, "ptx", "sm_80")
assert ".entry k()" in expected
assert not any(name.partition(".")[0] == "llvmlite" for name in sys.modules)
before = ptx._service._worker._process.pid
if (child := os.fork()) == 0:
    assert targets.translate(module, "ptx", "sm_80") == expected
    assert ptx._service._worker._process.pid != before
    sys.exit()
assert os.waitpid(child, 0)[1] == 0
assert targets.translate(module, "ptx", "sm_80") == expected
assert ptx._service._worker._process.pid == before
"""


def test_llvm_stays_out_of_the_users_process_and_a_fork_has_its_own() -> None:
    ran = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")


# Lines


def test_lines(parse: Callable[[str], ModuleOp]) -> None:
    text = """
llvm.func @k(%p: !llvm.ptr<1>, %x: f32) attributes {nvvm.kernel} {
  %0 = llvm.fadd %x, %x : f32

  llvm.store %0, %p : f32, !llvm.ptr<1>
  llvm.return
}
"""
    lines = compile_ptx(parse(text), SM_90A).splitlines()
    at = ""
    found: dict[str, str] = {}
    for line in lines:
        if (match := re.match(r"\s*\.loc\s+1 (\d+) (\d+)", line)) is not None:
            at = f"{match[1]}:{match[2]}"
        for name in ("add.rn.f32", "st.global", "ret"):
            if line.strip().startswith(name):
                found[name] = at
    assert found == {"add.rn.f32": "3:3", "st.global": "5:3", "ret": "6:3"}
    assert any(re.match(r'\s*\.file\s+1 "test.mlir"', line) for line in lines)
