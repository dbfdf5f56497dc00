"""Recipes of random numbers: what a draw does, as records ask for it and machine code knows it."""

from __future__ import annotations

from types import SimpleNamespace

#: Two parameters each: uniform numbers (low, high); normal ones (mean, deviation), one at a time or
#: in blocks; exponential (rate); geometric (p); log-normal (mean, deviation); Cauchy (median,
#: sigma); Bernoulli (p); integers, the second parameter + a draw modulo the first (0: 2**64), of 32
#: bits or of 64; a permutation of the int64 numbers below the count.
Recipe = SimpleNamespace(
    NORMAL=0, EXPONENTIAL=1, GEOMETRIC=2, LOG_NORMAL=3, CAUCHY=4, BERNOULLI=5, UNIFORM=6,
    NORMAL_BLOCKS=7, INTEGERS=8, WIDE_INTEGERS=9, PERMUTATION=10,
)  # fmt: skip

#: From this size on a contiguous target gets normal numbers in blocks.
BLOCKS_FROM = 16
#: Draws of more elements give the GIL up, which costs more than a small draw takes.
FEW = 4096
