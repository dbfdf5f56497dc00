"""Pruning: masks that set parts of a parameter to zero before each call.

A pruned `module.weight` is `weight_orig`, the parameter, times `weight_mask`, a buffer.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from ... import functional as ops
from ..._tensor import Tensor
from ...base import absent
from ...core.layouts import contiguous_format
from ..modules.module import Module
from .convert_parameters import parameters_to_vector

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured",
    "PruningContainer", "RandomStructured", "RandomUnstructured", "custom_from_mask",
    "global_unstructured", "identity", "is_pruned", "l1_unstructured", "ln_structured",
    "random_structured", "random_unstructured", "remove",
]


class BasePruningMethod(ABC):
    """A way to prune, and the hook that does it: a subclass says by `compute_mask` what goes.

    It sets `PRUNING_TYPE`: `"unstructured"` (looks at what earlier methods have left),
    `"structured"` (likewise, whole parts along its `dim`) or `"global"` (looks at all).
    """

    _tensor_name: str
    PRUNING_TYPE: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """A mask of 0 and 1 for `t`, which has 0 wherever `default_mask` has."""

    def apply_mask(self, module: Module) -> Tensor:
        """The parameter, times its mask."""
        name = self._tensor_name
        assert name is not None, f"Module {module} has to be pruned"
        original: Tensor = getattr(module, name + "_orig")
        return getattr(module, name + "_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune `module.<name>`, after what pruned it before; returns the hook.

        `importance_scores`, of the parameter's shape, stand for its values in the choice.
        """
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        earlier = _hooks(module, name)
        assert len(earlier) <= 1, (
            f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. "
            "Use a PruningContainer."
        )
        value = getattr(module, name)
        scores = _scores(importance_scores, value, f"parameter {name} of {module}")
        if earlier:
            known = getattr(module, name + "_mask").detach()
            known = known.clone(memory_format=contiguous_format)
            old = module._forward_pre_hooks[earlier[0]]
            before = old if isinstance(old, PruningContainer) else (old,)
            method = PruningContainer(*before, method)
        else:
            known = ops.ones_like(value)
        mask = method.compute_mask(scores, default_mask=known)
        if earlier:
            del module._forward_pre_hooks[earlier[0]]
        else:
            module.register_parameter(name + "_orig", value)
            del module._parameters[name]
        module.register_buffer(name + "_mask", mask)
        method(module, None)
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Any = None
    ) -> Tensor:
        """`t` with zeros where this method prunes it; nothing is registered."""
        scores = _scores(importance_scores, t, "tensor t")
        known = ops.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=known)

    def remove(self, module: Module) -> None:
        """Make the parameter an ordinary one again; what was pruned stays 0."""
        name = self._tensor_name
        assert name is not None, f"Module {module} has to be pruned before pruning can be removed"
        value = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original: Any = module._parameters[name + "_orig"]
        original.data = value.data
        del module._parameters[name + "_orig"], module._buffers[name + "_mask"]
        setattr(module, name, original)


def _hooks(module: Module, name: str | None = None) -> list[int]:
    """The keys of a module's pruning hooks: those for a parameter, or all."""
    return [
        key
        for key, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and name in (None, hook._tensor_name)
    ]


def _scores(given: Any, value: Tensor, what: str) -> Tensor:
    if given is None:
        return value
    assert given.shape == value.shape, (
        f"importance_scores should have the same shape as {what}, got {given.shape} vs "
        f"{value.shape}"
    )
    return given


