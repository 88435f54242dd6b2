"""Compiled loops, one numba cache unit per file: kernels never call kernels of other files."""
