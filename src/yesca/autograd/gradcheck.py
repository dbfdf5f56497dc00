"""`gradcheck`: derivatives against finite differences."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..base import absent
from ..base.frames import warn
from ..dispatch.call import OPERATORS
from ..func._vmap import vmap
from . import jacobians
from .calls import edge_of, gradients
from .engine import Run
from .grads import grad
from .jacobians import Pair, as_tuple, wants
from .modes import enable_grad


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

    Args:
        nondet_tol: how far two passes backward may differ.
        check_undefined_grad: results without a gradient must give none, or zeros.
        check_grad_dtypes: gradients must have the inputs' dtype.
        check_batched_grad: `grad(is_grads_batched=True)` must give what single passes give.
        check_batched_forward_grad: tangents of a batch of directions, under `torch.vmap`, must be
            what single directions give.
        check_forward_ad: check the tangents of `forward_ad` as well.
        check_backward_ad: check the gradients.
        fast_mode: compare the Jacobian times one pair of vectors only.

    >>> import yesca as torch
    >>> x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(lambda x: x * x, (x,), check_forward_ad=True)
    True
    """
    for wrong, message in (
            (not (check_forward_ad or check_backward_ad),
             "Expected at least one of check_forward_ad or check_backward_ad to be True"),
            (check_batched_grad and not check_backward_ad,
             "Setting check_batched_grad=True requires check_backward_ad to be True"),
            (check_batched_forward_grad and not check_forward_ad,
             "Setting check_batched_forward_grad=True requires check_forward_ad to be True")):
        if wrong:
            raise AssertionError(message)
    try:
        _Check(func, as_tuple(inputs), eps, atol, rtol).run(
            nondet_tol, check_backward_ad, check_forward_ad, fast_mode, check_batched_grad,
            check_batched_forward_grad, check_undefined_grad, check_grad_dtypes)
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

    Args:
        grad_outputs: gradients of the results to begin with; fixed numbers by default.
        gen_non_contig_grad_outputs: make these numbers lie apart in memory.
        check_fwd_over_rev: differentiate the gradient by `forward_ad`.
        check_rev_over_rev: differentiate the gradient by another pass backward.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev "
                             "to be True")
    given = as_tuple(inputs)
    count = len(given)
    if grad_outputs is None:
        outputs = _differentiable(func(*given))
        chosen = tuple([jacobians.numbers_like(o, apart=gen_non_contig_grad_outputs)
                        .requires_grad_() for o in outputs])
    else:
        chosen = as_tuple(grad_outputs)

    def first(*values: Any) -> tuple[Any, ...]:
        xs, gs = values[:count], values[count:]
        with enable_grad():
            xs = tuple([OPERATORS.alias(x) if wants(x) else x for x in xs])
        sources = [x for x in xs if wants(x)]
        with enable_grad():
            found = gradients(_differentiable(func(*xs)), sources, gs, create_graph=True,
                              allow_unused=True)
        return tuple([g for g in found if g is not None])

    return gradcheck(first, (*given, *chosen), eps=eps, atol=atol, rtol=rtol,
                     raise_exception=raise_exception, nondet_tol=nondet_tol,
                     check_undefined_grad=check_undefined_grad,
                     check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
                     check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev,
                     fast_mode=fast_mode)


def _differentiable(outputs: Any) -> tuple[Any, ...]:
    return tuple([o for o in as_tuple(outputs) if o.requires_grad])


