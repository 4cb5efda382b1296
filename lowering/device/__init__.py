"""Kernels as `llvm` and `nvvm`: what each operation of a kernel becomes on a device."""
