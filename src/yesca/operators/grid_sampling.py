"""Values of an image at places that a grid gives: grid_sample, and grids of affine maps.

A place in [-1, 1] becomes a coordinate in elements; around it a few *taps* per dimension, each a
place and a weight, are gathered and summed. The tape keeps image and grid alone: backward finds
the taps again.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

from ..base.frames import warn
from ..core.dtypes import int64
from ..core.views import has_dim
from .kinds import composite

MODES = ("bilinear", "nearest", "bicubic")
PADDINGS = ("zeros", "border", "reflection")
_CUBIC = -0.75  # the free parameter of the cubic


def _check(self: Any, grid: Any, mode: str, padding: str) -> None:
    shape, places = tuple(self.shape), tuple(grid.shape)
    if mode not in MODES:
        raise ValueError("nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' "
                         f"or 'bicubic', but got: '{mode}'")
    if padding not in PADDINGS:
        raise ValueError("nn.functional.grid_sample(): expected padding_mode to be 'zeros', "
                         f"'border', or 'reflection', but got: '{padding}'")
    has_dim(0, min(len(shape), len(places)))
    if len(shape) not in (4, 5) or len(places) != len(shape):
        raise RuntimeError("grid_sampler(): expected 4D or 5D input and grid with same number of "
                           f"dimensions, but got input with sizes {list(shape)} and grid with "
                           f"sizes {list(places)}")
    if shape[0] != places[0]:
        raise RuntimeError("grid_sampler(): expected grid and input to have same batch size, but "
                           f"got input with sizes {list(shape)} and grid with sizes "
                           f"{list(places)}")
    if places[-1] != len(shape) - 2:
        raise RuntimeError(f"grid_sampler(): expected grid to have size {len(shape) - 2} in last "
                           f"dimension, but got grid with sizes {list(places)}")
    if any(n == 0 for n in shape[2:]):
        raise RuntimeError("grid_sampler(): expected input to have non-empty spatial dimensions, "
                           f"but input has sizes {list(shape)}")
    if mode == "bicubic" and len(shape) == 5:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if self.dtype is not grid.dtype:
        raise RuntimeError(f"expected scalar type of grid to be that of input, {self.dtype}, but "
                           f"found {grid.dtype}")


def _coordinate(ops: Any, place: Any, size: int, corners: bool) -> Any:
    """From [-1, 1] to elements: the ends are centres of corner elements, or their outer sides."""
    if corners:
        return ops.mul(ops.add(place, 1), (size - 1) / 2)
    return ops.div(ops.sub(ops.mul(ops.add(place, 1), size), 1), 2)


def _ends(size: int, corners: bool) -> tuple[float, float]:
    """Where reflection begins, and how far it is to its other end."""
    return (0.0, float(size - 1)) if corners else (-0.5, float(size))


def _padded(ops: Any, x: Any, size: int, padding: str, corners: bool) -> Any:
    """Coordinates outside brought to the border, or reflected at it."""
    if padding == "zeros":
        return x
    if padding == "reflection":
        low, span = _ends(size, corners)
        if span == 0:
            return ops.zeros_like(x)
        apart = ops.abs(ops.sub(x, low))
        part = ops.fmod(apart, span)
        x = ops.add(ops.select_where(_odd(ops, apart, span), ops.rsub(part, span), part), low)
    return ops.clamp(x, 0, size - 1)


def _odd(ops: Any, apart: Any, span: float) -> Any:
    """Whether a distance is an odd number of whole spans, and a part of one."""
    return ops.ne(ops.remainder(ops.floor(ops.div(apart.detach(), span)), 2), 0)


def _speed(ops: Any, place: Any, size: int, mode: str, padding: str, corners: bool) -> Any:
    """How fast the coordinate that weights depend on moves with the place: a number or tensor."""
    speed: Any = (size - 1 if corners else size) / 2
    if mode == "bicubic" or padding == "zeros":
        return speed
    x = _coordinate(ops, place.detach(), size, corners)
    if padding == "reflection":
        low, span = _ends(size, corners)
        if span == 0:
            return 0.0
        apart = ops.abs(ops.sub(x, low))
        back = ops.ne(ops.lt(x, low), _odd(ops, apart, span))
        speed = ops.mul(ops.where(back, -1.0, 1.0), speed)
        x = _padded(ops, x, size, padding, corners)
    within = ops.logical_and(ops.gt(x, 0), ops.lt(x, size - 1))
    return ops.mul(ops.to_dtype(within, x.dtype), speed)


def _taps(ops: Any, place: Any, size: int, mode: str, padding: str, corners: bool
          ) -> list[tuple[Any, Any]]:
    """(coordinate of an element, weight) for each tap along one dimension."""
    x = _coordinate(ops, place, size, corners)
    if mode != "bicubic":
        x = _padded(ops, x, size, padding, corners)
    if mode == "nearest":
        return [(ops.round(x.detach()), None)]
    first = ops.floor(x.detach())
    part = ops.sub(x, first)
    if mode == "bilinear":
        return [(first, ops.rsub(part, 1)), (ops.add(first, 1), part)]
    taps = []
    for k, distance in enumerate(_distances(ops, part)):
        weight = _near(ops, distance) if k in (1, 2) else _far(ops, distance)
        taps.append((_padded(ops, ops.add(first, k - 1), size, padding, corners), weight))
    return taps


def _distances(ops: Any, part: Any) -> tuple[Any, ...]:
    """From the four taps of the cubic to the place, `part` beyond the second of them."""
    return ops.add(part, 1), part, ops.rsub(part, 1), ops.rsub(part, 2)


def _near(ops: Any, x: Any) -> Any:
    """Keys' cubic at a distance of at most 1."""
    inner = ops.sub(ops.mul(x, _CUBIC + 2), _CUBIC + 3)
    return ops.add(ops.mul(ops.mul(inner, x), x), 1)


