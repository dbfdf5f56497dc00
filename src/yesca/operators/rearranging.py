"""Copies in another arrangement: flips, rolls, repeats, triangles, diagonals, grids."""

# Names: tril triu

from __future__ import annotations

from typing import Any

from ..core import views as algebra
from ..core.dtypes import INTEGRAL, int32
from ..core.memory_formats import common, kept, strides_in
from ..core.spec import contiguous_strides, spec
from ..loops.ir import Expr, cast, const, coord
from ..loops.scalar import where
from . import limited
from .filling import filling
from .kinds import composite, rows
from .schema import whole_numbers

# ---- turning ---------------------------------------------------------------------------------


def _flip(p: Any, self: Any, dims: tuple[int, ...]) -> None:
    """A copy read backwards along the dimensions."""
    own = algebra.wrap_dims(dims, self.spec.ndim)
    shape, strides, offset = tuple(self.spec.shape), list(self.spec.strides), 0
    out = p.result(spec(self.spec.dtype, shape, kept(self.spec), p.device))
    if not self.spec.numel:
        return
    for d in own if shape else ():
        offset += (shape[d] - 1) * strides[d]
        strides[d] = -strides[d]
    p.flat(lambda v: v, [self.seen((shape, tuple(strides), offset))], [out])


rows("flip(Tensor self, int[]... dims) -> Tensor", _flip, kind="copy",
     backward={"self": lambda ops, grad, dims: ops.flip(grad, dims)},
     doc="The order of the elements reversed along dims.")


def _flipped(name: str, dim: int) -> Any:
    def body(ops: Any, self: Any) -> Any:
        if self.dim() <= dim:
            raise RuntimeError(f"Input must be >= {dim + 1}-d.")
        return ops.flip(self, (dim,))
    return body


composite("fliplr(Tensor self) -> Tensor", _flipped("fliplr", 1), doc="Columns reversed.")
composite("flipud(Tensor self) -> Tensor", _flipped("flipud", 0), doc="Rows reversed.")


def _roll(p: Any, self: Any, shift: int, dim: int) -> None:
    """Two copies: the head to the tail's place and the tail to the front."""
    size = self.spec.shape[dim]
    cut = -shift % size if size else 0
    form = common([spec(self.spec.dtype, *algebra.slice_(self.spec, dim, *ends, 1)[:2])
                   for ends in ((cut, size), (0, cut))])
    shape = tuple(self.spec.shape)
    out = p.result(spec(self.spec.dtype, shape, strides_in(shape, form.name), p.device))
    if not self.spec.numel:
        return
    first = shift % size
    for start, end, to in ((0, size - first, first), (size - first, size, 0)):
        if end > start:
            source = self.seen(algebra.slice_(self.spec, dim, start, end, 1))
            target = out.seen(algebra.slice_(out.spec, dim, to, to + end - start, 1))
            p.flat(lambda v: v, [source], [target])


rows("roll_one(Tensor self, int shift, int dim) -> Tensor", _roll, kind="copy", method=False,
     node_name="RollBackward0",
     backward={"self": lambda ops, grad, shift, dim: ops.roll_one(grad, -shift, dim)})


def _many(value: Any) -> tuple[int, ...]:
    value = whole_numbers(value)
    return (value,) if isinstance(value, int) else tuple(value or ())


def _roll_public(ops: Any, self: Any, shifts: Any, dims: Any) -> Any:
    shifts, dims = _many(shifts), _many(dims)
    if not shifts:
        raise RuntimeError("`shifts` required")
    if not dims and len(shifts) == 1:
        flat = ops.roll_one(ops.reshape(self, (-1,)), shifts[0], 0)
        return ops.reshape(flat, tuple(self.shape))
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:"
                           f"{len(dims)}")
    if self.dim() == 0:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    for shift, dim in zip(shifts, dims, strict=True):
        self = ops.roll_one(self, shift, algebra.wrap_dim(dim, self.dim()))
    return self


composite("roll(Tensor self, int[1] shifts, int[1] dims=None) -> Tensor", _roll_public,
          backward={"self": lambda ops, grad, shifts, dims: ops.roll(
              grad, tuple([-n for n in _many(shifts)]), dims)},
          doc="Elements moved along dims; those pushed out come in at the other end.")


def _rot90(ops: Any, self: Any, k: int, dims: Any) -> Any:
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if self.dim() < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {self.dim()}")
    a, b = (algebra.wrap_dim(d, self.dim()) for d in dims)
    if a == b:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} "
                           f"and dim1 = {dims[1]}")
    k %= 4
    if k == 0:
        return ops.clone(self)
    if k == 2:
        return ops.flip(self, (a, b))
    return ops.transpose(ops.flip(self, (b if k == 1 else a,)), a, b)


composite("rot90(Tensor self, int k=1, int[] dims=[0,1]) -> Tensor", _rot90,
          backward={"self": lambda ops, grad, k, dims: ops.rot90(grad, -k, dims)},
          doc="Turned by k right angles in the plane of two dimensions.")


