"""Padding, and the patches of an image as columns."""

from __future__ import annotations

from ... import functional as ops
from ..._tensor import Tensor
from ...base.errors import argument_error
from ...core.layouts import contiguous_format
from ...core.memory_formats import suggested
from ...dispatch.autocast import widening
from ..modules._names import to_tuple


def pad(input: Tensor, pad, mode: str = "constant", value: float | None = None) -> Tensor:
    """`input` made larger (or, with negative sizes, smaller) at the ends of its last dimensions.

    Args:
        pad: sizes before and after, last dimension first: `(left, right, top, bottom, ...)`.
        mode: `"constant"` (any number of dimensions), `"reflect"`, `"replicate"` or `"circular"`
            (the spatial dimensions of inputs (C, ...) or (N, C, ...)).
        value: what `"constant"` fills with; 0 if left out.

    >>> import yesca as torch
    >>> torch.nn.functional.pad(torch.tensor([1, 2, 3]), (1, 2))
    tensor([0, 1, 2, 3, 0, 0])
    """
    if not isinstance(input, Tensor):
        raise argument_error("pad", "input", 1, "Tensor", input)
    if not isinstance(pad, (tuple, list)):
        raise argument_error("pad", "pad", 2, "tuple of ints", pad)
    sizes = tuple(pad)
    if len(sizes) % 2 != 0:
        raise RuntimeError(f"Padding length must be divisible by 2; got {len(sizes)} sizes")
    if len(sizes) // 2 > input.dim():
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(sizes)} and input of dimension {input.dim()}"
        )
    pairs = [sizes[i : i + 2] for i in range(0, len(sizes), 2)]
    if isinstance(value, complex):
        raise TypeError("pad(): argument 'value' (position 4) must be float, not complex")
    if mode == "constant":
        return ops.constant_pad_nd(input, sizes, 0.0 if value is None else float(value))
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if not (1 <= len(pairs) <= 3 and input.dim() - len(pairs) in (1, 2)):
        raise NotImplementedError(
            f"Padding size {len(sizes)} is not supported for {input.dim()}D input tensor.\n"
            "Non-constant padding takes 2 sizes for 2D or 3D inputs, 4 for 3D or 4D, 6 for 4D or "
            "5D."
        )
    if mode == "circular" or (mode == "reflect" and len(pairs) == 3):
        return _padded(input, pairs, mode)
    return _padded_wide(input, pairs, mode)


def _padded(input: Tensor, pairs: list[tuple[int, ...]], mode: str) -> Tensor:
    made = input
    for position, (before, after) in enumerate(pairs):
        made = _pad_by_index(made, input.dim() - 1 - position, before, after, mode)
    return made if mode == "circular" or len(pairs) == 1 else _formatted(made, input)


#: Modes and ranks that autocast computes in float32.
_padded_wide = widening(_padded)


def _formatted(result: Tensor, like: Tensor) -> Tensor:
    """The result in the memory format that another tensor suggests."""
    form = suggested(like._spec)
    return result if form is contiguous_format else result.clone(memory_format=form)


def _pad_by_index(input: Tensor, dim: int, before: int, after: int, mode: str) -> Tensor:
    if before == 0 and after == 0:
        return input
    size = input.size(dim)
    shape = list(input.shape)
    if size + before + after < 1 or size < 1:
        raise RuntimeError(
            f"pad: padding ({before}, {after}) at dimension {dim} of input {shape} leaves nothing"
        )
    positions = ops.arange(-before, size + after, device=input.device)
    if mode == "reflect":
        if before >= size or after >= size:
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, "
                f"but got: padding ({before}, {after}) at dimension {dim} of input {shape}"
            )
        positions = size - 1 - (size - 1 - positions.abs()).abs()
    elif mode == "replicate":
        positions = positions.clamp(0, size - 1)
    else:
        if before > size or after > size:
            raise RuntimeError(
                "Padding value causes wrapping around more than once: padding "
                f"({before}, {after}) at dimension {dim} of input {shape}"
            )
        # A negative size crops first; what is left is what goes round.
        first = max(-before, 0)
        kept = size - first - max(-after, 0)
        positions = first + (positions - first) % kept
    return input.index_select(dim, positions)


def unfold(input: Tensor, kernel_size, dilation=1, padding=0, stride=1) -> Tensor:
    """The sliding patches of (N, C, H, W) as columns: (N, C * kernel height * width, patches)."""
    arguments = (kernel_size, dilation, padding, stride)
    return ops.im2col(input, *(to_tuple(each, 2) for each in arguments))


def fold(input: Tensor, output_size, kernel_size, dilation=1, padding=0, stride=1) -> Tensor:
    """The inverse layout of `unfold`: columns added up at their places in an image."""
    arguments = (output_size, kernel_size, dilation, padding, stride)
    return ops.col2im(input, *(to_tuple(each, 2) for each in arguments))
