"""Determinants, powers, the exponential, products of reflectors, cross products, Vandermonde.

The derivative of the exponential is a block of a larger exponential (Najfeld and Havel,
Derivatives of the matrix exponential, 1995); that of the determinant are its cofactors.
"""

# Names: linalg_slogdet slogdet

from __future__ import annotations

from typing import Any

from ..core.dtypes import FLOATING, SCALAR_NAMES, bfloat16, float16, float32, int64
from ..core.spec import spec
from ..core.views import broadcast_shapes, expand_strides, wrap_dim
from ..loops.ir import cast
from .factorisations import library, real_of, results
from .kinds import composite, compute_dtype, rows
from .matrices import (
    Seen, by_columns, check_floating, check_kernel, check_matrix, check_precision, check_square,
    h, t,
)

# ---- determinants ------------------------------------------------------------------------------


def _det(p: Any, A: Any) -> None:
    check_floating("linalg.det", A.spec.dtype)
    check_square("linalg.det", A)
    check_kernel("lu_cpu", A.spec.dtype)
    p.host("det", [A, *results(p, A, ())])


def _conj(ops: Any, x: Any) -> Any:
    return ops.conj(x) if x.dtype.is_complex else x


def _times(ops: Any, number: Any, matrix: Any) -> Any:
    """One number for each matrix."""
    return ops.mul(ops.unsqueeze(ops.unsqueeze(number, -1), -1), matrix)


library("linalg_det(Tensor A) -> Tensor", _det, out=True, node_name="LinalgDetBackward0",
        backward={"A": lambda ops, grad, A: _times(
            ops, grad, _conj(ops, ops.linalg_cofactors(A)))},
        doc="The determinant.")
composite("det(Tensor self) -> Tensor", lambda ops, self: ops.linalg_det(self),
          doc="torch.linalg.det.")


def _cofactors_back(ops: Any, grad: Any, A: Any, result: Any) -> Any:
    """With C = det(A) M, M = A^-T: <gC, M> C - M (det(A) gC)^T M."""
    inverse, own = h(ops, ops.linalg_inv_parts(A)[0]), _conj(ops, result)
    along = ops.sum(ops.mul(grad, inverse), (-2, -1))
    turned = ops.matmul(ops.matmul(inverse, t(ops, grad)), own)
    return ops.sub(_times(ops, along, own), turned)


library("linalg_cofactors(Tensor A) -> Tensor",
        lambda p, A: p.host("cofactors", [A, *results(p, A, tuple(A.spec.shape[-2:]))]),
        backward={"A": _cofactors_back})


def _slogdet(p: Any, A: Any) -> None:
    check_precision("linalg.slogdet", A.spec.dtype)
    check_square("linalg.slogdet", A)
    check_kernel("lu_cpu", A.spec.dtype)
    sign, = results(p, A, ())
    p.host("slogdet", [A, sign, *results(p, A, (), dtype=real_of(A.spec.dtype))])


def _slogdet_back(ops: Any, grads: Any, A: Any, result0: Any) -> Any:
    grad_sign, grad = grads
    if A.dtype.is_complex and grad_sign is not None:  # the sign turns with the imaginary part
        turn = ops.mul(ops.imag(ops.mul(ops.conj(grad_sign), result0)), -1j)
        grad = turn if grad is None else ops.add(turn, grad)
    if grad is None:
        return ops.zeros_like(A)
    return _times(ops, grad, ops.linalg_inv_parts(h(ops, A))[0])


library("linalg_slogdet_parts(Tensor A) -> (Tensor, Tensor)", _slogdet,
        node_name="LinalgSlogdetBackward0", backward={"A": _slogdet_back})
for _name in ("linalg_slogdet", "slogdet"):
    composite(f"{_name}(Tensor {'A' if '_' in _name else 'self'}) -> (Tensor, Tensor)",
              lambda ops, A, name=_name: ops.named(name, ops.linalg_slogdet_parts(A)),
              out=True, method="_" not in _name,
              doc="The determinant's sign and the logarithm of its size.")


def _logdet(ops: Any, self: Any) -> Any:
    sign, size = ops.linalg_slogdet_parts(self)
    if self.dtype.is_complex:
        return ops.add(ops.log(sign), size)
    return ops.where(ops.eq(sign, -1), float("nan"), size)


composite("logdet(Tensor self) -> Tensor", _logdet,
          doc="The logarithm of the determinant; NaN where that is negative.")


# ---- powers ------------------------------------------------------------------------------------