# ---- repeating -------------------------------------------------------------------------------

def _repeat(p: Any, self: Any, repeats: tuple[int, ...]) -> None:
    """One copy: the source with a dimension of stride 0 before each of its own."""
    if len(repeats) < self.spec.ndim:
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number "
                           "of dimensions of tensor")
    if any(r < 0 for r in repeats):
        raise RuntimeError(f"Trying to create tensor with negative dimension "
                           f"{min(repeats)}: {list(repeats)}")
    missing = len(repeats) - self.spec.ndim
    sizes = (*(1 for _ in range(missing)), *self.spec.shape)
    steps = (*(0 for _ in range(missing)), *self.spec.strides)
    shape = tuple(r * n for r, n in zip(repeats, sizes, strict=True))
    out = p.result(spec(self.spec.dtype, shape, None, p.device))
    pairs = tuple(n for pair in zip(repeats, sizes, strict=True) for n in pair)
    strides = tuple(s for step in steps for s in (0, step))
    p.flat(lambda v: v, [self.seen((pairs, strides, 0))],
           [out.seen((pairs, contiguous_strides(pairs), 0))])


def _repeat_back(ops: Any, grad: Any, self_spec: Any, repeats: tuple[int, ...]) -> Any:
    shape = tuple(self_spec.shape)
    sizes = (1,) * (len(repeats) - len(shape)) + shape
    if 0 in repeats:
        return ops.zeros(shape, dtype=grad.dtype, device=grad.device)
    pairs = tuple(n for pair in zip(repeats, sizes, strict=True) for n in pair)
    if not pairs:
        return grad
    folded = ops.sum(ops.reshape(grad, pairs), tuple(range(0, len(pairs), 2)))
    return ops.reshape(folded, shape)


rows("repeat(Tensor self, int[]... repeats) -> Tensor", _repeat, kind="copy", function=False,
     backward={"self": _repeat_back}, doc="The tensor several times along each dimension.")


def _tile(ops: Any, self: Any, dims: tuple[int, ...]) -> Any:
    dims = tuple(dims)
    return ops.repeat(self, (1,) * (self.dim() - len(dims)) + dims)


composite("tile(Tensor self, int[]... dims) -> Tensor", _tile,
          doc="The tensor several times along its last dimensions.")


def _repeat_interleave(ops: Any, self: Any, repeats: Any, dim: Any, output_size: Any) -> Any:
    if repeats is None:
        return _places_of(ops, self)
    if dim is None:
        self, dim = ops.reshape(self, (-1,)), 0
    if self.dim() == 0:
        self = ops.reshape(self, (1,))
    d = algebra.wrap_dim(dim, self.dim())
    shape = tuple(self.shape)
    if not ops.is_tensor(repeats) or repeats.numel() == 1:
        count = int(repeats)
        if count < 0:
            raise RuntimeError("Repeats must be non-negative")
        wide = ops.expand(ops.unsqueeze(self, d + 1), (*shape[:d + 1], count, *shape[d + 1:]))
        made = ops.clone(wide, memory_format=ops.contiguous_format)
        return ops.reshape(made, (*shape[:d], shape[d] * count, *shape[d + 1:]))
    if repeats.dim() != 1 or repeats.numel() != shape[d]:
        raise RuntimeError("repeats must have the same size as input along dim, but got "
                           f"repeats.size(0) = {repeats.numel()} and input.size({d}) = "
                           f"{shape[d]}")
    return ops.index_select(self, d, _places_of(ops, repeats))


def _places_of(ops: Any, repeats: Any) -> Any:
    """Each position as often as its entry says."""
    if repeats.dim() != 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if repeats.dtype.category != INTEGRAL or repeats.dtype.itemsize < 4:
        raise RuntimeError("repeats has to be Long or Int tensor")
    if repeats.numel() and int(ops.amin(repeats)) < 0:
        raise RuntimeError("repeats can not be negative")
    ends = ops.cumsum(repeats, 0)
    total = int(ends[-1]) if repeats.numel() else 0
    made = ops.searchsorted(ends, ops.arange(total, device=repeats.device, dtype=ends.dtype),
                            right=True)
    return made if repeats.dtype is made.dtype else ops.to_dtype(made, repeats.dtype)


composite("repeat_interleave(Tensor self, Tensor|int? repeats=None, int? dim=None, *, "
          "int? output_size=None) -> Tensor", _repeat_interleave,
          samples=lambda make: [(make(3, 2), 2), (make(3, 2), make.integers(2), 1)],
          doc="Each element (or slice of dim) several times in a row.")


# ---- triangles -------------------------------------------------------------------------------

_FARTHEST = (1 << 31) - 1  # a diagonal beyond this one is outside of every matrix


