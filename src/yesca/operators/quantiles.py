"""Quantiles and histograms."""

# Names: nanquantile quantile

from __future__ import annotations

from typing import Any

from ..core import views as algebra
from ..core.dtypes import float32, float64, int64
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


def _quantile(name: str) -> Any:
    def body(ops: Any, self: Any, q: Any, dim: Any, keepdim: bool, interpolation: str) -> Any:
        q = _checked(ops, name, self, q, interpolation)
        ndim = self.dim()
        d = 0 if dim is None else algebra.wrap_dim(dim, ndim)
        line = ops.reshape(self, (-1,)) if dim is None or ndim == 0 else ops.movedim(self, d, -1)
        ordered = ops.sort_order(line, -1, False)[0]
        size = line.shape[-1]
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
    composite(f"{_name}(Tensor self, any q, int? dim=None, bool keepdim=False, *, "
              "str interpolation='linear') -> Tensor", _quantile(_name), out=True,
              autocast="float32",
              doc="The value below which the share q of the values lies"
              + ("." if _name == "quantile" else ", NaNs left out."))


def _histogram(ops: Any, self: Any, bins: Any, limits: Any, weight: Any, density: bool) -> Any:
    line = ops.reshape(self.detach(), (-1,))
    if ops.is_tensor(bins):
        edges = ops.clone(bins)
    else:
        edges = ops.linspace(*_range(ops, line, limits), int(bins) + 1, dtype=self.dtype,
                             device=self.device)
    if edges.numel() < 2:
        raise RuntimeError(
            "torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in "
            "the bins tensor for dimension 0" if not edges.numel() else
            "torch.histogram(): bins must be > 0, but got 0 for dimension 0")
    count = edges.numel() - 1
    place = ops.sub(ops.searchsorted(edges, line, right=True), 1)
    place = ops.select_where(ops.eq(line, edges[-1]), count - 1, place)
    inside = ops.logical_and(ops.ge(line, edges[0]), ops.le(line, edges[-1]))
    ones = ops.ones_like(line) if weight is None else ops.reshape(weight, (-1,))
    ones = ops.select_where(inside, ones, 0.0)
    made = ops.zeros((count,), dtype=self.dtype, device=self.device)
    made = ops.scatter_fold_(made, 0, ops.clamp(place, 0, count - 1), ones, "sum")
    if density:
        widths = ops.sub(ops.narrow(edges, 0, 1, count), ops.narrow(edges, 0, 0, count))
        made = ops.div(made, ops.mul(widths, ops.sum(made)))
    return ops.named("histogram", (made, edges))


def _range(ops: Any, line: Any, wanted: Any) -> tuple[float, float]:
    if wanted is not None:
        low, high = (float(v) for v in wanted)
    elif line.numel() == 0:
        low = high = 0.0
    else:
        low, high = ops.amin(line).item(), ops.amax(line).item()
    return (low - 0.5, high + 0.5) if low == high else (low, high)


composite("histogram(Tensor self, any bins=100, *, any? range=None, Tensor? weight=None, "
          "bool density=False) -> (Tensor, Tensor)", _histogram, out=True,
          samples=lambda make: [(make(7), make.tensor([-3.0, 0.0, 1.0, 3.0], make.dtype, (4,)))],
          doc="How many (or how much weight of the) elements lie between neighbouring edges.")
