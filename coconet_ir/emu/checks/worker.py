"""The process in which kernels run, which they may end. `check.py` starts it.

It takes pickled requests: a `Job` to make ready, then schedules to run.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from coconet_ir.diagnostics import internal_error
from coconet_ir.emu.checks.answers import (
    Answer,
    Broken,
    Explore,
    Explored,
    Ran,
    Ready,
    RefusedPTX,
    Request,
    WrongPTX,
)
from coconet_ir.emu.code.table import Refused
from coconet_ir.emu.job import Job
from coconet_ir.emu.machine import Emulator
from coconet_ir.emu.ptx.parse import PTXError
from coconet_ir.emu.schedules.explore import Repeated, Tried, explore
from coconet_ir.process import serve

if TYPE_CHECKING:
    from coconet_ir.emu.machine import Outcome


class Session:
    """The emulator of one job after another."""

    def __init__(self) -> None:
        self._emulator: Emulator | None = None
        self._all: Iterator[Tried] = iter(())

    def answer(self, request: bytes) -> bytes:
        """The answer to a request."""
        return pickle.dumps(self._answer(pickle.loads(request)))

    def _answer(self, request: Request) -> Answer:
        start = time.perf_counter()
        try:
            if isinstance(request, Job):
                self._emulator = None  # its memory is free before there is another
                self._emulator = Emulator(request)
                return Ready(time.perf_counter() - start)
            if self._emulator is None:
                raise RuntimeError("there is no job")
            if not isinstance(request, Explore):
                return _ran(self._emulator.run(request.name, traced=request.traced), start)
            if request.first:
                self._all = explore(self._emulator)
            tried = next(self._all)
            ran = None if tried.outcome is None else _ran(tried.outcome, start)
            return Explored(tried.name, ran, tried.more)
        except Refused as error:
            return RefusedPTX(error.what, error.line)
        except PTXError as error:
            return WrongPTX(error.message, error.line, error.column)
        except Repeated:
            return Broken("there is no such schedule: a finding of another job may have had it")
        except MemoryError:
            return Broken("the run needs more memory than there is: check smaller sizes")
        except Exception as error:
            return Broken(internal_error(error).message)


def _ran(outcome: Outcome, start: float) -> Ran:
    return Ran(outcome.findings, outcome.memory, time.perf_counter() - start)


def main() -> None:
    """Answer requests until there are no more."""
    serve(Session().answer)
