"""Pooling: defaults, `return_indices`, and the pools made of other pools."""

from __future__ import annotations

import math

from ... import functional as ops
from ..._tensor import Tensor
from ...core.dtypes import SCALAR_NAMES, int64
from ...dispatch.autocast import widening
from ...operators.argument_types import check_tensors
from ..modules._names import to_tuple


def _max_pool(rank: int):
    plain, with_indices = f"max_pool{rank}d", f"max_pool{rank}d_with_indices"

    def max_pool(
        input: Tensor,
        kernel_size,
        stride=None,
        padding=0,
        dilation=1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ):
        name = with_indices if return_indices else plain
        return getattr(ops, name)(input, kernel_size, stride, padding, dilation, ceil_mode)

    max_pool.__name__ = max_pool.__qualname__ = plain
    max_pool.__doc__ = f"""The maximum of every window of the last {rank} dimension(s).

    `stride` defaults to `kernel_size`; with `return_indices` the result is a pair, the second
    entry being the flat position of each maximum in its channel.
    """

    def max_pool_with_indices(
        input: Tensor,
        kernel_size,
        stride=None,
        padding=0,
        dilation=1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ):
        return max_pool(input, kernel_size, stride, padding, dilation, ceil_mode, True)

    max_pool_with_indices.__name__ = max_pool_with_indices.__qualname__ = with_indices
    max_pool_with_indices.__doc__ = f"`{plain}` with `return_indices=True`."
    return max_pool, max_pool_with_indices


max_pool1d, max_pool1d_with_indices = _max_pool(1)
max_pool2d, max_pool2d_with_indices = _max_pool(2)
max_pool3d, max_pool3d_with_indices = _max_pool(3)


def _full_size(output_size, input: Tensor, rank: int):
    """`output_size` as `rank` numbers, with None standing for the size of the input."""
    if isinstance(output_size, int):
        return (output_size,) * rank
    if rank > 1 and input.dim() <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    if len(output_size) != rank or input.dim() < rank:
        raise RuntimeError(
            f"adaptive pooling: output_size must be one number or {rank}, got {output_size} for "
            f"an input of shape {list(input.shape)}"
        )
    spatial = input.shape[-rank:]
    return tuple(s if o is None else o for o, s in zip(output_size, spatial, strict=True))


def _adaptive_max_pool(rank: int):
    name = f"adaptive_max_pool{rank}d"

    def adaptive_max_pool(input: Tensor, output_size, return_indices: bool = False):
        pooled = getattr(ops, name)(input, _full_size(output_size, input, rank))
        return pooled if return_indices else pooled[0]

    adaptive_max_pool.__name__ = adaptive_max_pool.__qualname__ = name
    adaptive_max_pool.__doc__ = (
        f"The maxima of windows chosen so that the last {rank} dimension(s) get `output_size`."
    )

    def adaptive_max_pool_with_indices(input: Tensor, output_size, return_indices: bool = False):
        return adaptive_max_pool(input, output_size, True)

    full_name = f"{name}_with_indices"
    adaptive_max_pool_with_indices.__name__ = full_name
    adaptive_max_pool_with_indices.__qualname__ = full_name
    adaptive_max_pool_with_indices.__doc__ = f"`{name}` with `return_indices=True`."
    return adaptive_max_pool, adaptive_max_pool_with_indices


adaptive_max_pool1d, adaptive_max_pool1d_with_indices = _adaptive_max_pool(1)
adaptive_max_pool2d, adaptive_max_pool2d_with_indices = _adaptive_max_pool(2)
adaptive_max_pool3d, adaptive_max_pool3d_with_indices = _adaptive_max_pool(3)


def _fractional_max_pool(rank: int):
    name = f"fractional_max_pool{rank}d"

    def with_indices(
        input: Tensor,
        kernel_size,
        output_size=None,
        output_ratio=None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ):
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
        if output_size is None:
            if len(output_ratio) != rank:
                raise ValueError(f"{name} requires output_ratio to be {rank} numbers")
            output_size = [int(input.size(d - rank) * output_ratio[d]) for d in range(rank)]
        if _random_samples is None:
            images = input.size(0) if input.dim() == rank + 2 else 1
            _random_samples = ops.rand(
                images, input.size(-rank - 1), rank, dtype=input.dtype, device=input.device
            )
        return getattr(ops, name)(input, kernel_size, output_size, _random_samples)

    def fractional_max_pool(
        input: Tensor,
        kernel_size,
        output_size=None,
        output_ratio=None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ):
        pooled = with_indices(input, kernel_size, output_size, output_ratio, True, _random_samples)
        return pooled if return_indices else pooled[0]

    fractional_max_pool.__name__ = fractional_max_pool.__qualname__ = name
    fractional_max_pool.__doc__ = f"""The maxima of windows at random places (Graham, 2014).

    The last {rank} dimensions get `output_size`, or their sizes times `output_ratio`; all windows
    have the shape `kernel_size` and overlap where they must. `_random_samples`, (N, C, {rank}) in
    [0, 1), chooses the places; without it they are drawn.
    """
    with_indices.__name__ = with_indices.__qualname__ = f"{name}_with_indices"
    with_indices.__doc__ = f"`{name}` with `return_indices=True`."
    return fractional_max_pool, with_indices


fractional_max_pool2d, fractional_max_pool2d_with_indices = _fractional_max_pool(2)
fractional_max_pool3d, fractional_max_pool3d_with_indices = _fractional_max_pool(3)


