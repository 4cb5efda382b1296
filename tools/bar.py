"""A progress bar."""

from __future__ import annotations

import time
from typing import TextIO

_PATIENCE = 1.0
"""Seconds without a progress bar."""


class Bar:
    """A progress bar on a terminal, once a run takes longer than `_PATIENCE`."""

    _WIDTH = 40

    def __init__(self, stream: TextIO, what: str):
        """A bar that counts these things."""
        self._stream = stream
        self._what = what
        self._next = time.monotonic() + _PATIENCE
        self._shown = False

    def show(self, done: int, total: int) -> None:
        """Draw it, at most ten times a second."""
        if (now := time.monotonic()) < self._next:
            return
        self._next, self._shown = now + 0.1, True
        filled = self._WIDTH * min(done, total) // max(total, 1)
        bar = "#" * filled + "." * (self._WIDTH - filled)
        self._stream.write(f"\r[{bar}] {done} of {total} {self._what}")
        self._stream.flush()

    def clear(self) -> None:
        """Take it off the screen."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