def _far(ops: Any, x: Any) -> Any:
    """Keys' cubic at a distance from 1 to 2."""
    inner = ops.add(ops.mul(ops.sub(ops.mul(x, _CUBIC), 5 * _CUBIC), x), 8 * _CUBIC)
    return ops.sub(ops.mul(inner, x), 4 * _CUBIC)


def _slopes(ops: Any, place: Any, size: int, mode: str, padding: str, corners: bool) -> list[Any]:
    """The derivatives of the taps' weights by the place."""
    speed = _speed(ops, place, size, mode, padding, corners)
    if mode == "bilinear":
        speed = ops.expand(speed, tuple(place.shape)) if not isinstance(speed, float) else \
            ops.full_like(place, speed)
        return [ops.neg(speed), speed]
    x = _coordinate(ops, place, size, corners)
    made = []
    for k, distance in enumerate(_distances(ops, ops.sub(x, ops.floor(x.detach())))):
        if k in (1, 2):
            slope = ops.sub(ops.mul(distance, 3 * (_CUBIC + 2)), 2 * (_CUBIC + 3))
            slope = ops.mul(slope, distance)
        else:
            slope = ops.add(ops.mul(ops.sub(ops.mul(distance, 3 * _CUBIC), 10 * _CUBIC), distance),
                            8 * _CUBIC)
        made.append(ops.mul(slope, speed if k < 2 else -speed))  # distances to taps ahead shrink
    return made


def _along(ops: Any, grid: Any, d: int, rank: int) -> Any:
    """The places along dimension d; the grid names the last one first."""
    return ops.select(grid, -1, rank - 1 - d)


def _grid_sampler(ops: Any, self: Any, grid: Any, interpolation_mode: int, padding_mode: int,
                  align_corners: bool) -> Any:
    mode, padding = MODES[interpolation_mode], PADDINGS[padding_mode]
    _check(self, grid, mode, padding)
    batch, channels, *sizes = self.shape
    shape = tuple(grid.shape[1:-1])
    if 0 in (batch, channels, *shape):
        nothing = ops.mul(ops.sum(grid), ops.narrow(ops.reshape(self, (-1,)), 0, 0, 0))
        return ops.reshape(nothing, (batch, channels, *shape))
    each = [_taps(ops, _along(ops, grid, d, len(sizes)), size, mode, padding, align_corners)
            for d, size in enumerate(sizes)]
    flat = ops.reshape(self, (batch, channels, -1))
    total = None
    for chosen in itertools.product(*each):
        index, inside = _places(ops, [place for place, _ in chosen], sizes, channels)
        value = ops.select_where(inside, ops.gather(flat, 2, index), 0.0)
        value = _weighted(ops, value, [weight for _, weight in chosen])
        total = value if total is None else ops.add(total, value)
    return ops.reshape(total, (batch, channels, *shape))


def _weighted(ops: Any, value: Any, weights: list[Any]) -> Any:
    """(batch, channels, places) times weights of (batch, ...): those of all dimensions."""
    for weight in weights:
        if weight is not None:
            value = ops.mul(value, ops.reshape(weight, (weight.shape[0], 1, -1)))
    return value


