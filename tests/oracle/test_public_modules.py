"""The public modules of plain Python answer as PyTorch's CPU build does."""

import itertools

import pytest
import torch

import yesca

pytestmark = pytest.mark.oracle


def outcome(function, *arguments):
    """What a call gives: its value, or the type and text of its error."""
    try:
        return function(*arguments)
    except Exception as error:
        return type(error), str(error)


def test_limits():
    for name in ("float16", "bfloat16", "float32", "float64", "complex64", "complex128"):
        ours, theirs = (m.finfo(getattr(m, name)) for m in (yesca, torch))
        assert repr(ours) == repr(theirs)
        for field in ("bits", "eps", "max", "min", "tiny", "resolution", "dtype"):
            assert getattr(ours, field) == getattr(theirs, field), (name, field)
    for name in ("uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"):
        ours, theirs = (m.iinfo(getattr(m, name)) for m in (yesca, torch))
        assert (repr(ours), ours.max, ours.min, ours.bits) == (
            repr(theirs), theirs.max, theirs.min, theirs.bits)


def test_errors_of_limits():
    for call, name in itertools.product(("finfo", "iinfo"), ("bool", "int8", "float32")):
        ours, theirs = (outcome(getattr(m, call), getattr(m, name)) for m in (yesca, torch))
        if isinstance(theirs, tuple):
            assert ours == theirs


def test_versions():
    texts = ["1.0.dev1", "1.0a1", "1.0rc1", "1.0", "1.0+cpu", "1.0.post1", "2.9", "2.13", "x"]
    for a, b in itertools.product(texts, texts):
        for name in ("__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"):
            ours = getattr(yesca.torch_version.TorchVersion(a), name)(b)
            theirs = getattr(torch.torch_version.TorchVersion(a), name)(b)
            assert ours == theirs, (a, name, b)


CUDA_CALLS = (
    "is_available device_count is_initialized current_device synchronize get_arch_list "
    "empty_cache memory_allocated max_memory_allocated memory_reserved memory_stats "
    "get_device_name get_device_capability get_rng_state get_rng_state_all is_bf16_supported "
    "is_tf32_supported current_stream default_stream init initial_seed seed seed_all "
    "mem_get_info ipc_collect Stream Event".split()
)


@pytest.mark.skipif(torch.cuda.is_available(), reason="compares with a PyTorch without CUDA")
@pytest.mark.skipif(torch.version.cuda is not None, reason="compares with PyTorch's CPU build")
@pytest.mark.parametrize("name", CUDA_CALLS)
def test_cuda(name):
    assert outcome(getattr(yesca.cuda, name)) == outcome(getattr(torch.cuda, name))


@pytest.mark.parametrize("name", ["current_accelerator", "is_available", "device_count",
                                  "synchronize", "current_device_index", "current_stream"])
@pytest.mark.skipif(torch.accelerator.is_available(), reason="there is an accelerator")
def test_accelerator(name):
    assert outcome(getattr(yesca.accelerator, name)) == outcome(getattr(torch.accelerator, name))


SWITCHES = {
    "cudnn": "enabled benchmark benchmark_limit deterministic allow_tf32",
    "mkldnn": "enabled deterministic",
    "miopen": "immediate",
}


@pytest.mark.parametrize("module", SWITCHES)
def test_backends(module):
    for name in SWITCHES[module].split():
        ours, theirs = (getattr(getattr(m.backends, module), name) for m in (yesca, torch))
        assert ours == theirs, name


def test_determinism():
    for name, *arguments in (
        ("set_deterministic_debug_mode", "x"), ("set_deterministic_debug_mode", 7),
        ("set_deterministic_debug_mode", 1.5), ("use_deterministic_algorithms", 1),
        ("get_float32_matmul_precision",), ("get_deterministic_debug_mode",),
        ("get_device_module", "meta"), ("get_device_module", 3),
    ):
        ours, theirs = (outcome(getattr(m, name), *arguments) for m in (yesca, torch))
        assert ours == theirs, name


def test_streams():
    assert repr(yesca.Stream()) == repr(torch.Stream())
    assert repr(yesca.Event()) == repr(torch.Event())
