"""What the threads of a warp give each other (PTX ISA, 9.7.9.6 and 9.7.13): arrays of warps by 32 lanes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from coconet_ir.emu.code.layout import Warp

Lanes = npt.NDArray[Any]

UNDEFINED = 0xDEADBEEF
"""What a lane gets from one that takes no part."""

_LANE = np.arange(32, dtype=np.int64)


def _bits(flags: Lanes) -> Lanes:
    """A mask of the lanes that hold."""
    return (flags.astype(np.uint64) << _LANE.astype(np.uint64)).sum(axis=-1, dtype=np.uint64)


def exchange(kind: Warp, given: Lanes, active: Lanes) -> tuple[Lanes, Lanes]:
    """Both results of each lane. `given` is of warps x 32 x 3 words, `active` of warps x 32, the lanes taking part."""
    first = given[..., 0]
    nothing = np.zeros_like(first)
    match kind:
        case Warp.SYNC:
            return nothing, nothing
        case Warp.ELECT:
            leader = np.argmax(active, axis=-1)[:, None]
            return nothing + leader.astype(np.uint64), (leader == _LANE).astype(np.uint64)
        case Warp.SHUFFLE_UP | Warp.SHUFFLE_DOWN | Warp.SHUFFLE_BUTTERFLY | Warp.SHUFFLE_INDEX:
            return _shuffle(kind, given.astype(np.int64), active)
        case Warp.VOTE_ALL | Warp.VOTE_ANY | Warp.VOTE_UNIFORM | Warp.VOTE_BALLOT:
            return nothing + _vote(kind, first != 0, active)[:, None], nothing
        case Warp.MATCH_ANY | Warp.MATCH_ALL:
            alike = (first[:, :, None] == first[:, None, :]) & active[:, None, :]
            if kind == Warp.MATCH_ANY:
                return _bits(alike), nothing
            lead = np.take_along_axis(first, np.argmax(active, axis=-1)[:, None], axis=-1)
            same = ((first == lead) | ~active).all(axis=-1)
            return nothing + np.where(same, _bits(active), np.uint64(0))[:, None], nothing + same[
                :, None
            ].astype(np.uint64)
        case _:
            return nothing + _reduce(kind, first.astype(np.uint32), active)[:, None], nothing


def _shuffle(kind: Warp, given: Lanes, active: Lanes) -> tuple[Lanes, Lanes]:
    value, by, control = given[..., 0], given[..., 1] & 31, given[..., 2]
    clamp, segment = control & 31, control >> 8 & 31
    least = _LANE & segment
    most = least | clamp & ~segment
    match kind:
        case Warp.SHUFFLE_UP:
            source = _LANE - by
            inside = source >= most
        case Warp.SHUFFLE_DOWN:
            source = _LANE + by
            inside = source <= most
        case Warp.SHUFFLE_BUTTERFLY:
            source = _LANE ^ by
            inside = source <= most
        case _:
            source = least | by & ~segment
            inside = source <= most
    source = np.where(inside, source, _LANE) & 31
    found = np.take_along_axis(value, source, axis=-1)
    there = np.take_along_axis(active, source, axis=-1)
    return np.where(there, found, UNDEFINED).astype(np.uint64), inside.astype(np.uint64)


def _vote(kind: Warp, holds: Lanes, active: Lanes) -> Lanes:
    every, some = (holds | ~active).all(axis=-1), (holds & active).any(axis=-1)
    match kind:
        case Warp.VOTE_ALL:
            return np.asarray(every, np.uint64)
        case Warp.VOTE_ANY:
            return np.asarray(some, np.uint64)
        case Warp.VOTE_UNIFORM:
            return np.asarray(every | ~some, np.uint64)
        case _:
            return _bits(holds & active)


def _reduce(kind: Warp, value: Lanes, active: Lanes) -> Lanes:
    if kind in (Warp.REDUCE_MIN_SIGNED, Warp.REDUCE_MAX_SIGNED):
        value = value.view(np.int32)
    low, high = np.iinfo(value.dtype).min, np.iinfo(value.dtype).max
    functions: dict[Warp, tuple[Any, int]] = {
        Warp.REDUCE_ADD: (np.add, 0),
        Warp.REDUCE_AND: (np.bitwise_and, 0xFFFFFFFF),
        Warp.REDUCE_OR: (np.bitwise_or, 0),
        Warp.REDUCE_XOR: (np.bitwise_xor, 0),
        Warp.REDUCE_MIN_UNSIGNED: (np.minimum, high),
        Warp.REDUCE_MAX_UNSIGNED: (np.maximum, low),
        Warp.REDUCE_MIN_SIGNED: (np.minimum, high),
        Warp.REDUCE_MAX_SIGNED: (np.maximum, low),
    }
    function, neutral = functions[kind]
    taken = np.where(active, value, value.dtype.type(neutral))
    return function.reduce(taken, axis=-1, dtype=value.dtype).view(np.uint32).astype(np.uint64)
