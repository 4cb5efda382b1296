"""The arguments of a kernel as the driver takes them: an array of addresses, one a value."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from coconet_ir.runtime.steps import ADDRESS, Argument, Launch, as_bytes


class Packed:
    """The arguments of one launch, packed once; the kernel takes of each as many bytes as it has."""

    def __init__(self, launch: Launch, bases: Mapping[int, int]):
        """`bases` has the address of each argument's and result's buffer, and of the arena."""
        self._bases = bases
        sizes = [-(-len(self._bytes(one)) // ADDRESS) * ADDRESS for one in launch.arguments]
        self._places = np.cumsum([0, *sizes])
        self._values = np.zeros(int(self._places[-1]), np.uint8)
        first = self._values.ctypes.data
        self._addresses = (first + self._places[:-1]).astype(np.uint64)
        self.pointer: int = self._addresses.ctypes.data
        """Where the addresses stand."""
        self.set(launch)

    def _bytes(self, argument: Argument) -> bytes:
        """An argument as it lies in memory."""
        return as_bytes(argument, lambda place: self._bases[place.owner] + place.offset)

    def set(self, launch: Launch) -> None:
        """Take the arguments of a launch of the same kernel."""
        for start, argument in zip(self._places, launch.arguments, strict=False):
            data = self._bytes(argument)
            self._values[start : start + len(data)] = np.frombuffer(data, np.uint8)