class PruningContainer(BasePruningMethod):
    """Several ways to prune one parameter; each looks at what those before have left."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Add a method at the end; it has to prune the same parameter."""
        if method is not None:
            if not isinstance(method, BasePruningMethod):
                raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
            if self._tensor_name != method._tensor_name:
                raise ValueError(
                    "Can only add pruning methods acting on the parameter named "
                    f"'{self._tensor_name}' to PruningContainer {self}. Found "
                    f"'{method._tensor_name}'"
                )
        self._pruning_methods += (method,)  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: Any) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of the last method, applied to what `default_mask` leaves of `t`."""
        method = self._pruning_methods[-1]
        left = _left(method, t, default_mask)
        mask = default_mask.to(dtype=t.dtype)
        if mask is default_mask:
            mask = mask.clone()
        mask[left] = method.compute_mask(t[left], default_mask=default_mask[left]).to(t.dtype)
        return mask


def _left(method: BasePruningMethod, t: Tensor, mask: Tensor) -> Any:
    """The index of that part of a tensor that a method may still prune."""
    kind = method.PRUNING_TYPE
    if kind == "unstructured":
        return mask == 1
    everything: list[Any] = [slice(None)] * t.dim()
    if kind == "structured":
        if not hasattr(method, "dim"):
            raise AttributeError(
                'Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` '
                "defined."
            )
        dim = method.dim + t.dim() if method.dim < 0 else method.dim
        if dim < 0:
            raise IndexError(f"Index is out of bounds for tensor with dimensions {t.dim()}")
        everything[dim] = mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
    elif kind != "global":
        raise ValueError(f"Unrecognized PRUNING_TYPE {kind}")
    return tuple(everything)


# ---- ways to prune ----------------------------------------------------------------------------


class Identity(BasePruningMethod):
    """Prunes nothing, but makes parameter and mask."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask

    @classmethod
    def apply(cls, module: Module, name: str) -> BasePruningMethod:  # type: ignore[override]
        """Put a mask of ones on `module.<name>`."""
        return super().apply(module, name)


class _Amount(BasePruningMethod):
    """A method that prunes a part (a float) or a number (an int) of what there is."""

    def __init__(self, amount: float) -> None:
        if not isinstance(amount, numbers.Real):
            raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
        whole = isinstance(amount, numbers.Integral)
        if amount < 0 or (not whole and amount > 1):
            raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a "
                             "non-negative integer")
        self.amount = amount

    def _count(self, there: int) -> int:
        """How many of `there` go."""
        if not isinstance(self.amount, numbers.Integral):
            return round(self.amount * there)
        if self.amount > there:
            raise ValueError(f"amount={self.amount} should be smaller than the number of "
                             f"parameters to prune={there}")
        return int(self.amount)


class _Unstructured(_Amount):
    """Prunes the entries of the lowest (or highest) scores."""

    PRUNING_TYPE = "unstructured"
    _largest: bool

    def _score(self, t: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = self._count(t.nelement())
        mask = default_mask.clone(memory_format=contiguous_format)
        if count:
            gone = ops.topk(self._score(t).reshape(-1), count, largest=self._largest).indices
            mask.view(-1)[gone] = 0
        return mask


class RandomUnstructured(_Unstructured):
    """Prunes entries at random: `amount` is how many, or (a float) which part of them."""

    _largest = True

    def _score(self, t: Tensor) -> Tensor:
        return ops.rand_like(t)

    @classmethod
    def apply(cls, module: Module, name: str, amount: float) -> Any:  # type: ignore[override]
        """Prune `module.<name>`; returns the hook."""
        return super().apply(module, name, amount=amount)


class L1Unstructured(_Unstructured):
    """Prunes the entries nearest to 0: `amount` is how many, or (a float) which part of them."""

    _largest = False

    def _score(self, t: Tensor) -> Tensor:
        return t.abs()

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: float, importance_scores: Any = None
    ) -> BasePruningMethod:
        """Prune `module.<name>`; returns the hook."""
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class _Structured(_Amount):
    """Prunes whole parts along a dimension."""

    PRUNING_TYPE = "structured"
    dim: int

    def _kept(self, t: Tensor, there: int, count: int) -> Any:
        """The index along `dim` of what stays when `count` of `there` parts go."""
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor "
                f"of shape {t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        there = t.shape[self.dim]
        count = self._count(there)
        if not count:
            return default_mask
        mask = ops.zeros_like(t)
        index: list[Any] = [slice(None)] * t.dim()
        index[self.dim] = self._kept(t, there, count)
        mask[tuple(index)] = 1
        mask *= default_mask.to(dtype=mask.dtype)
        return mask


