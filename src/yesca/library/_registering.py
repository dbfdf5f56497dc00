"""`Library` and the functions that add a schema, a kernel or a rule to an operator by its name."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from .. import _ops
from .._ops import OpOverload as OpOverload
from ..base.naming import lives_in
from ._custom import ANYWHERE, KEYS, CustomOpDef, operator_of
from ._schemas import parse

Function = Callable[..., Any]
_KINDS = ("IMPL", "DEF", "FRAGMENT")
_RESERVED = ("aten", "prims", "prim")
#: Namespaces that a Library of the kind DEF has.
_taken: set[str] = set()
_DISPATCH = {*KEYS.values(), ANYWHERE, "CompositeImplicitAutograd", "Autograd"}
_ALIASES = {"AutogradCPU": "Autograd", "CompositeExplicitAutogradNonFunctional": ANYWHERE,
            "default": ANYWHERE, "": ANYWHERE, **KEYS}


def fallthrough_kernel() -> None:
    """A kernel that leaves a call to the next dispatch key; it is never called itself."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


@lives_in("torch.library")
class Library:
    """Operators of one namespace, defined and given kernels under one roof.

    Args:
        ns: the namespace.
        kind: "DEF" (the only one that defines the namespace), "FRAGMENT" (one of several that
            do), "IMPL" (kernels for what others define).
        dispatch_key: of the kernels, where `impl` is told none.

    What it has registered is gone when it is: keep it.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in _KINDS:
            raise ValueError(f"Unsupported kind: {kind}; one of {', '.join(_KINDS)}")
        if ns in _RESERVED and kind == "DEF" or ns == "prim":
            raise ValueError(f"{ns} is a reserved namespace: take another one")
        if kind == "DEF":
            if ns in _taken:
                raise RuntimeError(
                    f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}: "
                    "there is a Library of the kind DEF already. Take the kind FRAGMENT to add "
                    "to it.")
            _taken.add(ns)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._entered: list[Callable[[], Any]] = []  # what takes back each registration
        self._finalizer = weakref.finalize(self, _forget, self._entered,
                                           ns if kind == "DEF" else "")

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an operator, `name(arguments) -> results`; gives its name."""
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        if self.kind == "IMPL":
            raise RuntimeError("a Library of the kind IMPL defines no operators; take FRAGMENT")
        own = parse(schema if "::" in schema else f"{self.ns}::{schema.strip()}")
        if _ops.known(own.name, own.overload_name or "default") is not None:
            raise RuntimeError(
                f"Tried to register an operator ({own}) with the same name and overload name "
                "multiple times. Each overload's schema should only be registered with a single "
                "call to def().")
        made = _ops.define(own)
        made.tags = list(tags) if isinstance(tags, (list, tuple)) else [tags]
        self._entered.append(partial(_ops.remove, made))
        return made.name().partition("::")[2]

    def impl(self, op_name: Any, fn: Function, dispatch_key: str = "", *,
             with_keyset: bool = False, allow_override: bool = True) -> None:
        """Give an operator of this namespace a kernel for a dispatch key."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type "
                            f"{type(fn)}")
        if with_keyset:
            raise RuntimeError("with_keyset=True: there is no set of dispatch keys to pass here; "
                               "the level that a call is at is not part of it")
        op = self._own(op_name)
        key = _key(dispatch_key or self.dispatch_key)
        if fn is fallthrough_kernel:
            op.kernels.pop(key, None)
            return
        if not allow_override and key in op.kernels:
            raise RuntimeError(f"{op.name()} has a kernel for {key} already; "
                               "allow_override=True replaces it")
        op.kernels[key] = fn
        self._entered.append(partial(op.kernels.pop, key, None))

    def _own(self, op_name: Any) -> Any:
        if not isinstance(op_name, str):
            return operator_of(op_name)
        return _ops.find(op_name if "::" in op_name else f"{self.ns}::{op_name}")

    def _destroy(self) -> None:
        """Take back all that this library has registered."""
        self._finalizer()


def _forget(entered: list[Callable[[], Any]], namespace: str) -> None:
    for take_back in reversed(entered):
        take_back()
    entered.clear()
    _taken.discard(namespace)


def _key(name: str) -> str:
    key = _ALIASES.get(name, name)
    if key not in _DISPATCH:
        raise RuntimeError(f"could not parse dispatch key: {name}; one of "
                           f"{', '.join(sorted(_DISPATCH))}")
    return key


#: What is registered without a Library stays.
_lasting: dict[str, Library] = {}


def _library(namespace: str, lib: Library | None) -> Library:
    if lib is not None:
        return lib
    if namespace not in _lasting:
        _lasting[namespace] = Library(namespace, "FRAGMENT")
    return _lasting[namespace]


def define(qualname: Any, schema: str, *, lib: Library | None = None, tags: Any = ()) -> Any:
    """Define the operator `namespace::name` with a schema such as "(Tensor x) -> Tensor"."""
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got "
                         f"{type(qualname)}")
    namespace, colons, name = qualname.partition("::")
    if not colons:
        raise ValueError(f"define(qualname, ...): {qualname!r} is to be like 'namespace::name'")
    if not schema.lstrip().startswith("("):
        raise ValueError(f"define(qualname, schema): expected schema to look like \"(...) -> "
                         f"...\" but got {schema!r}")
    _library(namespace, lib).define(name + schema.strip(), tags=tags)


def impl(qualname: Any, types: str | Sequence[str], func: Function | None = None, *,
         lib: Library | None = None) -> Any:
    """Give an operator a kernel for tensors of device types ("cpu", "default": of all)."""
    if isinstance(qualname, Library):  # impl(lib, name, dispatch_key): the older form
        own, name, key = qualname, types, func or ""
        return lambda function: (own.impl(name, function, key), function)[1]  # type: ignore

    def enter(function: Function) -> Function:
        target = _library(qualname.partition("::")[0], lib)
        for kind in [types] if isinstance(types, str) else types:
            if kind != "default" and kind not in KEYS and kind not in _DISPATCH:
                raise ValueError(f"impl(qualname, types): unknown device type {kind!r}; "
                                 f"\"default\" or one of {', '.join(KEYS)}")
            target.impl(qualname, function, kind)
        return function

    return enter if func is None else enter(func)


def register_kernel(op: Any, device_types: str | Sequence[str] | None,
                    func: Function | None = None, /, *, lib: Library | None = None) -> Any:
    """Give an operator a kernel for tensors of device types; None: of all."""
    own = operator_of(op)
    if own.owner is not None:
        return own.owner.register_kernel(device_types, func) if func is not None \
            else own.owner.register_kernel(device_types)
    return impl(own.name(), "default" if device_types is None else device_types, func, lib=lib)


def register_fake(op: Any, func: Function | None = None, /, *, lib: Library | None = None,
                  _stacklevel: int = 1, allow_override: bool = True) -> Any:
    """The kernel for tensors without values: gives results of the right shape and dtype."""
    own = operator_of(op)

    def enter(function: Function) -> Function:
        if not allow_override and "Meta" in own.kernels:
            raise RuntimeError(f"{own.name()} has a fake kernel already")
        own.kernels["Meta"] = function
        return function

    return enter if func is None else enter(func)


def impl_abstract(qualname: str, func: Function | None = None, *, lib: Library | None = None,
                  _stacklevel: int = 1) -> Any:
    """The old name of `register_fake`."""
    return register_fake(qualname, *([] if func is None else [func]), lib=lib)


def register_autograd(op: Any, backward: Function, /, *, setup_context: Function | None = None,
                      lib: Library | None = None) -> None:
    """The derivative of an operator, as `CustomOpDef.register_autograd`."""
    own = operator_of(op)
    if own._schema.is_mutable or not own._schema.returns:
        shown = op if isinstance(op, CustomOpDef) else own
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {shown!r} with schema "
            f"{own._schema}. Please create a functional operator and register an autograd formula "
            "for that.")
    own.backward, own.setup_context = backward, setup_context


def register_vmap(op: Any, func: Function | None = None, /, *, lib: Any = None) -> Any:
    """The rule for batches of an operator, as `CustomOpDef.register_vmap`."""
    own = operator_of(op)

    def enter(function: Function) -> Function:
        own.batched = function
        return function

    return enter if func is None else enter(func)


def register_torch_dispatch(op: Any, torch_dispatch_class: Any, func: Function | None = None, /, *,
                            lib: Library | None = None) -> Any:
    """What a dispatch mode, or a class of tensors, does with one operator.

    Instead of its `__torch_dispatch__`, `func(mode, op, types, args, kwargs)` is called, with the
    class in the place of the mode for tensors. Subclasses have rules of their own.

    >>> import yesca as torch
    >>> from yesca.utils._python_dispatch import BaseTorchDispatchMode
    >>> class Quiet(BaseTorchDispatchMode):
    ...     pass
    >>> @torch.library.custom_op("demo::half", mutates_args=())
    ... def half(x: torch.Tensor) -> torch.Tensor:
    ...     return x / 2
    >>> @torch.library.register_torch_dispatch("demo::half", Quiet)
    ... def _(mode, op, types, args, kwargs):
    ...     return torch.zeros_like(args[0])
    >>> with Quiet():
    ...     half(torch.ones(2))
    tensor([0., 0.])
    """
    own = operator_of(op)

    def enter(function: Function) -> Function:
        own.rules[torch_dispatch_class] = function
        if lib is not None:
            lib._entered.append(partial(own.rules.pop, torch_dispatch_class, None))
        return function

    return enter if func is None else enter(func)


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *,
                      lib: Library | None = None) -> None:
    """Under autocast on a device type, floating-point arguments come as `cast_inputs`."""
    if device_type not in ("cpu", "cuda"):
        raise ValueError(f"Unknown device type: {device_type}")
    operator_of(op).casts[device_type] = cast_inputs


def get_ctx() -> None:
    """What a fake kernel asks for sizes that depend on values; None: sizes are numbers here."""
