"""Mutants of a kernel that communicates: its PTX with one thing deleted or weakened, at every site where it can be.

The engine knows the notation of the kernels of this folder: threads other than those that signal jump over what these
do (`@%others bra LABEL`), a wait is a strong load in a loop `LABEL: ... @%p bra LABEL`, the number of a call is
`%want`, which is made of `%epoch` and stored at `[%epochs]`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

STRONG_LOAD = re.compile(r"ld\.(relaxed|acquire)\.sys\.")
STRONG_STORE = re.compile(r"st\.(relaxed|release)\.sys\.")
LABEL = re.compile(r"(\w+):$")
BRANCH = re.compile(r"(?:@(%\w+) )?bra (\w+);")


@dataclass(frozen=True)
class Mutant:
    """A changed kernel."""

    operator: str
    line: int
    """Of the site, in the kernel as it was."""
    site: str
    """The instruction there."""
    text: str

    def __str__(self) -> str:
        return f"{self.operator}, line {self.line}: {self.site}"


@dataclass(frozen=True)
class Edit:
    """What is done to some lines: others in their place, which may be none or several. Numbers are from 0."""

    operator: str
    at: int
    lines: dict[int, str]


def mutants(text: str) -> list[Mutant]:
    """All mutants of a kernel."""
    lines = text.splitlines()
    found: list[Mutant] = []
    for edit in Sites([line.split("//")[0].strip() for line in lines]).edits():
        new = [edit.lines.get(i, line) for i, line in enumerate(lines)]
        site = lines[edit.at].split("//")[0].strip()
        found.append(Mutant(edit.operator, edit.at + 1, site, "\n".join(new) + "\n"))
    assert len({one.text for one in found}) == len(found)
    return found


class Sites:
    """The places of a kernel where something can be deleted or weakened."""

    def __init__(self, code: list[str]):
        self.code = code

    def edits(self) -> Iterator[Edit]:
        """All edits."""
        for at, text in enumerate(self.code):
            if text.startswith("bar.sync"):
                yield from self._barrier(at)
            elif text.startswith("fence."):
                yield from self._fence(at)
            elif STRONG_STORE.match(text):
                yield Edit("delete signal", at, {at: ""})
                yield from self._strong(at)
            elif STRONG_LOAD.match(text):
                yield from self._strong(at)
                yield from self._wait(at)
            else:
                yield from self._bound(at)
                yield from self._number(at)

    # Where things are

    def _label(self, name: str) -> int:
        return self.code.index(f"{name}:")

    def _code_from(self, at: int, step: int) -> Iterator[int]:
        """The lines after (or before) one that hold something."""
        at += step
        while 0 <= at < len(self.code):
            if self.code[at]:
                yield at
            at += step

    def _is_wait(self, at: int) -> bool:
        """Whether a branch closes a wait."""
        found = BRANCH.match(self.code[at])
        if found is None:
            return False
        inside = self.code[self._label(found[2]) : at]
        return any(STRONG_LOAD.match(one) for one in inside) and len(inside) < 6

    def _guarded_before(self, at: int) -> int | None:
        """Where the part begins that few threads execute and that ends right before a line."""
        before = next(self._code_from(at, -1))
        found = LABEL.match(self.code[before])
        guard = f"@%others bra {found[1]};" if found else ""
        return self.code.index(guard) if guard in self.code else None

    def _guarded_after(self, at: int) -> int | None:
        """Where the part ends that few threads execute and that begins right after a line."""
        for next_one in self._code_from(at, 1):
            if self.code[next_one].startswith("setp"):
                continue
            found = BRANCH.match(self.code[next_one])
            return self._label(found[2]) if found and found[1] else None
        return None

    # What is done there

    def _barrier(self, at: int) -> Iterator[Edit]:
        barrier = self.code[at]
        yield Edit("delete barrier", at, {at: ""})
        yield Edit("barrier of a warp", at, {at: "bar.warp.sync 0xffffffff;"})
        yield Edit("barrier without waiting", at, {at: "bar.arrive 15, 64;"})
        start, end = self._guarded_before(at), self._guarded_after(at)
        if start is not None and any(self._is_wait(i) for i in range(start, at)):
            up = {at: "", start: f"{barrier} {self.code[start]}"}
            yield Edit("barrier before the wait", at, up)
        if end is not None:
            down = {at: "", end: f"{self.code[end]} {barrier}"}
            yield Edit("barrier behind the signal", at, down)

    def _fence(self, at: int) -> Iterator[Edit]:
        fence = self.code[at]
        yield Edit("delete fence", at, {at: ""})
        for scope in ("gpu", "cta"):
            yield Edit(f"fence sys -> {scope}", at, {at: fence.replace(".sys", f".{scope}")})
        behind, before = next(self._code_from(at, 1)), next(self._code_from(at, -1))
        if STRONG_STORE.match(self.code[behind]):
            half, swap = "acquire", {at: self.code[behind], behind: fence}
        else:
            assert self._is_wait(before)
            top = self._label(self.code[before].split()[-1].rstrip(";"))
            half, swap = "release", {at: "", top: f"{fence} {self.code[top]}"}
        yield Edit("fence of the wrong half", at, {at: fence.replace("acq_rel", half)})
        yield Edit("fence on the wrong side", at, swap)

    def _strong(self, at: int) -> Iterator[Edit]:
        text = self.code[at]
        strong = re.search(r"\.(relaxed|release|acquire)\.sys", text)
        assert strong
        if strong[1] != "relaxed":
            yield Edit(f"{strong[1]} -> relaxed", at, {at: text.replace(strong[1], "relaxed")})
        for scope in ("gpu", "cta"):
            yield Edit(f"access sys -> {scope}", at, {at: text.replace(".sys", f".{scope}")})
        yield Edit("strong -> weak", at, {at: text.replace(strong[0], "")})
        width = 8 if "u64" in text else 4
        yield Edit("another slot", at, {at: re.sub(r"\[(%\w+)\]", rf"[\1+{width}]", text)})

    def _wait(self, at: int) -> Iterator[Edit]:
        end = next(i for i in self._code_from(at, 1) if self._is_wait(i))
        test = next(i for i in self._code_from(end, -1) if self.code[i].startswith("setp"))
        setp = self.code[test]
        yield Edit("never waits", end, {end: ""})
        yield Edit("no wait", at, {i: "" for i in range(at, end + 1)})
        other = {"lt": "ge", "ne": "eq"}[setp.split(".")[1]]
        turned = re.sub(r"setp\.\w+", f"setp.{other}", setp)
        yield Edit("waits while it is there", test, {test: turned})
        if ".s32" in setp:
            yield Edit("unsigned comparison", test, {test: setp.replace(".s32", ".u32")})

    def _bound(self, at: int) -> Iterator[Edit]:
        """The end of a loop over elements or ranks, one too far."""
        text = self.code[at]
        behind = next(self._code_from(at, 1), None)
        if not re.match(r"setp\.(ge|lt)\.u32 %p", text) or behind is None:
            return
        branch = BRANCH.match(self.code[behind])
        if branch is None or self._is_wait(behind) or self._label(branch[2]) == len(self.code):
            return
        wider = {"ge": "gt", "lt": "le"}[text[5:7]]
        yield Edit("one too many", at, {at: f"setp.{wider}{text[7:]}"})

    def _number(self, at: int) -> Iterator[Edit]:
        text = self.code[at]
        if found := re.fullmatch(r"add\.u32 %want, %epoch, (\d);", text):
            less = f"add.u32 %want, %epoch, {int(found[1]) - 1};"
            yield Edit("number of the call before", at, {at: less})
        elif text.startswith("st.global.u32 [%epochs]"):
            yield Edit("number is not kept", at, {at: ""})
        elif text.startswith("and.b32 %half"):
            yield Edit("one half alone", at, {at: text.replace(", 1;", ", 0;")})
        elif text.startswith("max.u32 %packets"):
            yield Edit("no packet for nothing", at, {at: "mov.u32 %packets, %count;"})
