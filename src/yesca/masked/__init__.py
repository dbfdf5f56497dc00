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

from typing import Any

from ._reductions import amax, amin, argmax, argmin, logsumexp, norm, prod, sum
from ._rows import cumprod, cumsum, log_softmax, logaddexp, normalize, softmax, softmin
from ._statistics import mean, median, std, var

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp",
    "logsumexp", "mean", "median", "norm", "normalize", "prod", "softmax", "softmin", "std",
    "sum", "var",
]
#: Tensors that carry their mask with them are PyTorch's prototype; they are not there.
_ABSENT = ("MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor")


def __getattr__(name: str) -> Any:
    note = " (PyTorch has it; yesca does not have it yet)" if name in _ABSENT else ""
    raise AttributeError(f"module 'torch.masked' has no attribute {name!r}{note}")