def _places(ops: Any, places: list[Any], sizes: list[int], channels: int) -> tuple[Any, Any]:
    """Of elements at these coordinates: their number in the image, for each channel (batch,
    channels, places), and whether there is one (batch, 1, places)."""
    index, inside = None, None
    for place, size in zip(places, sizes, strict=True):
        valid = ops.logical_and(ops.ge(place, 0), ops.le(place, size - 1))
        inside = valid if inside is None else ops.logical_and(inside, valid)
        whole = ops.to_dtype(ops.clamp(ops.select_where(valid, place, 0.0), 0, size - 1), int64)
        index = whole if index is None else ops.add(ops.mul(index, size), whole)
    batch = places[0].shape[0]
    index = ops.expand(ops.reshape(index, (batch, 1, -1)), (batch, channels, -1))
    return index, ops.reshape(inside, (batch, 1, -1))


def _grid_sampler_back(ops: Any, grad: Any, self: Any, grid: Any, interpolation_mode: int,
                       padding_mode: int, align_corners: bool, needs: tuple[bool, bool]) -> Any:
    """Weights and elements are found once more; each tap's share of the gradient is added up."""
    mode, padding = MODES[interpolation_mode], PADDINGS[padding_mode]
    batch, channels, *sizes = self.shape
    rank = len(sizes)
    image = ops.zeros((batch, channels, math.prod(sizes)), dtype=self.dtype, device=self.device)
    parts: list[Any] = [None] * rank
    if grad.numel():
        settings = (mode, padding, align_corners)
        along = [(_along(ops, grid, d, rank), size) for d, size in enumerate(sizes)]
        each = [_taps(ops, *one, *settings) for one in along]
        slopes = [_slopes(ops, *one, *settings) for one in along] \
            if needs[1] and mode != "nearest" else []
        flat, grad = (ops.reshape(t, (batch, channels, -1)) for t in (self, grad))
        for which in itertools.product(*(range(len(taps)) for taps in each)):
            chosen = [taps[k] for taps, k in zip(each, which, strict=True)]
            weights = [weight for _, weight in chosen]
            index, inside = _places(ops, [place for place, _ in chosen], sizes, channels)
            if needs[0]:
                share = ops.select_where(inside, _weighted(ops, grad, weights), 0.0)
                image = ops.scatter_add(image, 2, index, share)
            if slopes:
                value = ops.select_where(inside, ops.gather(flat, 2, index), 0.0)
                pull = ops.sum(ops.mul(grad, value), (1,), True)  # (batch, 1, places)
                for d, k in enumerate(which):
                    moved = _weighted(ops, pull, [*weights[:d], slopes[d][k], *weights[d + 1:]])
                    parts[d] = moved if parts[d] is None else ops.add(parts[d], moved)
    if parts[0] is None:
        return ops.reshape(image, tuple(self.shape)), ops.zeros_like(grid)
    made = ops.stack([ops.reshape(part, tuple(grid.shape[:-1])) for part in reversed(parts)], -1)
    return ops.reshape(image, tuple(self.shape)), made


composite("grid_sampler(Tensor self, Tensor grid, int interpolation_mode, int padding_mode, "
          "bool align_corners) -> Tensor", _grid_sampler, method=False, autocast="float32",
          aliases=("grid_sampler_2d", "grid_sampler_3d"),
          backward={("self", "grid"): _grid_sampler_back},
          node_name=lambda plan: f"GridSampler{plan.results[0].ndim - 2}DBackward0",
          samples=lambda make: [
              (make(1, 2, 3, 4), make(1, 3, 2, 2, low=-0.9, high=0.9), 0, 0, False)],
          doc="grid_sample with numbers for the modes.")


def _grid_sample(ops: Any, self: Any, grid: Any, mode: str, padding_mode: str,
                 align_corners: bool | None) -> Any:
    _check(self, grid, mode, padding_mode)
    if align_corners is None:
        warn("Default grid_sample and affine_grid behavior has changed to "
             "align_corners=False since 1.3.0. Please specify align_corners=True if the "
             "old behavior is desired. See the documentation of grid_sample for details.")
    return ops.grid_sampler(self, grid, MODES.index(mode), PADDINGS.index(padding_mode),
                            bool(align_corners))