class _Check:
    """One function at one point, and how close its derivatives must be."""

    def __init__(self, func: Callable[..., Any], inputs: tuple[Any, ...], eps: float, atol: float,
                 rtol: float) -> None:
        self.func, self.inputs = jacobians.by_parts(func), inputs
        self.eps, self.atol, self.rtol = eps, atol, rtol
        self.sources = [x for x in inputs if wants(x)]

    def run(self, nondet_tol: float, backward: bool, forward: bool, fast: bool, batched: bool,
            batched_forward: bool, undefined: bool, dtypes: bool) -> None:
        _check_inputs(self.inputs)
        with enable_grad():
            made = as_tuple(self.func(*self.inputs))
        places = [k for k, o in enumerate(made) if o.requires_grad]
        if not places:
            self._constant(len(made))
            return
        outputs = [made[k] for k in places]
        if backward:
            self._compare(places, fast, "Jacobian mismatch", lambda j, fast: jacobians.backward(
                outputs, self.sources[j], fast))
            for source in self.sources:
                for output in outputs:
                    self._one(output, source, nondet_tol, dtypes)
            if batched:
                self._batched(outputs)
            if undefined:
                _check_undefined(outputs, self.sources)
        if forward:
            self._compare(
                places, fast, "Jacobian computed with forward mode mismatch",
                lambda j, fast: jacobians.forward(self.func, self.inputs, self.sources[j], places,
                                                  fast))
            if batched_forward:
                self._batched_forward(places)

    def _compare(self, places: list[int], fast: bool, what: str,
                 analytical: Callable[[int, bool], list[Any]]) -> None:
        """Per input and output: the derivative and the finite differences."""
        for j, source in enumerate(self.sources):
            pairs = self._pairs(j, source, places, fast, analytical)
            for k, (numerical, found) in zip(places, pairs, strict=True):
                if self._close(numerical, found):
                    continue
                text = (f"{what} for output {k} with respect to input {j},\n"
                        f"numerical:{numerical}\nanalytical:{found}\n")
                if fast:
                    whole = self._pairs(j, source, places, False, analytical)
                    text += _slowly(*whole[places.index(k)])
                raise GradcheckError(text)

    def _pairs(self, j: int, source: Any, places: list[int], fast: bool,
               analytical: Callable[[int, bool], list[Any]]) -> list[Pair]:
        numerical = jacobians.numerical(self.func, self.inputs, source, places, self.eps, fast)
        return list(zip(numerical, analytical(j, fast), strict=True))

    def _close(self, numerical: Any, found: Any) -> bool:
        return bool(OPERATORS.allclose(found, numerical, self.rtol, self.atol))

    def _constant(self, count: int) -> None:
        for source in self.sources:
            for one in jacobians.numerical(self.func, self.inputs, source, list(range(count)),
                                           self.eps, False):
                if bool(OPERATORS.any(OPERATORS.gt(OPERATORS.abs(one), self.atol))):
                    raise GradcheckError("Numerical gradient for function expected to be zero")

    def _one(self, output: Any, source: Any, nondet_tol: float, dtypes: bool) -> None:
        """Two passes backward agree, and give what has the input's shape (and dtype)."""
        given = jacobians.numbers_like(output)
        found, again = [gradients(output, source, given, retain_graph=True, allow_unused=True)[0]
                        for _ in range(2)]
        if found is None:
            return
        if tuple(found.shape) != tuple(source.shape) or (dtypes and found.dtype
                                                         is not source.dtype):
            raise GradcheckError(
                "Gradient has dtype mismatch" if dtypes else "Analytical gradient has incorrect "
                f"size: expected {tuple(source.shape)} of {source.dtype}, got "
                f"{tuple(found.shape)} of {found.dtype}")
        if not bool(OPERATORS.allclose(found, again, 0.0, nondet_tol, True)):
            raise GradcheckError("Backward is not reentrant, i.e., running backward with same "
                                 "input and grad_output multiple times gives different values, "
                                 "although analytical gradient matches numerical gradient."
                                 f"The tolerance for nondeterminism was {nondet_tol}.")

    def _batched(self, outputs: list[Any]) -> None:
        """One pass with a batch of gradients gives what a pass for each of them gives."""
        for i, output in enumerate(outputs):
            rows = [jacobians.numbers_like(output), jacobians.numbers_like(output) * -0.5]
            single = [gradients(output, self.sources, row, retain_graph=True, allow_unused=True)
                      for row in rows]
            whole = _in_batch("the backward formula", "check_batched_grad", lambda o, r: grad(
                o, self.sources, OPERATORS.stack(r), is_grads_batched=True, retain_graph=True,
                allow_unused=True), output, rows)
            for j, (found, *parts) in enumerate(zip(whole, *single, strict=True)):
                if found is not None:
                    self._same(i, j, OPERATORS.stack(parts), found)

    def _batched_forward(self, places: list[int]) -> None:
        """Tangents of a batch of directions are those of each direction."""
        for j, source in enumerate(self.sources):
            rows = [jacobians.numbers_like(source.detach()) * factor for factor in (1, -0.5)]
            function = partial(jacobians.tangents, self.func, self.inputs, source, places)
            single = [function(row) for row in rows]
            whole = _in_batch("forward mode", "check_batched_forward_grad", lambda f, r: vmap(f)(
                OPERATORS.stack(r)), function, rows)
            for i, found, *parts in zip(places, whole, *single, strict=True):
                self._same(i, j, OPERATORS.stack(parts), found)

    def _same(self, i: int, j: int, wanted: Any, found: Any) -> None:
        if not self._close(wanted, found):
            raise GradcheckError(f"For output {i} and input {j}: a batch of derivatives differs "
                                 f"from single ones.\n\nGot:\n{found}\n\nExpected:\n{wanted}\n")


