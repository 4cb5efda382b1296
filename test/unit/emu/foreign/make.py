"""Makes `ptx/` of `sources/`: `python make.py`, with nvcc of CUDA 13.0 and Triton 3.9 at hand. Needs no GPU.

Triton's kernels take two more addresses at the end, of scratch memory that they do not use, and `ptx/triton.json` says
how many bytes of shared memory each needs.
"""

# Triton is no dependency: tests read what this made.
# pyright: basic, reportMissingImports=false

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from triton import compile
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

FOLDER = Path(__file__).parent
SOURCES, PTX = FOLDER / "sources", FOLDER / "ptx"
OPTIONS = {"num_stages": 1, "ptx_version": 90}
"""No `cp.async`; the PTX that CUDA 13.0 reads."""

sys.path.insert(0, str(SOURCES))

from kernels import KERNELS  # noqa: E402


def portable(ptx: str) -> str:
    """Files by their names alone, and no sections for a debugger."""
    ptx = re.sub(r'(\.file\s+\d+) ".*/([^/"]+)"', r'\1 "\2"', ptx)
    return re.sub(r"^\s*\.section\s+\.debug_(?!str)\w+\s*\{[^}]*\}\n?", "", ptx, flags=re.M)


def by_nvcc(source: Path) -> str:
    """The PTX of a CUDA file."""
    command = ["nvcc", "-ptx", "-arch=sm_90", "-lineinfo", "-std=c++17", source.name, "-o", "-"]
    return subprocess.run(
        command, cwd=source.parent, check=True, capture_output=True, text=True
    ).stdout


def main() -> int:
    PTX.mkdir(exist_ok=True)
    for source in sorted(SOURCES.glob("*.cu")):
        (PTX / f"{source.stem}.ptx").write_text(portable(by_nvcc(source)))
    shared: dict[str, int] = {}
    for name, (kernel, types, constants, warps) in KERNELS.items():
        names = [one for one in kernel.arg_names if one not in constants]
        signature = dict(zip(names, types, strict=True)) | dict.fromkeys(constants, "constexpr")
        source = ASTSource(kernel, signature=signature, constexprs=constants)
        made = compile(
            source, target=GPUTarget("cuda", 90, 32), options={**OPTIONS, "num_warps": warps}
        )
        (PTX / f"triton_{name}.ptx").write_text(portable(made.asm["ptx"]))
        shared[name] = made.metadata.shared
    (PTX / "triton.json").write_text(json.dumps(shared, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
