"""The process that turns LLVM IR into PTX, apart from the user's, which LLVM would end with its own.

Run by `ptx.py` as a script; needs llvmlite alone. Messages are JSON:
`{"ir": …, "cpu": "sm_90a", "features": "+ptx80"}` becomes `{"ptx": …}` or `{"error": …}`.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import import_module
from typing import Any

from coconet_ir.process import serve

OPTIMISATION = 3
"""LLVM's level, for its passes and for the choice of instructions."""


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
    try:
        llvm: Any = import_module("llvmlite.binding")
    except ImportError as error:
        missing = json.dumps({"error": f"llvmlite cannot be imported: {error}"}).encode()
        return serve(lambda _: missing)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()

    def answer(request: bytes) -> bytes:
        try:
            found = {"ptx": _compile(llvm, **json.loads(request))}
        except RuntimeError as error:
            found = {"error": str(error)}
        return json.dumps(found).encode()

    serve(answer)


if __name__ == "__main__":
    main()
