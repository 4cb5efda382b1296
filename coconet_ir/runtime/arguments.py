"""What a call gives for a tensor: an array on the device, used where it is, or one of the host, to be copied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any, cast

import numpy as np

from coconet_ir.analysis.rules import rank_of
from coconet_ir.diagnostics import IRError
from coconet_ir.dialects.attributes import dist_of
from coconet_ir.runtime import dlpack
from coconet_ir.runtime.cuda import Device, handle_of
from coconet_ir.runtime.entry import Entry
from coconet_ir.sim.binding import typed
from coconet_ir.sim.elements import Array, DType, element_name, numpy_knows
from coconet_ir.sim.kernels import Numbers
from coconet_ir.sim.mesh import Shape

_LEGACY = 1
"""The default stream as DLPack writes it."""


@dataclass(frozen=True)
class Given:
    """A tensor that a call was given."""

    shape: Shape
    bytes: int
    address: int = 0
    """Where it is on the device, if it is there."""
    owner: object = None
    """What keeps it there."""
    host: Array | None = None
    """What is to be copied to the device."""
    written: Array | None = None
    """Where what the function stores is to be copied to."""


def take(entry: Entry, name: str, given: Any, device: Device, handle: int) -> Given:
    """What is given for a tensor, ready to be used on a stream. Raises `IRError`."""
    type = entry.tensors[name].type
    dtype = Numbers().dtype(type)
    kind = given.__dlpack_device__()[0] if hasattr(given, "__dlpack_device__") else None
    if kind == dlpack.CUDA:
        found = _exchanged(entry, name, given, dtype, device, handle)
    elif hasattr(given, "__cuda_array_interface__"):
        found = _described(entry, name, given.__cuda_array_interface__, dtype, device, handle)
    else:
        found = _copied(entry, name, given, dtype)
    shape = found.shape
    front = len(entry.single.leading_axes(dist_of(type)))
    if len(shape) == front + (rank_of(type) or 0) and shape[:front] == (1,) * front:
        shape = shape[front:]
    return Given(shape, found.bytes, found.address, found.owner, found.host, found.written)


def check_apart(entry: Entry, tensors: Mapping[str, Given]) -> None:
    """Raise `IRError` when the function would store into what another argument is too."""
    placed = [(name, given) for name, given in tensors.items() if given.address and given.bytes]
    for (one, first), (other, second) in combinations(placed, 2):
        apart = (
            first.address + first.bytes <= second.address
            or second.address + second.bytes <= first.address
        )
        if not apart and not {one, other}.isdisjoint(entry.updated):
            raise IRError(
                f"stores into %{one if one in entry.updated else other}, but %{one} and %{other} are given in one "
                "memory: copy one of them",
                entry.func,
            )


def _exchanged(
    entry: Entry, name: str, given: dlpack.Exporter, dtype: DType, device: Device, handle: int
) -> Given:
    """An array that is exchanged by DLPack."""
    try:
        view = dlpack.take(given, handle or _LEGACY)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        raise IRError(f"is given %{name}, which cannot be exchanged: {error}", entry.func) from None
    if not view.has_type(dtype):
        raise _other_type(entry, name, view.type, dtype)
    _check_device(entry, name, view.device[1], device)
    _check_use(entry, name, view.is_dense, view.read_only)
    return Given(view.shape, prod(view.shape) * dtype.itemsize, view.address, view)


def _described(
    entry: Entry, name: str, facts: Mapping[str, Any], dtype: DType, device: Device, handle: int
) -> Given:
    """An array that is described by `__cuda_array_interface__` (version 3)."""
    shape: Shape = tuple(facts["shape"])
    address, read_only = facts["data"]
    have = np.dtype(facts["typestr"])
    raw = have.kind == "V" and not numpy_knows(dtype) and have.itemsize == dtype.itemsize
    if have != dtype and not raw:
        raise _other_type(entry, name, element_name(have), dtype)
    if facts.get("mask") is not None:
        raise IRError(f"is given %{name} with a mask: fill what is masked", entry.func)
    strides = facts.get("strides")
    size = have.itemsize
    dense = strides is None or dlpack.is_dense(shape, [stride // size for stride in strides])
    if prod(shape):
        _check_device(entry, name, device.number_of(address), device)
    _check_use(entry, name, dense, read_only)
    if (producer := facts.get("stream")) is not None:
        device.order(handle_of(producer), handle)
    return Given(shape, prod(shape) * size, address or 0, facts)


def _copied(entry: Entry, name: str, given: Any, dtype: DType) -> Given:
    """An array of the host."""
    try:
        array = typed(name, given, dtype, entry.func)
    except (TypeError, ValueError) as error:
        raise IRError(
            f"is given %{name} as {type(given).__name__}, which is no array of NumPy and not on the device: {error}",
            entry.func,
        ) from None
    written: Array | None = None
    if name in entry.updated:
        written = cast(Array, given)
        types = (dtype, np.dtype(f"V{dtype.itemsize}"))
        if not isinstance(given, np.ndarray) or written.dtype not in types:
            raise IRError(
                f"stores into %{name}: give an array of {element_name(dtype)} elements to store into",
                entry.func,
            )
        _check_use(entry, name, True, not written.flags.writeable)
    host = np.ascontiguousarray(array).reshape(array.shape)
    return Given(array.shape, array.nbytes, host=host, written=written)


def _other_type(entry: Entry, name: str, have: str, dtype: DType) -> IRError:
    want = element_name(dtype)
    return IRError(f"is given {have} for %{name}, but {want} is needed", entry.func)


def _check_device(entry: Entry, name: str, number: int, device: Device) -> None:
    if number != device.number:
        raise IRError(
            f"is given %{name} on device {number}, but runs on device {device.number}", entry.func
        )


def _check_use(entry: Entry, name: str, dense: bool, read_only: bool) -> None:
    if not dense:
        raise IRError(
            f"is given %{name} with gaps or in another order: rows must lie one behind the other, so give a "
            "contiguous copy",
            entry.func,
        )
    if read_only and name in entry.updated:
        raise IRError(f"stores into %{name}, which is given read-only: give a copy", entry.func)
