"""Compiled loops. Each file is a cache unit of its own: kernels never call across files."""
