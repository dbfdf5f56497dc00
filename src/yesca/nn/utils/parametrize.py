"""Parameters and buffers that are functions of others, computed whenever they are read."""

from __future__ import annotations

import copy
import copyreg
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ..._tensor import Tensor
from ...autograd.modes import no_grad
from ...base import absent
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "cached",
    "ParametrizationList",
    "register_parametrization",
    "is_parametrized",
    "remove_parametrizations",
    "type_before_parametrizations",
    "transfer_parametrizations_and_params",
]

_cache_enabled = 0  # how many `cached()` are open
_cache: dict[tuple[int, str], Tensor] = {}

_NO_TENSORS = "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "


@contextmanager
def cached() -> Iterator[None]:
    """Within it, each parametrized tensor is computed once, at its first use.

    Worth it where one is used several times, as in a recurrent network.

    >>> import yesca as torch
    >>> from yesca.nn.utils import parametrizations, parametrize
    >>> layer = parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> with parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, first to last, and the tensors that they start from.

    `register_parametrization` makes it; calling it gives the tensor. What it starts from is
    `original`, or `original0`, `original1`, ... where the first parametrization's
    `right_inverse` gives a sequence.
    """

    original: Tensor
    unsafe: bool

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        start = self._start(original)
        self.is_tensor = isinstance(start, Tensor)
        self.ntensors = 1 if self.is_tensor else len(start)
        if self.is_tensor:
            self._hold_one(original, start)
        else:
            self._hold_several(original, start)
        if not unsafe:
            self._check(shape, dtype)

    def _start(self, original: Tensor) -> Any:
        new: Any = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        new = module.right_inverse(new)
                    except NotImplementedError:
                        pass  # it cannot be inverted: the tensor itself is what it starts from
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(f"{_NO_TENSORS}Got {type(new).__name__}")
        return new

    def _hold_one(self, original: Tensor, start: Tensor) -> None:
        for what in ("dtype", "device"):
            before, after = getattr(original, what), getattr(start, what)
            if before != after:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                    f"original.{what}: {before}\nright_inverse(original).{what}: {after}"
                )
        with no_grad():  # the same object, so that optimizers that hold it go on
            original.set_(start)
        _register(self, "original", original)

    def _hold_several(self, original: Tensor, start: Sequence[Any]) -> None:
        for i, each in enumerate(start):
            if not isinstance(each, Tensor):
                raise ValueError(
                    f"{_NO_TENSORS}Got element {i} of the sequence with type "
                    f"{type(each).__name__}."
                )
            if isinstance(original, Parameter):
                each = Parameter(each, original.requires_grad)
            each.requires_grad_(original.requires_grad)
            _register(self, f"original{i}", each)

    def _check(self, shape, dtype) -> None:
        made = self()
        _check_tensor(made)
        for what, before in (("dtype", dtype), ("shape", shape)):
            after = getattr(made, what)
            if before != after:
                raise ValueError(
                    f"Registering a parametrization may not change the {what} of the tensor, "
                    f"unless `unsafe` flag is enabled.\nunparametrized {what}: {before}\n"
                    f"parametrized {what}: {after}"
                )

    def right_inverse(self, value: Tensor) -> None:
        """Set what the tensor starts from so that it becomes `value`, last to first."""
        new: Any = value
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement "
                        "right_inverse."
                    )
                new = module.right_inverse(new)
            if self.is_tensor:
                self._set_one(new)
            else:
                self._set_several(new)

    def _set_one(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
        if value.dtype != self.original.dtype:
            raise ValueError(
                f"The tensor returned by `right_inverse` has dtype {value.dtype} "
                f"while `original` has dtype {self.original.dtype}"
            )
        self.original.set_(value)

    def _set_several(self, values: Any) -> None:
        if not isinstance(values, Sequence):
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors. Got {type(values).__name__}."
            )
        if len(values) != self.ntensors:
            raise ValueError(
                "'right_inverse' must return a sequence of tensors of length "
                f"{self.ntensors}. Got a sequence of length {len(values)}."
            )
        for i, value in enumerate(values):
            original = getattr(self, f"original{i}")
            if not isinstance(value, Tensor):
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors or reference-type opaques. "
                    f"Got element {i} of type {type(value).__name__}."
                )
            if original.dtype != value.dtype:
                raise ValueError(
                    f"Tensor {i} returned by `right_inverse` has dtype {value.dtype} "
                    f"while `original{i}` has dtype {original.dtype}"
                )
            original.set_(value)

    def forward(self) -> Tensor:
        first, *others = self
        if self.is_tensor:
            made = first(self.original)
        else:
            made = first(*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for module in others:
            made = module(made)
        return made


def _register(module: Module, name: str, value: Tensor) -> None:
    if isinstance(value, Parameter):
        module.register_parameter(name, value)
    else:
        module.register_buffer(name, value)


def _check_tensor(made: Any) -> None:
    if not isinstance(made, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")


# ---- the class of a parametrized module --------------------------------------------------------


def _deepcopy(self: Any, memo: dict) -> Any:
    found = memo.get(id(self))
    if found is not None:
        return found
    made = memo[id(self)] = self.__new__(type(self))
    made.__dict__ = copy.deepcopy(self.__dict__, memo)
    for slot in copyreg._slotnames(type(self)):  # type: ignore[attr-defined]
        if hasattr(self, slot):
            setattr(made, slot, copy.deepcopy(getattr(self, slot), memo))
    return made


def _getstate(self: Any) -> None:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). See:\n"
        "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
        "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
    )


