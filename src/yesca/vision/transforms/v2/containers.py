"""Transforms of samples made of others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .... import functional as ops
from ....nn.modules.container import ModuleList
from .. import containers as first
from .base import Transform

__all__ = ["Compose", "RandomApply", "RandomChoice", "RandomOrder"]


def _checked(transforms: Any, *others: type) -> Any:
    if not isinstance(transforms, (Sequence, *others)):
        raise TypeError("Argument transforms should be a sequence of callables, "
                        f"not {type(transforms)}")
    if not transforms:
        raise ValueError("Pass at least one transform")
    return transforms


def _one_by_one(transforms: Iterable[Callable[..., Any]], inputs: tuple[Any, ...]) -> Any:
    several = len(inputs) > 1
    outputs: Any = inputs if several else inputs[0]
    for transform in transforms:
        outputs = transform(*inputs)
        inputs = outputs if several else (outputs,)
    return outputs


class _Listed(Transform):
    transforms: Any

    def extra_repr(self) -> str:
        return "\n".join(f"    {transform}" for transform in self.transforms)


class Compose(_Listed):
    """Transforms one after the other.

    >>> from yesca.vision.transforms import v2
    >>> v2.Compose([v2.CenterCrop(4), v2.Normalize([0.5], [0.5])])(torch.ones(1, 6, 6)).shape
    torch.Size([1, 4, 4])
    """

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        super().__init__()
        self.transforms = _checked(transforms)

    def forward(self, *inputs: Any) -> Any:
        return _one_by_one(self.transforms, inputs)


class RandomApply(_Listed):
    """All of the transforms with the chance `p`, else none."""

    _v1_transform_cls = first.RandomApply

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__()
        self.transforms = _checked(transforms, ModuleList)
        if not 0.0 <= p <= 1.0:
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0], "
                             f"but got {p}.")
        self.p = p

    def forward(self, *inputs: Any) -> Any:
        if ops.rand(1) >= self.p:
            return inputs if len(inputs) > 1 else inputs[0]
        return _one_by_one(self.transforms, inputs)


class RandomChoice(Transform):
    """One of the transforms, drawn with the weights `p`."""

    def __init__(self, transforms: Sequence[Callable[..., Any]],
                 p: Sequence[float] | None = None) -> None:
        _checked(transforms)
        weights = [1] * len(transforms) if p is None else p
        if len(weights) != len(transforms):
            raise ValueError("Length of p doesn't match the number of transforms: "
                             f"{len(weights)} != {len(transforms)}")
        super().__init__()
        self.transforms = transforms
        total = sum(weights)
        self.p = [weight / total for weight in weights]

    def forward(self, *inputs: Any) -> Any:
        which = int(ops.multinomial(ops.tensor(self.p), 1))
        return self.transforms[which](*inputs)


class RandomOrder(Transform):
    """All of the transforms, in an order drawn anew each time."""

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        _checked(transforms)
        super().__init__()
        self.transforms = transforms

    def forward(self, *inputs: Any) -> Any:
        order = ops.randperm(len(self.transforms)).tolist()
        return _one_by_one([self.transforms[i] for i in order], inputs)
