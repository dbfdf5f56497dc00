"""Patches of images: im2col and col2im; shuffles between channels and space."""

# Names: channel_shuffle native_channel_shuffle

from __future__ import annotations

import math
from typing import Any

from ..core.layouts import channels_last_3d
from ..core.memory_formats import strides_in, suggested
from ..core.spec import contiguous_strides, spec
from . import spans
from .kinds import composite, compute_dtype, rows

Sizes = tuple[int, ...]


def _result(size: Sizes, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Sizes:
    return tuple(spans.pooled_size(n, k, s, q, d, False) for n, k, s, q, d in
                 zip(size, kernel, stride, padding, dilation, strict=True))


def _check(kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> None:
    for name, values in (("kernel size", kernel), ("dilation", dilation), ("stride", stride)):
        if any(n <= 0 for n in values):
            raise RuntimeError(f"{name} should be greater than zero, but got {name}: "
                               f"{list(values)}")
    if any(n < 0 for n in padding):
        raise RuntimeError(f"padding should be non-negative, but got {list(padding)}")


def _patches(x: Any, kernel: Sizes, result: Sizes, dilation: Sizes, stride: Sizes) -> Any:
    """A padded image seen as (N, C, *kernel, *result)."""
    rank = len(kernel)
    steps = x.spec.strides
    own = steps[-rank:]
    return x.seen(((*x.spec.shape[:-rank], *kernel, *result),
                   (*steps[:-rank], *(s * d for s, d in zip(own, dilation, strict=True)),
                    *(s * t for s, t in zip(own, stride, strict=True))), 0))


def _columns(made: Any, lead: Sizes, kernel: Sizes, result: Sizes) -> Any:
    """(N, C * K, P) seen as (N, C, *kernel, *result)."""
    shape = (*lead, *kernel, *result)
    if tuple(made.spec.strides) == tuple(contiguous_strides(tuple(made.spec.shape))):
        return made.seen((shape, contiguous_strides(shape), 0))
    rank = len(kernel)
    *front, row, column = made.spec.strides
    inner = [row * s for s in contiguous_strides((lead[-1], *kernel))]
    return made.seen((shape, (*front, *inner, *(column * s for s in contiguous_strides(result))),
                      0)) if rank else made


def _im2col(p: Any, self: Any, kernel: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
            ) -> None:
    _check(kernel, dilation, padding, stride)
    shape, rank = tuple(self.spec.shape), len(kernel)
    if len(shape) not in (3, 4) or any(n == 0 for n in shape[-3:]):
        raise RuntimeError("Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and "
                           f"other non-zero dimensions for input, but got: {list(shape)}")
    result = _result(shape[-rank:], kernel, dilation, padding, stride)
    if any(n < 1 for n in result):
        raise RuntimeError(
            f"Given input with spatial size {shape[-rank:]}, kernel_size={kernel}, "
            f"dilation={dilation}, padding={padding}, calculated shape of the array of sliding "
            f"blocks as {result}, but its components must be at least one.")
    lead = shape[:-rank]
    made = p.result(spec(self.spec.dtype, (*lead[:-1], lead[-1] * math.prod(kernel),
                                           math.prod(result)), None, p.device))
    if made.spec.numel == 0:
        return
    extents = _extents(shape[-rank:], padding)
    x = spans.padded(p, self, padding, extents, 0)
    p.flat(lambda v: v, [_patches(x, kernel, result, dilation, stride)],
           [_columns(made, lead, kernel, result)])


def _extents(size: Sizes, padding: Sizes) -> Sizes:
    return tuple(n + 2 * q for n, q in zip(size, padding, strict=True))


def _col2im(p: Any, self: Any, output_size: Sizes, kernel: Sizes, dilation: Sizes,
            padding: Sizes, stride: Sizes) -> None:
    _check(kernel, dilation, padding, stride)
    shape, count = tuple(self.spec.shape), math.prod(kernel)
    if len(shape) not in (2, 3):
        raise RuntimeError("Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch "
                           f"size and non-zero dimensions for input, but got: {list(shape)}")
    if shape[-2] % count:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={shape[-2]} and kernel_size={_shown(kernel)}.")
    result = _result(output_size, kernel, dilation, padding, stride)
    blocks = math.prod(result)
    if shape[-1] != blocks or any(n < 1 for n in result):
        raise RuntimeError(
            f"Given output_size={_shown(output_size)}, kernel_size={_shown(kernel)}, "
            f"dilation={_shown(dilation)}, padding={_shown(padding)}, stride={_shown(stride)}, "
            "expected size of input's dimension 2 to match the calculated number of sliding "
            f"blocks {' * '.join(str(n) for n in result)} = {blocks}, but got "
            f"input.size(2)={shape[-1]}.")
    lead, dtype = (*shape[:-2], shape[-2] // count), self.spec.dtype
    made = p.result(spec(dtype, (*lead, *output_size), None, p.device))
    if made.spec.numel == 0:
        return
    total = spans.filled(p, (*lead, *_extents(output_size, padding)), compute_dtype(dtype), 0)
    into = _patches(total, kernel, result, dilation, stride)
    source = _columns(self, lead, kernel, result)
    for place in spans.positions(kernel):
        parts = [_at_kernel(ref, len(lead), place) for ref in (into, source)]
        p.flat(lambda old, v: old + _as(v, old), parts, [parts[0]])
    p.flat(lambda v: v, [spans.inside(total, padding, output_size)], [made])


def _as(value: Any, like: Any) -> Any:
    from ..loops.ir import cast

    return cast(value, like.dtype)


def _at_kernel(ref: Any, lead: int, place: Sizes) -> Any:
    """One kernel position of (*lead, *kernel, *result)."""
    shape, steps = tuple(ref.spec.shape), tuple(ref.spec.strides)
    rank = len(place)
    start = sum(a * s for a, s in zip(place, steps[lead:lead + rank], strict=True))
    return ref.seen(((*shape[:lead], *shape[lead + rank:]),
                     (*steps[:lead], *steps[lead + rank:]), start))


def _shown(values: Sizes) -> str:
    return f"({', '.join(str(n) for n in values)})"


rows("im2col_blocks(Tensor self, any kernel, any dilation, any padding, any stride) -> Tensor",
     _im2col, method=False, takes="bifc", node_name="Im2ColBackward0",
     backward={"self": lambda ops, grad, self_spec, kernel, dilation, padding, stride:
               ops.col2im_blocks(grad, tuple(self_spec.shape)[-len(kernel):], kernel, dilation,
                                 padding, stride)})
rows("col2im_blocks(Tensor self, any output_size, any kernel, any dilation, any padding, "
     "any stride) -> Tensor", _col2im, method=False, takes="bifc", node_name="Col2ImBackward0",
     backward={"self": lambda ops, grad, kernel, dilation, padding, stride: ops.im2col_blocks(
         grad, kernel, dilation, padding, stride)})


def _pair(value: Any) -> Sizes:
    return spans.numbers("im2col", "argument", value, 2)


composite("im2col(Tensor self, any kernel_size, any dilation, any padding, any stride) -> Tensor",
          lambda ops, self, kernel_size, dilation, padding, stride: ops.im2col_blocks(
              self, *(_pair(v) for v in (kernel_size, dilation, padding, stride))), method=False,
          doc="The sliding patches of (N, C, H, W) as columns.")
composite("col2im(Tensor self, any output_size, any kernel_size, any dilation, any padding, "
          "any stride) -> Tensor",
          lambda ops, self, output_size, kernel_size, dilation, padding, stride:
          ops.col2im_blocks(self, *(_pair(v) for v in (output_size, kernel_size, dilation,
                                                       padding, stride))), method=False,
          doc="Columns added up at their places in an image.")


# ---- shuffles --------------------------------------------------------------------------------

def _turned(ops: Any, self: Any, parts: Any, order: Sizes, shape: Sizes) -> Any:
    """self in parts, these in another order, joined to `shape`, in the format self suggests."""
    made = ops.permute(ops.reshape(self, parts), order)
    return ops.copy_like(made, shape, strides_in(shape, suggested(self._spec).name))


def _pixel_shuffle(ops: Any, self: Any, upscale_factor: int) -> Any:
    shape, r = tuple(self.shape), upscale_factor
    if len(shape) < 3:
        raise RuntimeError("pixel_shuffle expects input to have at least 3 dimensions, but got "
                           f"input with {len(shape)} dimension(s)")
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *lead, c, h, w = shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={c} is not divisible by {r * r}")
    n = len(lead)
    _check_rank(self)
    return _turned(ops, self, (*lead, c // (r * r), r, r, h, w),
                   (*range(n), n, n + 3, n + 1, n + 4, n + 2), (*lead, c // (r * r), h * r, w * r))


def _check_rank(self: Any) -> None:
    if suggested(self._spec) is channels_last_3d:
        raise RuntimeError("Unsupported memory format. Supports only ChannelsLast, Contiguous")


def _pixel_unshuffle(ops: Any, self: Any, downscale_factor: int) -> Any:
    shape, r = tuple(self.shape), downscale_factor
    if len(shape) < 3:
        raise RuntimeError("pixel_unshuffle expects input to have at least 3 dimensions, but got "
                           f"input with {len(shape)} dimension(s)")
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *lead, c, h, w = shape
    for label, size, at in (("height", h, -2), ("width", w, -1)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {label} to be divisible by downscale_factor, but "
                f"input.size({at})={size} is not divisible by {r}")
    n = len(lead)
    _check_rank(self)
    if not self.numel():  # PyTorch gives back its shape as well
        return ops.clone(self)
    return _turned(ops, self, (*lead, c, h // r, r, w // r, r),
                   (*range(n), n, n + 2, n + 4, n + 1, n + 3), (*lead, c * r * r, h // r, w // r))


def _channel_shuffle(ops: Any, self: Any, groups: int) -> Any:
    shape = tuple(self.shape)
    if len(shape) < 3:
        raise RuntimeError("channel_shuffle expects input with > 2 dims, but got input with sizes "
                           f"{list(shape)}")
    if groups <= 0:
        raise RuntimeError("Number of groups to divide channels in must be positive. Value of "
                           f"groups:{groups}")
    if shape[1] % groups:
        raise RuntimeError("Number of channels must be divisible by groups. Got "
                           f"{shape[1]} channels and {groups} groups.")
    return _turned(ops, self, (shape[0], groups, shape[1] // groups, *shape[2:]),
                   (0, 2, 1, *range(3, len(shape) + 1)), shape)


composite("pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", _pixel_shuffle,
          method=False, backward={"self": lambda ops, grad, upscale_factor: ops.pixel_unshuffle(
              grad, upscale_factor)},
          doc="Channels moved into space: (C r², H, W) as (C, H r, W r).")
composite("pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", _pixel_unshuffle,
          method=False, backward={"self": lambda ops, grad, downscale_factor: ops.pixel_shuffle(
              grad, downscale_factor) if grad.numel() else ops.clone(grad)},
          doc="Space moved into channels: (C, H r, W r) as (C r², H, W).")
for _name in ("channel_shuffle", "native_channel_shuffle"):
    composite(f"{_name}(Tensor self, int groups) -> Tensor", _channel_shuffle, method=False,
              backward={"self": lambda ops, grad, groups: ops.channel_shuffle(
                  grad, grad.shape[1] // groups) if grad.numel() else ops.clone(grad)},
              doc="The channels of all groups interleaved.")
