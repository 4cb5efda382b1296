"""PTX from a module of `llvm` and `nvvm`, by LLVM in a process of its own.

LLVM ends its process where it has no instruction for something. Here that becomes an error at the kernel, and the next
kernel gets a new process.
"""

from __future__ import annotations

import atexit
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from typing import IO

from xdsl.ir import Operation

from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.llvm_functions import FuncOp
from coconet_ir.lowering import ptx_worker
from coconet_ir.lowering.emit.module import emit
from coconet_ir.lowering.targets import Target

TIME_LIMIT = 60.0
"""Seconds that a module may take."""


class CompilerFailed(Exception):
    """LLVM made no PTX; the message says why."""


def start() -> None:
    """Start the process that compiles: it is ready when there is something to compile, as it starts meanwhile."""
    with _lock:
        _running()


def compile_ptx(container: Operation, target: Target) -> str:
    """The PTX of the kernels in a module. Raises `IRError`."""
    try:
        return compile_llvm(emit(container, target), target)
    except CompilerFailed as failure:
        raise _blame(container, target, failure) from None


def compile_llvm(text: str, target: Target) -> str:
    """The PTX for a module of LLVM IR. Raises `CompilerFailed`."""
    with _lock:
        ptx = _running().ask(text, target)
    header = f".version {target.version}\n.target {target.name}\n"
    if header not in ptx[:200]:
        found = " ".join(re.findall(r"^\.(?:version|target) \S+", ptx, re.MULTILINE))
        raise CompilerFailed(
            f"this LLVM makes '{found}', not PTX {target.version} of {target.name}"
        )
    return ptx


def _blame(container: Operation, target: Target, failure: CompilerFailed) -> IRError:
    """The error at the first kernel that fails alone too."""
    kernels = [op for op in container.walk() if isinstance(op, FuncOp) and op.is_kernel]
    for kernel in kernels if len(kernels) > 1 else ():
        try:
            compile_llvm(emit(container, target, only=kernel.sym_name.data), target)
        except CompilerFailed as alone:
            return IRError(f"cannot be compiled: {alone}", kernel)
    return IRError(f"cannot be compiled: {failure}", kernels[0] if kernels else container)


# One process serves one request at a time: the lock is held while it works.

_lock = threading.Lock()
_worker: _Worker | None = None


class _Worker:
    """A process that compiles one module after another."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._errors: IO[bytes] = tempfile.TemporaryFile()
        self._process = subprocess.Popen[bytes](
            [sys.executable, "-P", ptx_worker.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    def ask(self, text: str, target: Target) -> str:
        """The PTX for a module. Raises `CompilerFailed`, after which the process may be gone."""
        said = os.fstat(self._errors.fileno()).st_size
        timer = threading.Timer(TIME_LIMIT, self._process.kill)
        timer.start()
        try:
            answer = self._exchange(
                {"ir": text, "cpu": target.name, "features": f"+ptx{target.ptx}"}
            )
        finally:
            timer.cancel()
        if answer is None:
            late = self._process.wait() == -signal.SIGKILL
            words = os.pread(self._errors.fileno(), 1 << 16, said).decode(errors="replace")
            self.close()
            limit = f"LLVM took longer than {TIME_LIMIT:g} s, or was killed"
            raise CompilerFailed(limit if late else _first_line(words) or "LLVM ended")
        if "error" in answer:
            raise CompilerFailed(_first_line(answer["error"]))
        return answer["ptx"]

    def _exchange(self, request: dict[str, str]) -> dict[str, str] | None:
        process = self._process
        if process.stdin is None or process.stdout is None:
            return None
        try:
            ptx_worker.write_message(process.stdin, request)
            return ptx_worker.read_message(process.stdout)
        except OSError:
            return None
        except BaseException:  # what interrupts an exchange leaves half a message
            process.kill()
            process.wait()
            raise

    @property
    def usable(self) -> bool:
        """Whether it runs, and for this process."""
        return self.owner == os.getpid() and self._process.poll() is None  # a fork has its pipes

    def close(self) -> None:
        """End the process, whatever it is doing."""
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        if self.owner == os.getpid():
            self._process.kill()
            self._process.wait()
        else:
            self._process.returncode = 0  # the parent's child: not ours to wait for


def _running() -> _Worker:
    global _worker
    if _worker is None:
        atexit.register(_stop)
    elif not _worker.usable:
        _worker.close()
        _worker = None
    _worker = _worker or _Worker()
    return _worker


def _stop() -> None:
    if _worker is not None:
        _worker.close()


def _first_line(text: str) -> str:
    """What LLVM said, without its own prefix and what follows."""
    said = re.sub(r"^(?:LLVM IR parsing error\s+<string>:|LLVM ERROR: |error: )", "", text.strip())
    return said.partition("\n")[0].strip()[:300]
