"""Outputs that are whole or not there: a file appears, or changes, in one step."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from coconet_ir.diagnostics import IRError


@contextmanager
def output_file(path: str) -> Generator[BinaryIO]:
    """A file to write, which takes the place of `path` when the block ends without an exception.

    A device or a pipe is written as it is: it must never be replaced. A link keeps pointing where it does.
    Raises `IRError` when `path` cannot be written.
    """
    place = Path(path)
    try:
        if place.exists() and not place.is_file():
            buffer = BytesIO()  # what writes archives goes back and forth
            yield buffer
            place.write_bytes(buffer.getvalue())
            return
        target = Path(os.path.realpath(path))
        partial = target.with_name(f".{target.name}.{os.getpid()}")
        try:
            with partial.open("wb") as file:
                yield file
            if target.exists():
                partial.chmod(target.stat().st_mode)
            partial.replace(target)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise IRError(f"cannot write '{path}': {error.strerror or error}") from None


def require_output() -> None:
    """Raise `OSError` when there is no standard output at all."""
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))


def give_up_output(error: OSError) -> int:
    """What a tool does when standard output takes no more: say why, unless its reader has gone; status 1.

    Nothing is written to it any more, so that the interpreter has nothing to complain of at its end.
    """
    if not isinstance(error, BrokenPipeError):
        print(f"error: cannot write the output: {error.strerror or error}", file=sys.stderr)
    if sys.stdout is not None:  # pyright: ignore[reportUnnecessaryComparison]
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
