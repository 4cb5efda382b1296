"""What a check found, as text in the manner of compilers, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from coconet_ir.emu.ptx.syntax import Location
from coconet_ir.emu.reports.findings import Finding, Triple, Where


@dataclass(frozen=True)
class Found:
    """A finding, as the first schedule showed it that did."""

    finding: Finding
    count: int
    """How many schedules showed it."""


@dataclass(frozen=True)
class Report:
    """What schedules showed."""

    findings: tuple[Found, ...]
    schedules: int
    """How many have run."""
    compile_seconds: float
    """Seconds that it took to compile the kernels."""
    run_seconds: float
    """Seconds that the schedules took."""
    labels: Mapping[int, str] = field(default_factory=dict[int, str])
    """What steps of streams are called, by their numbers."""
    complete: bool | None = None
    """Of an exhaustive check: whether these were all schedules that may differ."""

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not self.findings

    def render(self, ptx: str = "<ptx>") -> str:
        """As text; `ptx` is what the PTX file is called."""
        found = (line for one in self.findings for line in self._lines(one, ptx))
        return "\n".join((*found, self._summary()))

    __str__ = render

    def to_json(self) -> dict[str, Any]:
        """As what `json.dumps` takes."""
        return {
            "clean": self.clean,
            "schedules": self.schedules,
            "compile_seconds": self.compile_seconds,
            "run_seconds": self.run_seconds,
            "complete": self.complete,
            "findings": [self._json(one) for one in self.findings],
        }

    def _summary(self) -> str:
        count = len(self.findings)
        what = "clean" if self.clean else f"{count} finding{'s' if count > 1 else ''}"
        each = self.run_seconds * 1e3 / max(self.schedules, 1)
        times = f"{self.compile_seconds:.2f} s to compile, {_milliseconds(each)} ms a schedule"
        which = {None: "", True: "all ", False: "the first "}[self.complete]
        return f"{what} in {which}{_schedules(self.schedules)} ({times})"

    # Text

    def _lines(self, found: Found, ptx: str) -> Iterator[str]:
        finding = found.finding
        first = finding.places[0] if finding.places else None
        yield f"{_prefix(first, ptx)}error: {finding.kind}: {finding.message}"
        for place in finding.places:
            yield f"{_prefix(place, ptx)}note: {self._who(place, ptx)}"
            yield from (f"{inner}: note: inlined from here" for inner in _inner(place.location))
        yield from (f"note: {note}" for note in finding.notes)
        alone = "" if isinstance(finding.schedule, str) else " --schedules 1"
        again = f"--seed {finding.schedule}{alone} shows it again"
        yield f"note: shown by {found.count} of {_schedules(self.schedules)}; {again}"

    def _who(self, place: Where, ptx: str) -> str:
        if place.kernel is None:
            return f"rank {place.rank}: {place.text}"
        step = self.labels.get(place.step, f"step {place.step}")
        who = f"rank {place.rank}, kernel '{place.kernel}' ({step})"
        who = f"{who}, block {_triple(place.block)}, thread {_triple(place.thread)}"
        at = "" if place.location is None else f" at {ptx}:{place.line}"
        return f"{who}{at}: {place.text}"

    # JSON

    def _json(self, found: Found) -> dict[str, Any]:
        finding = found.finding
        return {
            "kind": finding.kind,
            "message": finding.message,
            "places": [self._place(place) for place in finding.places],
            "buffer": finding.buffer,
            "offset": finding.offset,
            "notes": list(finding.notes),
            "seed": finding.schedule,
            "count": found.count,
        }

    def _place(self, place: Where) -> dict[str, Any]:
        return {
            "rank": place.rank,
            "kernel": place.kernel,
            "step": place.step,
            "label": self.labels.get(place.step),
            "block": list(place.block),
            "thread": list(place.thread),
            "line": place.line,
            "text": place.text,
            "location": _location(place.location),
        }


def _prefix(place: Where | None, ptx: str) -> str:
    """Where something is, as `file:line:col: `: in the source if it is known, else in the PTX. Of what was inlined it
    is the outermost call, which the user wrote."""
    if place is None:
        return ""
    if place.location is not None:
        return f"{place.location.outermost}: "
    return f"{ptx}:{place.line}: " if place.line else ""


def _inner(location: Location | None) -> list[Location]:
    """Where the functions are that were inlined, from the outermost call to the instruction."""
    found: list[Location] = []
    while location is not None and location.within is not None:
        found.insert(0, location)
        location = location.within
    return found


def _milliseconds(count: float) -> str:
    """To three digits."""
    return f"{count:.3g}" if count < 100 else f"{count:.0f}"


def _schedules(count: int) -> str:
    return f"{count} schedule{'' if count == 1 else 's'}"


def _triple(triple: Triple) -> str:
    x, y, z = triple
    return str(triple) if y or z else str(x)


def _location(location: Location | None) -> dict[str, Any] | None:
    if location is None:
        return None
    within = _location(location.within)
    return {
        "file": location.file,
        "line": location.line,
        "column": location.column,
        "within": within,
    }
