"""Kernels: what computes the elements of a fused region, family by family."""
