"""`torch.autograd.forward_ad`: derivatives in a direction, computed along with the values."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..core.tensor_base import TensorBase
from ..dispatch.call import OPERATORS
from ..dispatch.state import STATE, push_level, set_levels
from .duals import DualLevel

_NO_LEVEL = ("Trying to create a dual Tensor for forward AD but no level exists, make sure to "
             "enter_dual_level() first.")


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` gives: the value, and its tangent or None."""

    primal: Any
    tangent: Any


def _level() -> DualLevel | None:
    return STATE.forward  # type: ignore[no-any-return]


def enter_dual_level() -> int:
    """Begin a level in which tensors may have tangents; gives its number, 0."""
    if STATE.forward is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    STATE.forward = DualLevel()
    push_level(STATE.forward)
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: its tensors have no tangents any more."""
    open_level = _level()
    if level is None and open_level is None:
        raise RuntimeError("Dual level must be a positive number.")
    if open_level is None or level not in (None, 0):
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was "
                           "created. This is not supported.")
    STATE.forward = None
    set_levels([one for one in STATE.levels if one is not open_level])
    open_level.close()


def make_dual(tensor: Any, tangent: Any, *, level: int | None = None) -> Any:
    """A view of `tensor` that has a tangent: the direction in which to differentiate.

    >>> import yesca as torch
    >>> from yesca.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(torch.tensor(3.0), torch.tensor(1.0))
    ...     print(forward_ad.unpack_dual(x * x).tangent)
    tensor(6.)
    """
    current = _level()
    if current is None or (level is not None and level < 0):
        raise RuntimeError(_NO_LEVEL)
    for name, value in (("primal", tensor), ("tangent", tangent)):
        if not (value.is_floating_point() or value.is_complex()):
            raise ValueError(f"Expected {name} to be floating point or complex, but got: "
                             f"{value.dtype}")
    if level:
        raise RuntimeError("Invalid level given to _make_dual")
    if current.tangent(tensor) is not None:
        raise RuntimeError("Making a dual Tensor based on a Tensor that already has a forward "
                           "gradient at the same level 0 is not supported.")
    made = OPERATORS.alias(tensor)
    current.attach(made, tangent)
    return made


def unpack_dual(tensor: Any, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor's value, without tangent, and its tangent (None where it has none)."""
    current = _level()
    if current is None or (level is not None and level < 0):
        return UnpackedDualTensor(tensor, None)
    if level:
        raise RuntimeError("Invalid level given to _fw_primal")
    if not isinstance(tensor, TensorBase):
        raise TypeError("unpack_dual(): argument 'tensor' must be Tensor, not "
                        f"{type(tensor).__name__}")
    tangent = current.tangent(tensor)
    before = STATE.levels
    set_levels([one for one in before if one is not current])
    try:
        primal = OPERATORS.alias(tensor)
    finally:
        set_levels(before)
    current.drop(primal)
    return UnpackedDualTensor(primal, tangent)


class dual_level:  # noqa: N801 - PyTorch's name
    """`with dual_level():` a level that ends with the block."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exc: object) -> None:
        exit_dual_level()

    def __call__(self, function: Any) -> Any:
        from .modes import decorated

        return decorated(dual_level, function)


__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual",
           "unpack_dual"]
