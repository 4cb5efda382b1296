"""Functions in LLVM IR that entries call. Their names have a dot, which no name of PTX has."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from coconet_ir.emu.code.helpers import bits, formats, rounding

HELPERS: Mapping[str, str] = {**bits.HELPERS, **formats.HELPERS, **rounding.HELPERS}
"""The text of each function by its name."""


def helper_text(names: Collection[str]) -> str:
    """The text of these functions and of all that they call. Intrinsics of LLVM need no declarations."""
    texts: dict[str, str] = {}
    left = sorted(names, reverse=True)
    while left:
        name = left.pop()
        if name not in texts:
            texts[name] = HELPERS[name]
            left += [called for called in _NAME.findall(HELPERS[name]) if called in HELPERS]
    return "\n".join(texts.values())


_NAME = re.compile(r"@([\w.]+)")
