"""`torch.masked`: reductions and normalisations of the elements that a mask keeps.

A mask is True where an element counts. It may have fewer dimensions than the input and sizes of 1,
which stretch to the input's shape; other dtypes than bool count as True where they are not 0.
Without a mask all elements count. With `dtype`, the input is cast before anything is computed
(the positions of argmax and argmin, and logaddexp, are cast at the end). Elements that do not
count get the gradient 0, even if they are NaN.

>>> import yesca as torch
>>> x = torch.tensor([[1.0, 2.0, float("nan")], [4.0, 5.0, 6.0]])
>>> torch.masked.mean(x, 1, mask=~x.isnan())
tensor([1.5000, 5.0000])
"""

from __future__ import annotations

from ..base import absent
from ._reductions import amax, amin, argmax, argmin, logsumexp, norm, prod, sum
from ._rows import cumprod, cumsum, log_softmax, logaddexp, normalize, softmax, softmin
from ._statistics import mean, median, std, var

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp",
    "logsumexp", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std",
    "sum", "var",
]

__getattr__ = absent.names_of(__name__)
