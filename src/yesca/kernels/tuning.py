"""Which constants a kernel runs with: `autotune`, `heuristics`, and sizes of blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.tensor_base import TensorBase
from ..graph.stance import Unrecorded
from .launching import Interpreted, Launcher


def cdiv(x: Any, y: Any) -> Any:
    """x / y rounded up: how many blocks of y cover x.

    >>> from yesca import kernels
    >>> kernels.cdiv(1000, 256)
    4
    """
    return (x + y - 1) // y


def next_power_of_2(n: int) -> int:
    """The smallest power of two that is not below n.

    >>> from yesca import kernels
    >>> kernels.next_power_of_2(600), kernels.next_power_of_2(1)
    (1024, 1)
    """
    return 1 << max(int(n) - 1, 0).bit_length()


class Config:
    """Values of a kernel's constants, one choice of `autotune`. Hints for other machines
    (num_warps, num_stages, num_ctas) are accepted and ignored.
    """

    def __init__(self, kwargs: dict[str, Any], num_warps: int = 4, num_stages: int = 3,
                 num_ctas: int = 1, maxnreg: int | None = None,
                 pre_hook: Callable[..., Any] | None = None, **ignored: Any) -> None:
        self.kwargs, self.num_warps, self.num_stages = kwargs, num_warps, num_stages
        self.num_ctas, self.maxnreg, self.pre_hook = num_ctas, maxnreg, pre_hook

    def all_kwargs(self) -> dict[str, Any]:
        """The constants."""
        return dict(self.kwargs)

    def __repr__(self) -> str:
        parts = [f"{k}: {v}" for k, v in self.kwargs.items()]
        return ", ".join([*parts, f"num_warps: {self.num_warps}",
                          f"num_stages: {self.num_stages}"])


class Wrapper:
    """Something around a kernel, launched as it is."""

    fn: Any

    def __getitem__(self, grid: Any) -> Launcher:
        return Launcher(self, grid)

    @property
    def interpret(self) -> Interpreted:
        """The kernel as Python, checked: `kernel.interpret[grid](...)`."""
        return Interpreted(self)

    def run(self, *args: Any, grid: Any, interpret: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError

    def launch(self, grid: Any, interpret: bool, args: tuple[Any, ...], kwargs: dict[str, Any]
               ) -> Any:
        """`run`, of arguments as they are given."""
        return self.run(*args, grid=grid, interpret=interpret, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name in ("fn", "__setstate__", "__deepcopy__", "__copy__"):
            raise AttributeError(name)
        return getattr(self.fn, name)


def names_of(kernel: Any) -> list[str]:
    """The parameters of a kernel, whatever is around it."""
    while isinstance(kernel, Wrapper):
        kernel = kernel.fn
    return kernel.arg_names  # type: ignore[no-any-return]


class Autotuner(Wrapper):
    """A kernel that is measured with several configurations, once for each key."""

    def __init__(self, fn: Any, configs: Sequence[Config], key: Sequence[str],
                 reset_to_zero: Sequence[str] | None = None,
                 restore_value: Sequence[str] | None = None,
                 prune_configs_by: dict[str, Any] | None = None) -> None:
        self.fn, self.configs, self.keys = fn, list(configs) or [Config({})], list(key)
        self.kept = [*(reset_to_zero or ()), *(restore_value or ())]
        self.prune = (prune_configs_by or {}).get("early_config_prune")
        self.cache: dict[Any, Config] = {}
        self.best_config: Config | None = None
        unknown = [n for n in (*self.keys, *self.kept) if n not in names_of(fn)]
        if unknown:
            raise ValueError(f"[autotune] {', '.join(unknown)}: no such parameter of the kernel; "
                             f"it has {', '.join(names_of(fn))}")

    def run(self, *args: Any, grid: Any, interpret: bool = False, **kwargs: Any) -> Any:
        given = {**dict(zip(names_of(self.fn), args, strict=False)), **kwargs}
        key = (*(given.get(n) for n in self.keys),
               *(v.dtype for v in given.values() if isinstance(v, TensorBase)))
        config = self.configs[0]
        if len(self.configs) > 1 and not interpret:
            found = self.cache.get(key)
            if found is None:
                with Unrecorded("inside", "autotune", False):
                    found = self._choose(key, args, kwargs, grid, given)
            config = found
        self.best_config = config
        if config.pre_hook is not None:
            config.pre_hook({**given, **config.kwargs})
        return self.fn.run(*args, grid=grid, interpret=interpret, **{**kwargs, **config.kwargs})

    def _choose(self, key: Any, args: Any, kwargs: Any, grid: Any, given: dict[str, Any]) -> Config:
        """The quickest configuration on these arguments, whose tensors are left as they were."""
        from .testing import do_bench

        configs = self.configs
        if self.prune is not None:
            configs = list(self.prune(configs, given, **kwargs)) or configs
        held = [(t, t.detach().clone()) for t in given.values() if isinstance(t, TensorBase)]

        def restore() -> None:
            for tensor, before in held:
                tensor.detach().copy_(before)

        def seconds(config: Config) -> float:
            def call() -> None:
                if config.pre_hook is not None:
                    config.pre_hook({**given, **config.kwargs})
                self.fn.run(*args, grid=grid, **{**kwargs, **config.kwargs})

            taken: float = do_bench(call, warmup=1, rep=5, return_mode="min")
            restore()
            return taken

        self.cache[key] = best = min(configs, key=seconds)
        return best


class Heuristics(Wrapper):
    """A kernel some of whose constants are functions of its arguments."""

    def __init__(self, fn: Any, values: dict[str, Callable[[dict[str, Any]], Any]]) -> None:
        self.fn, self.values = fn, values

    def run(self, *args: Any, grid: Any, interpret: bool = False, **kwargs: Any) -> Any:
        given = {**dict(zip(names_of(self.fn), args, strict=False)), **kwargs}
        for name, rule in self.values.items():
            kwargs[name] = given[name] = rule(given)
        return self.fn.run(*args, grid=grid, interpret=interpret, **kwargs)


def autotune(configs: Sequence[Config], key: Sequence[str], prune_configs_by: Any = None,
             reset_to_zero: Any = None, restore_value: Any = None, pre_hook: Any = None,
             post_hook: Any = None, warmup: Any = None, rep: Any = None,
             use_cuda_graph: Any = False, do_bench: Any = None, cache_results: Any = False,
             ) -> Callable[[Any], Autotuner]:
    """Measure a kernel with each configuration when the arguments named in `key` are new.

    All tensors are put back as they were after each measurement. With one configuration, and in
    the interpreter, the first one is taken.
    """
    return lambda fn: Autotuner(fn, configs, key, reset_to_zero, restore_value, prune_configs_by)


def heuristics(values: dict[str, Callable[[dict[str, Any]], Any]]) -> Callable[[Any], Heuristics]:
    """Compute constants from the arguments: {"EVEN": lambda args: args["n"] % 16 == 0}."""
    return lambda fn: Heuristics(fn, values)
