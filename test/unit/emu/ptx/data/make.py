"""Makes the PTX here of the CUDA here: `python make.py` with nvcc of CUDA 13.0 at hand. Needs no GPU."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent
DEBUG = ("calls",)
"""Made without optimisation too, with the sections of a debugger."""


def by_nvcc(source: Path, option: str) -> str:
    """The PTX of a CUDA file. Files are called by their names alone; the section that has the folder is left out."""
    command = ["nvcc", source.name, "-ptx", "-arch=sm_90", option, "-o", "-"]
    made = subprocess.run(command, cwd=FOLDER, check=True, capture_output=True, text=True).stdout
    made = re.sub(r"^\s*\.section\s+\.debug_info\s*\{[^}]*\}\n", "", made, flags=re.M)
    return re.sub(r'(\.file\s+\d+) ".*/([^/"]+)"', r'\1 "\2"', made)


def main() -> int:
    for source in sorted(FOLDER.glob("*.cu")):
        source.with_suffix(".ptx").write_text(by_nvcc(source, "-lineinfo"))
    for name in DEBUG:
        (FOLDER / f"{name}.debug.ptx").write_text(by_nvcc(FOLDER / f"{name}.cu", "-G"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
