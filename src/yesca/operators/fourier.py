"""Discrete Fourier transforms: `torch.fft`.

Three records do the work: complex to complex, real to half, half to real. The derivative of a
transform is the transform with the other sign of the exponent.
"""

# Names: fft_fft fft_fft2 fft_fftn fft_hfft fft_hfft2 fft_hfftn fft_ifft fft_ifft2 fft_ifftn
# Names: fft_ihfft fft_ihfft2 fft_ihfftn fft_irfft fft_irfft2 fft_irfftn fft_rfft fft_rfft2
# Names: fft_rfftn

from __future__ import annotations

import math
from typing import Any

from ..core.dtypes import (
    FLOATING, SCALAR_NAMES, bfloat16, complex64, complex128, default_for, float16, float32,
    float64,
)
from ..core.spec import spec
from ..core.views import wrap_dim
from .factorisations import library
from .kinds import composite

_COMPLEX = {float32: complex64, float64: complex128}
_REAL = {complex64: float32, complex128: float64}


def _scale(sizes: list[int], mode: str) -> float:
    """By mode: "none", "root" (1 / sqrt of the count) or "all" (1 / count)."""
    count = math.prod(sizes)
    if mode == "none" or not count:
        return 1.0
    return 1 / count if mode == "all" else 1 / math.sqrt(count)


def _laid(shape: Any, strides: Any, dims: Any, last: bool = False) -> tuple[int, ...]:
    """Strides of a result, where PyTorch's library has them: dimensions that are not transformed
    outside, others inside, each kind in the order in which the operand has them; `last`: the last
    of the transformed ones stays innermost."""
    def outer_first(which: Any) -> list[int]:
        return sorted(which, key=lambda d: -strides[d])

    order = outer_first(d for d in range(len(shape)) if d not in dims)
    order += [*outer_first(dims[:-1]), dims[-1]] if last else outer_first(dims)
    made, step = [0] * len(shape), 1
    for d in reversed(order):
        made[d] = step
        step *= max(shape[d], 1)
    return tuple(made)


def _c2c(p: Any, self: Any, dims: Any, mode: str, forward: bool) -> None:
    shape = tuple(self.spec.shape)
    strides = _laid(shape, self.spec.strides, dims)
    out = p.result(spec(self.spec.dtype, shape, strides, p.device))
    p.host("complex_transform", [self, out], dims=tuple(dims), forward=bool(forward),
           scale=_scale([shape[d] for d in dims], mode))


library("fft_c2c(Tensor self, int[] dims, str mode, bool forward) -> Tensor", _c2c,
        node_name="FftC2CBackward0",
        backward={"self": lambda ops, grad, dims, mode, forward: ops.fft_c2c(
            grad, dims, mode, not forward)})


def _r2c(p: Any, self: Any, dims: Any, mode: str, half: bool) -> None:
    shape = list(self.spec.shape)
    scale = _scale([shape[d] for d in dims], mode)
    if half:
        shape[dims[-1]] = shape[dims[-1]] // 2 + 1
    strides = _laid(shape, self.spec.strides, dims, True)
    out = p.result(spec(_COMPLEX[self.spec.dtype], tuple(shape), strides, p.device))
    if half:
        p.host("real_transform", [self, out], dims=tuple(dims), scale=scale)
    else:
        p.host("complex_transform", [self, out], dims=tuple(dims), forward=True, scale=scale)


def _r2c_back(ops: Any, grad: Any, self_spec: Any, dims: Any, mode: str, half: bool) -> Any:
    """The other half took no part, if only one was made: zeros."""
    if not half:
        return ops.real(ops.fft_c2c(grad, dims, mode, False))
    last, size = dims[-1], self_spec.shape[dims[-1]]
    rest = list(grad.shape)
    rest[last] = size - rest[last]
    zeros = ops.zeros(tuple(rest), dtype=grad.dtype, device=grad.device)
    whole = ops.cat([grad, zeros], last)
    return ops.real(ops.fft_c2c(whole, dims, mode, False))


library("fft_r2c(Tensor self, int[] dims, str mode, bool half=True) -> Tensor", _r2c,
        node_name="FftR2CBackward0", keeps_more=True, backward={"self": _r2c_back})


