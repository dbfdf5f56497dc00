"""Settings of PyTorch's tracer that programs assign.

They are kept, and change nothing: there is no tracer.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

suppress_errors = False
verbose = False
recompile_limit = 8
cache_size_limit = 8
accumulated_recompile_limit = 256
fail_on_recompile_limit_hit = False
error_on_recompile = False
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
assume_static_by_default = True
automatic_dynamic_shapes = True
force_parameter_static_shapes = True
guard_nn_modules = True
inline_inbuilt_nn_modules = True
allow_unspec_int_on_nn_module = False
optimize_ddp = True
skip_fsdp_hooks = True
compiled_autograd = False
reorderable_logging_functions: set[Any] = set()


@contextmanager
def patch(*arguments: Any, **changes: Any) -> Iterator[None]:
    """Other settings for a while: `patch(name=value)`, `patch("name", value)`, `patch({...})`."""
    if len(arguments) == 2:
        changes[arguments[0]] = arguments[1]
    elif arguments:
        changes.update(arguments[0])
    space = globals()
    before = {name: space[name] for name in changes}
    space.update(changes)
    try:
        yield
    finally:
        space.update(before)
