"""The process in which kernels run, which they may end. `check.py` starts it.

It takes pickled requests: a `Job` to make ready, then each `Turn` to run.
"""

from __future__ import annotations

import pickle
import time

from coconet_ir.diagnostics import internal_error
from coconet_ir.emu.answers import Answer, Broken, Ran, Ready, RefusedPTX, Turn, WrongPTX
from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.job import Job
from coconet_ir.emu.machine import Emulator
from coconet_ir.emu.ptx.parse import PTXError
from coconet_ir.process import serve


class Session:
    """The emulator of one job after another."""

    def __init__(self) -> None:
        self._emulator: Emulator | None = None

    def answer(self, request: bytes) -> bytes:
        """The answer to a request."""
        return pickle.dumps(self._answer(pickle.loads(request)))

    def _answer(self, request: Job | Turn) -> Answer:
        start = time.perf_counter()
        try:
            if isinstance(request, Job):
                self._emulator = None  # its memory is free before there is another
                self._emulator = Emulator(request)
                return Ready(time.perf_counter() - start)
            if self._emulator is None:
                raise RuntimeError("there is no job")
            outcome = self._emulator.run(request.seed, traced=request.traced)
            return Ran(outcome.findings, outcome.memory, time.perf_counter() - start)
        except Refused as error:
            return RefusedPTX(error.what, error.line)
        except PTXError as error:
            return WrongPTX(error.message, error.line, error.column)
        except MemoryError:
            return Broken("the run needs more memory than there is: check smaller sizes")
        except Exception as error:
            return Broken(internal_error(error).message)


def main() -> None:
    """Answer requests until there are no more."""
    serve(Session().answer)
