"""Where the lessons and PyTorch 2.13 differ, yesca satisfies both.

These are the only tests here that PyTorch 2.13 itself does not pass: its storages are wrapped anew
at each call, and two of its messages have been reworded since the lessons were written.
"""

import warnings

import pytest

import yesca as torch
from yesca.nn import functional as F


def test_a_view_has_the_very_same_storage_object():
    x = torch.arange(12).reshape(3, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns that typed storages are on their way out
        assert x.storage() is x.t().storage()
        assert x.storage() is not x.clone().storage()
    assert x.untyped_storage() is x.t().untyped_storage()


def test_int32_targets_are_refused_in_the_words_of_both():
    with pytest.raises(RuntimeError) as failure:
        F.cross_entropy(torch.zeros(2, 4), torch.tensor([0, 1], dtype=torch.int32))
    assert "expected scalar type Long but found Int" in str(failure.value)
    assert "expected target dtype to be Long or Byte, but got Int" in str(failure.value)


def test_two_devices_are_refused_in_the_words_of_both():
    with pytest.raises(RuntimeError) as failure:
        torch.ones(2) + torch.ones(2, device="meta")
    assert "Expected all tensors to be on the same device" in str(failure.value)
    assert "is not on the expected device" in str(failure.value)
