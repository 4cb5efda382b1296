"""Compiled programs on disk, so that one is compiled once: in $COCONET_CACHE, else where the user keeps caches.

An entry is one file. It holds a checksum, so that one that was cut short or changed is compiled again, and appears in
one step, so that processes can share the folder. It is found by all that decides what it holds; nothing is ever
removed, and a user may remove anything.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import coconet_ir
from coconet_ir.diagnostics import IRError
from coconet_ir.files import output_file

VARIABLE = "COCONET_CACHE"
"""Names the folder; empty turns the cache off."""


def folder() -> Path | None:
    """Where entries are, None if nowhere."""
    if (named := os.environ.get(VARIABLE)) is not None:
        return Path(named) if named else None
    base = os.environ.get(
        "XDG_CACHE_HOME"
    )  # by its definition, paths that are not absolute do not count
    if base and Path(base).is_absolute():
        return Path(base) / "coconet-ir"
    try:
        return Path.home() / ".cache" / "coconet-ir"
    except RuntimeError:  # there is no home
        return None


def key(*parts: str) -> str:
    """The name of the entry of what these texts and the versions of the compilers decide."""
    whole = json.dumps([*_versions(), *parts])
    return hashlib.sha256(whole.encode()).hexdigest()


def read(name: str, parts: Collection[str]) -> dict[str, str] | None:
    """The parts that an entry holds, None if there is none that is whole and has these."""
    if (place := folder()) is None:
        return None
    try:
        checksum, _, text = (place / f"{name}.json").read_text("utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    if checksum != _checksum(text):
        return None
    try:
        held: Any = json.loads(text)
        found: dict[str, Any] = {part: held[part] for part in parts}
    except (ValueError, LookupError, TypeError):
        return None
    return found if all(isinstance(part, str) for part in found.values()) else None


def write(name: str, held: dict[str, str]) -> None:
    """Keep an entry, if the folder can be written: what is not kept is compiled again."""
    if (place := folder()) is None:
        return
    text = json.dumps(held)
    try:
        place.mkdir(parents=True, exist_ok=True)
        with output_file(str(place / f"{name}.json")) as file:
            file.write(f"{_checksum(text)}\n{text}".encode())
    except (OSError, IRError):
        return


def _checksum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _versions() -> tuple[str, ...]:
    """The versions of the packages that take part, and of ours what its files are, which change under one version."""
    packages = ("xdsl", "llvmlite")
    stamps = hashlib.sha256()
    root = str(Path(coconet_ir.__file__).parent)
    for place, folders, files in os.walk(root, followlinks=True):
        folders.sort()
        for file in sorted(files):
            if file.endswith(".py"):
                facts = Path(place, file).stat()
                stamps.update(
                    f"{place[len(root) :]}/{file} {facts.st_size} {facts.st_mtime_ns}\n".encode()
                )
    return (*(metadata.version(name) for name in packages), stamps.hexdigest())
