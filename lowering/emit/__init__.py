"""LLVM IR from `llvm` and `nvvm`, as text."""
