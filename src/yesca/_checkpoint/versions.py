"""Functions of `torch.serialization` that libraries call though nothing here needs them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from .._global_names import resolve
from ..base.frames import warn


def check_module_version_greater_or_equal(module: Any, req_version_tuple: tuple[Any, ...],
                                          error_if_malformed: bool = True) -> bool:
    """Whether `module.__version__` is at least the given one.

    A version with other parts raises RuntimeError, or (`error_if_malformed=False`) warns and is
    taken to be new enough.

    >>> from types import SimpleNamespace
    >>> from yesca.serialization import check_module_version_greater_or_equal
    >>> check_module_version_greater_or_equal(SimpleNamespace(__version__="1.10.2"), (1, 9))
    True
    """
    parts = module.__version__.split(".")
    try:
        found = tuple(type(wanted)(parts[k]) for k, wanted in enumerate(req_version_tuple))
        return found >= req_version_tuple
    except (ValueError, IndexError, TypeError) as error:
        message = (f"'{module.__name__}' module version string is malformed "
                   f"'{module.__version__}' and cannot be compared with tuple "
                   f"{req_version_tuple}")
        if error_if_malformed:
            raise RuntimeError(message) from error
        warn(message + ", but continuing assuming that requirement is met")
        return True


def check_dill(pickle_module: Any) -> None:
    """ValueError for a version of dill that cannot be subclassed as `save` and `load` do it."""
    if getattr(pickle_module, "__name__", "") == "dill" and \
            not check_module_version_greater_or_equal(pickle_module, (0, 3, 1), False):
        raise ValueError(f"'torch' supports dill >= 0.3.1, but you have dill "
                         f"{pickle_module.__version__}. Please upgrade dill or switch to 'pickle'")


@contextmanager
def mkdtemp() -> Iterator[str]:
    """A folder that is gone after the `with` block."""
    with tempfile.TemporaryDirectory() as folder:
        yield folder


def normalize_storage_type(storage_type: type) -> Any:
    """The storage type of the same name in `torch`."""
    return resolve("torch", storage_type.__name__)


def storage_to_tensor_type(storage: Any) -> Any:
    """The tensor type beside a storage's type; AttributeError, as PyTorch has none any more."""
    kind = type(storage)
    return getattr(import_module(kind.__module__), kind.__name__.replace("Storage", "Tensor"))
