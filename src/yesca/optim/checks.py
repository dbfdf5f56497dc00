"""Checks of hyperparameters that several optimizers share."""

from typing import Any

from .._tensor import Tensor


def check_learning_rate(lr: float | Tensor) -> None:
    """A learning rate is a number, or a tensor of one element, that is not negative."""
    check_single("lr", lr)
    check_not_negative("learning rate", lr)


def check_single(name: str, value: Any) -> None:
    """A tensor given as a hyperparameter has one element."""
    if isinstance(value, Tensor) and value.numel() != 1:
        raise ValueError(f"Tensor {name} must be 1-element, not of shape {tuple(value.shape)}")


def check_not_negative(label: str, value: Any) -> None:
    """`label` says what the value is, as in the message `Invalid weight_decay value: -1`."""
    if not 0.0 <= value:
        raise ValueError(f"Invalid {label}: {value}; it must not be negative")


def check_betas(betas: tuple) -> None:
    """Both decay rates of moving averages lie in [0, 1)."""
    for index in range(2):
        beta = betas[index]
        if not 0.0 <= beta < 1.0:
            raise ValueError(
                f"Invalid beta parameter at index {index}: {beta}; it must be in [0, 1)"
            )


def check_implementation(
    fused: bool | None, foreach: bool | None, differentiable: bool
) -> None:
    """`fused` excludes `differentiable` and `foreach`.

    Apart from that the three words choose nothing: there is one implementation.
    """
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`; give one of them")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