def adaptive_avg_pool1d(input: Tensor, output_size) -> Tensor:
    """The means of windows chosen so that the last dimension gets `output_size`."""
    return ops.adaptive_avg_pool1d(input, _full_size(output_size, input, 1))


def adaptive_avg_pool2d(input: Tensor, output_size) -> Tensor:
    """The means of windows chosen so that the last 2 dimensions get `output_size`."""
    return ops.adaptive_avg_pool2d(input, _full_size(output_size, input, 2))


def adaptive_avg_pool3d(input: Tensor, output_size) -> Tensor:
    """The means of windows chosen so that the last 3 dimensions get `output_size`."""
    return ops.adaptive_avg_pool3d(input, _full_size(output_size, input, 3))


def _lp_pool(rank: int, input, norm_type, kernel_size, stride, ceil_mode) -> Tensor:
    largest = (max_pool1d, max_pool2d, max_pool3d)[rank - 1]
    if norm_type == math.inf:
        return largest(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    if norm_type == -math.inf:
        return -largest(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    average = getattr(ops, f"avg_pool{rank}d")
    stride = kernel_size if stride is None else stride
    means = average(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    count = math.prod(to_tuple(kernel_size, rank))
    return (means.sign() * ops.relu(means.abs())).mul(count).pow(1.0 / norm_type)


def lp_pool1d(input: Tensor, norm_type, kernel_size, stride=None, ceil_mode=False) -> Tensor:
    """The `norm_type`-norm of every window of the last dimension."""
    return _lp_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input: Tensor, norm_type, kernel_size, stride=None, ceil_mode=False) -> Tensor:
    """The `norm_type`-norm of every window of the last 2 dimensions."""
    return _lp_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input: Tensor, norm_type, kernel_size, stride=None, ceil_mode=False) -> Tensor:
    """The `norm_type`-norm of every window of the last 3 dimensions."""
    return _lp_pool(3, input, norm_type, kernel_size, stride, ceil_mode)


def _unpool_size(input: Tensor, kernel, stride, padding, output_size) -> list[int]:
    rank = len(kernel)
    default = [
        (size - 1) * stride[d] + kernel[d] - 2 * padding[d]
        for d, size in enumerate(input.shape[-rank:])
    ]
    if output_size is None:
        return default
    wanted = list(output_size)
    if len(wanted) == rank + 2:
        wanted = wanted[2:]
    if len(wanted) != rank:
        raise ValueError(
            f"output_size should be a sequence containing {rank} or {rank + 2} elements, but it "
            f"has a length of '{len(wanted)}'"
        )
    for d in range(rank):
        low, high = default[d] - stride[d], default[d] + stride[d]
        if not low < wanted[d] < high:
            raise ValueError(
                f'invalid output_size "{wanted}" (dim {d} must be between {low} and {high})'
            )
    return wanted


def _check_unpool(rank: int, input: Tensor, indices: Tensor, stride) -> None:
    """What PyTorch wants of the maxima and their places; it says "2d" of one dimension too."""
    shown, ones = max(rank, 2), [1] * (rank == 1)
    shape, places = [*input.shape, *ones], [*indices.shape, *ones]
    if rank == 3 and min(stride) <= 0:
        raise RuntimeError(f"strides should be greater than zero, but got stride: {list(stride)}")
    if indices.dtype is not int64:
        raise RuntimeError("elements in indices should be type int64 but got: "
                           f"{SCALAR_NAMES[indices.dtype]}")
    if len(shape) not in (shown + 1, shown + 2):
        raise RuntimeError(
            f"Input to max_unpooling{shown}d should be a {shown + 1}d or {shown + 2}d Tensor, but "
            f"got a tensor with {len(shape)} dimensions.")
    if shape != places:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({shape}) but got "
            f"indices tensor with shape: {places}")
    if 0 in shape[1:]:
        raise RuntimeError(
            f"max_unpooling{shown}d_forward_out_cpu(): Expected input to have non-zero size for "
            f"non-batch dimensions, but got {shape} with dimension {shape.index(0, 1)} being "
            "empty.")
    if not input.dtype.is_floating_point:
        raise NotImplementedError(
            f"\"max_unpool{shown}d\" not implemented for '{SCALAR_NAMES[input.dtype]}'")


@widening
def _max_unpool(rank: int, input, indices, kernel_size, stride, padding, output_size) -> Tensor:
    check_tensors(f"max_unpool{rank}d", input=input, indices=indices)
    kernel = to_tuple(kernel_size, rank)
    stride = kernel if stride is None else to_tuple(stride, rank)
    size = _unpool_size(input, kernel, stride, to_tuple(padding, rank), output_size)
    _check_unpool(rank, input, indices, stride)
    # A scatter of the values to their flat positions, which are unique within a channel.
    lead = input.shape[:-rank]
    empty = input.new_zeros((*lead, math.prod(size)))
    filled = empty.scatter(-1, indices.flatten(-rank), input.flatten(-rank))
    return filled.reshape((*lead, *size))


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Tensor:
    """Maxima back at their places, zeros elsewhere: the partial inverse of `max_pool1d`."""
    return _max_unpool(1, input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Tensor:
    """Maxima back at their places, zeros elsewhere: the partial inverse of `max_pool2d`."""
    return _max_unpool(2, input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None) -> Tensor:
    """Maxima back at their places, zeros elsewhere: the partial inverse of `max_pool3d`."""
    return _max_unpool(3, input, indices, kernel_size, stride, padding, output_size)