def _instead(ops: Any, x: Any, value: Any) -> Any:
    """`value`, on the tape as something made of x, whose derivative is 0."""
    return ops.copy_(ops.clone(x), value)


def _matrix_power(ops: Any, A: Any, n: int) -> Any:
    check_square("linalg.matrix_power", Seen(A))
    if n < 0:
        A, n = ops.linalg_inv(A), -n
        if n == 1:
            return A
    if n == 0:
        one = ops.eye(A.shape[-1], dtype=A.dtype, device=A.device)
        return _instead(ops, ops.contiguous(A), one.expand(tuple(A.shape)))
    made = None
    while n:
        if n & 1:
            made = A if made is None else ops.matmul(made, A)
        n >>= 1
        if n:
            A = ops.matmul(A, A)
    return ops.clone(made, memory_format=ops.contiguous_format) if made is A else made


composite("linalg_matrix_power(Tensor self, int n) -> Tensor", _matrix_power, out=True,
          method=False, doc="A @ ... @ A; negative powers of the inverse.")
composite("matrix_power(Tensor self, int n) -> Tensor", _matrix_power, out=True,
          doc="torch.linalg.matrix_power.")


def _matrix_exp(p: Any, A: Any) -> None:
    p.host("matrix_exp", [A, *results(p, A, tuple(A.spec.shape[-2:]), turned=False)])


def _matrix_exp_back(ops: Any, grad: Any, A: Any) -> Any:
    """exp of ((A^H, gX), (0, A^H)): its upper right block."""
    n = A.shape[-1]
    turned = h(ops, A)
    top = ops.cat([turned, grad], -1)
    low = ops.cat([ops.zeros_like(turned), turned], -1)
    whole = ops.linalg_matrix_exp(ops.cat([top, low], -2))
    return ops.narrow(ops.narrow(whole, -2, 0, n), -1, n, n)


library("matrix_exp_parts(Tensor A) -> Tensor", _matrix_exp,
        node_name="LinalgMatrixExpBackward0", backward={"A": _matrix_exp_back})


def _matrix_exp_public(ops: Any, A: Any) -> Any:
    check_floating("linalg.matrix_exp", A.dtype)
    check_square("linalg.matrix_exp", Seen(A))
    if A.dtype in (float16, bfloat16):
        return ops.to_dtype(ops.matrix_exp_parts(ops.to_dtype(A, float32)), A.dtype)
    check_kernel("linalg_matrix_exp_cpu", A.dtype)
    return ops.matrix_exp_parts(A)


composite("linalg_matrix_exp(Tensor self) -> Tensor", _matrix_exp_public, method=False,
          doc="The matrix exponential.")
composite("matrix_exp(Tensor self) -> Tensor", _matrix_exp_public,
          doc="torch.linalg.matrix_exp.")


# ---- reflectors --------------------------------------------------------------------------------

def _reflect(ops: Any, vectors: Any, tau: Any, x: Any, forward: bool) -> Any:
    """x under the reflectors 1 - tau v v^H, one after the other; first to last if `forward`."""
    count = tau.shape[-1]
    for k in range(count) if forward else reversed(range(count)):
        v = ops.narrow(vectors, -1, k, 1)  # (..., m, 1)
        length = ops.unsqueeze(ops.narrow(tau, -1, k, 1), -1)
        x = ops.sub(x, ops.mul(ops.mul(length, v), ops.matmul(h(ops, v), x)))
    return x


def _vectors(ops: Any, A: Any, tau: Any) -> Any:
    """The reflectors' vectors: 1 at the diagonal, 0 above it."""
    own = ops.narrow(A, -1, 0, tau.shape[-1])
    one = ops.eye(*own.shape[-2:], dtype=A.dtype, device=A.device)
    return ops.add(ops.tril(own, -1), one)


def _check_reflectors(name: str, A: Any, tau: Any) -> None:
    check_matrix(name, Seen(A), "input")
    if A.shape[-1] < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to "
                           "tau.shape[-1]")
    if tuple(A.shape[:-2]) != tuple(tau.shape[:-1]):
        raise RuntimeError(f"{name}: Expected batch dimensions of tau to be equal to "
                           f"input.shape[:-2], but got {list(tau.shape[:-1])}")
    if A.dtype is not tau.dtype:
        raise RuntimeError(f"{name}: tau dtype {SCALAR_NAMES[tau.dtype]} does not match input "
                           f"dtype {SCALAR_NAMES[A.dtype]}")


