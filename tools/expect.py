"""`--verify-diagnostics`: match what was reported against `// expected-…` comments.

    // expected-error @+1 {{part of the message}}

`error`, `warning`, `remark` and `note` are known; the place is the line of the comment, or `@+N`,
`@-N`, `@above`, `@below`, or `@unknown` for a diagnostic without a position.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from coconet_ir.diagnostics import Diagnostic, Position, Severity

_EXPECTED = re.compile(
    r"//\s*expected-(?P<severity>error|warning|remark|note)"
    r"\s*(?:@(?P<place>[+-]\d{1,9}|above|below|unknown))?\s*\{\{(?P<text>.*?)\}\}"
)
_SHIFTS = {None: 0, "above": -1, "below": 1}


@dataclass(frozen=True)
class Expected:
    """One `expected-…` comment."""

    severity: Severity
    text: str
    line: int | None
    """The line that the diagnostic must be on; None for a diagnostic without a position."""
    position: Position

    def matches(self, found: Diagnostic) -> bool:
        """Whether this is the diagnostic that the comment is about."""
        at = found.position
        here = at is None or at.file == self.position.file
        line = None if at is None else at.line
        return (
            here
            and found.severity == self.severity
            and line == self.line
            and self.text in found.message
        )


def expectations(text: str, name: str) -> list[Expected]:
    """The comments in a source text."""
    found: list[Expected] = []
    for number, line in enumerate(text.split("\n"), start=1):
        for match in _EXPECTED.finditer(line):
            place = match["place"]
            if place == "unknown":
                target = None
            else:
                target = number + (_SHIFTS[place] if place in _SHIFTS else int(place))
            severity: Severity = match["severity"]  # pyright: ignore[reportAssignmentType]
            at = Position(name, number, match.start() + 1)
            found.append(Expected(severity, match["text"], target, at))
    return found


def mismatches(expected: Sequence[Expected], found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Errors for each comment without a diagnostic and each diagnostic without a comment."""
    missing = list(expected)
    wrong: list[Diagnostic] = []
    for diagnostic in found:
        match = next((e for e in missing if e.matches(diagnostic)), None)
        if match is None:
            message = f"unexpected {diagnostic.severity}: {diagnostic.message}"
            wrong.append(Diagnostic("error", message, diagnostic.position))
        else:
            missing.remove(match)
    return wrong + [
        Diagnostic("error", f"expected {e.severity} was not reported: {e.text}", e.position)
        for e in missing
    ]