def _c2r(p: Any, self: Any, dims: Any, mode: str, last_size: int) -> None:
    shape = list(self.spec.shape)
    strides: Any = self.spec.strides
    if len(dims) > 1:  # first all but the last
        strides = _laid(shape, strides, dims[:-1])
    shape[dims[-1]] = last_size
    strides = _laid(shape, strides, dims[-1:])
    out = p.result(spec(_REAL[self.spec.dtype], tuple(shape), strides, p.device))
    p.host("half_transform", [self, out], dims=tuple(dims),
           scale=_scale([shape[d] for d in dims], mode))


def _c2r_back(ops: Any, grad: Any, self_spec: Any, dims: Any, mode: str, last_size: int) -> Any:
    """What stands for two values of the spectrum counts twice."""
    made = ops.fft_r2c(grad, dims, mode)
    last = dims[-1]
    twice = last_size - made.shape[last]
    if twice <= 0:
        return made
    size = made.shape[last]
    factors = ops.ones(size, dtype=grad.dtype, device=grad.device)
    ops.fill_(ops.narrow(factors, 0, 1, twice), 2)
    shape = [1] * made.dim()
    shape[last] = size
    return ops.mul(made, ops.reshape(factors, tuple(shape)))


library("fft_c2r(Tensor self, int[] dims, str mode, int last_size) -> Tensor", _c2r,
        node_name="FftC2RBackward0", backward={"self": _c2r_back})


# ---- arguments ---------------------------------------------------------------------------------

def _mode(norm: Any, forward: bool) -> str:
    if norm in (None, "backward"):
        return "none" if forward else "all"
    if norm == "forward":
        return "all" if forward else "none"
    if norm == "ortho":
        return "root"
    raise RuntimeError(f'Invalid normalization mode: "{norm}"')


def _typed(ops: Any, x: Any, want_complex: bool) -> Any:
    """x as floating or complex."""
    if x.dtype.category < FLOATING:
        x = ops.to_dtype(x, default_for(FLOATING))
    if x.dtype in (float16, bfloat16):
        raise RuntimeError(f"Unsupported dtype {SCALAR_NAMES[x.dtype]}")
    if want_complex and not x.dtype.is_complex:
        x = ops.to_dtype(x, _COMPLEX[x.dtype])
    return x


def _real_only(ops: Any, name: str, x: Any) -> Any:
    if x.dtype.is_complex:
        raise RuntimeError(f"{name} expects a real input tensor, but got {SCALAR_NAMES[x.dtype]}")
    return _typed(ops, x, False)


def _resized(ops: Any, x: Any, dims: tuple[int, ...], sizes: Any) -> Any:
    """x cut, or filled up with zeros, to these sizes; -1 keeps one."""
    for d, size in zip(dims, sizes, strict=True):
        own = x.shape[d]
        if size == -1:
            size = own
        if size < 1:
            raise RuntimeError(f"Invalid number of data points ({size}) specified")
        if size < own:
            x = ops.narrow(x, d, 0, size)
        elif size > own:
            shape = list(x.shape)
            shape[d] = size - own
            zeros = ops.zeros(tuple(shape), dtype=x.dtype, device=x.device)
            x = ops.cat([x, zeros], d)
    return x


def _one(x: Any, n: Any, dim: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Dimension and size of a transform over one dimension."""
    d = wrap_dim(dim, x.dim())
    if not x.dim():
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return (d,), (-1 if n is None else n,)


def _many(x: Any, s: Any, dim: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Dimensions and sizes of a transform over several."""
    if isinstance(dim, int):
        dim = (dim,)
    if isinstance(s, int):
        s = (s,)
    if s is not None and dim is not None and len(s) != len(dim):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    if s is not None and len(s) > x.dim():
        raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {x.dim()} "
                           "dimensions.")
    if dim is None:
        dim = range(x.dim()) if s is None else range(x.dim() - len(s), x.dim())
    dims = tuple(wrap_dim(d, x.dim()) for d in dim)
    if len(set(dims)) != len(dims):
        raise RuntimeError("FFT dims must be unique")
    return dims, tuple(s) if s is not None else (-1,) * len(dims)


# ---- the transforms ----------------------------------------------------------------------------

def _complex(forward: bool) -> Any:
    def body(ops: Any, x: Any, dims: Any, sizes: Any, norm: Any) -> Any:
        x = _resized(ops, _typed(ops, x, True), dims, sizes)
        return ops.fft_c2c(x, dims, _mode(norm, forward), forward) if dims else ops.clone(x)
    return body


def _need_dims(name: str, dims: Any) -> None:
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")


