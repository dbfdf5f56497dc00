"""`torch.compiler`: what programs say to, and ask of, the compiler.

`compile` here runs a function's Python at every call (see `yesca.graph`), so there is nothing to
guard or retrace; what programs call to help a tracer is accepted and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base import absent
from ..graph import public, stance
from ..graph.explain import explain
from ..graph.public import BACKENDS, compile, known
from ..graph.recorder import current
from ..graph.stance import disabled, set_stance
from . import config

__all__ = [
    "compile", "config", "explain", "assume_constant_result", "reset", "allow_in_graph",
    "substitute_in_graph", "list_backends", "disable", "set_default_backend", "get_default_backend",
    "set_stance", "set_enable_guard_collectives", "cudagraph_mark_step_begin",
    "load_compiled_function", "wrap_numpy", "is_compiling", "is_dynamo_compiling",
    "is_exporting", "save_cache_artifacts", "load_cache_artifacts",
    "skip_guard_on_inbuilt_nn_modules_unsafe", "skip_guard_on_all_nn_modules_unsafe",
    "keep_tensor_guards_unsafe", "keep_portable_guards_unsafe", "skip_guard_on_globals_unsafe",
    "skip_all_guards_unsafe", "nested_compile_region",
]

Function = Callable[..., Any]


def is_compiling() -> bool:
    """Whether this thread runs a compiled function, and nothing disabled in it.

    >>> import yesca as torch
    >>> torch.compiler.is_compiling()
    False
    """
    return current().inside and not stance.disabled_here()


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """False: programs are not exported."""
    return False


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """A function or module that runs outside of any compiled program; also a decorator.

    >>> import yesca as torch
    >>> @torch.compiler.disable
    ... def shown(x):
    ...     return x.item()
    >>> torch.compile(lambda x: shown(x + 1))(torch.tensor(1.0))
    2.0
    """
    if fn is None:
        return lambda function: disable(function, recursive, reason=reason)
    if not callable(fn):
        raise AssertionError(f"disable() takes a function, class or module, not {type(fn)}")
    if isinstance(fn, type):
        fn.__call__ = disabled(fn.__call__)  # type: ignore[method-assign, operator]
        return fn
    forward = getattr(type(fn), "forward", None)
    if forward is not None:  # a module stays one
        fn.forward = disabled(fn.forward)
        return fn
    return disabled(getattr(fn, "_torchdynamo_orig_callable", fn))


def reset() -> None:
    """Forget all recordings; compiled functions begin anew. Kernels stay in their cache."""
    for function in list(known):
        function.forget()


def allow_in_graph(fn: Any) -> Any:
    """`fn` itself (or the list of functions): any function may be recorded."""
    for function in fn if isinstance(fn, (list, tuple)) else (fn,):
        if not callable(function):
            raise AssertionError("allow_in_graph expects a callable")
    return fn


def assume_constant_result(fn: Function) -> Function:
    """`fn` itself: it is called each time."""
    return fn


def substitute_in_graph(original_fn: Function, *, can_constant_fold_through: bool = False,
                        skip_signature_check: bool = False) -> Callable[[Function], Function]:
    """A decorator that gives the function back: the original is what runs."""
    return lambda function: function


def wrap_numpy(fn: Function) -> Function:
    """`fn` on tensors: their arrays go in, and the arrays it returns come out as tensors."""
    import functools

    from ..utils._pytree import tree_map

    def to_array(value: Any) -> Any:
        return value.numpy() if isinstance(value, _tensor_class()) else value

    def to_tensor(value: Any) -> Any:
        from .. import functional

        return functional.as_tensor(value) if type(value).__module__ == "numpy" else value

    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        return tree_map(to_tensor, fn(*tree_map(to_array, args), **tree_map(to_array, kwargs)))

    return run


def _tensor_class() -> type:
    from .._tensor import Tensor

    return Tensor


def nested_compile_region(fn: Any = None, **options: Any) -> Any:
    """`fn` itself: regions are found by what they record."""
    return fn if fn is not None else lambda function: function


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The names that `compile(backend=...)` takes; all of them mean the same here."""
    hidden = set(exclude_tags or ())
    return sorted(name for name, tags in BACKENDS.items() if not hidden.intersection(tags))


def set_default_backend(backend: Any) -> None:
    """The backend of `compile` where none is named; None is "inductor"."""
    public.choose_backend(backend)


def get_default_backend() -> Any:
    """What `set_default_backend` has set.

    >>> import yesca as torch
    >>> torch.compiler.get_default_backend()
    'inductor'
    """
    return public.default_backend


def load_compiled_function(file: Any, *, f_globals: dict[str, object] | None = None,
                           external_data: dict[str, Any] | None = None) -> Function:
    """Raises RuntimeError: compiled functions are not saved; their kernels are, in the cache."""
    raise RuntimeError("load_compiled_function: a compiled function is its Python and the kernels "
                       "in the cache; there are no files of it. Import the function and compile it "
                       "(`python -m yesca cache pack` ships kernels).")


def cudagraph_mark_step_begin() -> None:
    """Nothing: there are no CUDA graphs."""


def set_enable_guard_collectives(enabled: bool) -> bool:
    """False: there are no guards to agree on."""
    return False


def save_cache_artifacts() -> None:
    """None: `python -m yesca cache pack` writes what can be shipped."""
    return


def load_cache_artifacts(serialized_artifacts: bytes) -> None:
    """None: see `save_cache_artifacts`."""
    return


def _keep_no_guards(guard_entries: list[Any]) -> list[bool]:
    """No guard is kept: there are none."""
    return [False] * len(guard_entries)


skip_guard_on_inbuilt_nn_modules_unsafe = _keep_no_guards
skip_guard_on_all_nn_modules_unsafe = _keep_no_guards
keep_tensor_guards_unsafe = _keep_no_guards
keep_portable_guards_unsafe = _keep_no_guards
skip_guard_on_globals_unsafe = _keep_no_guards
skip_all_guards_unsafe = _keep_no_guards


__getattr__ = absent.names_of(__name__)
