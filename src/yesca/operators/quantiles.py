"""Quantiles and histograms."""

# Names: nanquantile quantile

from __future__ import annotations

import math
from typing import Any

from ..core import views as algebra
from ..core.dtypes import SCALAR_NAMES, bfloat16, bool_, float16, float32, float64, int64
from .kinds import composite

_KINDS = ("linear", "lower", "higher", "midpoint", "nearest")


def _checked(ops: Any, name: str, self: Any, q: Any, interpolation: str) -> Any:
    if self.numel() == 0:
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if self.dtype not in (float32, float64):
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
    if interpolation not in _KINDS:
        raise RuntimeError(f"{name}() interpolation must be one of linear, lower, higher, midpoint "
                           f"or nearest, but got {interpolation}")
    if not ops.is_tensor(q):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        return ops.full((), q, dtype=self.dtype, device=self.device)
    if q.dim() > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor")
    if q.dtype is not self.dtype:
        raise RuntimeError(f"{name}() q tensor must be same dtype as the input tensor")
    if not bool(ops.all(ops.logical_and(ops.ge(q, 0), ops.le(q, 1)))):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    return q


def _between(ops: Any, ordered: Any, place: Any, interpolation: str) -> Any:
    """The values at fractional places of the sorted last dimension."""
    if interpolation == "nearest":
        return ops.gather(ordered, -1, ops.to_dtype(ops.round(place), int64))
    below, above = ops.floor(place), ops.ceil(place)
    low = high = None
    if interpolation != "higher":
        low = ops.gather(ordered, -1, ops.to_dtype(below, int64))
    if interpolation != "lower":
        high = ops.gather(ordered, -1, ops.to_dtype(above, int64))
    if low is None or high is None:
        return high if low is None else low
    weight = ops.full_like(place, 0.5) if interpolation == "midpoint" else ops.sub(place, below)
    return ops.lerp(low, high, weight)


LARGEST = 1 << 24  # places up to here are exact in all dtypes that quantiles are made in


def _quantile(name: str) -> Any:
    def body(ops: Any, self: Any, q: Any, dim: Any, keepdim: bool, interpolation: str) -> Any:
        q = _checked(ops, name, self, q, interpolation)
        ndim = self.dim()
        d = 0 if dim is None else algebra.wrap_dim(dim, ndim)
        line = ops.reshape(self, (-1,)) if dim is None or ndim == 0 else ops.movedim(self, d, -1)
        ordered = ops.sort_order(line, -1, False)[0]
        size = line.shape[-1]
        if size > LARGEST:
            raise RuntimeError(f"{name}() input tensor is too large: {size} elements in a row, and "
                               f"at most {LARGEST} can be told apart; take some of them, or sort")
        last = ops.narrow(ordered, -1, size - 1, 1)
        wanted = ops.reshape(q, (-1,))  # (Q)
        if name == "quantile":
            place = ops.select_where(ops.isnan(last), float(size - 1), ops.mul(wanted, size - 1))
        else:
            count = ops.sum(ops.eq(line, line), -1, True)
            place = ops.mul(wanted, ops.clamp(ops.sub(count, 1), 0))
        made = _between(ops, ordered, place, interpolation)  # (*, Q)
        if keepdim and ndim:
            made = ops.reshape(made, (*(1,) * ndim, -1)) if dim is None \
                else ops.unsqueeze(made, d)
        return ops.movedim(made, -1, 0) if q.dim() else ops.squeeze(made, -1)
    return body


for _name in ("quantile", "nanquantile"):
    composite(f"{_name}(Tensor self, float|Tensor q, int? dim=None, bool keepdim=False, *, "
              "str interpolation='linear') -> Tensor", _quantile(_name), out=True,
              autocast="float32",
              doc="The value below which the share q of the values lies"
              + ("." if _name == "quantile" else ", NaNs left out."))


# ---- histograms ------------------------------------------------------------------------------

_C_NAMES = {float32: "float", float64: "double", float16: "c10::Half",
            bfloat16: "c10::BFloat16"}


def _check_points(points: Any, bins: Any, weight: Any) -> None:
    """points: (..., D); bins: D numbers or tensors of edges."""
    if points.dim() < 2:
        raise RuntimeError("torch.histogramdd: input tensor should have at least 2 dimensions")
    if len(bins) != points.shape[-1]:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension "
                           "of the input.")
    edges = bool(bins) and not isinstance(bins[0], int)
    if points.dtype not in (_C_NAMES if edges else (float32, float64)):
        raise NotImplementedError(f"\"histogram{'_cpu' if edges else 'dd'}\" not implemented for "
                                  f"'{SCALAR_NAMES[points.dtype]}'")
    if weight is None:
        return
    if weight.dtype is not points.dtype:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided, input tensor and weight tensor "
            f"should have the same dtype, but got input({_C_NAMES[points.dtype]}), and "
            f"weight({_C_NAMES.get(weight.dtype, weight.dtype.name)})")
    if weight.shape != points.shape[:-1]:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the "
            f"input tensor excluding its innermost dimension, but got input with shape "
            f"{list(points.shape)} and weight with shape {list(weight.shape)}")


def _check_edges(points: Any, edges: Any, d: int) -> None:
    place = f"in the bins tensor for dimension {d}"
    if edges.dtype is not points.dtype:
        raise RuntimeError(
            "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got "
            f"input with dtype {_C_NAMES[points.dtype]} and bins for dimension {d} with dtype "
            f"{_C_NAMES.get(edges.dtype, edges.dtype.name)}")
    if edges.dim() != 1:
        raise RuntimeError("torch.histogramdd: bins tensor should have one dimension, but got "
                           f"{edges.dim()} dimensions {place}")
    if edges.numel() == 0:
        raise RuntimeError("torch.histogramdd: bins tensor should have at least 1 element, but got "
                           f"0 elements {place}")


