"""Kernels and their features."""
