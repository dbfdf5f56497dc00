"""`custom_op`: a Python function that other code takes for one operator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import _ops
from ..base.naming import lives_in
from ..core.tensor_base import TensorBase
from ._schemas import infer_schema, opened, parse

#: Names of device types, and the dispatch keys that their kernels have.
KEYS = {"cpu": "CPU", "cuda": "CUDA", "mps": "MPS", "xpu": "XPU", "meta": "Meta", "hpu": "HPU",
        "privateuseone": "PrivateUse1"}
ANYWHERE = "CompositeExplicitAutograd"
Function = Callable[..., Any]


def custom_op(
    name: str,
    fn: Function | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make an operator of a function; as a decorator, or with the function as second argument.

    Args:
        name: "namespace::name".
        mutates_args: names of the arguments that the function writes to, or "unknown".
        device_types: of which tensors it is the kernel; None for all.
        schema: arguments and results; None takes them from the annotations.

    Gives a CustomOpDef. The function runs off the tape and under `torch.compile` as it stands;
    its results must not be, or share memory with, its arguments. Raises ValueError where no
    schema can be made.
    """
    def made(function: Function) -> CustomOpDef:
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        namespace, colons, own = name.partition("::")
        if not colons or not namespace or not own:
            raise ValueError(f"custom_op(name, ...): {name!r} is to be like 'namespace::name', so "
                             "that it cannot be taken for another library's operator")
        op = CustomOpDef(namespace, own, text, function, tags)
        if schema is not None:
            _check_mutations(op, mutates_args)
        op.register_kernel(device_types)(function)
        return op

    return made if fn is None else made(fn)


def _check_mutations(op: CustomOpDef, mutates_args: str | Iterable[str]) -> None:
    """The schema and `mutates_args` must say the same."""
    if mutates_args == "unknown":
        return
    named = {mutates_args} if isinstance(mutates_args, str) else set(mutates_args)
    written = {a.name for a in op._opoverload._schema.arguments if a.is_write}
    if written != named:
        raise ValueError("Attempted to create a custom op with `mutates_args` that does not fit "
                         f"its schema: mutates_args={sorted(named)}, the schema "
                         f"{op._opoverload._schema} writes to {sorted(written)}")


@lives_in("torch._library.custom_ops")
class CustomOpDef:
    """What `custom_op` makes: call it, and register what else is known of it."""

    def __init__(self, namespace: str, name: str, schema: str, fn: Function, tags: Any = None
                 ) -> None:
        self._namespace, self._name, self._schema, self._init_fn = namespace, name, schema, fn
        self.__name__, self.__doc__ = fn.__name__, fn.__doc__
        self.__module__, self.__wrapped__ = fn.__module__, fn
        self._opoverload = _ops.define(parse(f"{self._qualname}{schema}"))
        self._opoverload.owner = self
        self._opoverload.tags = list(tags) if isinstance(tags, (list, tuple)) else \
            [] if tags is None else [tags]

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._opoverload(*args, **kwargs)

    def register_kernel(self, device_types: str | Sequence[str] | None, fn: Function | None = None,
                        /) -> Any:
        """Another kernel for tensors of some device types (None: of all that have none)."""
        def enter(function: Function) -> Function:
            for kind in _as_list(device_types):
                if kind is not None and kind not in KEYS:
                    raise ValueError(f"{self}.register_kernel: unknown device type {kind!r}; one "
                                     f"of {', '.join(KEYS)}")
                self._opoverload.kernels[ANYWHERE if kind is None else KEYS[kind]] = function
            return function

        return enter if fn is None else enter(fn)

    def register_fake(self, fn: Function, /) -> Function:
        """The kernel for tensors without values: gives results of the right shape and dtype."""
        self._opoverload.kernels["Meta"] = fn
        return fn

    def register_autograd(self, backward: Function, /, *, setup_context: Function | None = None
                          ) -> None:
        """The derivative: `backward(ctx, *grads)` gives a gradient, or None, for each argument.

        `setup_context(ctx, inputs, output)` keeps what it needs, after the kernel has run.
        """
        from ._registering import register_autograd

        register_autograd(self, backward, setup_context=setup_context)

    def register_vmap(self, func: Function | None = None) -> Any:
        """The rule for batches: `func(info, in_dims, *args)` gives results and their dimensions."""
        from ._registering import register_vmap

        return register_vmap(self, *(() if func is None else (func,)))

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        """Under autocast on a device type, floating-point arguments come as `cast_inputs`."""
        from ._registering import register_autocast

        register_autocast(self, device_type, cast_inputs)

    def register_torch_dispatch(self, torch_dispatch_class: Any, fn: Function | None = None, /
                                ) -> Any:
        """What a dispatch mode, or a class of tensors, does with this operator alone."""
        from ._registering import register_torch_dispatch

        return register_torch_dispatch(self, torch_dispatch_class, *([] if fn is None else [fn]))

    @contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """In a `with` block, use or leave out the kernel of a device type."""
        disabled = self._opoverload.disabled
        before = device_type in disabled
        (disabled.discard if enabled else disabled.add)(device_type)
        try:
            yield
        finally:
            (disabled.add if before else disabled.discard)(device_type)

    def _check_results(self, made: Any, tensors: list[Any]) -> None:
        """Results must not be arguments, nor share memory with these or each other."""
        parts = made if isinstance(made, (list, tuple)) else (made,)
        flat = [t for t in opened(parts) if isinstance(t, TensorBase) and not t.is_meta]
        if not flat:
            return
        seen = {id(t._storage) for t in tensors if not t.is_meta}
        for tensor in flat:
            key = id(tensor._storage)
            if key in seen and tensor.numel():
                raise RuntimeError(
                    f"{self._name} (with implementation in {self._init_fn.__module__}): The output "
                    "of this custom operator (1) must not also be an input to this custom operator "
                    "and (2) may not alias any inputs to this custom operator or other returns. "
                    "Give a copy of it (`return x.clone()`), or let the caller do what gives a "
                    "view.")
            seen.add(key)


def _as_list(device_types: str | Sequence[str] | None) -> list[str | None]:
    if device_types is None or isinstance(device_types, str):
        return [device_types]
    return list(device_types)


def operator_of(op: Any) -> Any:
    """The operator that a name, an overload, a packet or a CustomOpDef means."""
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, _ops.OpOverload):
        return op
    if isinstance(op, _ops.OpOverloadPacket):
        return op.default
    if isinstance(op, str):
        return _ops.find(op)
    raise ValueError(f"expected an operator (its name, torch.ops.namespace.name.default, or what "
                     f"custom_op gave), got {type(op).__name__}")
