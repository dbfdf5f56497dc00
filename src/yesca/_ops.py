"""`torch.ops`: operators that programs define, by namespace, name and overload.

What an operator is, `yesca.library` enters: a schema, kernels, a derivative, a batching rule. A
call binds its arguments by the schema, runs the kernel off the tape, and puts one node on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from .base import absent
from .base.naming import lives_in
from .core.tensor_base import TensorBase
from .dispatch.handlers import seen, takes_over
from .dispatch.inplace import bump
from .dispatch.state import STATE, set_grad
from .library._schemas import FunctionSchema, tensors_of

__all__ = ["OpOverload", "OpOverloadPacket", "ops"]

#: Kernels of any device, the first of them that there is.
_ANYWHERE = ("CompositeExplicitAutograd", "CompositeImplicitAutograd")
_HOME = "torch._ops"


@lives_in(_HOME)
class OpOverload:
    """One operator: `torch.ops.namespace.name.overload`.

    kernels: dispatch key (`CPU`, `Meta`, `Autograd`, `CompositeExplicitAutograd` for any device,
        `CompositeImplicitAutograd` for one whose parts are on the tape) -> function
    """

    def __init__(self, packet: OpOverloadPacket, schema: FunctionSchema) -> None:
        self.overloadpacket = self._overloadpacket = packet
        self._schema = schema
        self._overloadname = schema.overload_name or "default"
        self.namespace = packet._qualified_op_name.partition("::")[0]
        self.__name__ = f"{packet.__name__}.{self._overloadname}"
        self.__qualname__ = self.__name__
        self.__module__ = packet.__module__
        self.tags: list[Any] = []
        self.kernels: dict[str, Callable[..., Any]] = {}
        self.disabled: set[str] = set()  # device types whose kernels are out of use
        self.casts: dict[str, Any] = {}  # device type -> dtype of its arguments under autocast
        self.backward: Callable[..., Any] | None = None
        self.setup_context: Callable[..., Any] | None = None
        self.batched: Callable[..., Any] | None = None
        self.rules: dict[type, Callable[..., Any]] = {}  # in place of classes' __torch_dispatch__
        self.owner: Any = None  # the CustomOpDef, whose results may not be its arguments
        self._function: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from .overrides import handle_torch_function, has_torch_function

        values = self._schema.bound(args, kwargs)
        tensors = tensors_of(self._schema, values)
        if has_torch_function(tensors):
            return handle_torch_function(self, tensors, *args, **kwargs)
        recorder = STATE.recorder
        if recorder is None or not recorder.strict:
            return self._called(values, tensors)
        recorder.strict = False  # a program's own operator may read values where others must not
        try:
            return self._called(values, tensors)
        finally:
            recorder.strict = True

    def _called(self, values: tuple[Any, ...], tensors: list[Any]) -> Any:
        cast = self._cast(tensors)
        if cast is not None:
            from .amp.autocast_mode import autocast

            kind = tensors[0].device.type
            with autocast(kind, enabled=False):
                values = tuple(_in_dtype(value, kind, cast) for value in values)
                return self._called(values, tensors_of(self._schema, values))
        kernel = self.kernels.get("Autograd")
        if kernel is None and not any(key in self.kernels for key in ("CPU", "Meta", _ANYWHERE[0])):
            kernel = self.kernels.get("CompositeImplicitAutograd")
        if kernel is not None and not _on_meta(tensors, self.kernels):
            return self._run(kernel, values)
        functional = self._schema.returns and not self._schema.is_mutable
        levels = STATE.levels
        if functional and (levels and not levels[-1].dispatches
                           or STATE.tape and any(t.requires_grad for t in tensors)):
            from .library._tape import on_tape

            return on_tape(self, values)
        return self.compute(values, tensors)

    def _cast(self, tensors: list[Any]) -> Any:
        """The dtype that autocast wants the arguments in, or None."""
        if not self.casts or not tensors:
            return None
        from .amp.autocast_mode import is_autocast_enabled

        kind = tensors[0].device.type
        return self.casts.get(kind) if is_autocast_enabled(kind) else None

    def compute(self, values: Sequence[Any], tensors: list[Any]) -> Any:
        """What modes and classes that see the call give, else the kernel, off the tape."""
        if seen(tensors):
            return self._dispatched(values, tensors)
        kernel = self._kernel(tensors)
        before = STATE.grad
        set_grad(False)
        try:
            made = self._run(kernel, values)
        finally:
            set_grad(before)
        if self.owner is not None:
            self.owner._check_results(made, tensors)
        for tensor in tensors_of(self._schema, values, written=True):
            bump(tensor)
        return made

    def _dispatched(self, values: Sequence[Any], tensors: list[Any]) -> Any:
        from .aten.stations import below

        outermost = not STATE.below
        made = self._schema.results(below(self, *self.elided(values)))
        for tensor in tensors_of(self._schema, values, written=True):
            if outermost and takes_over(type(tensor)):  # others the kernel writes, and counts
                bump(tensor)
        return made

    def _run(self, kernel: Callable[..., Any], values: Sequence[Any]) -> Any:
        named = {a.name: v for a, v in zip(self._schema.arguments, values, strict=True)
                 if a.kwarg_only}
        return self._schema.results(kernel(*values[:len(values) - len(named)], **named))

    def _kernel(self, tensors: list[Any]) -> Callable[..., Any]:
        kind = "meta" if any(t.is_meta for t in tensors) else "cpu"
        keys = ["Meta"] if kind == "meta" else [] if kind in self.disabled else ["CPU"]
        if kind != "meta" or self.owner is None:
            keys += _ANYWHERE
        for key in keys:
            if key in self.kernels:
                return self.kernels[key]
        if kind == "meta" and not self._schema.returns:
            return _nothing  # it has no result that could have a shape
        if kind == "meta" and self.owner is not None:
            raise RuntimeError(
                f"There was no fake impl registered for {self.owner!r}. This is necessary for "
                "tensors on the meta device, and for torch.compile/export/fx tracing in PyTorch. "
                f"Please use `{self.owner._init_fn.__name__}.register_fake` to add an fake impl.")
        known = ", ".join(self.kernels) or "no backend"
        raise NotImplementedError(
            f"Could not run '{self.name()}' with arguments from the '{kind.upper()}' backend: it "
            f"has a kernel for {known}. register_kernel or Library.impl gives it another one.")

    def elided(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """A full tuple of arguments as handlers get them: without what equals its default."""
        positional: list[Any] = []
        named: dict[str, Any] = {}
        spare = 0  # positional ones at the end that need not be given
        for argument, value in zip(self._schema.arguments, values, strict=True):
            default = argument.has_default_value() and _same(value, argument.default_value)
            if not argument.kwarg_only:
                positional.append(value)
                spare = spare + 1 if default else 0
            elif not default:
                named[argument.name] = value
        return tuple(positional[:len(positional) - spare]), named

    def name(self) -> str:
        """`namespace::name`, with the overload if it has one."""
        overload = f".{self._schema.overload_name}" if self._schema.overload_name else ""
        return f"{self.overloadpacket._qualified_op_name}{overload}"

    def __str__(self) -> str:
        return f"{self.overloadpacket}.{self._overloadname}"

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"

    def __hash__(self) -> int:
        return id(self)

    def __reduce__(self) -> Any:
        return _found, (self.overloadpacket._qualified_op_name, self._overloadname)


def _same(value: Any, default: Any) -> bool:
    """Whether a value is a default: 1 and 1.0 are two."""
    if isinstance(value, (list, tuple)) and isinstance(default, (list, tuple)):
        return len(value) == len(default) and all(map(_same, value, default))
    return type(value) is type(default) and value == default


def _found(name: str, overload: str) -> OpOverload:
    return find(name, overload)


def _nothing(*args: Any, **kwargs: Any) -> None:
    """The fake kernel of what gives no results."""


def _in_dtype(value: Any, kind: str, dtype: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_in_dtype(one, kind, dtype) for one in value]
    casts = isinstance(value, TensorBase) and value.is_floating_point() \
        and value.device.type == kind and str(value.dtype) != "torch.float64"
    return value.to(dtype) if casts else value


def _on_meta(tensors: list[Any], kernels: dict[str, Any]) -> bool:
    return "Meta" in kernels and any(t.is_meta for t in tensors)


@lives_in(_HOME)
class OpOverloadPacket:
    """The overloads of one name: `torch.ops.namespace.name`."""

    def __init__(self, namespace: str, name: str) -> None:
        self._qualified_op_name = f"{namespace}::{name}"
        self.__name__ = name
        self.__module__ = f"torch.ops.{namespace}"
        self._overloads: dict[str, OpOverload] = {}

    def overloads(self) -> list[str]:
        """Their names."""
        return list(self._overloads)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        chosen = [*self._overloads.values()]
        for overload in chosen[:-1]:
            try:
                overload._schema.bound(args, kwargs)
            except RuntimeError:
                continue
            return overload(*args, **kwargs)
        return chosen[-1](*args, **kwargs)

    def __getattr__(self, name: str) -> OpOverload:
        found: OpOverload | None = self.__dict__.get("_overloads", {}).get(name)
        if found is None:
            raise AttributeError(f"The underlying op of '{self}' has no overload name '{name}'")
        return found

    def __str__(self) -> str:
        return self._qualified_op_name.replace("::", ".")

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._overloads})


class _OpNamespace(ModuleType):
    """`torch.ops.namespace`."""

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.ops.{name}")
        self.name, self.__file__ = name, "torch.ops"

    def __getattr__(self, name: str) -> Any:
        if self.name == "aten" and not name.startswith("__"):
            from .aten.overloads import packet

            made = packet(name)
            if made is not None:
                setattr(self, name, made)
                return made
        raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        if self.name != "aten":
            return sorted(super().__dir__())
        from .aten.schemas import table

        return sorted({*super().__dir__(), *table()})


class _Ops(ModuleType):
    """`torch.ops`: each namespace is there as soon as it is asked for."""

    __file__ = "_ops.py"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _OpNamespace(name)
        setattr(self, name, made)
        return made

    def load_library(self, path: str) -> None:
        """Refused: a shared library with PyTorch's operators needs PyTorch's C++ inside."""
        raise OSError(f"{path}: operators compiled against PyTorch's C++ libraries cannot be "
                      "loaded; torch.library.custom_op defines one in Python")


ops = _Ops("torch.ops")


# ---- the registry ----------------------------------------------------------------------------

def define(schema: FunctionSchema) -> OpOverload:
    """Enter an operator, in place of one of the same name."""
    namespace, _, name = schema.name.partition("::")
    home = getattr(ops, namespace)
    packet = vars(home).get(name)
    if packet is None:
        packet = OpOverloadPacket(namespace, name)
        setattr(home, name, packet)
    made = OpOverload(packet, schema)
    packet._overloads[made._overloadname] = made
    return made


def known(name: str, overload: str = "default") -> OpOverload | None:
    """The operator `namespace::name`, or None."""
    namespace, _, own = name.partition("::")
    packet = getattr(getattr(ops, namespace), own, None) if namespace and own else None
    known = isinstance(packet, OpOverloadPacket) and overload in packet.overloads()
    return getattr(packet, overload) if known else None  # type: ignore[no-any-return]


def find(name: str, overload: str = "default") -> OpOverload:
    """The operator `namespace::name`; RuntimeError where there is none."""
    if "." in name:
        name, _, overload = name.partition(".")
    found = known(name, overload)
    if found is None:
        raise RuntimeError(f"operator {name} does not exist")
    return found


def remove(op: OpOverload) -> None:
    """Forget an operator."""
    packet = op.overloadpacket
    if packet._overloads.get(op._overloadname) is op:
        del packet._overloads[op._overloadname]
        home = getattr(ops, op.namespace)
        if not packet._overloads and vars(home).get(packet.__name__) is packet:
            delattr(home, packet.__name__)


__getattr__ = absent.names_of(__name__)
