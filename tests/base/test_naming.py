"""Names of public classes, and texts of errors."""

import pytest

from yesca.base import errors, naming


def test_names_follow_the_mode(monkeypatch):
    assert not naming.answers_torch()
    assert naming.public_module("torch.nn") == "yesca.nn"
    monkeypatch.setattr(naming, "_answers_torch", True)
    assert naming.public_module("torch.nn") == "torch.nn"

    @naming.lives_in("torch")
    class Thing:
        pass

    assert Thing.__module__ == "torch"


def test_error_texts():
    assert errors.ordinal(1) + errors.ordinal(12) + errors.ordinal(103) == "1st12th103rd"
    assert errors.shape_text((2, 3)) == "[2, 3]"
    assert errors.closest("relue", ["relu", "gelu"]) == " Did you mean 'relu'?"
    assert errors.closest("xyz", ["relu"]) == ""
    assert str(errors.argument_error("f", "x", 1, "Tensor", None)) == (
        "f(): argument 'x' (position 1) must be Tensor, not NoneType"
    )
    assert str(errors.not_yet("hub", "load files")) == "yesca does not have hub yet; load files"
    with pytest.raises(AssertionError, match="^Torch not compiled with CUDA enabled$"):
        errors.raise_no_cuda()
