"""A process that answers messages, apart from the user's, which what runs in it may end.

Messages are bytes behind their length, which has 8.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import IO


def read_message(stream: IO[bytes]) -> bytes | None:
    """The next message; None at the end."""
    length = stream.read(8)
    if len(length) < 8:
        return None
    data = stream.read(size := int.from_bytes(length))
    return data if len(data) == size else None


def write_message(stream: IO[bytes], message: bytes) -> None:
    """Write a message."""
    stream.write(len(message).to_bytes(8) + message)
    stream.flush()


def serve(answer: Callable[[bytes], bytes]) -> None:
    """What the process does: answer messages until there are no more."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no message
    while (request := read_message(sys.stdin.buffer)) is not None:
        write_message(answers, answer(request))


class Ended(Exception):
    """The process ended in place of an answer: its status as `subprocess` has it, and what it wrote to stderr."""

    def __init__(self, status: int, said: str):
        how = f"signal {signal.Signals(-status).name}" if status < 0 else f"status {status}"
        super().__init__(how)
        self.status, self.said = status, said


class TimedOut(Exception):
    """It took too long to answer, and was ended."""


class Worker:
    """A process of Python, which serves."""

    def __init__(self, *arguments: str) -> None:
        """Start it with these arguments: a file, or `-c` and statements."""
        self._owner = os.getpid()
        self._errors: IO[bytes] = tempfile.TemporaryFile()
        self._process = subprocess.Popen[bytes](
            [sys.executable, "-P", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    def ask(self, request: bytes, limit: float) -> bytes:
        """The answer to a message, within a limit in seconds.

        Raises `Ended` or `TimedOut`, after which the process is gone.
        """
        said = os.fstat(self._errors.fileno()).st_size
        late = threading.Event()
        timer = threading.Timer(limit, self._end, [late])
        timer.start()
        try:
            answer = self._exchange(request)
        finally:
            timer.cancel()
        if answer is not None:
            return answer
        status = self._process.wait()
        words = os.pread(self._errors.fileno(), 1 << 16, said).decode(errors="replace")
        self.close()
        raise TimedOut if late.is_set() else Ended(status, words)

    def _end(self, late: threading.Event) -> None:
        late.set()
        self._process.kill()

    def _exchange(self, request: bytes) -> bytes | None:
        process = self._process
        if process.stdin is None or process.stdout is None:
            return None
        try:
            write_message(process.stdin, request)
            return read_message(process.stdout)
        except OSError:
            return None
        except BaseException:  # what interrupts an exchange leaves half a message
            process.kill()
            process.wait()
            raise

    @property
    def usable(self) -> bool:
        """Whether it runs, and for this process."""
        return self._owner == os.getpid() and self._process.poll() is None  # a fork has its pipes

    def close(self) -> None:
        """End the process, whatever it is doing."""
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        if self._owner == os.getpid():
            self._process.kill()
            self._process.wait()
        else:
            self._process.returncode = 0  # the parent's child: not ours to wait for


class Service:
    """A worker for all threads, one at a time: started when it is first needed, and anew when it is gone."""

    def __init__(self, *arguments: str) -> None:
        """One that is started with these arguments."""
        self._arguments = arguments
        self._lock = threading.Lock()
        self._worker: Worker | None = None

    @contextmanager
    def worker(self) -> Generator[Worker]:
        """The worker, which serves nobody else meanwhile."""
        with self._lock:
            if self._worker is None:
                atexit.register(self.stop)
            elif not self._worker.usable:
                self._worker.close()
                self._worker = None
            self._worker = self._worker or Worker(*self._arguments)
            yield self._worker

    def stop(self) -> None:
        """End the worker, if there is one."""
        if self._worker is not None:
            self._worker.close()
