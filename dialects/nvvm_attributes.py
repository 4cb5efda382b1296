"""The attributes of `nvvm`: words of PTX, and how upstream writes them."""

from __future__ import annotations

import abc
from typing import ClassVar

from xdsl.ir import Data, SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


class Word(Data[str], abc.ABC):
    """One of a few words: `#nvvm<shfl_kind bfly>`, or bare in the text of an operation."""

    WORDS: ClassVar[tuple[str, ...]]

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        position = parser.pos
        word = parser.parse_optional_identifier() or ""
        if word not in cls.WORDS:
            parser.raise_error(f"expected {' or '.join(cls.WORDS)}", position)
        return word

    def print_parameter(self, printer: Printer) -> None:
        printer.print_string(self.data)

    def verify(self) -> None:
        if self.data not in self.WORDS:
            raise VerifyException(f"'{self.data}' is none of {', '.join(self.WORDS)}")


class Bracketed(Word, abc.ABC):
    """One of a few words in brackets: `#nvvm.mem_scope<gpu>`, or `<gpu>` in the text of an operation."""

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> str:
        with parser.in_angle_brackets():
            return super().parse_parameter(parser)

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            super().print_parameter(printer)


@irdl_attr_definition
class ShflKindAttr(Word, SpacedOpaqueSyntaxAttribute):
    """Which lane a shuffle reads: one whose number differs, above, below, or by number."""

    name = "nvvm.shfl_kind"
    WORDS = ("bfly", "up", "down", "idx")


@irdl_attr_definition
class VoteSyncKindAttr(Word, SpacedOpaqueSyntaxAttribute):
    """What a vote answers."""

    name = "nvvm.vote_sync_kind"
    WORDS = ("any", "all", "ballot", "uni")


@irdl_attr_definition
class ReduxKindAttr(Word, SpacedOpaqueSyntaxAttribute):
    """How a warp reduces; without a sign where that matters: `umax`."""

    name = "nvvm.redux_kind"
    WORDS = ("add", "and", "max", "min", "or", "umax", "umin", "xor", "fmin", "fmax")


@irdl_attr_definition
class MatchSyncKindAttr(Word, SpacedOpaqueSyntaxAttribute):
    """Which threads must have equal values."""

    name = "nvvm.match_sync_kind"
    WORDS = ("any", "all")


@irdl_attr_definition
class GridDepActionAttr(Word, SpacedOpaqueSyntaxAttribute):
    """What a grid says to those it depends on, or that depend on it."""

    name = "nvvm.grid_dep_action"
    WORDS = ("wait", "launch_dependents")


@irdl_attr_definition
class LoadCacheModifierAttr(Word, SpacedOpaqueSyntaxAttribute):
    """Through which caches a copy goes: all of them, or only L2."""

    name = "nvvm.load_cache_modifier"
    WORDS = ("ca", "cg")


@irdl_attr_definition
class PrefetchCacheLevelAttr(Word, SpacedOpaqueSyntaxAttribute):
    """Which cache a prefetch fills."""

    name = "nvvm.prefetch_cache_level"
    WORDS = ("L1", "L2")


@irdl_attr_definition
class CacheEvictionPriorityAttr(Word, SpacedOpaqueSyntaxAttribute):
    """How soon a line leaves L2."""

    name = "nvvm.cache_eviction_priority"
    WORDS = ("evict_normal", "evict_last")


@irdl_attr_definition
class MemScopeAttr(Bracketed):
    """The threads for which an order holds: of a block, a cluster, a device, or all."""

    name = "nvvm.mem_scope"
    WORDS = ("cta", "cluster", "gpu", "sys")


@irdl_attr_definition
class BarrierReductionAttr(Bracketed):
    """What a barrier counts or combines."""

    name = "nvvm.reduction"
    WORDS = ("popc", "and", "or")


@irdl_attr_definition
class ProxyKindAttr(Bracketed):
    """Ways to memory that need a fence between them."""

    name = "nvvm.proxy_kind"
    WORDS = ("alias", "async", "async.global", "async.shared")


@irdl_attr_definition
class SharedSpaceAttr(Bracketed):
    """Whose shared memory."""

    name = "nvvm.shared_space"
    WORDS = ("cta", "cluster")


@irdl_attr_definition
class PermuteModeAttr(Bracketed):
    """How bytes are picked."""

    name = "nvvm.permute_mode"
    WORDS = ("default", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16")


@irdl_attr_definition
class RoundingAttr(Bracketed):
    """How a conversion rounds."""

    name = "nvvm.fp_rnd_mode"
    WORDS = ("none", "rn", "rm", "rp", "rz", "rna", "rs")


@irdl_attr_definition
class SaturationAttr(Bracketed):
    """Whether a conversion gives the largest finite number instead of more."""

    name = "nvvm.sat_mode"
    WORDS = ("none", "satfinite")


ATTRIBUTES = (
    BarrierReductionAttr,
    CacheEvictionPriorityAttr,
    GridDepActionAttr,
    LoadCacheModifierAttr,
    MatchSyncKindAttr,
    MemScopeAttr,
    PermuteModeAttr,
    PrefetchCacheLevelAttr,
    ProxyKindAttr,
    ReduxKindAttr,
    RoundingAttr,
    SaturationAttr,
    SharedSpaceAttr,
    ShflKindAttr,
    VoteSyncKindAttr,
)
