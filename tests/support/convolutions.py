"""The definition of a convolution, in NumPy."""

from __future__ import annotations

import itertools

import numpy as np


def direct(x, w, stride=1, padding=0, dilation=1, groups=1):
    """The definition, for any number of dimensions."""
    rank = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0)] + [(padding, padding)] * rank)
    spans = [dilation * (k - 1) + 1 for k in w.shape[2:]]
    size = [(n - s) // stride + 1 for n, s in zip(x.shape[2:], spans, strict=True)]
    made = np.zeros((x.shape[0], w.shape[0], *size))
    inner, outer = w.shape[1], w.shape[0] // groups
    for g in range(groups):
        own, kernel = x[:, g * inner:(g + 1) * inner], w[g * outer:(g + 1) * outer]
        for k in itertools.product(*(range(n) for n in w.shape[2:])):
            window = own[(slice(None), slice(None), *(
                slice(a * dilation, a * dilation + (n - 1) * stride + 1, stride)
                for a, n in zip(k, size, strict=True)))]
            made[:, g * outer:(g + 1) * outer] += np.einsum(
                "nc...,oc->no...", window, kernel[(slice(None), slice(None), *k)])
    return made
