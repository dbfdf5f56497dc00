"""Fill tensors in place with initial values.

Every function returns its tensor, records nothing for autograd, and draws from the generator in
the order PyTorch does, so that equal seeds give equal weights.

>>> import yesca as torch
>>> torch.nn.init.constant_(torch.empty(2), 0.5)
tensor([0.5000, 0.5000])
"""

from __future__ import annotations

import functools
import math

from ..base.frames import warn
from .. import functional as ops
from .._tensor import Tensor
from ..autograd.modes import no_grad
from ..dispatch.protocol import overridable

__all__ = [
    "calculate_gain",
    "uniform_",
    "normal_",
    "trunc_normal_",
    "constant_",
    "ones_",
    "zeros_",
    "eye_",
    "dirac_",
    "xavier_uniform_",
    "xavier_normal_",
    "kaiming_uniform_",
    "kaiming_normal_",
    "orthogonal_",
    "sparse_",
    "uniform",
    "normal",
    "constant",
    "eye",
    "dirac",
    "xavier_uniform",
    "xavier_normal",
    "kaiming_uniform",
    "kaiming_normal",
    "orthogonal",
    "sparse",
]

_GAIN_ONE = (
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
)


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which weights before `nonlinearity` are scaled to keep the variance.

    `param` is the negative slope where `nonlinearity` is `"leaky_relu"`.
    """
    if nonlinearity in _GAIN_ONE:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


@no_grad()
def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator=None) -> Tensor:
    """Draw from the uniform distribution over [a, b)."""
    return tensor.uniform_(a, b, generator=generator)


@no_grad()
def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator=None) -> Tensor:
    """Draw from the normal distribution."""
    return tensor.normal_(mean, std, generator=generator)


@no_grad()
def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator=None,
) -> Tensor:
    """Draw from the normal distribution, with values outside [a, b] drawn again."""
    if tensor.is_meta:
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect.",
        )
    accepted = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    if accepted > 0.3:
        _truncate_by_redrawing(tensor, mean, std, a, b, generator)
    else:
        _truncate_by_rejection(tensor, mean, std, a, b, generator)
    return tensor


def _normal_cdf(x: float) -> float:
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _truncate_by_redrawing(tensor, mean, std, a, b, generator) -> None:
    """Draw normals for the whole tensor again until every entry has had one inside."""
    low = tensor.new_tensor(a, device="cpu").item()  # the bounds as the dtype rounds them
    high = tensor.new_tensor(b, device="cpu").item()
    values = tensor.normal_(mean, std, generator=generator)
    outside = (values < low) | (values > high)
    while outside.any():
        redrawn = ops.empty_like(values).normal_(mean, std, generator=generator)
        values = ops.where(outside, redrawn, values)
        outside = (values < low) | (values > high)
    if values is not tensor:
        tensor.copy_(values)


def _truncate_by_rejection(tensor, mean, std, a, b, generator) -> None:
    """Where few normals fall inside: uniform candidates, kept in proportion to the density."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    uniform = ops.empty_like(tensor)
    candidates = ops.empty_like(tensor)

    def rejected(values: Tensor) -> Tensor:
        log_density = values.clone().sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        return uniform.uniform_(generator=generator).log_().gt(log_density)

    values = tensor.uniform_(a, b, generator=generator)
    pending = rejected(values)
    while pending.any():
        candidates.uniform_(a, b, generator=generator)
        values = ops.where(pending, candidates, values)
        pending = pending & rejected(candidates)
    if values is not tensor:
        tensor.copy_(values)


@no_grad()
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with `val`."""
    return tensor.fill_(val)


@no_grad()
def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1."""
    return tensor.fill_(1.0)


@no_grad()
def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0."""
    return tensor.zero_()


@no_grad()
def eye_(tensor: Tensor) -> Tensor:
    """Make the matrix `tensor` an identity: ones on the diagonal, zeros elsewhere."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    tensor.zero_()
    tensor.diagonal().fill_(1)
    return tensor


@no_grad()
def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Make the convolution weight `tensor` (3 to 5 dimensions) pass its channels through."""
    if tensor.ndimension() not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    if tensor.is_meta:
        return tensor
    per_group = sizes[0] // groups
    centre = tuple(size // 2 for size in sizes[2:])
    tensor.zero_()
    for group in range(groups):
        for channel in range(min(per_group, sizes[1])):
            tensor[(group * per_group + channel, channel, *centre)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs one output reads, and how many outputs one input feeds."""
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    receptive_field = math.prod(tensor.shape[2:])
    return tensor.size(1) * receptive_field, tensor.size(0) * receptive_field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ["fan_in", "fan_out"]
    mode = mode.lower()
    if mode not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {modes}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode)]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator=None) -> Tensor:
    """Glorot's uniform start: variance `gain**2 * 2 / (fan_in + fan_out)`."""
    bound = math.sqrt(3.0) * _xavier_deviation(tensor, gain)
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator=None) -> Tensor:
    """Glorot's normal start: variance `gain**2 * 2 / (fan_in + fan_out)`."""
    return normal_(tensor, 0.0, _xavier_deviation(tensor, gain), generator)


def _xavier_deviation(tensor: Tensor, gain: float) -> float:
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return gain * math.sqrt(2.0 / float(fan_in + fan_out))


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator=None,
) -> Tensor:
    """He's uniform start: variance `gain**2 / fan`; `a` is the slope of a leaky ReLU."""
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_deviation(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator=None,
) -> Tensor:
    """He's normal start: variance `gain**2 / fan`; `a` is the slope of a leaky ReLU."""
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0, _kaiming_deviation(tensor, a, mode, nonlinearity), generator)


def _is_empty(tensor: Tensor) -> bool:
    if 0 not in tensor.shape:
        return False
    warn("Initializing zero-element tensors is a no-op")
    return True


def _kaiming_deviation(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


@no_grad()
def orthogonal_(tensor: Tensor, gain: float = 1, generator=None) -> Tensor:
    """Make the rows (or columns, whichever are fewer) orthonormal, times `gain`.

    Dimensions after the first count as one.
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator)
    wide = rows < columns
    q, r = _qr(drawn.t() if wide else drawn)
    q = q * ops.diagonal(r, 0).sign()  # the choice of signs that makes q uniformly distributed
    tensor.copy_((q.t() if wide else q).reshape(tensor.shape))
    return tensor.mul_(gain)


def _qr(matrix: Tensor):
    from .. import linalg

    return linalg.qr(matrix)


@no_grad()
def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator=None) -> Tensor:
    """Normal values, with the fraction `sparsity` of every column set to zero."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    tensor.normal_(0, std, generator=generator)
    for column in range(columns):
        # The default generator, as in PyTorch, whatever `generator` is.
        tensor[ops.randperm(rows)[:zeros], column] = 0
    return tensor


def _deprecated(function):
    """The name without the underscore, kept for old programs."""
    new_name = function.__name__
    old_name = new_name[:-1]

    @functools.wraps(function)
    def call(*args, **kwargs):
        warn(
            f"`nn.init.{old_name}` is now deprecated in favor of `nn.init.{new_name}`.",
            FutureWarning,
        )
        return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = old_name
    call.__doc__ = f"Deprecated name of `{new_name}`."
    return call


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)

for _function in (uniform_, normal_, constant_, kaiming_uniform_):  # as in PyTorch, no others
    overridable(_function)
del _function
