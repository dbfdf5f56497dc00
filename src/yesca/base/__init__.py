"""Settings, error texts and public names: what every room may lean on."""

import sys as _sys


def _refuse_second_name() -> None:
    """A package that stands in `sys.modules` under a second name has its modules loaded twice.

    Tensors of one engine, with the dtypes of another, would reach machine code that knows
    neither: better no program than a wrong one. Every room comes past here first.
    """
    name = __name__.partition(".")[0]
    spec = getattr(_sys.modules.get(name), "__spec__", None)
    if spec is not None and spec.name != name:
        raise ImportError(
            f"sys.modules[{name!r}] is {spec.name}, and importing a submodule as {name}.* would "
            f"load a second engine beside the first; import {spec.name} under its own name, or "
            f"run the program with `python -m {spec.name}`, which answers `import torch`",
            name=name)


_refuse_second_name()
