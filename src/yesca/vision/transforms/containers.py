"""Transforms made of others."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from ... import functional as ops
from ...nn.modules.module import Module

__all__ = ["Compose", "Lambda", "RandomApply", "RandomChoice", "RandomOrder"]

Step = Callable[[Any], Any]


def _listed(kind: str, steps: Sequence[Step], *first: str) -> str:
    lines = [f"{kind}(", *(f"    {line}" for line in (*first, *steps)), ")"]
    return "\n".join(lines)


class Compose:
    """Transforms one after the other.

    >>> from yesca.vision import transforms
    >>> both = transforms.Compose([transforms.CenterCrop(4), transforms.Normalize([0.5], [0.5])])
    >>> both(torch.ones(1, 6, 6)).shape
    torch.Size([1, 4, 4])
    """

    def __init__(self, transforms: Sequence[Step]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        for step in self.transforms:
            img = step(img)
        return img

    def __repr__(self) -> str:
        return _listed(type(self).__name__, self.transforms)


class Lambda:
    """A function as a transform. Raises TypeError for what is none.

    >>> from yesca.vision import transforms
    >>> transforms.Lambda(lambda x: x + 1)(torch.tensor(1))
    tensor(2)
    """

    def __init__(self, lambd: Step) -> None:
        if not callable(lambd):
            raise TypeError("Argument lambd should be callable, "
                            f"got {repr(type(lambd).__name__)}")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class RandomTransforms:
    """The base of those that choose among transforms."""

    def __init__(self, transforms: Sequence[Step]) -> None:
        if not isinstance(transforms, Sequence):
            raise TypeError(f"Argument transforms should be a sequence, got {type(transforms)}")
        self.transforms = transforms

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        return _listed(type(self).__name__, self.transforms)


class RandomApply(Module):
    """All of the transforms with the chance `p`, else none. A `nn.ModuleList` will do as well."""

    def __init__(self, transforms: Any, p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, img: Any) -> Any:
        if self.p < ops.rand(1):
            return img
        for step in self.transforms:
            img = step(img)
        return img

    def __repr__(self) -> str:
        return _listed(type(self).__name__, self.transforms, f"p={self.p}")


class RandomOrder(RandomTransforms):
    """All of the transforms, in an order drawn anew each time (by Python's `random`)."""

    def __call__(self, img: Any) -> Any:
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for i in order:
            img = self.transforms[i](img)
        return img


class RandomChoice(RandomTransforms):
    """One of the transforms, drawn with the weights `p` (by Python's `random`)."""

    def __init__(self, transforms: Sequence[Step], p: Sequence[float] | None = None) -> None:
        super().__init__(transforms)
        if p is not None and not isinstance(p, Sequence):
            raise TypeError(f"Argument p should be a sequence, got {type(p)}")
        self.p = p

    def __call__(self, *args: Any) -> Any:
        return random.choices(self.transforms, weights=self.p)[0](*args)

    def __repr__(self) -> str:
        return f"{super().__repr__()}(p={self.p})"
