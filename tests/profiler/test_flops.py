"""Operations are counted from shapes, as PyTorch counts them."""

import pytest

import yesca as torch
import yesca.nn.functional as F


def counted(function):
    with torch.profiler.profile(with_flops=True) as prof:
        function()
    return prof.key_averages().total_average().flops


@pytest.mark.parametrize(("function", "expected"), [
    (lambda: torch.zeros(4, 5) @ torch.zeros(5, 6), 2 * 4 * 5 * 6),
    (lambda: torch.mm(torch.zeros(4, 5), torch.zeros(5, 6)), 2 * 4 * 5 * 6),
    (lambda: torch.zeros(5) @ torch.zeros(5), 2 * 5),
    (lambda: torch.zeros(4, 5) @ torch.zeros(5), 2 * 4 * 5),
    (lambda: torch.bmm(torch.zeros(2, 3, 4), torch.zeros(2, 4, 5)), 2 * 2 * 3 * 4 * 5),
    (lambda: torch.addmm(torch.zeros(3), torch.zeros(2, 4), torch.zeros(4, 3)), 2 * 2 * 4 * 3),
    (lambda: F.linear(torch.zeros(2, 7, 8), torch.zeros(4, 8)), 2 * 2 * 7 * 8 * 4),
    (lambda: F.conv2d(torch.zeros(1, 1, 5, 5), torch.zeros(2, 1, 3, 3)), 324),
    (lambda: F.conv2d(torch.zeros(3, 4, 9, 9), torch.zeros(6, 2, 3, 3), stride=2, padding=1,
                      groups=2), 2 * 3 * 25 * 6 * 2 * 9),
    (lambda: F.conv1d(torch.zeros(4, 9), torch.zeros(6, 4, 3), dilation=(2,)), 2 * 5 * 6 * 4 * 3),
    (lambda: torch.zeros(16, 4) + 1, 64),
    (lambda: torch.zeros(3) * torch.zeros(3), 3),
    (lambda: torch.zeros(3).exp(), 0),
])
def test_counts(function, expected):
    assert counted(function) == expected


def test_a_layer_forward_and_backward():
    x = torch.zeros(16, 8, requires_grad=True)
    weight = torch.zeros(4, 8, requires_grad=True)
    assert counted(lambda: F.linear(x, weight).sum().backward()) == 3 * 2 * 16 * 8 * 4


def test_not_asked_for():
    with torch.profiler.profile() as prof:
        torch.zeros(4, 5) @ torch.zeros(5, 6)
    assert prof.key_averages().total_average().flops == 0
