"""An access to memory: who, when, and at which instruction."""

from __future__ import annotations

from typing import NamedTuple

from coconet_ir.emu.code.layout import EPOCH_BITS, SITE_BITS, THREAD_SHIFT

_EPOCH, _SITE = (1 << EPOCH_BITS) - 1, (1 << SITE_BITS) - 1


class Access(NamedTuple):
    """A strong access, or a weak one that is remembered."""

    slot: int
    epoch: int
    site: int
    scope: int | None = None
    """None for a weak access."""

    @property
    def word(self) -> int:
        """As the shadow has it."""
        return self.slot << THREAD_SHIFT | self.epoch << SITE_BITS | self.site


def unpack(word: int) -> Access:
    """The weak access of a word of the shadow."""
    return Access(word >> THREAD_SHIFT, word >> SITE_BITS & _EPOCH, word & _SITE)