composite("grid_sample(Tensor self, Tensor grid, any mode='bilinear', any padding_mode='zeros', "
          "bool? align_corners=None) -> Tensor", _grid_sample, method=False, autocast="float32",
          samples=lambda make: [
              (make(2, 2, 3, 4), make(2, 3, 2, 2, low=-1.4, high=1.4), "bilinear", "zeros", True),
              (make(1, 2, 3, 4), make(1, 2, 2, 2, low=-1.4, high=1.4), "bicubic", "border", False),
              (make(1, 1, 2, 3, 2), make(1, 2, 1, 2, 3), "bilinear", "reflection", False)],
          doc="self (N, C, H, W) or (N, C, D, H, W) at the places of grid (N, ..., 2 or 3), which "
              "name the last dimension first, in [-1, 1].")


# ---- grids -----------------------------------------------------------------------------------

def _affine_grid(ops: Any, theta: Any, size: Any, align_corners: bool | None) -> Any:
    if align_corners is None:
        warn("Default grid_sample and affine_grid behavior has changed to "
             "align_corners=False since 1.3.0. Please specify align_corners=True if the "
             "old behavior is desired. See the documentation of grid_sample for details.")
    if not theta.dtype.is_floating_point:
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    batch, _, *sizes = size
    rank = len(sizes)
    if rank not in (2, 3):
        raise NotImplementedError("affine_grid only supports 4D and 5D sizes, for 2D and 3D "
                                  f"affine transforms, respectively. Got size {tuple(size)}.")
    if theta.dim() != 3 or tuple(theta.shape[-2:]) != (rank, rank + 1):
        raise ValueError(f"Expected a batch of {rank}D affine matrices of shape Nx{rank}x"
                         f"{rank + 1} for size {tuple(size)}. Got {tuple(theta.shape)}.")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {tuple(size)}")
    return ops.affine_grid_generator(theta, size, bool(align_corners))


def _identity(ops: Any, like: Any, sizes: list[int], corners: bool) -> Any:
    """The places of an image of these sizes, and a one: (1, places, rank + 1)."""
    rank, columns = len(sizes), []
    for d in range(rank - 1, -1, -1):  # the last dimension first
        n = sizes[d]
        line = ops.linspace(-1, 1, n, dtype=like.dtype, device=like.device) if n > 1 \
            else ops.zeros((n,), dtype=like.dtype, device=like.device)
        if n > 1 and not corners:
            line = ops.mul(line, (n - 1) / n)
        line = ops.reshape(line, tuple(n if k == d else 1 for k in range(rank)))
        columns.append(ops.expand(line, tuple(sizes)))
    columns.append(ops.ones(tuple(sizes), dtype=like.dtype, device=like.device))
    return ops.reshape(ops.stack(columns, -1), (1, math.prod(sizes), rank + 1))


def _affine_grid_generator(ops: Any, theta: Any, size: Any, align_corners: bool) -> Any:
    batch, _, *sizes = size
    if len(sizes) not in (2, 3):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) inputs.")
    base = _identity(ops, theta, sizes, align_corners)
    made = ops.bmm(ops.expand(base, (batch, -1, -1)), ops.transpose(theta, 1, 2))
    return ops.reshape(made, (batch, *sizes, len(sizes)))


def _affine_grid_back(ops: Any, grad: Any, theta_spec: Any, size: Any, align_corners: bool) -> Any:
    batch, _, *sizes = size
    base = _identity(ops, theta_spec, sizes, align_corners)
    grad = ops.reshape(grad, (batch, math.prod(sizes), len(sizes)))
    return ops.bmm(ops.transpose(grad, 1, 2), ops.expand(base, (batch, -1, -1)))


def _map_sample(make: Any, *shape: int) -> Any:
    return make(*shape, dtype=make.dtype if "float" in make.dtype else "float32")


composite("affine_grid(Tensor theta, int[] size, bool? align_corners=None) -> Tensor",
          _affine_grid, method=False, samples=lambda make: [
              (_map_sample(make, 2, 2, 3), (2, 1, 3, 4), True),
              (_map_sample(make, 1, 3, 4), (1, 2, 2, 1, 3), False)],
          doc="The grid (N, H, W, 2) or (N, D, H, W, 3) that grid_sample takes, of affine maps "
              "theta (N, 2, 3) or (N, 3, 4) on images of a size (N, C, [D,] H, W).")
composite("affine_grid_generator(Tensor theta, int[] size, bool align_corners) -> Tensor",
          _affine_grid_generator, method=False, backward={"theta": _affine_grid_back},
          samples=lambda make: [(_map_sample(make, 1, 2, 3), (1, 1, 2, 2), True)],
          doc="affine_grid under its operator's name.")