def _triangle(upper: bool) -> Any:
    name = "triu" if upper else "tril"

    def program(p: Any, self: Any, diagonal: int) -> None:
        if self.spec.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        dtype = self.spec.dtype
        out = p.result(self.spec if p.inplace_target is not None else
                       spec(dtype, self.spec.shape, None, p.device))
        height, width = self.spec.shape[-2:]
        line = p.temporary((max(height, width, 1),), int32)
        p.flat(lambda: cast(coord("point"), int32), [], [line])
        row, column = line.seen(((height, 1), (1, 0), 0)), line.seen(((1, width), (0, 1), 0))

        def body(value: Expr, i: Expr, j: Expr) -> Expr:
            apart, bound = j - i, p.fixed(min(max(diagonal, -_FARTHEST), _FARTHEST), int32)
            return where(apart >= bound if upper else apart <= bound, value, const(0, dtype))

        p.flat(body, [self, row, column], [out])

    return program


for _name in ("tril", "triu"):
    rows(f"{_name}(Tensor self, int diagonal=0) -> Tensor", _triangle(_name == "triu"),
         kind="copy", inplace=True, out=True, stretched="allowed",
         backward={"self": eval(  # noqa: S307 - one formula for both names
             f"lambda ops, grad, diagonal: ops.{_name}(grad, diagonal)")},
         doc="The lower triangle, zeros above it." if _name == "tril"
         else "The upper triangle, zeros below it.")


# ---- diagonals -------------------------------------------------------------------------------

def _diag_embed(p: Any, self: Any, offset: int, dim1: int, dim2: int) -> None:
    ndim = self.spec.ndim + 1
    a, b = algebra.wrap_dim(dim1, ndim), algebra.wrap_dim(dim2, ndim)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    if self.spec.ndim == 0:
        raise IndexError("Dimension out of range (expected to be in range of [-1, 0], but got -1)")
    size = self.spec.shape[-1] + abs(offset)
    rest = iter(self.spec.shape[:-1])
    shape = tuple(size if d in (a, b) else next(rest) for d in range(ndim))
    out = p.result(spec(self.spec.dtype, shape, None, p.device))
    p.flat(lambda: const(0, self.spec.dtype), [], [out])
    p.flat(lambda v: v, [self], [out.seen(algebra.diagonal(out.spec, offset, a, b))])


rows("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor", _diag_embed,
     kind="copy", backward={"self": lambda ops, grad, offset, dim1, dim2: ops.diagonal(
         grad, offset, dim1, dim2)},
     doc="Matrices of zeros with the last dimension as a diagonal.")


def _diag(ops: Any, self: Any, diagonal: int) -> Any:
    if self.dim() == 1:
        return ops.diag_embed(self, diagonal)
    if self.dim() == 2:
        return ops.diagonal_copy(self, diagonal)
    raise RuntimeError("diag(): Supports 1D or 2D tensors. Got "
                       f"{self.dim()}D")


composite("diag(Tensor self, int diagonal=0) -> Tensor", _diag, out=True,
          samples=lambda make: [(make(3),), (make(3, 4), 1), (make(4, 3), -2)],
          doc="The matrix with this diagonal, or the diagonal of this matrix.")
composite("diagflat(Tensor self, int offset=0) -> Tensor",
          lambda ops, self, offset: ops.diag_embed(ops.reshape(self, (-1,)), offset),
          doc="The matrix with the flattened input as a diagonal.")


def _trace(ops: Any, self: Any) -> Any:
    if self.dim() != 2:
        raise RuntimeError("trace: expected a matrix")
    limited.refuse("trace", (self.dtype,))
    return ops.sum(ops.diagonal(self))


composite("trace(Tensor self) -> Tensor", _trace, autocast="float32",
          backward={"self": lambda ops, grad, self_spec: ops.mul(grad, ops.eye(
              *self_spec.shape, dtype=self_spec.dtype, device=self_spec.device))},
          doc="The sum of the diagonal of a matrix.")


def _fill_diagonal(p: Any, self: Any, fill_value: Any, wrap: bool) -> None:
    """In place: the main diagonal of all dimensions."""
    if self.spec.ndim < 2:
        raise RuntimeError("dimensions must larger than 1")
    shape, strides = tuple(self.spec.shape), self.spec.strides
    if self.spec.ndim > 2 and len(set(shape)) != 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    out = p.result(self.spec)

    def fill(part: Any) -> None:
        p.flat(lambda: filling(p, 1, self.spec.dtype), [], [out.seen(part)])

    fill(((min(shape),), (sum(strides),), 0))
    if wrap and self.spec.ndim == 2:
        height, width = shape
        for start in range(width + 1, height, width + 1):
            fill(((min(width, height - start),), (sum(strides),), start * strides[0]))


rows("fill_diagonal(Tensor self, Scalar fill_value, bool wrap=False) -> Tensor", _fill_diagonal,
     kind="copy", inplace=True, method=False, function=False, stretched="allowed",
     backward={"self": lambda ops, grad, wrap: ops.fill_diagonal_(ops.clone(grad), 0, wrap)},
     doc="The main diagonal set to a value, in place.")

