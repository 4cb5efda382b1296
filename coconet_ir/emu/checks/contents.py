"""What buffers of a plan hold, as `docs/checker.md` has it: numbers, lists, random numbers, files."""

from __future__ import annotations

import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from coconet_ir.emu.checks.reader import Node
from coconet_ir.sim.elements import Array, DType, is_float, round_to, unsigned


def content(node: Node, rank: int, name: str, dtype: DType, count: int, folder: Path) -> Array:
    """The elements that a content gives a buffer of a rank; files lie in `folder`. Raises `IRError`."""
    if node.is_list:
        elements = [element(one, dtype) for one in node.items()]
        found = np.array(elements, dtype)
    elif node.has("random"):
        return _random(node, rank, name, dtype, count)
    elif node.has("file"):
        found = _file(node.object(("file",))["file"], dtype, folder)
    else:
        if not (node.is_text or isinstance(node.value, int | float)):
            node.expected("a number, a list of them, or an object with 'random' or 'file'")
        return np.full(count, element(node, dtype), dtype)
    if found.size != count:
        node.fail(f"has {found.size} elements for {count} of '{name}'")
    return found


def _random(node: Node, rank: int, name: str, dtype: DType, count: int) -> Array:
    parts = node.object(("random",), ("seed", "same"))
    seed = parts["seed"].integer(0) if "seed" in parts else 0
    same = "same" in parts and parts["same"].flag()
    rng = np.random.default_rng([seed, zlib.crc32(name.encode()), 0 if same else rank])
    kind = parts["random"]
    if kind.is_list:
        ends = kind.items()
        if len(ends) != 2:
            kind.expected("two integers, the least and the one above the greatest")
        low, high = (end.integer(-(2**63)) for end in ends)
        if low >= high:
            kind.fail("the second integer must be above the first")
        for end in (low, high - 1):
            element(replace(kind, value=end), dtype)
        integers = rng.integers(low, high, count)
        return (
            round_to(integers.astype(np.float64), dtype)
            if is_float(dtype)
            else integers.astype(dtype)
        )
    kind.one_of(("normal",), "a distribution")
    if not is_float(dtype):
        kind.fail("normal numbers are for floats; [0, 100] gives integers below 100")
    return round_to(rng.standard_normal(count), dtype)


def _file(node: Node, dtype: DType, folder: Path) -> Array:
    path = folder / node.text("a file")
    try:
        with path.open("rb") as file:
            found: Any = np.load(file, allow_pickle=False)
    except OSError as error:
        node.fail(f"cannot read '{path}': {error.strerror or error}")
    except (ValueError, EOFError):
        node.fail(f"'{path}' is no .npy file of a plain array")
    if not isinstance(found, np.ndarray):
        node.fail(f"'{path}' holds several arrays; a .npy file has one")
    array = cast(Array, found).reshape(-1)
    if array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize:
        array = array.view(dtype)  # how NumPy keeps types that it lacks
    if array.dtype != dtype:
        node.fail(f"'{path}' holds {array.dtype}, not {dtype}")
    return array


def element(node: Node, dtype: DType) -> Any:
    """A number as an element of a type, or by its bits. Raises `IRError`."""
    if node.is_text:
        bits = _bits(node, dtype)
        return np.array(bits, unsigned(dtype)).view(dtype)[()]
    value = node.number()
    if is_float(dtype):
        return round_to(np.array(value, np.float64), dtype)[()]
    if isinstance(value, float):
        node.expected("an integer")
    info = np.iinfo(dtype)
    return dtype.type(node.integer(int(info.min), int(info.max)))


def _bits(node: Node, dtype: DType) -> int:
    text = node.text()
    try:
        bits = int(text, 16) if text.startswith("0x") else -1
    except ValueError:
        bits = -1
    if not 0 <= bits < 1 << 8 * dtype.itemsize:
        node.expected(f'a number, or {8 * dtype.itemsize} bits as "0x0"')
    return bits
