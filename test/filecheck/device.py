"""`%device`: read and check device code (`llvm` and `nvvm`, or a `gpu.module` of them), then print or translate it.

`coconet-opt` takes whole programs; this takes kernels alone. Parts between `// -----` are handled apart.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.exceptions import VerifyException

from coconet_ir.analysis.dominance import check_dominance
from coconet_ir.diagnostics import Diagnostic, diagnose, located, render
from coconet_ir.frontend import make_context, read_source
from coconet_ir.lowering.targets import FORMS, TARGETS, translate
from coconet_ir.tools.expect import expectations, mismatches
from coconet_ir.xdsl_compat import LocatedParser, print_module


def parse(text: str, name: str) -> ModuleOp:
    """The checked module. Raises `IRError` and `ParseError`."""
    ctx = make_context()
    module = LocatedParser(ctx, text, name).parse_module()
    check_dominance(module)
    try:
        module.verify()
    except VerifyException as error:
        raise located(error, module) from error
    return module


def parts(text: str) -> Iterator[str]:
    """The text between separators, each part with its lines where they are in the file."""
    lines = 0
    for part in re.split(r"(?<=\n)(?=// -----)", text):
        yield "\n" * lines + part
        lines += part.count("\n")


def main() -> int:
    """Returns 0 if all went well, or as expected, else 1."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("-t", "--translate", choices=FORMS)
    parser.add_argument("--target", choices=tuple(TARGETS))
    parser.add_argument("--print-op-generic", action="store_true")
    parser.add_argument("--verify-diagnostics", action="store_true")
    options = parser.parse_args()
    outputs: list[str] = []
    reported: list[Diagnostic] = []
    for part in parts(read_source(options.file)):
        found: list[Diagnostic] = []
        try:
            module = parse(part, options.file)
            if options.translate:
                outputs.append(translate(module, options.translate, options.target))
            else:
                generic = options.print_op_generic
                outputs.append(print_module(module, generic=generic, aliases=False))
        except Exception as error:
            if (diagnostics := diagnose(error)) is None:
                raise
            found = diagnostics
        if options.verify_diagnostics:
            found = mismatches(expectations(part, options.file), found)
        reported += found
    if reported:
        print(render(reported), file=sys.stderr)
        return 1
    sys.stdout.write("// -----\n".join(outputs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