def _householder_product(ops: Any, A: Any, tau: Any) -> Any:
    name = "torch.linalg.householder_product"
    check_matrix(name, Seen(A), "input")
    if A.shape[-2] < A.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to "
                           "input.shape[-1]")
    _check_reflectors(name, A, tau)
    check_kernel("orgqr_cpu", A.dtype)
    m, n = A.shape[-2:]
    one = t(ops, ops.eye(n, m, dtype=A.dtype, device=A.device))
    if not tau.shape[-1]:
        return _instead(ops, by_columns(ops, A), one.expand(tuple(A.shape)))
    return _reflect(ops, _vectors(ops, A, tau), tau, one, forward=False)


def _reflected_back(ops: Any, grad: Any, self: Any, tau: Any) -> tuple[Any, Any]:
    """Back through the reflectors; what each was applied to is computed once more."""
    count = tau.shape[-1]
    if not count:
        return ops.zeros_like(self), ops.zeros_like(tau)
    vectors = _vectors(ops, self, tau)
    one = t(ops, ops.eye(self.shape[-1], self.shape[-2], dtype=self.dtype, device=self.device))
    of_vectors, of_lengths = [], []
    for k in range(count):  # the first reflector was applied last
        rest = ops.narrow(vectors, -1, k + 1, count - k - 1)
        x = _reflect(ops, rest, ops.narrow(tau, -1, k + 1, count - k - 1), one, forward=False)
        v = ops.narrow(vectors, -1, k, 1)  # (..., m, 1)
        length = ops.conj(ops.unsqueeze(ops.narrow(tau, -1, k, 1), -1))
        across, pull = ops.matmul(h(ops, x), v), ops.matmul(h(ops, v), grad)  # (n, 1), (1, n)
        of_lengths.append(ops.neg(ops.squeeze(ops.matmul(pull, across), -1)))
        pull = ops.mul(length, pull)
        grad_of_v = ops.add(ops.matmul(ops.mul(length, grad), across), ops.matmul(x, h(ops, pull)))
        of_vectors.append(ops.neg(grad_of_v))
        grad = ops.sub(grad, ops.matmul(v, pull))
    made = ops.tril(ops.cat(of_vectors, -1), -1)
    beyond = ops.zeros_like(ops.narrow(self, -1, count, self.shape[-1] - count))
    return ops.cat([made, beyond], -1), ops.cat(of_lengths, -1)


composite("linalg_householder_product(Tensor self, Tensor tau) -> Tensor", _householder_product,
          out=True, method=False, autocast="float32", holomorphic=False,
          backward={("self", "tau"): _reflected_back},
          doc="The first columns of the product of reflectors, as torch.geqrf packs them.")
composite("orgqr(Tensor self, Tensor input2) -> Tensor",
          lambda ops, self, input2: ops.linalg_householder_product(self, input2), out=True,
          autocast="float32", doc="torch.linalg.householder_product.")


def _ormqr(ops: Any, self: Any, input2: Any, input3: Any, left: bool, transpose: bool) -> Any:
    name = "torch.ormqr"
    _check_reflectors(name, self, input2)
    check_matrix(name, Seen(input3), "other")
    if input3.shape[-2 if left else -1] != self.shape[-2]:
        raise RuntimeError(f"{name}: other.shape[{-2 if left else -1}] must be equal to "
                           "input.shape[-2]")
    check_kernel("ormqr_cpu", self.dtype)
    vectors = _vectors(ops, self, input2)
    forward = transpose if left else not transpose  # C Q = (Q^H C^H)^H
    tau = _conj(ops, input2) if forward else input2
    if left:
        return _reflect(ops, vectors, tau, by_columns(ops, input3), forward)
    return h(ops, _reflect(ops, vectors, tau, ops.contiguous(h(ops, input3)), forward))


composite("ormqr(Tensor self, Tensor input2, Tensor input3, bool left=True, bool transpose=False)"
          " -> Tensor", _ormqr, out=True, autocast="float32",
          doc="input3 times the orthogonal matrix that torch.geqrf packs.")


# ---- cross products ----------------------------------------------------------------------------

def _cross(p: Any, self: Any, other: Any, dim: int) -> None:
    dtype = p.promote([self, other], [])
    shape = tuple(broadcast_shapes(self.spec.shape, other.spec.shape))
    axis = wrap_dim(dim, len(shape))
    wide = compute_dtype(dtype)
    out = p.result(spec(dtype, shape, None, p.device))
    small = (*shape[:axis], 1, *shape[axis + 1:])

    def part(x: Any, k: int) -> Any:
        steps = expand_strides(x.spec.shape, x.spec.strides, shape)
        return x.seen((small, steps, k * steps[axis]))

    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        p.flat(lambda a, b, c, d: cast(a, wide) * cast(b, wide) - cast(c, wide) * cast(d, wide),
               [part(self, j), part(other, k), part(self, k), part(other, j)], [part(out, i)])


