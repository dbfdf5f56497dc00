"""Differences of neighbours, integrals by trapezoids, gradients of sampled functions."""

# Names: cumulative_trapezoid trapezoid trapz

from __future__ import annotations

from typing import Any

from ..core.dtypes import FLOATING, bool_, get_default_dtype
from ..core.views import wrap_dim
from .kinds import composite

# ---- differences -----------------------------------------------------------------------------


def _joined(ops: Any, self: Any, dim: int, prepend: Any, append: Any) -> Any:
    """self between what is put before and after it."""
    parts = [v for v in (prepend, self, append) if v is not None]
    for value in parts:
        if value is self:
            continue
        if value.dim() != self.dim():
            raise RuntimeError("diff expects prepend or append to be the same dimension as input")
        for d, (size, given) in enumerate(zip(self.shape, value.shape, strict=True)):
            if d != dim and size != given:
                raise RuntimeError(
                    "diff expects the shape of tensor to prepend or append to match that of "
                    f"input except along the differencing dimension; input.size({d}) = {size}, "
                    f"but got tensor.size({d}) = {given}")
    return ops.cat(parts, dim) if len(parts) > 1 else self


def _diff(ops: Any, self: Any, n: int, dim: int, prepend: Any, append: Any) -> Any:
    if self.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if n < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    plain = n == 0 and prepend is None and append is None
    d = 0 if plain else wrap_dim(dim, self.dim())
    made = _joined(ops, self, d, prepend, append)
    if n == 0:  # what is put around it is looked at only
        return ops.copy(ops.zeros_like(self), self)
    subtract = ops.logical_xor if made.dtype is bool_ else ops.sub
    for _ in range(min(n, made.shape[d])):
        left = max(made.shape[d] - 1, 0)
        made = subtract(ops.narrow(made, d, made.shape[d] - left, left),
                        ops.narrow(made, d, 0, left))
    return made


composite("diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> "
          "Tensor", _diff, out=True,
          samples=lambda make: [(make(3, 4),), (make(3, 4), 2, 0), (make(5), 1, -1, make(2)),
                                (make(2, 3), 1, 1, None, make(2, 1))],
          doc="Each element along dim less the one before it, n times.")

# ---- trapezoids ------------------------------------------------------------------------------


def _spacing(ops: Any, name: str, y: Any, x: Any, dx: Any, d: int) -> Any:
    """The widths of the trapezoids: a number, or a tensor that broadcasts along dim d."""
    if x is None:
        return dx
    if x.dtype is bool_:
        raise RuntimeError(f"{name}: received a bool input for `x`, but bool is not supported")
    if x.dim() == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    along = 0 if x.dim() == 1 else wrap_dim(d, x.dim())
    if x.shape[along] != y.shape[d]:
        raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
    widths = ops.diff(x, 1, along)
    if x.dim() == 1:
        return ops.reshape(widths, (-1, *(1,) * (y.dim() - 1 - d)))
    return widths


def _areas(ops: Any, name: str, y: Any, x: Any, dx: Any, dim: int) -> tuple[Any, int]:
    if y.dtype is bool_:
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")
    if isinstance(dx, (bool, complex)):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
    if y.dim() == 0:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    d = wrap_dim(dim, y.dim())
    count = max(y.shape[d] - 1, 0)
    after = ops.narrow(y, d, y.shape[d] - count, count)
    both = ops.add(ops.narrow(y, d, 0, count), after)
    if x is None:
        return both, d
    return ops.mul(both, _spacing(ops, name, y, x, dx, d)), d


def _trapezoid(ops: Any, y: Any, x: Any, dx: Any, dim: int) -> Any:
    areas, d = _areas(ops, "trapezoid", y, x, dx, dim)
    total = ops.sum(areas, d)
    return ops.div(total, 2.0) if x is not None else ops.mul(total, dx / 2.0)


def _cumulative(ops: Any, y: Any, x: Any, dx: Any, dim: int) -> Any:
    areas, d = _areas(ops, "cumulative_trapezoid", y, x, dx, dim)
    total = ops.cumsum(areas, d)
    return ops.div(total, 2.0) if x is not None else ops.mul(total, dx / 2.0)


def _trapezoid_samples(make: Any) -> list[tuple[Any, ...]]:
    return [(make(3, 4),), (make(3, 4), make(4)), (make(3, 4), make(3), 1, 0),
            (make(2, 3), make(2, 3)), (make(5), None, 0.5)]


for _name, _aliases, _body, _doc in (
    ("trapezoid", ("trapz",), _trapezoid, "The integral along dim by the trapezoidal rule."),
    ("cumulative_trapezoid", (), _cumulative, "The integral up to each place along dim."),
):
    composite(f"{_name}(Tensor y, Tensor? x=None, *, number dx=1, int dim=-1) -> Tensor", _body,
              method=False, aliases=_aliases, samples=_trapezoid_samples, doc=_doc)

