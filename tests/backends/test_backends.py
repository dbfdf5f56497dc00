"""Switches of libraries keep what is set."""

import pytest

import yesca as torch
from yesca import backends


def test_defaults():
    assert backends.cudnn.enabled and not backends.cudnn.benchmark
    assert backends.cudnn.version() is None and not backends.cudnn.is_available()
    assert not backends.mps.is_available() and not backends.mps.is_built()
    assert not backends.cuda.is_built()
    assert backends.cuda.flash_sdp_enabled() and backends.cuda.math_sdp_enabled()
    for module in (backends.mkl, backends.mkldnn, backends.openmp, backends.nnpack):
        assert module.is_available() is False


def test_switches_keep_what_is_set(monkeypatch):
    monkeypatch.setattr(backends.cudnn, "benchmark", True)
    assert torch.backends.cudnn.benchmark
    with backends.cudnn.flags(enabled=False, deterministic=True):
        assert (backends.cudnn.enabled, backends.cudnn.deterministic) == (False, True)
        assert backends.cudnn.benchmark is False
    assert (backends.cudnn.enabled, backends.cudnn.benchmark) == (True, True)


def test_set_flags_gives_what_was():
    before = backends.mkldnn.set_flags(_enabled=False)
    assert before == (True, False, None, "none")
    assert backends.mkldnn.set_flags(_enabled=True)[0] is False


def test_tf32_is_the_precision_of_products():
    try:
        backends.cuda.matmul.allow_tf32 = True
        assert torch.get_float32_matmul_precision() == "high"
        torch.set_float32_matmul_precision("highest")
        assert not backends.cuda.matmul.allow_tf32
        with pytest.warns(UserWarning, match="fast is not one of 'highest', 'high', or 'medium'"):
            torch.set_float32_matmul_precision("fast")
    finally:
        torch.set_float32_matmul_precision("highest")


def test_attention_switches():
    with backends.cuda.sdp_kernel(enable_flash=False):
        assert not backends.cuda.flash_sdp_enabled()
    assert backends.cuda.flash_sdp_enabled()


def test_determinism():
    try:
        torch.use_deterministic_algorithms(True, warn_only=True)
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.is_deterministic_algorithms_warn_only_enabled()
        torch.set_deterministic_debug_mode("error")
        assert torch.get_deterministic_debug_mode() == 2
        for wrong, error in (("x", RuntimeError), (7, RuntimeError), (1.5, TypeError)):
            with pytest.raises(error):
                torch.set_deterministic_debug_mode(wrong)
        with pytest.raises(TypeError, match="must be bool, not int"):
            torch.use_deterministic_algorithms(1)
    finally:
        torch.use_deterministic_algorithms(False)


def test_capability_of_the_processor():
    assert backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "NEON", "DEFAULT")
