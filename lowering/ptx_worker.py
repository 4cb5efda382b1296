"""The process that turns LLVM IR into PTX, apart from the user's, which LLVM would end with its own.

Run by `ptx.py` as a script; needs llvmlite alone. It reads and writes messages, each its length in 8 bytes and JSON:
`{"ir": …, "cpu": "sm_90a", "features": "+ptx80"}` becomes `{"ptx": …}` or `{"error": …}`.
"""

from __future__ import annotations

import json
import os
import sys
from functools import cache
from importlib import import_module
from typing import IO, Any

OPTIMISATION = 3
"""LLVM's level, for its passes and for the choice of instructions."""


def read_message(stream: IO[bytes]) -> dict[str, str] | None:
    """The next message; None at the end."""
    length = stream.read(8)
    data = stream.read(int.from_bytes(length)) if len(length) == 8 else b""
    return json.loads(data) if data else None


def write_message(stream: IO[bytes], message: dict[str, str]) -> None:
    """Write a message."""
    data = json.dumps(message).encode()
    stream.write(len(data).to_bytes(8) + data)
    stream.flush()


@cache
def _machine(llvm: Any, cpu: str, features: str) -> Any:
    target = llvm.Target.from_triple("nvptx64-nvidia-cuda")
    return target.create_target_machine(cpu=cpu, features=features, opt=OPTIMISATION)


def _compile(llvm: Any, ir: str, cpu: str, features: str) -> str:
    module = llvm.parse_assembly(ir)
    module.verify()
    machine = _machine(llvm, cpu, features)
    options = llvm.create_pipeline_tuning_options(speed_level=OPTIMISATION)
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return machine.emit_assembly(module)


def main() -> None:
    """Answer messages until there are no more."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what LLVM prints is no message
    try:
        llvm: Any = import_module("llvmlite.binding")
    except ImportError as error:
        return write_message(answers, {"error": f"llvmlite cannot be imported: {error}"})
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    while (request := read_message(sys.stdin.buffer)) is not None:
        try:
            answer = {"ptx": _compile(llvm, **request)}
        except RuntimeError as error:
            answer = {"error": str(error)}
        write_message(answers, answer)


if __name__ == "__main__":
    main()