def _edges(ops: Any, points: Any, bins: Any, limits: Any) -> list[Any]:
    """The edges of each dimension: as given, or evenly between the limits."""
    size = points.shape[-1]
    if limits is not None and len(limits) != 2 * size:
        raise RuntimeError(f"torch.histogramdd: for a {size}-dimensional histogram range should "
                           f"have {2 * size} elements, but got {len(limits)}")
    made = []
    for d, one in enumerate(bins):
        given = ops.is_tensor(one)
        if given:
            _check_edges(points, one, d)
        count = one.numel() - 1 if given else int(one)
        if count <= 0:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {count} for "
                               f"dimension {d}")
        own = None if limits is None else limits[2 * d:2 * d + 2]
        made.append(ops.clone(one) if given else ops.linspace(
            *_range(ops, points, own, d), count + 1, dtype=points.dtype, device=points.device))
    return made


def _range(ops: Any, points: Any, wanted: Any, d: int) -> tuple[float, float]:
    if wanted is not None:
        low, high = (float(v) for v in wanted)
    elif points.numel() == 0:
        low, high = 0.0, 1.0
    else:
        line = ops.select(points, -1, d)
        low, high = ops.amin(line).item(), ops.amax(line).item()
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension {d}'s range [{low:g}, {high:g}] is not "
                           "finite")
    if low > high:
        raise RuntimeError(f"torch.histogramdd: min should not exceed max, but got min {low:g} max "
                           f"{high:g} for dimension {d}")
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def _counted(ops: Any, points: Any, edges: list[Any], weight: Any, density: bool) -> Any:
    """How much lies in each cell between the edges; the last edges belong to the last cells."""
    shape = tuple(e.numel() - 1 for e in edges)
    cells = ops.full_like(ops.select(points, -1, 0), 0, dtype=int64)
    inside = ops.ones_like(cells, dtype=bool_)
    for d, (own, count) in enumerate(zip(edges, shape, strict=True)):
        line = ops.contiguous(ops.select(points, -1, d))
        place = ops.sub(ops.searchsorted(own, line, right=True), 1)
        place = ops.select_where(ops.eq(line, own[-1]), count - 1, place)
        inside = ops.logical_and(inside, ops.logical_and(ops.ge(line, own[0]),
                                                         ops.le(line, own[-1])))
        cells = ops.add(ops.mul(cells, count), ops.clamp(place, 0, max(count - 1, 0)))
    amounts = ops.ones_like(cells, dtype=points.dtype) if weight is None else weight
    made = ops.zeros((math.prod(shape),), dtype=points.dtype, device=points.device)
    if made.numel():
        made = ops.scatter_fold_(made, 0, ops.reshape(cells, (-1,)), ops.reshape(
            ops.select_where(inside, amounts, 0.0), (-1,)), "sum")
    made = ops.reshape(made, shape)
    if density:
        made = ops.div(made, ops.sum(made))
        for d, own in enumerate(edges):
            widths = ops.reshape(ops.diff(own), (-1, *(1,) * (len(edges) - 1 - d)))
            made = ops.div(made, widths)
    return made


def _bins(bins: Any, points: Any) -> Any:
    """Numbers of bins or tensors of edges, one for each dimension."""
    if isinstance(bins, int):
        if points.dim() == 0:
            raise IndexError("Dimension specified as -1 but tensor has no dimensions")
        return (bins,) * points.shape[-1]
    return bins


def _histogramdd(ops: Any, input: Any, bins: Any, limits: Any, weight: Any, density: bool) -> Any:
    points = input.detach()
    bins = _bins(bins, points)
    _check_points(points, bins, weight)
    edges = _edges(ops, points, bins, limits)
    way = "bin_tensors" if bins and ops.is_tensor(bins[0]) else "bin_cts"
    made = _refusing(ops, _counted(ops, points, edges, weight, density),
                     f"_histogramdd_from_{way}", input, weight)
    return ops.named("histogramdd", (made, tuple([
        _refusing(ops, e, "_histogramdd_bin_edges", input, weight) for e in edges])))


def _refusing(ops: Any, made: Any, name: str, *operands: Any) -> Any:
    """A result that refuses to be differentiated by any of these."""
    for tensor in operands:
        if tensor is not None and ops.has_derivative(tensor):
            made = ops.underived(made, tensor, name)
    return made


def _histogram(ops: Any, self: Any, bins: Any, limits: Any, weight: Any, density: bool) -> Any:
    points = ops.reshape(self.detach(), (-1, 1))
    weight = None if weight is None else ops.reshape(weight, (-1,))
    _check_points(points, (bins,), weight)
    edges = _edges(ops, points, (bins,), limits)
    made = _counted(ops, points, edges, weight, density), edges[0]
    return ops.named("histogram", tuple([_refusing(ops, m, "histogram", self, weight)
                                         for m in made]))


composite("histogram(Tensor self, Tensor|int bins=100, *, float[]? range=None, "
          "Tensor? weight=None, "
          "bool density=False) -> (Tensor, Tensor)", _histogram, out=True,
          samples=lambda make: [(make(7), make.tensor([-3.0, 0.0, 1.0, 3.0], make.dtype, (4,)))],
          doc="How many (or how much weight of the) elements lie between neighbouring edges.")
composite("histogramdd(Tensor input, tensors|int[1] bins, float[]? range=None, "
          "Tensor? weight=None, bool density=False) -> (Tensor, Tensor[])", _histogramdd,
          method=False,
          samples=lambda make: [(make(7, 2), 3), (make(2, 3, 2), (2, 4))],
          doc="How many (or how much weight of the) points lie in each cell of a grid: points of D "
              "coordinates, and D numbers of bins or tensors of edges.")
