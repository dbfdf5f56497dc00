"""Helpers for error texts: PyTorch's class and wording first, then the values and the repair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from .naming import public_module

CUDA_MISSING = "Torch not compiled with CUDA enabled"


class LinAlgError(RuntimeError):
    """A factorisation or solver failed on the values it got (`torch.linalg.LinAlgError`)."""


LinAlgError.__name__ = LinAlgError.__qualname__ = "_LinAlgError"
LinAlgError.__module__ = public_module("torch._C")


def type_name(value: object) -> str:
    """A type as PyTorch's argument checks name it.

    >>> type_name(3), type_name([1]), type_name(None)
    ('int', 'list', 'NoneType')

    Classes of C carry their module, as they do in their own error texts; Python's do not.
    """
    kind = type(value)
    place = kind.__module__.partition(".")[0]
    if place == "numpy":
        return f"numpy.{kind.__name__}"
    if place in ("torch", "yesca") and kind.__name__ == "dtype":
        return f"torch.{kind.__name__}"
    return kind.__name__


def refusal(name: str, backend: str, repair: str) -> NotImplementedError:
    """The error for an operator that there is not for a kind of tensors."""
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{backend}' backend. {repair}")


_FORWARD = "forward"  # what an error says where forward mode meets it
_MISSING = (" because it has not been implemented yet.\nPlease file an issue to PyTorch at "
            "https://github.com/pytorch/pytorch/issues/new?template=feature-request.yml so that we "
            "can prioritize its implementation or submit a PR adding the implementation to "
            "derivatives.yaml")


def underived(name: str) -> RuntimeError:
    """The error for an operator that PyTorch has no derivatives of."""
    error = RuntimeError(f"derivative for aten::{name} is not implemented")
    error.__dict__[_FORWARD] = f"aten::{name} that does not support it."
    return error


def missing_derivative(name: str, operator: str = "") -> NotImplementedError:
    """The error for a derivative that PyTorch lists as missing; `operator`: whose it is, where
    `name` tells more or less."""
    error = NotImplementedError(f"the derivative for '{name}' is not implemented.")
    error.__dict__[_FORWARD] = f"{operator or name} that does not support it{_MISSING}"
    return error


@contextmanager
def in_forward_mode() -> Iterator[None]:
    """Errors of formulas that do not exist, as forward mode puts them."""
    try:
        yield
    except RuntimeError as error:
        found = error.__dict__.get(_FORWARD)
        if found is None:
            raise
        raise NotImplementedError(f"Trying to use forward AD with {found}") from None


def too_big(value: int) -> OverflowError:
    """The error for a whole number that no 64 bits hold."""
    return OverflowError("int too big to convert" if value > 0 else
                         "can't convert negative int to unsigned")


def shape_text(shape: Iterable[int]) -> str:
    """A shape as PyTorch's messages print it: `[2, 3]`."""
    return "[" + ", ".join(map(str, shape)) + "]"


def ordinal(number: int) -> str:
    """1st, 2nd, 3rd, 4th ...

    >>> ordinal(2), ordinal(11), ordinal(23)
    ('2nd', '11th', '23rd')
    """
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10)
    return f"{number}{ending or 'th'}"


def closest(name: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?` for the known name most like `name`, or an empty text."""
    import difflib

    matches = difflib.get_close_matches(name, list(known), n=1, cutoff=0.75)
    return f" Did you mean {matches[0]!r}?" if matches else ""


def argument_error(
    function: str, argument: str, position: int, expected: str, value: object
) -> TypeError:
    """The TypeError for an argument of the wrong type, in PyTorch's words."""
    place = f" (position {position})" if position else ""
    return TypeError(
        f"{function}(): argument '{argument}'{place} must be {expected}, not {type_name(value)}"
    )


def not_yet(what: str, instead: str = "") -> NotImplementedError:
    """The error for something of PyTorch's that yesca does not have yet."""
    repair = f"; {instead}" if instead else ""
    return NotImplementedError(f"yesca does not have {what} yet{repair}")


def raise_no_cuda() -> NoReturn:
    """What every call that needs a CUDA device raises, as PyTorch's CPU build does."""
    raise AssertionError(CUDA_MISSING)
