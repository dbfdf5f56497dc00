"""`gradcheck`: derivatives against finite differences."""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..core.tensor_base import TensorBase
from ..dispatch.call import OPERATORS
from .calls import grad
from .modes import enable_grad, no_grad


class GradcheckError(RuntimeError):
    """Raised where a derivative differs from finite differences."""


def gradcheck(func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5,
              rtol: float = 1e-3, raise_exception: bool = True, nondet_tol: float = 0.0,
              check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
              check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
              check_forward_ad: bool = False, check_backward_ad: bool = True,
              fast_mode: bool = False, masked: bool | None = None) -> bool:
    """Compare the derivatives of `func` with central differences of width `eps`.

    Inputs that require a gradient should be float64 (or complex128). Gives True; where they
    differ by more than `atol + rtol * |numerical|`, an error (or False, without
    `raise_exception`).

    >>> import yesca as torch
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(lambda x: x * x, (x,))
    True
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be "
                             "True")
    try:
        _check(func, _as_tuple(inputs), eps, atol, rtol, nondet_tol, check_undefined_grad)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *,
                  eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
                  gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True,
                  nondet_tol: float = 0.0, check_undefined_grad: bool = True,
                  check_grad_dtypes: bool = False, check_batched_grad: bool = False,
                  check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
                  fast_mode: bool = False, masked: bool = False) -> bool:
    """Compare second derivatives of `func` with finite differences of its first derivatives.

    grad_outputs: gradients of the results to begin with; random ones by default.
    """
    given = _as_tuple(inputs)
    count = len(given)
    if grad_outputs is None:
        outputs = _differentiable(func(*given))
        chosen = tuple([_random_like(o).requires_grad_() for o in outputs])
    else:
        chosen = _as_tuple(grad_outputs)

    def first(*values: Any) -> tuple[Any, ...]:
        xs, gs = values[:count], values[count:]
        with enable_grad():
            xs = tuple([OPERATORS.alias(x) if _wants(x) else x for x in xs])
        sources = [x for x in xs if _wants(x)]
        with enable_grad():
            found = grad(_differentiable(func(*xs)), sources, gs, create_graph=True,
                         allow_unused=True)
        return tuple([g for g in found if g is not None])

    return gradcheck(first, (*given, *chosen), eps=eps, atol=atol, rtol=rtol,
                     raise_exception=raise_exception, nondet_tol=nondet_tol,
                     check_undefined_grad=check_undefined_grad)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return (value,) if isinstance(value, TensorBase) else tuple(value)


def _wants(value: Any) -> bool:
    return isinstance(value, TensorBase) and value.requires_grad  # type: ignore[attr-defined]


def _random_like(tensor: Any) -> Any:
    """Fixed numbers between -1 and 1: the user's generator stays as it is."""
    count = max(tensor.numel(), 1)
    flat = OPERATORS.arange(1, count + 1, dtype=tensor.dtype.to_real())
    made = OPERATORS.sin(flat * 12.9898) * 0.9
    if tensor.is_complex():
        made = OPERATORS.complex(made, OPERATORS.cos(flat * 7.233))
    return OPERATORS.reshape(made[:tensor.numel()], tuple(tensor.shape))


def _differentiable(outputs: Any) -> tuple[Any, ...]:
    return tuple([o for o in _as_tuple(outputs) if o.requires_grad])


def _check(func: Callable[..., Any], inputs: tuple[Any, ...], eps: float, atol: float, rtol: float,
           nondet_tol: float, undefined: bool) -> None:
    _check_inputs(inputs)
    func = _by_parts(func)
    with enable_grad():
        all_outputs = _as_tuple(func(*inputs))
    outputs = [o for o in all_outputs if o.requires_grad]
    sources = [x for x in inputs if _wants(x)]
    if not outputs:
        _check_constant(func, inputs, sources, all_outputs, eps, atol)
        return
    places = [k for k, o in enumerate(all_outputs) if o.requires_grad]
    for j, source in enumerate(sources):
        numerical = _numerical(func, inputs, source, places, eps)
        for k, output in enumerate(outputs):
            analytical = _analytical(output, source, nondet_tol)
            if not bool(OPERATORS.allclose(analytical, numerical[k], rtol, atol)):
                raise GradcheckError(
                    f"Jacobian mismatch for output {places[k]} with respect to input {j},\n"
                    f"numerical:{numerical[k]}\nanalytical:{analytical}\n")
    if undefined:
        _check_undefined(outputs, sources)


def _by_parts(func: Callable[..., Any]) -> Callable[..., Any]:
    """The function with complex results as pairs of real ones, checked one by one."""
    def parts(*values: Any) -> tuple[Any, ...]:
        return tuple([OPERATORS.view_as_real(OPERATORS.resolve_conj(o)) if o.is_complex() else o
                      for o in _as_tuple(func(*values))])

    return parts