def _from_real(name: str, forward: bool) -> Any:
    def body(ops: Any, x: Any, dims: Any, sizes: Any, norm: Any) -> Any:
        x = _real_only(ops, name, x)
        _need_dims(name, dims)
        x = _resized(ops, x, dims, sizes)
        mode = _mode(norm, forward)
        if forward:
            return ops.fft_r2c(x, dims, mode)
        made = ops.conj(ops.fft_r2c(x, dims[-1:], mode))  # ihfft: the inverse of a real signal
        return ops.fft_c2c(made, dims[:-1], mode, False) if dims[:-1] else made
    return body


def _to_real(name: str, forward: bool) -> Any:
    def body(ops: Any, x: Any, dims: Any, sizes: Any, norm: Any) -> Any:
        x = _typed(ops, x, True)
        _need_dims(name, dims)
        last = 2 * (x.shape[dims[-1]] - 1) if sizes[-1] == -1 else sizes[-1]
        if last < 1:
            raise RuntimeError(f"Invalid number of data points ({last}) specified")
        x = _resized(ops, x, dims, (*sizes[:-1], last // 2 + 1))
        mode = _mode(norm, forward)
        if not forward:
            return ops.fft_c2r(x, dims, mode, last)
        if dims[:-1]:
            x = ops.fft_c2c(x, dims[:-1], mode, True)
        return ops.fft_c2r(ops.conj(x), dims[-1:], mode, last)
    return body


def _alone(forward: bool) -> Any:
    """Over one dimension a real operand is transformed as it is."""
    whole = _complex(forward)

    def body(ops: Any, x: Any, dims: Any, sizes: Any, norm: Any) -> Any:
        if x.dtype.is_complex:
            return whole(ops, x, dims, sizes, norm)
        x = _resized(ops, _typed(ops, x, False), dims, sizes)
        made = ops.fft_r2c(x, dims, _mode(norm, forward), False)
        return made if forward else ops.conj(made)
    return body


def _declare(name: str, body: Any, doc: str, alone: Any = None) -> None:
    """A transform over one dimension (`alone`, if that is another body), two or several."""
    single = alone or body
    composite(f"fft_{name}(Tensor self, int? n=None, int dim=-1, str? norm=None) -> Tensor",
              lambda ops, x, n, dim, norm: single(ops, x, *_one(x, n, dim), norm), out=True,
               method=False, autocast="float32", doc=doc)
    composite(f"fft_{name}2(Tensor self, int[1]? s=None, int[1] dim=[-2,-1], "
              f"str? norm=None) -> Tensor",
              lambda ops, x, s, dim, norm: body(ops, x, *_many(x, s, dim), norm), out=True,
              method=False, autocast="float32", doc=f"{doc} Over two dimensions.")
    composite(f"fft_{name}n(Tensor self, int[1]? s=None, int[1]? dim=None, "
              f"str? norm=None) -> Tensor",
              lambda ops, x, s, dim, norm: body(ops, x, *_many(x, s, dim), norm), out=True,
              method=False, autocast="float32", doc=f"{doc} Over several dimensions.")


_declare("fft", _complex(True), "The discrete Fourier transform.", _alone(True))
_declare("ifft", _complex(False), "The inverse of fft.", _alone(False))
_declare("rfft", _from_real("rfft", True), "fft of a real signal: the half that determines it.")
_declare("irfft", _to_real("irfft", False), "The inverse of rfft.")
_declare("hfft", _to_real("hfft", True), "fft of a hermitian signal, given by its half: real.")
_declare("ihfft", _from_real("ihfft", False), "The inverse of hfft.")


# ---- frequencies, shifts -----------------------------------------------------------------------

def _shift(inverse: bool) -> Any:
    def body(ops: Any, x: Any, dim: Any) -> Any:
        dims = range(x.dim()) if dim is None else (dim,) if isinstance(dim, int) else dim
        dims = tuple(wrap_dim(d, x.dim()) for d in dims)
        steps = tuple((x.shape[d] + 1) // 2 if inverse else x.shape[d] // 2 for d in dims)
        return ops.roll(x, steps, dims)
    return body


composite("fft_fftshift(Tensor self, int[1]? dim=None) -> Tensor", _shift(False), method=False,
          doc="The frequency 0 in the middle.")
composite("fft_ifftshift(Tensor self, int[1]? dim=None) -> Tensor", _shift(True), method=False,
          doc="The inverse of fftshift.")