def _in_batch(what: str, option: str, function: Callable[..., Any], *args: Any) -> Any:
    """What a function makes of a batch; what batches cannot do is an error of the check."""
    try:
        return function(*args)
    except RuntimeError as error:
        raise GradcheckError(
            f"While computing batched gradients, got: {error}\n\nHint: {what} runs once for a "
            "batch of vectors, as under torch.vmap, so it may not look at a vector's values in "
            f"Python. Write it with operators, or leave {option} off.") from error


def _slowly(numerical: Any, analytical: Any) -> str:
    difference = OPERATORS.abs(OPERATORS.sub(numerical, analytical))
    largest = OPERATORS.max(difference).item() if difference.numel() else 0.0
    return ("\nThe above quantities relating the numerical and analytical jacobians are computed "
            "in fast mode: they are products with one pair of vectors. The jacobians "
            f"themselves:\n\nNumerical:\n {numerical}\nAnalytical:\n{analytical}\n\n"
            f"The max per-element difference (slow mode) is: {largest}.\n")


def _check_inputs(inputs: Sequence[Any]) -> None:
    found = False
    for k, x in enumerate(inputs):
        if not wants(x):
            continue
        found = True
        if x._spec.dtype.name not in ("float64", "complex128"):
            warn(f"Input #{k} requires gradient and is not a double precision floating "
                 "point or complex. This check will likely fail if all the inputs are "
                 "not of double precision floating point or complex. ")
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


def _check_undefined(outputs: list[Any], sources: list[Any]) -> None:
    """Results that got no gradient must pass on none, or zeros: all of them, or one alone."""
    edges = [edge_of(o) for o in outputs]
    targets: dict[Any, list[int]] = {}
    for k, source in enumerate(sources):
        targets.setdefault(edge_of(source), []).append(k)
    for without in [range(len(outputs)), *([k] for k in range(len(outputs)) if len(outputs) > 1)]:
        given = [None if k in without else OPERATORS.zeros_like(o.detach())
                 for k, o in enumerate(outputs)]
        run = Run(True, False, targets, False)
        try:
            run.start(edges, given)
        except RuntimeError as error:
            raise GradcheckError(
                "Expected backward function to handle undefined output grads: a gradient that it "
                "is given may be None") from error
        for one in run.found.values():
            if one is not None and bool(OPERATORS.any(OPERATORS.ne(one, 0))):
                raise GradcheckError("backward not multiplied by grad_output")


class _Callable(types.ModuleType):
    """The module and its function share a name; PyTorch lets `autograd.gradcheck()` be called."""

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        return gradcheck(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable

__all__ = ["gradcheck", "gradgradcheck", "GradcheckError"]


__getattr__ = absent.names_of(__name__)
