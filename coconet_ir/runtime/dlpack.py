"""DLPack, the exchange of arrays without a copy: https://dmlc.github.io/dlpack/latest (version 1.1).

It is written out here because cuda.core exports no bf16 and takes no f8. A capsule holds the address of a structure
that describes an array; who takes the array renames the capsule, and calls `deleter` when it is done.
"""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

from coconet_ir.sim.elements import DType, element_name, is_float
from coconet_ir.sim.mesh import Shape

CPU, CUDA = 1, 2
"""Kinds of devices."""

READ_ONLY = 1
"""The flag of an array that may not be written."""

_INT, _UINT, _FLOAT, _BFLOAT, _BOOL = 0, 1, 2, 4, 6
_SMALL = {
    name: code
    for code, name in enumerate(
        (
            *("f8E3M4", "f8E4M3", "f8E4M3B11FNUZ", "f8E4M3FN"),
            *("f8E4M3FNUZ", "f8E5M2", "f8E5M2FNUZ", "f8E8M0FNU"),
        ),
        7,
    )
}
"""The codes of floats of 8 bits."""


class Exporter(Protocol):
    """What gives an array away."""

    def __dlpack__(
        self, *, stream: int | None = None, max_version: tuple[int, int] | None = None
    ) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


class _Device(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int32), ("number", ctypes.c_int32))


class _DataType(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    """What a capsule named `dltensor` holds, before version 1."""

    _fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter))


class _Versioned(ctypes.Structure):
    """What a capsule named `dltensor_versioned` holds."""

    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    )


_FORMS: dict[bytes, type[_Managed | _Versioned]] = {
    b"dltensor_versioned": _Versioned,
    b"dltensor": _Managed,
}


def _function(name: str, result: Any, *arguments: Any) -> Any:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, ctypes.pythonapi))


_is_valid = _function("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_get = _function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
_rename = _function("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_new = _function(
    "PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)
# A capsule that is being destroyed is passed as an address: no reference to it can be made any more.
_is_valid_at = _function("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_get_at = _function("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)


class View:
    """An array that somebody else owns; as long as this lives, so does it."""

    def __init__(self, capsule: object, form: bytes):
        address = _get(capsule, form)
        held = _FORMS[form].from_address(address)
        tensor: Any = held.tensor
        self.address: int = (tensor.data or 0) + tensor.byte_offset
        self.shape: Shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
        strides = [tensor.strides[i] for i in range(tensor.ndim)] if tensor.strides else None
        self.is_dense = strides is None or is_dense(self.shape, strides)
        """Whether elements lie one behind the other, in row-major order."""
        self.read_only = isinstance(held, _Versioned) and bool(held.flags & READ_ONLY)
        self.device: tuple[int, int] = (tensor.device.kind, tensor.device.number)
        self._type: tuple[int, int, int] = (
            tensor.dtype.code,
            tensor.dtype.bits,
            tensor.dtype.lanes,
        )
        _rename(capsule, _USED[form])
        if held.deleter:
            weakref.finalize(self, held.deleter, address)

    def has_type(self, dtype: DType) -> bool:
        """Whether its elements are of a type; a float of 8 bits may pass as an unsigned integer."""
        raw = (_UINT, 8, 1) if is_float(dtype) and dtype.itemsize == 1 else None
        return self._type in (type_of(dtype), raw)

    @property
    def type(self) -> str:
        """The type of elements, for messages."""
        code, bits, lanes = self._type
        names = {_INT: "i", _UINT: "u", _FLOAT: "f", _BFLOAT: "bf", _BOOL: "bool", 5: "complex"}
        small = {number: name for name, number in _SMALL.items()}
        name = small.get(code) or f"{names.get(code, f'type {code} of ')}{bits}"
        return name if lanes == 1 else f"{lanes} x {name}"


_USED = {form: b"used_" + form for form in _FORMS}


def type_of(dtype: DType) -> tuple[int, int, int]:
    """The code, bits and lanes of an element type."""
    name, bits = element_name(dtype), 8 * dtype.itemsize
    if is_float(dtype):
        return _SMALL.get(name, _BFLOAT if name == "bf16" else _FLOAT), bits, 1
    return _BOOL if name == "i1" else _INT, bits, 1


def is_dense(shape: Shape, strides: list[int]) -> bool:
    """Whether strides, in elements, are those of row-major order; they do not matter where nothing moves."""
    wanted = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size > 1 and stride != wanted and 0 not in shape:
            return False
        wanted *= size
    return True


def take(source: Exporter, stream: int | None) -> View:
    """The array of an object, safe to use on a stream of its device. Raises `BufferError` if it gives none."""
    try:
        capsule = source.__dlpack__(stream=stream, max_version=(1, 1))
    except TypeError:  # of before version 1
        capsule = source.__dlpack__(stream=stream)
    for form in _FORMS:
        if _is_valid(capsule, form):
            return View(capsule, form)
    raise BufferError("it gives no DLPack capsule")


@dataclass(frozen=True)
class Array:
    """An array to give away, and what keeps its memory."""

    address: int
    shape: Shape
    dtype: DType
    device: tuple[int, int]
    owner: object


_given: dict[int, tuple[object, ...]] = {}
"""What must live as long as somebody has an array: by the address of its structure."""


@_Deleter
def _delete(address: int) -> None:
    _given.pop(address, None)


@_Deleter
def _destroy(capsule: int) -> None:
    """Delete what nobody has taken out of a capsule."""
    for form in _FORMS:
        if _is_valid_at(capsule, form):
            _delete(_get_at(capsule, form))


def give(array: Array, versioned: bool) -> object:
    """A capsule with an array."""
    count = len(array.shape)
    sizes = (ctypes.c_int64 * (2 * count or 1))(*array.shape, *_strides(array.shape))
    start = ctypes.addressof(sizes)
    pointer = ctypes.POINTER(ctypes.c_int64)
    held = _Versioned(1, 1) if versioned else _Managed()
    held.deleter = _delete
    tensor = held.tensor
    tensor.data = array.address if prod(array.shape) else None
    tensor.device = _Device(*array.device)
    tensor.ndim = count
    tensor.dtype = _DataType(*type_of(array.dtype))
    tensor.shape = ctypes.cast(start, pointer)
    tensor.strides = ctypes.cast(start + 8 * count, pointer)
    address = ctypes.addressof(held)
    _given[address] = (held, sizes, array.owner)
    form = b"dltensor_versioned" if versioned else b"dltensor"
    return _new(address, form, ctypes.cast(_destroy, ctypes.c_void_p))


def _strides(shape: Shape) -> list[int]:
    return [prod(shape[dim + 1 :]) for dim in range(len(shape))]