# ---- gradients of sampled functions ----------------------------------------------------------


def _gradient_dims(self: Any, spacing: Any, dim: Any) -> list[int]:
    if dim is None:
        dims = list(range(self.dim()))
    else:
        given = (dim,) if isinstance(dim, int) else tuple(dim)
        dims = [wrap_dim(d, self.dim()) for d in given]
        for k, d in enumerate(dims):
            if d in dims[:k]:
                raise RuntimeError(f"dim {d} appears multiple times in the list of dims")
    if isinstance(spacing, (list, tuple)) and len(spacing) != len(dims):
        wanted = (f"a list of length equal to 'self.dim() = {self.dim()}', since dim argument was "
                  "not given" if dim is None else
                  f"a list of length equal to the number of dims, {len(dims)}")
        raise RuntimeError("torch.gradient expected spacing to be unspecified, a scalar, or "
                           f"{wanted}, but got a list of length {len(spacing)}")
    return dims


def _slopes(ops: Any, self: Any, spacing: Any, d: int, edge_order: int) -> Any:
    """Second order inside, `edge_order` at the ends; spacing: a number or places (size of d)."""
    size = self.shape[d]

    def part(start: int, length: int) -> Any:
        return ops.narrow(self, d, start, length)

    def along(values: Any) -> Any:
        return ops.reshape(values, (-1, *(1,) * (self.dim() - 1 - d)))

    if not ops.is_tensor(spacing):
        inner = ops.div(ops.sub(part(2, size - 2), part(0, size - 2)), spacing * 2)
        steps = [spacing, spacing]
        left, right = (spacing, spacing), (spacing, spacing)
    else:
        if spacing.dim() != 1 or spacing.shape[0] != size:
            raise RuntimeError("torch.gradient expected each tensor in spacing to be 1-D with as "
                               f"many places as dimension {d} has elements, {size}")
        widths = ops.diff(spacing)
        before, after = along(widths[:-1]), along(widths[1:])
        inner = _uneven(ops, part(0, size - 2), part(1, size - 2), part(2, size - 2),
                        before, after, (-1, 0, 1))
        steps = [widths[0], widths[-1]]
        left, right = (widths[0], widths[-1]), (widths[1:2], widths[-2:-1])
    if edge_order == 1:
        first = ops.div(ops.sub(part(1, 1), part(0, 1)), steps[0])
        last = ops.div(ops.sub(part(size - 1, 1), part(size - 2, 1)), steps[1])
    else:
        first = _uneven(ops, part(0, 1), part(1, 1), part(2, 1), left[0], right[0], 0)
        last = _uneven(ops, part(size - 3, 1), part(size - 2, 1), part(size - 1, 1), right[1],
                       left[1], 2)
    return ops.cat([first, inner, last], d)


def _uneven(ops: Any, a: Any, b: Any, c: Any, h: Any, k: Any, place: Any) -> Any:
    """The slope of the parabola through three points h and k apart, at one of them."""
    both = h + k
    if place == 0:
        weights = (-(2 * h + k) / (h * both), both / (h * k), -h / (k * both))
    elif place == 2:
        weights = (k / (h * both), -both / (h * k), (h + 2 * k) / (k * both))
    else:
        weights = (-k / (h * both), (k - h) / (h * k), h / (k * both))
    made = ops.add(ops.mul(a, weights[0]), ops.mul(b, weights[1]))
    return ops.add(made, ops.mul(c, weights[2]))


def _gradient(ops: Any, self: Any, spacing: Any, dim: Any, edge_order: int) -> tuple[Any, ...]:
    if edge_order not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    dims = _gradient_dims(self, spacing, dim)
    for d in dims:
        if self.shape[d] < edge_order + 1:
            raise RuntimeError(
                "torch.gradient expected each dimension size to be at least edge_order+1")
    if self.dtype.category < FLOATING:
        self = ops.to_dtype(self, get_default_dtype())
    each = spacing if isinstance(spacing, (list, tuple)) else (
        (1.0 if spacing is None else spacing,) * len(dims))
    return tuple(_slopes(ops, self, s, d, edge_order) for s, d in zip(each, dims, strict=True))


composite("gradient(Tensor self, *, any? spacing=None, int[1]? dim=None, int edge_order=1) -> "
          "Tensor[]", _gradient, method=False,
          samples=lambda make: [(make(3, 4),), (make(5), 0.5, 0, 2), (make(4, 3), (1.0, 2.0)),
                                (make(4), (make.tensor([0, 1, 3, 4], "float32", (4,)),))],
          doc="Slopes along each dimension from central differences.")
