"""Sparse tensors in coordinate format: the values at some places, and zero everywhere else."""
