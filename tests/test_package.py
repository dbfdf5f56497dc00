"""The package's own names: lazy, complete, and free of heavy imports."""

import importlib

import pytest

import yesca
from yesca import _names


def test_importing_the_package_loads_little(run_python):
    done = run_python("-c", "import sys, yesca; print(*sorted(sys.modules))")
    loaded = done.stdout.split()
    heavy = {"numpy", "llvmlite", "yesca.functional", "yesca._tensor", "yesca.dispatch",
             "yesca.runtime.machine", "multiprocessing", "importlib.metadata"}
    assert not heavy & set(loaded)
    assert sum(name.startswith("yesca") for name in loaded) <= 6


def test_names_are_looked_up_once():
    assert yesca.float32 is yesca.float
    assert "float32" in vars(yesca)
    assert yesca.dtype is type(yesca.float32)


def test_constants():
    import math

    assert (yesca.pi, yesca.e, yesca.inf) == (math.pi, math.e, math.inf)
    assert yesca.nan != yesca.nan
    assert yesca.newaxis is None


def test_submodules():
    assert yesca.cuda.is_available() is False
    assert yesca.version.cuda is None
    assert yesca.backends.mps.is_available() is False


@pytest.mark.parametrize("room", sorted(_names.HOMES))
def test_the_table_is_true(room):
    """Every name of the table is in its room."""
    module = importlib.import_module(f"yesca.{room}")
    for public, (home, internal) in _names.locations().items():
        if home == room:
            assert internal in dir(module), f"yesca.{room} lacks {internal}"
            assert getattr(yesca, public) is getattr(module, internal)


def test_unknown_names():
    with pytest.raises(AttributeError, match=r"^module 'yesca' has no attribute 'nothing'$"):
        yesca.nothing  # noqa: B018


def test_dunder_names_ask_nobody():
    assert not hasattr(yesca, "__wrapped__")


def test_all_names(run_python):
    assert {"float32", "Tensor", "nn", "zeros", "pi"} <= set(yesca.__all__) <= set(dir(yesca))


def test_predicates():
    assert not yesca.is_tensor([1])
    assert not yesca.is_storage(None)
    assert yesca.typename(3) == "int"
    assert yesca.typename(yesca.float32) == f"{yesca.dtype.__module__}.dtype"


def test_device_modules():
    assert yesca.get_device_module() is yesca.cpu
    assert yesca.get_device_module("cuda") is yesca.cuda
    with pytest.raises(RuntimeError, match="'meta' does not have a corresponding module"):
        yesca.get_device_module("meta")
    with pytest.raises(RuntimeError, match="Invalid value of device '3'"):
        yesca.get_device_module(3)
