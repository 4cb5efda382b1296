"""The arguments of a kernel as the driver takes them: an array of addresses, one a value."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from coconet_ir.runtime.steps import Launch, Place

WIDTH = 8
"""Bytes of the widest argument."""


class Packed:
    """The arguments of one launch, packed once; the kernel takes of each as many bytes as it has."""

    def __init__(self, launch: Launch, bases: Mapping[int, int]):
        """`bases` has the address of each argument's and result's buffer, and of the arena."""
        self._values = np.zeros(len(launch.arguments), np.uint64)
        first = self._values.ctypes.data
        self._addresses = first + WIDTH * np.arange(len(self._values), dtype=np.uint64)
        self.pointer: int = self._addresses.ctypes.data
        """Where the addresses stand."""
        self._bases = bases
        self.set(launch)

    def set(self, launch: Launch) -> None:
        """Take the arguments of a launch of the same kernel."""
        for index, argument in enumerate(launch.arguments):
            if isinstance(argument, Place):
                self._values[index] = self._bases[argument.owner] + argument.offset
            else:
                self._values[index] = int.from_bytes(argument, "little")
