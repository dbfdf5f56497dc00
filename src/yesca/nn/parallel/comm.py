"""Moving tensors between accelerators. There are none, so nothing can be moved: arguments are
checked as elsewhere, and then each function says what it lacks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from ..._tensor import Tensor
from ...core.devices import Device, resolve


def broadcast(tensor: Tensor, devices: Iterable[Any] | None = None, *,
              out: Sequence[Tensor] | None = None) -> NoReturn:
    """Copies of a tensor, one for each accelerator.

    Raises ValueError for the CPU among the devices, RuntimeError unless one of `devices` and `out`
    is given, and AttributeError otherwise: there are no accelerators.

    >>> import yesca as torch
    >>> torch.nn.parallel.comm.broadcast(torch.ones(2), ["cpu"])
    Traceback (most recent call last):
        ...
    ValueError: Expected a non cpu device, but got: cpu
    """
    if (devices is None) == (out is None):
        raise RuntimeError(f"Exactly one of 'devices' and 'out' must be specified, but got devices="
                           f"{devices} and out={out}")
    _refuse_cpu(devices or ())
    _lack("_broadcast" if out is None else "_broadcast_out")


def broadcast_coalesced(tensors: Sequence[Tensor], devices: Iterable[Any],
                        buffer_size: int = 10485760) -> NoReturn:
    """Copies of several tensors, for each accelerator; raises as `broadcast` does."""
    _refuse_cpu(devices)
    _lack("_broadcast_coalesced")


def reduce_add(inputs: Sequence[Tensor], destination: Any = None) -> Tensor:
    """The sum of tensors on several accelerators.

    Raises AssertionError, as all tensors are on the CPU, and ValueError for it as `destination`.
    """
    _refuse_cpu(() if destination is None else (destination,))
    assert inputs[0].device.type != "cpu", (
        "reduce_add expects all inputs to be on GPUs, but input 0 is on CPU")
    raise RuntimeError(
        "reduce_add expects destination to be on the same GPU with one of the tensors")


def reduce_add_coalesced(inputs: Sequence[Sequence[Tensor]], destination: Any = None,
                         buffer_size: int = 10485760) -> list[Tensor]:
    """The sums of several tensors on several accelerators; raises as `reduce_add` does."""
    return [reduce_add(each, destination) for each in zip(*inputs, strict=False)]


def scatter(tensor: Tensor, devices: Iterable[Any] | None = None,
            chunk_sizes: Sequence[int] | None = None, dim: int = 0, streams: Any = None, *,
            out: Sequence[Tensor] | None = None) -> NoReturn:
    """Parts of a tensor, one for each accelerator; raises as `broadcast` does."""
    if out is None:
        if devices is None:
            raise TypeError("'NoneType' object is not iterable: give devices, or out")
        _refuse_cpu(devices)
        _lack("_scatter")
    for name, value in (("devices", devices), ("chunk_sizes", chunk_sizes)):
        if value is not None:
            raise RuntimeError(f"'{name}' must not be specified when 'out' is specified, but got "
                               f"{name}={value}")
    _lack("_scatter_out")


def gather(tensors: Sequence[Tensor], dim: int = 0, destination: Any = None, *,
           out: Tensor | None = None) -> NoReturn:
    """Tensors on several accelerators joined; raises as `broadcast` does."""
    if out is None:
        _lack("_gather")
    if destination is not None:
        raise RuntimeError("'destination' must not be specified when 'out' is specified, but got "
                           f"destination={destination}")
    _lack("_gather_out")


def _refuse_cpu(devices: Iterable[Any]) -> None:
    for each in devices:
        if isinstance(each, (str, Device)) and resolve(each).type == "cpu":
            raise ValueError(f"Expected a non cpu device, but got: {each}")


def _lack(name: str) -> NoReturn:
    raise AttributeError(f"module 'torch._C' has no attribute '{name}'; there are no accelerators "
                         "between which tensors could be moved")
