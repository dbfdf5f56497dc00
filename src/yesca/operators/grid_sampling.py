"""Values of an image at places that a grid gives: grid_sample, and grids of affine maps.

A place in [-1, 1] becomes a coordinate in elements; around it a few *taps* per dimension, each a
place and a weight, are gathered and summed. Gradients go through the operators it is made of.
"""

from __future__ import annotations

import itertools
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


def _padded(ops: Any, x: Any, size: int, padding: str, corners: bool) -> Any:
    """Coordinates outside brought to the border, or reflected at it."""
    if padding == "zeros":
        return x
    if padding == "reflection":
        low, span = (0.0, float(size - 1)) if corners else (-0.5, float(size))
        if span == 0:
            return ops.zeros_like(x)
        apart = ops.abs(ops.sub(x, low))
        part = ops.fmod(apart, span)
        turns = ops.floor(ops.div(apart.detach(), span))
        odd = ops.ne(ops.remainder(turns, 2), 0)
        x = ops.add(ops.select_where(odd, ops.rsub(part, span),
                                     part), low)
    return ops.clamp(x, 0, size - 1)


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
    for k, distance in enumerate((ops.add(part, 1), part, ops.rsub(part, 1), ops.rsub(part, 2))):
        weight = _near(ops, distance) if k in (1, 2) else _far(ops, distance)
        taps.append((_padded(ops, ops.add(first, k - 1), size, padding, corners), weight))
    return taps


def _near(ops: Any, x: Any) -> Any:
    """Keys' cubic at a distance of at most 1."""
    inner = ops.sub(ops.mul(x, _CUBIC + 2), _CUBIC + 3)
    return ops.add(ops.mul(ops.mul(inner, x), x), 1)


def _far(ops: Any, x: Any) -> Any:
    """Keys' cubic at a distance from 1 to 2."""
    inner = ops.add(ops.mul(ops.sub(ops.mul(x, _CUBIC), 5 * _CUBIC), x), 8 * _CUBIC)
    return ops.sub(ops.mul(inner, x), 4 * _CUBIC)


def _grid_sample(ops: Any, self: Any, grid: Any, mode: str, padding_mode: str,
                 align_corners: bool | None) -> Any:
    _check(self, grid, mode, padding_mode)
    if align_corners is None:
        warn("Default grid_sample and affine_grid behavior has changed to "
             "align_corners=False since 1.3.0. Please specify align_corners=True if the "
             "old behavior is desired. See the documentation of grid_sample for details.")
    batch, channels, *sizes = self.shape
    shape = tuple(grid.shape[1:-1])
    if 0 in (batch, channels, *shape):
        nothing = ops.mul(ops.sum(grid), ops.narrow(ops.reshape(self, (-1,)), 0, 0, 0))
        return ops.reshape(nothing, (batch, channels, *shape))
    each = [_taps(ops, ops.select(grid, -1, len(sizes) - 1 - d), size, mode, padding_mode,
                  bool(align_corners)) for d, size in enumerate(sizes)]
    flat = ops.reshape(self, (batch, channels, -1))
    total = None
    for chosen in itertools.product(*each):
        value = _gathered(ops, flat, [place for place, _ in chosen], sizes, padding_mode)
        for _, weight in chosen:
            if weight is not None:
                value = ops.mul(value, ops.reshape(weight, (batch, 1, -1)))
        total = value if total is None else ops.add(total, value)
    return ops.reshape(total, (batch, channels, *shape))


def _gathered(ops: Any, flat: Any, places: list[Any], sizes: list[int], padding: str) -> Any:
    """The elements at these coordinates, zero outside: (batch, channels, places)."""
    batch, channels, _ = flat.shape
    index, inside = None, None
    for place, size in zip(places, sizes, strict=True):
        valid = ops.logical_and(ops.ge(place, 0), ops.le(place, size - 1))
        inside = valid if inside is None else ops.logical_and(inside, valid)
        whole = ops.to_dtype(ops.clamp(ops.select_where(valid, place, 0.0), 0, size - 1), int64)
        index = whole if index is None else ops.add(ops.mul(index, size), whole)
    index = ops.expand(ops.reshape(index, (batch, 1, -1)), (batch, channels, -1))
    value = ops.gather(flat, 2, index)
    return ops.select_where(ops.reshape(inside, (batch, 1, -1)), value, 0.0)


composite("grid_sample(Tensor self, Tensor grid, str mode='bilinear', str padding_mode='zeros', "
          "bool? align_corners=None) -> Tensor", _grid_sample, method=False, autocast="promote",
          samples=lambda make: [
              (make(2, 2, 3, 4), make(2, 3, 2, 2, low=-1.4, high=1.4), "bilinear", "zeros", True),
              (make(1, 2, 3, 4), make(1, 2, 2, 2, low=-1.4, high=1.4), "bicubic", "border", False),
              (make(1, 1, 2, 3, 2), make(1, 2, 1, 2, 3), "bilinear", "reflection", False)],
          doc="self (N, C, H, W) or (N, C, D, H, W) at the places of grid (N, ..., 2 or 3), which "
              "name the last dimension first, in [-1, 1].")
composite("grid_sampler(Tensor self, Tensor grid, int interpolation_mode, int padding_mode, "
          "bool align_corners) -> Tensor",
          lambda ops, self, grid, interpolation_mode, padding_mode, align_corners: ops.grid_sample(
              self, grid, MODES[interpolation_mode], PADDINGS[padding_mode], align_corners),
          method=False, aliases=("grid_sampler_2d", "grid_sampler_3d"), samples=lambda make: [
              (make(1, 2, 3, 4), make(1, 3, 2, 2, low=-0.9, high=0.9), 0, 0, False)],
          doc="grid_sample with numbers for the modes.")


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
    columns = []
    for d in range(rank - 1, -1, -1):  # the last dimension first
        n = sizes[d]
        line = ops.linspace(-1, 1, n, dtype=theta.dtype, device=theta.device) if n > 1 \
            else ops.zeros((1,), dtype=theta.dtype, device=theta.device)
        if not align_corners:
            line = ops.mul(line, (n - 1) / n)
        line = ops.reshape(line, tuple(n if k == d else 1 for k in range(rank)))
        columns.append(ops.expand(line, tuple(sizes)))
    columns.append(ops.ones(tuple(sizes), dtype=theta.dtype, device=theta.device))
    base = ops.reshape(ops.stack(columns, -1), (1, -1, rank + 1))
    made = ops.bmm(ops.expand(base, (batch, -1, -1)), ops.transpose(theta, 1, 2))
    return ops.reshape(made, (batch, *sizes, rank))


def _map_sample(make: Any, *shape: int) -> Any:
    return make(*shape, dtype=make.dtype if "float" in make.dtype else "float32")


composite("affine_grid(Tensor theta, int[] size, bool? align_corners=None) -> Tensor",
          _affine_grid, method=False, samples=lambda make: [
              (_map_sample(make, 2, 2, 3), (2, 1, 3, 4), True),
              (_map_sample(make, 1, 3, 4), (1, 2, 2, 1, 3), False)],
          doc="The grid (N, H, W, 2) or (N, D, H, W, 3) that grid_sample takes, of affine maps "
              "theta (N, 2, 3) or (N, 3, 4) on images of a size (N, C, [D,] H, W).")
composite("affine_grid_generator(Tensor theta, int[] size, bool align_corners) -> Tensor",
          lambda ops, theta, size, align_corners: ops.affine_grid(theta, size, align_corners),
          method=False, samples=lambda make: [(_map_sample(make, 1, 2, 3), (1, 1, 2, 2), True)],
          doc="affine_grid under its operator's name.")
