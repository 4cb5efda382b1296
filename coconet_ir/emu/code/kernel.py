"""A kernel's code: one function, which makes a thread of a kernel and is a coroutine."""

from __future__ import annotations

from coconet_ir.emu.code.entries import write_instruction
from coconet_ir.emu.code.layout import Op, place
from coconet_ir.emu.code.thread import ThreadWriter
from coconet_ir.emu.ptx.syntax import Instruction, Label


def write_kernel(writer: ThreadWriter) -> None:
    """Write the code of a kernel. Raises `Refused`."""
    function = writer.function
    writer.suspend(Op.START, None)
    for item in function.body:
        match item:
            case Label(name):
                writer.begin(writer.labels[name])
            case Instruction():
                _write(writer, item)
            case _:
                pass
    if not writer.ended:
        writer.emit("br label %end")


def _write(writer: ThreadWriter, item: Instruction) -> None:
    if writer.ended:  # code that nothing reaches
        writer.begin(writer.fresh()[1:])
    if item.guard is None or item.opcode in ("bra", "brx"):
        write_instruction(writer, item)
        return
    do, skip = writer.fresh()[1:], writer.fresh()[1:]
    holds = writer.value(item.guard.register, "pred", item)
    first, second = (skip, do) if item.guard.negated else (do, skip)
    writer.emit(f"br i1 {holds}, label %{first}, label %{second}")
    writer.emit(f"{do}:")
    write_instruction(writer, item)
    writer.begin(skip)


def kernel_text(writer: ThreadWriter, symbol: str) -> str:
    """The whole function, once it is written."""
    slots = [
        f"{slot} = alloca i{writer.register_width(name, 0)}" for name, slot in writer.slots.items()
    ]
    slots += [f"%p.{v.name} = alloca [{v.bytes} x i8], align 16" for v in writer.passed.values()]
    start = [
        "%id = call token @llvm.coro.id(i32 0, ptr null, ptr null, ptr null)",
        "%size = call i64 @llvm.coro.size.i64()",
        "%memory = call ptr @malloc(i64 %size)",
        "%handle = call ptr @llvm.coro.begin(token %id, ptr %memory)",
    ]
    end = [
        "end:",
        f"%op.end = getelementptr i8, ptr %me, i64 {place('op')}",
        f"store i32 {Op.EXIT}, ptr %op.end",
        "br label %last",
        "fault:",
        f"%op.fault = getelementptr i8, ptr %me, i64 {place('op')}",
        f"store i32 {Op.FAULT}, ptr %op.fault",
        "br label %last",
        "last:",
        "%s.last = call i8 @llvm.coro.suspend(token none, i1 true)",
        "switch i8 %s.last, label %gone [i8 0, label %never i8 1, label %clean]",
        "never:",
        "unreachable",
        "clean:",
        "%freed = call ptr @llvm.coro.free(token %id, ptr %handle)",
        "call void @free(ptr %freed)",
        "br label %gone",
        "gone:",
        "call void @llvm.coro.end(ptr %handle, i1 false, token none)",
        "ret ptr %handle",
    ]
    body = "\n".join((*start, *slots, *writer.lines, *end))
    return f"define ptr @{symbol}(ptr %me) presplitcoroutine {{\nentry:\n{body}\n}}\n"
