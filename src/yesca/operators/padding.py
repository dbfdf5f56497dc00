"""Padding with one value."""

from __future__ import annotations

from typing import Any

from ..core.memory_formats import following, kept
from ..core.spec import spec
from .filling import filling
from .kinds import rows


def _checked(shape: tuple[int, ...], pad: tuple[int, ...]) -> None:
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) > 2 * len(shape):
        raise RuntimeError("Length of pad should be no more than twice the number of dimensions of "
                           f"the input. Pad length is {len(pad)}while the input has {len(shape)}"
                           "dimensions.")


def _constant_pad(p: Any, self: Any, pad: tuple[int, ...], value: Any) -> None:
    base = self.spec
    _checked(base.shape, pad)
    shape, stays = list(base.shape), list(base.shape)  # of the result; of what stays of self
    skipped = 0  # elements of self before what stays
    begin = [0] * base.ndim  # where in the result that lies
    for d, before, after in zip(range(base.ndim - 1, -1, -1), pad[::2], pad[1::2], strict=False):
        stays[d] += min(before, 0) + min(after, 0)
        shape[d] += before + after
        if stays[d] < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
        skipped += max(-before, 0) * base.strides[d]
        begin[d] = max(before, 0)
    part = self.seen((tuple(stays), base.strides, skipped))
    grows = any(n > 0 for n in pad)
    strides = following(base, tuple(shape)) if grows else kept(part.spec)
    made = p.result(spec(base.dtype, tuple(shape), strides, p.device))
    if grows:
        p.flat(lambda: filling(p, 2, base.dtype), [], [made])
    place = sum(b * s for b, s in zip(begin, strides, strict=True))
    p.flat(lambda x: x, [part], [made.seen((tuple(stays), strides, place))])


rows("constant_pad_nd(Tensor self, int[] pad, Scalar value=0) -> Tensor", _constant_pad,
     kind="copy", method=False,
     samples=lambda make: [(make(3, 4), (1, 2), 0.5), (make(2, 3, 4), (1, 0, -1, 2)),
                           (make(2, 3), (-1, -1)), (make(), ()), (make(0, 3), (1, 1, 1, 1), 2)],
     backward={"self": lambda ops, grad, pad: ops.constant_pad_nd(grad, tuple(-n for n in pad))},
     doc="self with value around it: sizes before and after, last dimension first; negative "
         "sizes take away.")
