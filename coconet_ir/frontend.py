"""From text to a checked module: what every tool does first.

    module = parse_program(make_context(), source, "prog.mlir")

A program that is not valid raises an error that `coconet_ir.diagnostics.diagnose` shows.
"""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects import get_all_dialects as get_upstream_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from coconet_ir.diagnostics import IRError, located, said_by_xdsl
from coconet_ir.dialects import get_all_dialects

UPSTREAM_DIALECTS = (
    *("arith", "bufferization", "builtin", "cf", "func"),
    *("math", "memref", "scf", "tensor", "vector"),
)
"""The upstream dialects that programs may use; ours replace those of the same name."""


def make_context(*, allow_unregistered: bool = False) -> Context:
    """A context that knows the project's dialects and `UPSTREAM_DIALECTS`, loaded when used."""
    ctx = Context(allow_unregistered)
    upstream = get_upstream_dialects()
    for name, load in ({n: upstream[n] for n in UPSTREAM_DIALECTS} | get_all_dialects()).items():
        ctx.register_dialect(name, load)
    return ctx


def read_source(path: str) -> str:
    """The text of a file, or of standard input for `-`.

    Raises `IRError` when the file cannot be read or is not UTF-8.
    """
    if path == "-" and sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise IRError("there is no standard input to read")
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise IRError(f"cannot read '{path}': {error.strerror}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise IRError(f"'{path}' is not UTF-8 (line {line})") from None


def source_name(path: str) -> str:
    """What diagnostics call the file."""
    return "<stdin>" if path == "-" else path


def parse_program(ctx: Context, text: str, name: str) -> ModuleOp:
    """Parse and check a program.

    Raises `ParseError` for text that is no module and `IRError` for a module that is not valid;
    `coconet_ir.diagnostics.diagnose` shows both.
    """
    from coconet_ir.xdsl_compat import LocatedParser

    module = LocatedParser(ctx, text, name).parse_module()
    check(module)
    return module


def check(module: ModuleOp) -> None:
    """Check that values are defined before they are used, each operation, then the whole program.

    Raises `IRError`.
    """
    from coconet_ir.analysis.bodies import check_bodies
    from coconet_ir.analysis.dominance import check_dominance
    from coconet_ir.analysis.verifier import check_ends, unknown_axis, verify_program

    if len(module.body.blocks) != 1:
        raise IRError(
            f"has {len(module.body.blocks)} blocks: a module has one, without arguments", module
        )
    check_dominance(module)  # first: xDSL finds some of its errors too, and says less
    check_ends(module)
    check_bodies(module)
    try:
        module.verify()
    except VerifyException as error:
        # A misspelt axis is no axis of the layouts either: say that rather than what follows from it.
        raise (unknown_axis(module) or located(error, module)) from error
    except RecursionError:
        raise
    except Exception:
        # A check of xDSL's own raised; or it read a property of its parent, which is checked only after it.
        _check_parents_first(module)
        raise
    verify_program(module)


def check_after(one: ModulePass, module: ModuleOp) -> None:
    """Check what a pass has left. Raises `IRError`, which names the pass."""
    try:
        check(module)
    except IRError as error:
        raise IRError(
            f"{error.message} (after pass '{one.name}')", error.op, error.notes
        ) from error


def require_program(module: ModuleOp) -> None:
    """Raise `IRError` for a module of schedules."""
    from coconet_ir.analysis.verifier import is_schedule

    if is_schedule(module):
        raise IRError("holds schedules, no program: apply one to a program with --schedule", module)


def _check_parents_first(module: ModuleOp) -> None:
    for op in module.walk():
        try:
            op.verify(verify_nested_ops=False)
        except VerifyException as error:
            raise located(error, module) from error
        except Exception as error:
            if (said := said_by_xdsl(error)) is None:
                raise
            raise IRError(said, op) from error


def load_python(path: str) -> None:
    """Run a Python file that declares custom operations.

    Raises `IRError` with the line at fault when the file cannot be read or raises.
    """
    try:
        runpy.run_path(path, run_name="coconet_custom")
    except FileNotFoundError as error:
        if error.filename not in (path, os.path.abspath(path)):
            raise IRError(_python_error(path, error)) from error
        raise IRError(f"cannot read '{path}': {error.strerror}") from None
    except (Exception, SystemExit) as error:
        raise IRError(_python_error(path, error)) from error


def _python_error(path: str, error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename == path:
        return f"{path}:{error.lineno}: {type(error).__name__}: {error.msg}"
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    place = f"{path}:{lines[-1]}" if lines else path
    return f"{place}: {type(error).__name__}: {error}"
