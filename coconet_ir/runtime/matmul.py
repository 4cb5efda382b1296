"""Products of matrices on a CUDA device by cuBLASLt, through nvmath-python; imported when a program has one.

A row-major matrix is the transpose of a column-major one, so that the library, which takes columns, is asked for
the transposed product: y = a b as y' = b' a'.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from coconet_ir.diagnostics import IRError, Unavailable
from coconet_ir.runtime.steps import Matmul, Place
from coconet_ir.sim.elements import ELEMENTS

WORKSPACE = 32 << 20
"""The most bytes that a product may use beside its matrices: what NVIDIA advises for Hopper."""

_ALIGNMENT = 256
"""The alignment in bytes beyond which the library asks for none."""

_DATA = {"f64": "CUDA_R_64F", "f32": "CUDA_R_32F", "f16": "CUDA_R_16F", "bf16": "CUDA_R_16BF"}
_COMPUTE = {"f64": "COMPUTE_64F", "f32": "COMPUTE_32F", "f16": "COMPUTE_16F"}
"""How sums are computed. An f32 is computed as such, never in TF32."""


class Products:
    """The library on the current device."""

    def __init__(self) -> None:
        """Raises `Unavailable` without the library or the package that calls it."""
        try:
            self.data: Any = import_module("nvmath").CudaDataType
            # Not nvmath.ComputeType, whose numbers are those of other libraries.
            self.compute: Any = import_module("nvmath.bindings.cublas").ComputeType
            self.library: Any = import_module("nvmath.bindings.cublasLt")
        except ImportError as error:
            raise Unavailable(
                f"comp.matmul needs nvmath-python, which is missing ({error.name or error}): "
                "pip install 'coconet-ir[cuda]'"
            ) from None
        try:
            self.handle: int = self.library.create()
        except self.library.cuBLASLtError as error:
            raise IRError(f"cuBLASLt failed: {error}") from None
        except RuntimeError:
            raise Unavailable(
                "comp.matmul needs cuBLAS, and there is no libcublasLt: pip install 'coconet-ir[cuda]'"
            ) from None
        weakref.finalize(self, self.library.destroy, self.handle).atexit = False

    def prepare(self, step: Matmul, bases: Mapping[int, int]) -> Product:
        """The library's way to do a product. Raises `IRError` if it has none."""
        try:
            return Product(self, step, bases)
        except self.library.cuBLASLtError as error:
            raise IRError(
                f"cuBLASLt cannot multiply {step.batch} x {step.m} x {step.k} by {step.k} x {step.n} {step.element} "
                f"elements: {error}"
            ) from None


class Product:
    """A product whose algorithm was chosen."""

    def __init__(self, products: Products, step: Matmul, bases: Mapping[int, int]):
        self._products, self._step = products, step
        library = products.library
        self._lhs, self._rhs, self._output = (
            _address(place, bases) for place in (step.lhs, step.rhs, step.output)
        )
        scale = ELEMENTS[step.accumulate]
        self._one, self._zero = np.ones(1, scale), np.zeros(1, scale)
        compute = getattr(products.compute, _COMPUTE[step.accumulate])
        self._operation: int = library.matmul_desc_create(int(compute), self._type(step.accumulate))
        weakref.finalize(self, library.matmul_desc_destroy, self._operation).atexit = False
        self._a = self._matrix(step.element, step.n, step.k)
        self._b = self._matrix(step.element, step.k, step.m)
        self._d = self._matrix(step.result, step.n, step.m)
        self._chosen: Any = np.zeros(1, library.matmul_heuristic_result_dtype)
        self._choose()
        self.workspace = int(self._chosen["workspace_size"][0])
        """Bytes that it needs beside its matrices."""

    def run(self, workspace: int, stream: Any) -> None:
        """Compute the product on a stream. Raises `IRError`."""
        library = self._products.library
        try:
            library.matmul(
                self._products.handle,
                self._operation,
                self._one.ctypes.data,
                self._rhs,
                self._a,
                self._lhs,
                self._b,
                self._zero.ctypes.data,
                self._output,
                self._d,
                self._output,
                self._d,
                self._chosen.ctypes.data,  # the algorithm comes first in it
                workspace,
                self.workspace,
                int(stream),
            )
        except library.cuBLASLtError as error:
            raise IRError(f"cuBLASLt failed: {error}") from None

    def _type(self, element: str) -> int:
        return int(getattr(self._products.data, _DATA[element]))

    def _matrix(self, element: str, rows: int, columns: int) -> int:
        """The description of a stack of dense matrices, column by column."""
        library = self._products.library
        found: int = library.matrix_layout_create(self._type(element), rows, columns, rows)
        weakref.finalize(self, library.matrix_layout_destroy, found).atexit = False
        attribute = library.MatrixLayoutAttribute
        for name, value in (
            (attribute.BATCH_COUNT, np.int32(self._step.batch)),
            (attribute.STRIDED_BATCH_OFFSET, np.int64(rows * columns)),
        ):
            _set(library.matrix_layout_set_attribute, found, name, value)
        return found

    def _choose(self) -> None:
        """Choose the algorithm, as the library advises: parts of a sum are kept in the type of the sum."""
        library = self._products.library
        attribute = library.MatmulPreferenceAttribute
        preference = library.matmul_preference_create()
        try:
            for name, value in (
                (attribute.MAX_WORKSPACE_BYTES, np.uint64(WORKSPACE)),
                (
                    attribute.REDUCTION_SCHEME_MASK,
                    np.uint32(library.ReductionScheme.COMPUTE_TYPE),
                ),
                (attribute.MIN_ALIGNMENT_A_BYTES, _alignment(self._rhs)),
                (attribute.MIN_ALIGNMENT_B_BYTES, _alignment(self._lhs)),
                (attribute.MIN_ALIGNMENT_C_BYTES, _alignment(self._output)),
                (attribute.MIN_ALIGNMENT_D_BYTES, _alignment(self._output)),
            ):
                _set(library.matmul_preference_set_attribute, preference, name, value)
            count = np.zeros(1, np.int32)
            layouts = (self._a, self._b, self._d, self._d)
            library.matmul_algo_get_heuristic(
                self._products.handle,
                self._operation,
                *layouts,
                preference,
                1,
                self._chosen.ctypes.data,
                count.ctypes.data,
            )
        finally:
            library.matmul_preference_destroy(preference)
        if not count[0] or self._chosen["state"][0]:
            raise IRError(f"cuBLASLt has no algorithm for {self._step}")


def _address(place: Place, bases: Mapping[int, int]) -> int:
    return bases[place.owner] + place.offset


def _alignment(address: int) -> np.uint32:
    """The largest power of two that divides an address, as far as it matters."""
    return np.uint32(min(address & -address, _ALIGNMENT))


def _set(function: Any, target: int, name: int, value: np.generic) -> None:
    """Set an attribute of one of the library's objects."""
    held = np.array(value)
    function(target, int(name), held.ctypes.data, held.nbytes)
