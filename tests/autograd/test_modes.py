"""Grad mode and inference mode, one inside the other: what is asked and what is recorded."""

import pytest

import yesca as torch


def state():
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled()


def test_inference_mode_sets_grad_mode():
    with torch.no_grad():
        with torch.inference_mode(False):
            assert state() == (True, False)
            assert (torch.ones(2, requires_grad=True) * 2).requires_grad
        with torch.inference_mode():
            assert state() == (False, True)
        assert state() == (False, False)


def test_inference_mode_as_decorator_sets_grad_mode():
    with torch.no_grad():
        assert torch.inference_mode(False)(state)() == (True, False)


@pytest.mark.parametrize("compute", [
    lambda x: x * 2, lambda x: torch.stack([x, x]), lambda x: torch.linalg.norm(x),
    lambda x: x.clone().mul_(2), lambda x: x.detach().clone()])
def test_nothing_is_recorded_in_inference_mode(compute):
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode(), torch.enable_grad():
        assert state() == (True, True)
        made = compute(x)
    assert not made.requires_grad and made.grad_fn is None


def test_views_in_inference_mode():
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode(), torch.enable_grad():
        made = x.view(2, 1)
    assert made.requires_grad and made.grad_fn is None and not made.is_inference()


def test_leaves_may_be_written_in_inference_mode():
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    with torch.inference_mode(), torch.enable_grad():
        x.add_(1)
        y.add_(x)
    assert x.tolist() == [2.0, 2.0] and y.tolist() == [3.0, 3.0]
    assert not y.requires_grad and y._version == 1


def test_autocast_casts_again_after_inference_mode():
    w = torch.ones(2, 2, requires_grad=True)
    with torch.autocast("cpu"):
        with torch.inference_mode(), torch.enable_grad():
            torch.mm(w, w)
        assert torch.mm(w, w).requires_grad


def test_inference_mode_off_records_again():
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode(), torch.inference_mode(False):
        assert state() == (True, False)
        assert (x * 2).requires_grad


def test_parameters_made_in_inference_mode():
    with torch.inference_mode():
        made = torch.nn.Parameter(torch.ones(2))
    assert made.is_inference()
    assert not torch.nn.Parameter(torch.ones(2)).is_inference()
