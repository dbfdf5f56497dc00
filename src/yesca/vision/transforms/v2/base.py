"""What transforms of samples share: finding what to transform in any nest of inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from .... import functional as ops
from ...._tensor import Tensor
from ....nn.modules.module import Module
from ....utils._pytree import tree_flatten, tree_unflatten
from ... import tv_tensors
from ..kernels import table
from ..kernels.measures import is_pure_tensor
from ..kernels.pillow import is_pil
from .samples import check_type, has_any

__all__ = ["Transform"]


class Transform(Module):
    """The base of transforms, also of your own: override `transform`, and `make_params` for what
    is drawn once for the whole sample.

    A plain tensor is taken for an image if there is no image, video or PIL image; only the first
    one is.

    >>> from yesca.vision.transforms import v2
    >>> class Negative(v2.Transform):
    ...     def transform(self, inpt, params):
    ...         return self._call_kernel(v2.functional.invert, inpt)
    >>> Negative()({"image": torch.zeros(1, 1, 1), "name": "x"})
    {'image': tensor([[[1.]]]), 'name': 'x'}
    """

    #: Types, or functions that say whether something is of a kind: what `transform` is given.
    _transformed_types: Sequence[Any] = (Tensor, is_pil)
    #: The class of the first version, whose `get_params` this one has too.
    _v1_transform_cls: Any = None

    def __init_subclass__(cls) -> None:
        if hasattr(cls._v1_transform_cls, "get_params"):
            cls.get_params = staticmethod(  # type: ignore[attr-defined]
                cls._v1_transform_cls.get_params)

    def check_inputs(self, flat_inputs: list[Any]) -> None:
        """Raise an error for samples that cannot be transformed."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """What is drawn for a sample, from the list of inputs to be transformed."""
        return {}

    def _call_kernel(self, functional: Callable[..., Any], inpt: Any, *args: Any,
                     **kwargs: Any) -> Any:
        """An operation of `v2.functional`; what it does not know stays as it is."""
        return table.find(functional, type(inpt), True)(inpt, *args, **kwargs)

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """One input, transformed."""
        raise NotImplementedError

    def _applies(self) -> bool:
        return True

    def forward(self, *inputs: Any) -> Any:
        sample = inputs if len(inputs) > 1 else inputs[0]
        flat, spec = tree_flatten(sample)
        self.check_inputs(flat)
        if not self._applies():
            return sample
        needs = self._needs_transform_list(flat)
        params = self.make_params([inpt for inpt, need in zip(flat, needs) if need])
        made = [self.transform(inpt, params) if need else inpt for inpt, need in zip(flat, needs)]
        return tree_unflatten(made, spec)

    def _needs_transform_list(self, flat_inputs: list[Any]) -> list[bool]:
        plain = not has_any(flat_inputs, tv_tensors.Image, tv_tensors.Video, is_pil)
        needs = []
        for inpt in flat_inputs:
            need = check_type(inpt, self._transformed_types)
            if need and is_pure_tensor(inpt):
                need, plain = plain, False
            needs.append(need)
        return needs

    def extra_repr(self) -> str:
        shown = (bool, int, float, str, tuple, list, Enum)
        return ", ".join(f"{name}={value}" for name, value in vars(self).items()
                         if not name.startswith("_") and name != "training"
                         and isinstance(value, shown))


class RandomApplyTransform(Transform):
    """The base of those done with the chance `p`."""

    def __init__(self, p: float = 0.5) -> None:
        if not 0.0 <= p <= 1.0:
            raise ValueError("`p` should be a floating point value in the interval [0.0, 1.0], "
                             f"but got {p}.")
        super().__init__()
        self.p = p

    def _applies(self) -> bool:
        return not ops.rand(1) >= self.p