def _check_inputs(inputs: Sequence[Any]) -> None:
    found = False
    for k, x in enumerate(inputs):
        if not _wants(x):
            continue
        found = True
        if x._spec.dtype.name not in ("float64", "complex128"):
            warnings.warn(f"Input #{k} requires gradient and is not a double precision floating "
                          "point or complex. This check will likely fail if all the inputs are "
                          "not of double precision floating point or complex. ", stacklevel=4)
        if x._spec.numel and any(s == 0 and n > 1
                                 for s, n in zip(x._spec.strides, x._spec.shape, strict=True)):
            raise RuntimeError(
                f"The {k}th input has a dimension with stride 0. gradcheck only supports inputs "
                "that are non-overlapping to be able to compute the numerical gradients "
                "correctly. You should call .contiguous on the input before passing it to "
                "gradcheck.")
    if not found:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but "
                         "none of them have requires_grad=True.")


def _check_constant(func: Callable[..., Any], inputs: tuple[Any, ...], sources: list[Any],
                    outputs: tuple[Any, ...], eps: float, atol: float) -> None:
    for source in sources:
        for one in _numerical(func, inputs, source, list(range(len(outputs))), eps):
            if bool(OPERATORS.any(OPERATORS.gt(OPERATORS.abs(one), atol))):
                raise GradcheckError("Numerical gradient for function expected to be zero")


def _numerical(func: Callable[..., Any], inputs: tuple[Any, ...], source: Any, places: list[int],
               eps: float) -> list[Any]:
    """Per output: central differences, of shape (elements of source, elements of output).

    The input itself is moved and put back, one element at a time.
    """
    columns: list[list[Any]] = [[] for _ in places]
    flat = source.data  # a version counter of its own: what the tape keeps stays valid
    with no_grad():
        for j in range(source.numel()):
            steps = (eps, eps * 1j) if source.is_complex() else (eps,)
            parts = [_difference(func, inputs, flat, j, step, places) for step in steps]
            for k in range(len(places)):
                one = parts[0][k]
                if len(parts) == 2:  # the gradient of a real function: d/dx + i d/dy
                    one = one + parts[1][k] * 1j
                columns[k].append(one)
    outputs = _as_tuple(func(*inputs)) if not source.numel() else ()
    return [OPERATORS.stack(c) if c else OPERATORS.zeros((0, outputs[k].numel()),
                                                         dtype=source.dtype)
            for c, k in zip(columns, places, strict=True)]


def _difference(func: Callable[..., Any], inputs: tuple[Any, ...], source: Any, j: int,
                step: Any, places: list[int]) -> list[Any]:
    index = _unravel(j, tuple(source.shape))
    before = source[index].item()
    ends = []
    try:
        for value in (before + step, before - step):
            source[index] = value
            made = _as_tuple(func(*inputs))
            ends.append([OPERATORS.clone(made[k]).detach().reshape(-1) for k in places])
    finally:
        source[index] = before
    return [(up - down) / (2 * abs(step)) for up, down in zip(*ends, strict=True)]


def _unravel(j: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    index = []
    for size in reversed(shape):
        j, at = divmod(j, size)
        index.append(at)
    return tuple(reversed(index))


def _analytical(output: Any, source: Any, nondet_tol: float) -> Any:
    """The Jacobian by the tape, of shape (elements of source, elements of output)."""
    columns = []
    flat = OPERATORS.reshape(output, (-1,))
    for j in range(output.numel()):
        one = OPERATORS.zeros_like(flat.detach())
        one[j] = 1
        found, again = [grad(flat, source, one, retain_graph=True, allow_unused=True)[0]
                        for _ in range(2)]
        if found is None:
            found = again = OPERATORS.zeros_like(source.detach())
        if found.dtype is not source.dtype or tuple(found.shape) != tuple(source.shape):
            raise GradcheckError(
                "grad is incorrect size or type: "
                f"expected {tuple(source.shape)} of {source.dtype}, got {tuple(found.shape)} of "
                f"{found.dtype}")
        if not bool(OPERATORS.allclose(found, again, 0.0, nondet_tol, True)):
            raise GradcheckError("Backward is not reentrant, i.e., running backward with same "
                                 "input and grad_output multiple times gives different values, "
                                 "although analytical gradient matches numerical gradient. The "
                                 f"tolerance for nondeterminism was {nondet_tol}.")
        columns.append(OPERATORS.reshape(found, (-1,)))
    if not columns:
        return OPERATORS.zeros((source.numel(), 0), dtype=source.dtype)
    return OPERATORS.stack(columns, 1)


def _check_undefined(outputs: list[Any], sources: list[Any]) -> None:
    """Gradients of zero must give zero (or no) gradients."""
    found = grad(outputs, sources, [OPERATORS.zeros_like(o.detach()) for o in outputs],
                 retain_graph=True, allow_unused=True)
    for one in found:
        if one is not None and bool(OPERATORS.any(OPERATORS.ne(one, 0))):
            raise GradcheckError("backward not multiplied by grad_output")


class _Callable(types.ModuleType):
    """The module and its function share a name; PyTorch lets `autograd.gradcheck()` be called."""

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        return gradcheck(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable

__all__ = ["gradcheck", "gradgradcheck", "GradcheckError"]