rows("cross_parts(Tensor self, Tensor other, int dim) -> Tensor", _cross, method=False,
     takes="bifc", holomorphic=False,
     node_name="LinalgCrossBackward0",
     backward={"self": lambda ops, grad, other, self_spec, dim: ops.sum_to_size(
                   ops.cross_parts(_conj(ops, other), grad, dim), tuple(self_spec.shape)),
               "other": lambda ops, grad, self, other_spec, dim: ops.sum_to_size(
                   ops.cross_parts(grad, _conj(ops, self), dim), tuple(other_spec.shape))})


def _linalg_cross(ops: Any, self: Any, other: Any, dim: int) -> Any:
    if self.dim() != other.dim():
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if self.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(f"linalg.cross: inputs dimension {dim} must have length 3. Got "
                           f"{self.shape[dim]} and {other.shape[dim]}")
    if self.dtype is not other.dtype:
        raise RuntimeError(f"expected scalar type {SCALAR_NAMES[self.dtype]} but found "
                           f"{SCALAR_NAMES[other.dtype]}")
    return ops.cross_parts(self, other, dim)


composite("linalg_cross(Tensor self, Tensor other, *, int dim=-1) -> Tensor", _linalg_cross,
          out=True, method=False, doc="The cross product of vectors of length 3 along dim.")


def _torch_cross(ops: Any, self: Any, other: Any, dim: Any) -> Any:
    if dim is None:
        dim = next((d for d, n in enumerate(self.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return _linalg_cross(ops, self, other, dim)


composite("cross(Tensor self, Tensor other, int? dim=None) -> Tensor", _torch_cross, out=True,
          doc="torch.linalg.cross; dim: the first of length 3.")


# ---- others ------------------------------------------------------------------------------------

def _linalg_vander(ops: Any, x: Any, N: Any) -> Any:
    if x.dtype in (float16, bfloat16) or x.dtype.category == 0:
        raise RuntimeError("linalg.vander supports floating point, complex, and integer tensors, "
                           f"but got {SCALAR_NAMES[x.dtype]}")
    if x.dim() == 0:
        x = ops.unsqueeze(x, -1)
    count = x.shape[-1] if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    dtype = x.dtype if x.dtype.category >= FLOATING else int64
    powers = ops.unsqueeze(x, -1).expand((*x.shape, count - 1))
    one = ops.ones((*x.shape, 1), dtype=dtype, device=x.device)
    return ops.cat([one, ops.cumprod(powers, -1)], -1)


composite("linalg_vander(Tensor x, *, int? N=None) -> Tensor", _linalg_vander, method=False,
          doc="The powers 0 to N - 1 of each element.")


def _vander(ops: Any, x: Any, N: Any, increasing: bool) -> Any:
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    dtype = x.dtype if x.dtype.category >= FLOATING else int64
    if count == 0:
        return ops.empty((x.shape[0], 0), dtype=dtype, device=x.device)
    made = ops.ones((x.shape[0], 1), dtype=dtype, device=x.device)
    if count > 1:
        powers = ops.unsqueeze(x, -1).expand((x.shape[0], count - 1))
        made = ops.cat([made, ops.cumprod(powers, -1)], -1)
    return made if increasing else ops.flip(made, (-1,))


composite("vander(Tensor x, int? N=None, bool increasing=False) -> Tensor", _vander,
          method=False, autocast="given",
          doc="The matrix of the powers of x, falling unless `increasing`.")
composite("linalg_diagonal(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
          lambda ops, A, offset, dim1, dim2: ops.diagonal(A, offset, dim1, dim2), method=False,
          doc="A view of the diagonals.")


def _lu(ops: Any, A: Any, pivot: bool, get_infos: bool) -> Any:
    if get_infos:
        return ops.named("_lu_with_info", tuple(ops.linalg_lu_factor_ex(A, pivot=pivot)))
    return tuple(ops.linalg_lu_factor(A, pivot=pivot))


composite("lu(Tensor A, bool pivot=True, bool get_infos=False) -> (Tensor, Tensor)", _lu,
          out=True, doc="torch.linalg.lu_factor, with its former arguments.")
