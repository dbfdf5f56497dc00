"""The seeds of a worker process: of the engine, of Python's `random` and of NumPy."""

from __future__ import annotations

import random
import sys
from typing import Any

from .. import _engine


def seed_worker(base_seed: int, worker_id: int) -> int:
    """Seed all generators of this process as PyTorch does; gives the worker's seed."""
    seed = base_seed + worker_id
    random.seed(seed)
    _engine.start_worker(seed)
    known = sys.modules.get("numpy.random")
    if known is None:
        sys.meta_path.insert(0, _Later(base_seed, worker_id))
    else:
        _seed_numpy(known, base_seed, worker_id)
    return seed


def _seed_numpy(module: Any, base_seed: int, worker_id: int) -> None:
    # By NumPy's own mixing of both numbers, so that its stream is not Python's.
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    module.seed(module.SeedSequence(entropy).generate_state(4))


class _Later:
    """Seeds NumPy when it is loaded: to load it takes longer than to start a worker without it."""

    def __init__(self, *seeds: int) -> None:
        self._seeds = seeds

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """The spec that others find for `numpy.random`, which then seeds what has been loaded."""
        if name != "numpy.random" or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        for finder in sys.meta_path:
            found = finder.find_spec(name, path, target)
            if found is not None:
                self._watch(found.loader)
                return found
        return None

    def _watch(self, loader: Any) -> None:
        run = loader.exec_module

        def run_and_seed(module: Any) -> None:
            run(module)
            _seed_numpy(module, *self._seeds)

        loader.exec_module = run_and_seed
