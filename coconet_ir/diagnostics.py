"""Errors with a source position, and how each kind of error is shown.

`IRError` is what analyses and passes raise. `diagnose` turns it, and xDSL's own errors, into
`Diagnostic`s, one a message, whose text follows compilers' habit: `file:line:col: error: message`.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    ModuleOp,
    NameLoc,
    UnregisteredOp,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.utils.exceptions import (
    DiagnosticException,
    MultipleSpansParseError,
    ParseError,
    VerifyException,
)
from xdsl.utils.lexer import Span

Severity: TypeAlias = Literal["error", "warning", "remark", "note"]
Place: TypeAlias = Operation | SSAValue
"""What a note can point at."""

_SOURCE_WIDTH = 120
"""Longest part of a source line shown above a caret."""

_MESSAGE_WIDTH = 2000
"""Longest message of xDSL that is shown in full; it may quote types and names of any length."""


@dataclass(frozen=True)
class Position:
    """A place in a source file; lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Diagnostic:
    """One message about the program."""

    severity: Severity
    message: str
    position: Position | None = None
    source: str = ""
    """The source line and a caret below it, or nothing."""

    def render(self) -> str:
        """`file:line:col: severity: message`, then the source line; no newline at the end."""
        place = "" if self.position is None else f"{self.position}: "
        text = f"{place}{self.severity}: {self.message}"
        return f"{text}\n{self.source}" if self.source else text


class IRError(DiagnosticException):
    """The program is wrong, or a pass cannot do what was asked.

    `op` is the operation at fault, if there is one. Each note is a message and the operation or
    value that it is about. The message says what is wrong and what would fix it; the name of the
    operation is put in front of it when it is shown.
    """

    def __init__(
        self,
        message: str,
        op: Operation | None = None,
        notes: Sequence[tuple[str, Place]] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.op = op
        self.notes = tuple(notes)

    def diagnostics(self) -> list[Diagnostic]:
        """The error, then its notes."""
        if self.op is None:
            first = Diagnostic("error", self.message)
        else:
            first = about_op("error", self.message, self.op)
        return [first, *(Diagnostic("note", text, position(at)) for text, at in self.notes)]

    def render(self) -> str:
        """All lines of the error, without a newline at the end."""
        return render(self.diagnostics())


class Unavailable(IRError):
    """This machine lacks what was asked for; the message says what, and how to get it."""


def render(diagnostics: Iterable[Diagnostic]) -> str:
    """The diagnostics as lines."""
    return "\n".join(diagnostic.render() for diagnostic in diagnostics)


def op_name(op: Operation) -> str:
    """The name of an operation as the program's text has it."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def about_op(severity: Severity, message: str, op: Operation) -> Diagnostic:
    """A diagnostic `'op.name' op message` at the operation."""
    return Diagnostic(severity, f"'{op_name(op)}' op {message}", position(op))


def position(place: Place) -> Position | None:
    """Where an operation or value stands in the source; None if it was not parsed from a file.

    What a rewrite made without a location stands where its closest located parent does.
    """
    if isinstance(place, BlockArgument):
        if (found := _file_position(place.location)) is not None:
            return found
        op = place.block.parent_op()
    elif isinstance(place, SSAValue):
        owner = place.owner
        op = owner.parent_op() if isinstance(owner, Block) else owner
    else:
        op = place
    while op is not None:
        if (found := _file_position(op.location)) is not None:
            return found
        op = op.parent_op()
    return None


def _file_position(location: Attribute) -> Position | None:
    match location:
        case FileLineColLoc():
            return Position(location.filename.data, location.line.data, location.column.data)
        case NameLoc():
            return _file_position(location.location)
        case CallSiteLoc():
            return _file_position(location.callee)
        case FusedLoc(locations=ArrayAttr(data=parts)):
            return next((p for p in map(_file_position, parts) if p is not None), None)
        case _:
            return None


def diagnose(error: Exception, module: ModuleOp | None = None) -> list[Diagnostic] | None:
    """Turn an error that a bad program can cause into diagnostics; None for any other exception.

    `module` is searched for the operation that a `VerifyException` is about.
    """
    match error:
        case IRError():
            return error.diagnostics()
        case ParseError():
            return _parse_error(error)
        case VerifyException():
            return located(error, module).diagnostics()
        case DiagnosticException():
            return [Diagnostic("error", _one_line(str(error)))]
        case RecursionError():
            return [Diagnostic("error", "the program is too deeply nested")]
        case _:
            return None


def internal_error(error: Exception) -> Diagnostic:
    """How a tool shows an error that no program should cause, with the line of ours that raised it."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno}"
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return Diagnostic("error", f"internal error: {what} at {place}; please report it")


def said_by_xdsl(error: Exception) -> str | None:
    """What a plain exception says that xDSL's own code raises on a bad program, where a diagnostic was due.

    None for a diagnostic, for nesting that is too deep, and for what any other code raises.
    """
    trace = error.__traceback__
    if trace is None or isinstance(error, DiagnosticException | ParseError | RecursionError):
        return None
    while trace.tb_next is not None:
        trace = trace.tb_next
    if not trace.tb_frame.f_globals["__name__"].startswith("xdsl."):
        return None
    words = _one_line(" ".join(map(str, error.args)))
    plain = type(error) in (Exception, ValueError) and words
    return words if plain else f"cannot be read: {type(error).__name__}: {words}"


def located(error: VerifyException, module: ModuleOp | None) -> IRError:
    """The error of xDSL's `verify`, with the operation that it is about."""
    op = None if module is None else _failing_op(module, str(error))
    return IRError(_one_line(str(error)), op)


def _failing_op(module: ModuleOp, message: str) -> Operation | None:
    """The operation whose own check fails with this message."""
    for op in module.walk():
        blocks = (block for region in op.regions for block in region.blocks)
        checks = [partial(op.verify, verify_nested_ops=False)]
        for check in (*checks, *(block.verify for block in blocks if not block.ops)):
            try:
                check()
            except VerifyException as error:
                if str(error) == message:
                    return op
    return None


def _one_line(message: str) -> str:
    line = re.sub(r"\s*\n\s*", " ", message.strip())
    line = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in line)
    return line if len(line) <= _MESSAGE_WIDTH else f"{line[:_MESSAGE_WIDTH]} ..."


def _parse_error(error: ParseError) -> list[Diagnostic]:
    found = [_at_span("error", _one_line(error.msg), error.span)]
    if isinstance(error, MultipleSpansParseError):
        title = (error.ref_text or "see here").rstrip(":")
        found += [_at_span("note", text or title, span) for span, text in error.refs]
    return found


def _at_span(severity: Severity, message: str, span: Span[str] | Span[bytes]) -> Diagnostic:
    location = span.get_location()
    at = Position(location.file, location.line, location.col)
    content = span.input.content
    if isinstance(content, bytes):  # our parser reads text
        return Diagnostic(severity, message, at)
    start = content.rfind("\n", 0, span.start) + 1
    end = content.find("\n", span.start)
    line = content[start : len(content) if end < 0 else end].rstrip()
    column = span.start - start
    first = max(0, column - _SOURCE_WIDTH // 2)
    shown = "".join(c if c.isprintable() else " " for c in line[first : first + _SOURCE_WIDTH])
    width = max(1, min(span.end - span.start, len(shown) - (column - first)))
    return Diagnostic(severity, message, at, f"{shown}\n{' ' * (column - first)}{'^' * width}")