class RandomStructured(_Structured):
    """Prunes parts along `dim` at random: `amount` is how many, or (a float) how large a part."""

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim = dim

    def _kept(self, t: Tensor, there: int, count: int) -> Any:
        chances = ops.rand(there)
        return chances > ops.kthvalue(chances, count).values

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: float, dim: int = -1
    ) -> BasePruningMethod:
        """Prune `module.<name>`; returns the hook."""
        return super().apply(module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prunes the parts along `dim` of the lowest `n`-norm: `amount`, or (a float) that part."""

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount)
        self.n, self.dim = n, dim

    def _kept(self, t: Tensor, there: int, count: int) -> Any:
        others = list(range(t.dim()))
        del others[self.dim]
        return ops.topk(ops.norm(t, p=self.n, dim=others), there - count).indices

    @classmethod
    def apply(  # type: ignore[override]
        cls, module: Module, name: str, amount: float, n: Any, dim: int,
        importance_scores: Any = None
    ) -> BasePruningMethod:
        """Prune `module.<name>`; returns the hook."""
        return super().apply(
            module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores
        )


class CustomFromMask(BasePruningMethod):
    """Prunes where a given mask has 0."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        assert default_mask.shape == self.mask.shape, (
            f"default_mask shape {default_mask.shape} must match self.mask shape "
            f"{self.mask.shape}"
        )
        return default_mask * self.mask.to(dtype=default_mask.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, mask: Tensor) -> Any:  # type: ignore[override]
        """Prune `module.<name>`; returns the hook."""
        return super().apply(module, name, mask=mask)


# ---- functions --------------------------------------------------------------------------------


def identity(module: Module, name: str) -> Module:
    """Give `module.<name>` a mask of ones; returns the module."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune entries of `module.<name>` at random; returns the module.

    amount: how many of those that are left, or (a float in [0, 1]) which part of them.
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: float, importance_scores: Any = None
) -> Module:
    """Prune the entries of `module.<name>` that are nearest to 0; returns the module.

    Args:
        amount: how many of those that are left, or (a float in [0, 1]) which part of them.
        importance_scores: what to look at in the parameter's place, of the same shape.

    >>> import yesca as torch
    >>> from yesca.nn.utils import prune
    >>> layer = prune.l1_unstructured(torch.nn.Linear(2, 3), "weight", amount=4)
    >>> int((layer.weight == 0).sum()), list(layer.state_dict())
    (4, ['bias', 'weight_orig', 'weight_mask'])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune parts of `module.<name>` along `dim` at random; returns the module.

    amount: how many of the parts, or (a float in [0, 1]) how large a part of them.
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Any = None
) -> Module:
    """Prune the parts of `module.<name>` along `dim` that have the lowest `n`-norm.

    The rest is as in `random_structured` and `l1_unstructured`; `torch.norm` takes `n`.
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Any, pruning_method: Any, importance_scores: Any = None, **kwargs: Any
) -> None:
    """Prune several parameters as if they were one vector.

    Args:
        parameters: (module, name) pairs.
        pruning_method: a class of type `"unstructured"`; it gets `kwargs`.
        importance_scores: by pair, what to look at in the parameter's place.

    >>> import yesca as torch
    >>> from yesca.nn.utils import prune
    >>> a, b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    >>> both = [(a, "weight"), (b, "weight")]
    >>> prune.global_unstructured(both, prune.L1Unstructured, amount=5)
    >>> sum(int((module.weight == 0).sum()) for module in (a, b))
    5
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters = list(parameters)
    importance_scores = {} if importance_scores is None else importance_scores
    if not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    values = [getattr(module, name) for module, name in parameters]
    scores = parameters_to_vector(
        [importance_scores.get(pair, value) for pair, value in zip(parameters, values)]
    )
    masks = [
        getattr(module, name + "_mask", ops.ones_like(value))
        for (module, name), value in zip(parameters, values)
    ]
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"  # a container wants one
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    mask = PruningContainer(method).compute_mask(scores, parameters_to_vector(masks))
    parts = mask.split([value.numel() for value in values])
    for (module, name), value, part in zip(parameters, values, parts):
        custom_from_mask(module, name, part.view_as(value))


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune `module.<name>` where `mask`, of the same shape, has 0; returns the module."""
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Module, name: str) -> Module:
    """Make a pruned parameter an ordinary one; what was pruned stays 0. Returns the module.

    Raises ValueError if it is not pruned.
    """
    for key in _hooks(module, name):
        module._forward_pre_hooks.pop(key).remove(module)  # type: ignore[attr-defined]
        return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
    )


def is_pruned(module: Module) -> bool:
    """Whether a parameter of this module, or of one below it, is pruned."""
    return any(map(_hooks, module.modules()))


__getattr__ = absent.names_of(__name__)
