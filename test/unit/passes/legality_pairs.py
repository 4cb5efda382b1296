"""The tables of docs/legality.md, and the pairs (rewrite, operation) that they call legal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"
DOCUMENT = DOCS / "legality.md"
ARGUMENT = "argument"
"""What stands for an operation in rows about an argument of the function."""

Pair = tuple[str, str]
"""A rewrite, as the headings name it, and an operation or `ARGUMENT`."""

_HEADING = re.compile(r"#{2,3} (?:coconet-)?(.+)")
_PROGRAMS = re.compile(r"\[\w+\.mlir\]\((legality/\w+\.mlir)\)")
_OPERATION = re.compile(rf"`(\w+\.\w+|{ARGUMENT})`")


@dataclass(frozen=True)
class Row:
    """One row: a rewrite of some operations, when it is legal, and why not otherwise."""

    rewrite: str
    """The heading above, without `coconet-`: `split axes`, `reorder all_gather`, `fuse`."""
    name: str
    programs: Path
    """The file with the functions `@NAME_legal` and `@NAME_refused`."""
    operations: tuple[str, ...]
    condition: str
    reason: str
    """The reason code, `error` where the pass knows no decline, empty if nothing refuses it."""

    @property
    def legal(self) -> str | None:
        """The function that is rewritten; None if none can be."""
        return None if self.condition.startswith("never") else f"{self.name}_legal"

    @property
    def refused(self) -> str | None:
        """The function that is refused; None if none is."""
        return f"{self.name}_refused" if self.reason else None

    @property
    def reassociates(self) -> bool:
        """Whether a sum is added in another order."""
        return "†" in self.condition


def rows() -> Iterator[Row]:
    """The rows of all tables. Raises `ValueError` for one that is none."""
    rewrite, programs = "", DOCS
    for line in DOCUMENT.read_text().splitlines():
        if (heading := _HEADING.fullmatch(line)) is not None:
            rewrite = heading[1]
        if (link := _PROGRAMS.search(line)) is not None:
            programs = DOCS / link[1]
        if not line.startswith("| `"):
            continue
        name, operations, condition, reason = (cell.strip() for cell in line.split("|")[1:-1])
        found = tuple(_OPERATION.findall(operations))
        yield Row(rewrite, name.strip("`"), programs, found, condition, reason.strip("`"))


def legal_pairs() -> frozenset[Pair]:
    """The pairs that some row calls legal."""
    return frozenset((row.rewrite, op) for row in rows() if row.legal for op in row.operations)
