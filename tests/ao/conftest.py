"""Quantization is deprecated in PyTorch, and says so; every other warning is an error."""

import warnings

import pytest


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "torch.ao.quantization is deprecated")
        warnings.filterwarnings("ignore", "torch.quantize_per_tensor, torch.quantize_per_channel")
        yield
