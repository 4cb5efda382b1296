"""DLPack against NumPy, which gives and takes arrays of the host by it, with and without versions."""

from __future__ import annotations

import gc
import sys
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from coconet_ir.runtime import dlpack
from coconet_ir.sim.elements import ELEMENTS, FLOATS, element_name

Array = npt.NDArray[Any]


class OnHost:
    """An array that is given away."""

    def __init__(self, array: Array, versioned: bool):
        self.array, self.versioned = array, versioned

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CPU, 0

    def __dlpack__(self, **options: Any) -> object:
        array = self.array
        place = self.__dlpack_device__()
        whole = dlpack.Array(array.ctypes.data, array.shape, array.dtype, place, array)
        return dlpack.give(whole, self.versioned)


def test_arrays_of_numpy() -> None:
    """Where they are, their shape, type and order; the array lives as long as the view of it."""
    array = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    references = sys.getrefcount(array)
    view = dlpack.take(array, None)
    assert (view.address, view.shape, view.device) == (array.ctypes.data, (2, 3, 4), (1, 0))
    assert view.is_dense
    assert not view.read_only
    assert view.has_type(array.dtype)
    assert not view.has_type(np.dtype(np.int32))
    assert sys.getrefcount(array) > references
    del view
    gc.collect()
    assert sys.getrefcount(array) == references
    part = dlpack.take(array[1:], None)
    assert (part.address - array.ctypes.data, part.is_dense) == (48, True)
    assert not dlpack.take(array[:, :, ::2], None).is_dense
    assert not dlpack.take(array.T, None).is_dense
    assert dlpack.take(array[:1, :, :1].T[:, :1], None).is_dense
    array.flags.writeable = False
    assert dlpack.take(array, None).read_only


@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("shape", [(), (5,), (2, 3), (0, 3), (1, 4, 2)])
def test_arrays_that_numpy_takes(shape: tuple[int, ...], versioned: bool) -> None:
    """Every type that both have, without a copy; nothing is kept when they are gone."""
    kept = dlpack._given  # pyright: ignore[reportPrivateUsage]
    for name in ("f64", "f32", "f16", "i64", "i32", "i16", "i8", "i1"):
        array = np.random.default_rng(1).integers(0, 2, shape).astype(ELEMENTS[name])
        before = len(kept)
        given: Any = OnHost(array, versioned)
        taken: Array = np.from_dlpack(given)
        assert (taken.shape, taken.dtype) == (array.shape, array.dtype)
        assert np.array_equal(taken, array)
        assert array.size == 0 or taken.ctypes.data == array.ctypes.data
        assert len(kept) == before + 1
        del taken
        gc.collect()
        assert len(kept) == before


@pytest.mark.parametrize("versioned", [False, True])
def test_types_that_numpy_lacks(versioned: bool) -> None:
    """Short floats keep their type; one of 8 bits may also come as unsigned integers."""
    for name, dtype in FLOATS.items():
        view = dlpack.take(OnHost(np.zeros(3, dtype), versioned), None)
        assert (view.type, view.shape) == (name, (3,))
        assert [n for n, other in FLOATS.items() if view.has_type(other)] == [name]
    raw = dlpack.take(np.zeros(3, np.uint8), None)
    small = [name for name, dtype in FLOATS.items() if dtype.itemsize == 1]
    assert [n for n, dtype in FLOATS.items() if raw.has_type(dtype)] == small
    assert raw.type == "u8"
    assert element_name(np.dtype(ml_dtypes.bfloat16)) == "bf16"


def test_a_capsule_that_nobody_takes() -> None:
    """What it holds is let go of with it."""
    kept = dlpack._given  # pyright: ignore[reportPrivateUsage]
    for versioned in (False, True):
        before = len(kept)
        capsule = OnHost(np.zeros(3), versioned).__dlpack__()
        assert len(kept) == before + 1
        del capsule
        gc.collect()
        assert len(kept) == before


def test_what_gives_no_capsule() -> None:
    """An object that breaks the protocol, and a capsule that was taken before."""

    class Broken(OnHost):
        def __dlpack__(self, **options: Any) -> object:
            return "no capsule"

    with pytest.raises(BufferError, match="no DLPack capsule"):
        dlpack.take(Broken(np.zeros(3), False), None)
    capsule = OnHost(np.zeros(3), True).__dlpack__()

    class Again(OnHost):
        def __dlpack__(self, **options: Any) -> object:
            return capsule

    dlpack.take(Again(np.zeros(3), True), None)
    with pytest.raises(BufferError, match="no DLPack capsule"):
        dlpack.take(Again(np.zeros(3), True), None)