def _inject_class(module: Module) -> None:
    """Give a module a class of its own, which can have properties that others have not."""
    cls = type(module)
    members: dict[str, Any] = {"__getstate__": _getstate}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = _deepcopy  # the usual one asks for the state
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _inject_property(module: Module, name: str) -> None:
    assert not hasattr(module, name), f"Module already has an attribute named '{name}'"

    def read(self: Any) -> Tensor:
        parametrization = self.parametrizations[name]
        if not _cache_enabled:
            return parametrization()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def write(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


# ---- registering and removing -----------------------------------------------------------------


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Let `module.<tensor_name>` be `parametrization(original)` from now on; returns the module.

    The tensor becomes `module.parametrizations.<tensor_name>.original`, the same object, which
    an optimizer goes on changing. Of several parametrizations each gets what the one before
    gives. A parametrization may have `right_inverse(tensor)`: it tells what to start from when
    the tensor is parametrized, and when it is assigned to; it may give a sequence of tensors
    (`original0`, `original1`, ...), which the parametrization then takes.

    Args:
        module: has a parameter or buffer `tensor_name`.
        parametrization: a module that takes and returns a tensor.
        unsafe: let it change shape and dtype, and check nothing.

    Raises ValueError if there is no such tensor, or if shape or dtype would change.

    >>> import yesca as torch
    >>> class Symmetric(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = torch.nn.Linear(3, 3)
    >>> _ = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> torch.equal(layer.weight, layer.weight.T)
    True
    >>> list(layer.state_dict())
    ['bias', 'parametrizations.weight.original']
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_added(module, tensor_name, parametrization)
        present: Any = module.parametrizations[tensor_name]
        present.append(parametrization)
        present.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        made = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _inject_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = made
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    return module


def _check_added(module: Module, name: str, parametrization: Any) -> None:
    """One more parametrization must keep shape and dtype, and so must its inverse."""
    before = getattr(module, name)
    after = parametrization(before)
    _check_tensor(after)
    for what in ("dtype", "shape"):
        if getattr(after, what) != getattr(before, what):
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless "
                f"the `unsafe` flag is enabled.\nmodule.{name}.{what}: {getattr(before, what)}\n"
                f"parametrization(module.{name}).{what}: {getattr(after, what)}"
            )
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        inverse = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(inverse, Tensor):
        raise ValueError(
            "parametrization.right_inverse must return a tensor. Got: "
            f"{type(inverse).__name__}"
        )
    for what in ("dtype", "shape"):
        if getattr(inverse, what) != getattr(before, what):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} "
                f"as module.{name}, unless the `unsafe` flag is enabled.\nmodule.{name}.{what}: "
                f"{getattr(before, what)}\nreturned {what}: {getattr(inverse, what)}"
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a tensor of the module is parametrized: the one of that name, or any."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make `module.<tensor_name>` an ordinary parameter or buffer again; returns the module.

    With `leave_parametrized` it keeps the value it has; otherwise it is what its
    parametrizations started from, which has to be one tensor. Raises ValueError if that is
    several, or if the tensor is not parametrized.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations: Any = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with no_grad():  # the same object, so that optimizers that hold it go on
                original.set_(getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class of the module, without regard to parametrizations."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give `to_module` the parametrizations of `from_module`, and what they start from.

    Of all tensors, or of the one named; those that `to_module` has not got are made. Returns
    `to_module`.
    """
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        source: Any = from_module.parametrizations[name]
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target: Any = to_module.parametrizations[name]
        several = [f"original{i}" for i in range(source.ntensors)]
        for held in ["original"] if source.is_tensor else several:
            setattr(target, held, getattr(source, held))
    return to_module


__getattr__ = absent.names_of(__name__)
