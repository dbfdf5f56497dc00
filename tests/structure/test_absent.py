"""Names that PyTorch has and the package lacks: the table is true, whole, and speaks."""

import importlib

import pytest
from public_names import PUBLIC

import yesca
from yesca.base import absent
from yesca.base.absent_names import NAMES

SAID = r"\(PyTorch has it; yesca does not have it yet"
MODULES = sorted(set(NAMES) - {"Tensor"})
#: Parts of PyTorch's own code that are reachable, but nobody's business.
INSIDE = set("""
    DEVICE_REQUIREMENT Device ENV_VAR_PARALLEL_START F FuncType Logger Optimizer PRIVATE_OPS
    PYTORCH_RELEASES_CODE_CC TYPE_CHECKING Tensor USE_GLOBAL_DEPS USE_RTLD_GLOBAL_WITH_LIBTORCH
    classproperty common_args common_notes factory_common_args is_fbcode log m multi_dim_common
    register_optimizer_step_post_hook timedelta torch""".split())


def holder(module):
    return yesca.Tensor if module == "Tensor" else importlib.import_module(
        f"yesca.{module}".rstrip("."))


@pytest.mark.parametrize("module", sorted(NAMES))
def test_what_lacks_is_said_to_lack(module):
    place = holder(module)
    listed = set(dir(place))
    for name in absent.names(module):
        assert name not in listed and not hasattr(place, name), f"{module}.{name} is there"
        with pytest.raises(AttributeError, match=f"has no attribute '{name}' {SAID}"):
            getattr(place, name)


@pytest.mark.parametrize("module", MODULES)
def test_imports_of_what_lacks(module):
    name = min(absent.names(module))
    path = f"yesca.{module}".rstrip(".")
    with pytest.raises(ImportError, match=f"cannot import name '{name}' from '{path}' {SAID}"):
        exec(f"from {path} import {name}", {})


def test_methods_of_tensors():
    x = yesca.ones(2)
    said = "'Tensor' object has no attribute 'to_mkldnn' " + SAID
    with pytest.raises(AttributeError, match=said):
        x.to_mkldnn()
    assert not hasattr(x, "to_mkldnn") and "to_mkldnn" not in dir(x)


def test_slips_are_no_lacks():
    for place, name in ((yesca, "zerox"), (yesca.nn, "Linaer"), (yesca.jit, "scripd"),
                        (yesca.Tensor, "tu"), (yesca.optim.sgd, "SGB")):
        with pytest.raises(AttributeError) as caught:
            getattr(place, name)
        assert "PyTorch" not in str(caught.value) and name in str(caught.value)
    with pytest.raises(ImportError) as caught:
        exec("from yesca.nn import Linaer", {})
    assert "PyTorch" not in str(caught.value)


def test_slips_are_guessed(run_python):
    done = run_python("-c", "import yesca; yesca.nn.Linaer")
    assert done.stderr.endswith("has no attribute 'Linaer'. Did you mean: 'Linear'?\n")


@pytest.mark.parametrize("package", sorted(PUBLIC))
def test_each_public_name_is_there_or_lacks(package):
    module = package.partition(".")[2]
    above, _, own = module.rpartition(".")
    if module and own in absent.names(above):
        return  # the package lacks as a whole
    place = holder(module)
    names = {n for kind in PUBLIC[package].values() for n in kind} - INSIDE
    unknown = {n for n in names if n not in absent.names(module) and not hasattr(place, n)}
    assert not unknown
