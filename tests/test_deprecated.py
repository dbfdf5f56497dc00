"""What works, and is warned of: once a process where PyTorch does so."""

import warnings

import pytest

import yesca as torch
from yesca.base import frames


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch):
    monkeypatch.setattr(frames, "told", set())


@pytest.mark.parametrize(("call", "message"), [
    (lambda: torch.ones(3).T, "The use of `x.T` on tensors of dimension other than 2"),
    (lambda: torch.ones(2, 3, 4).T, "The use of `x.T` on tensors of dimension other than 2"),
    (lambda: torch.ones(()).T, "Tensor.T is deprecated on 0-D tensors."),
    (lambda: torch.ones(()).mT, "Tensor.mT is deprecated on 0-D tensors."),
    (lambda: torch.ones(()).H, "Tensor.H is deprecated on 0-D tensors."),
    (lambda: torch.ones(()).mH, "Tensor.mH is deprecated on 0-D tensors."),
    (lambda: torch.meshgrid(torch.ones(2)), "it will be required to pass the indexing argument"),
])
def test_warned_of_once(call, message):
    with pytest.warns(UserWarning) as seen:
        call()
        call()
    assert len(seen) == 1 and message in str(seen[0].message)
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match="."):
            call()
    finally:
        torch.set_warn_always(False)


def test_matrices_are_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x = torch.ones(2, 3)
        assert x.T.shape == x.mT.shape == x.H.shape == x.mH.shape == (3, 2)
