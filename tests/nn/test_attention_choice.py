"""torch.nn.attention: choices are kept, told and undone; any of them computes."""

import pytest

import yesca as torch
from yesca.nn.attention import SDPBackend, sdpa_kernel


def test_choices():
    told = torch.backends.cuda
    x = torch.rand(1, 1, 3, 4)
    wanted = torch.nn.functional.scaled_dot_product_attention(x, x, x)
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION]):
        assert told.flash_sdp_enabled() and not told.math_sdp_enabled()
        made = torch.nn.functional.scaled_dot_product_attention(x, x, x)
    assert told.math_sdp_enabled() and torch.equal(made, wanted)
    with pytest.raises(AssertionError, match="instance of SDPBackend"), sdpa_kernel([3]):
        pass


def test_no_xpu():
    assert not torch.xpu.is_available() and torch.xpu.device_count() == 0
    torch.xpu.empty_cache()
    with pytest.raises(AssertionError, match="not compiled with XPU enabled"):
        torch.xpu.synchronize()
