"""Padding with one value: sizes, layouts, values that do not fit, gradients."""

import pytest

import yesca as torch
from yesca.nn import functional as F


def test_sizes_before_and_after() -> None:
    x = torch.arange(6).reshape(2, 3)
    assert torch.constant_pad_nd(x, (1, 2), 9).tolist() == [[9, 0, 1, 2, 9, 9], [9, 3, 4, 5, 9, 9]]
    assert torch.constant_pad_nd(x, (-1, 1, 1, -1)).tolist() == [[0, 0, 0], [1, 2, 0]]
    assert torch.constant_pad_nd(x, (-1, -2)).shape == (2, 0)
    assert torch.constant_pad_nd(torch.tensor(3), ()).item() == 3
    assert torch.constant_pad_nd(torch.zeros(0, 2), (0, 0, 1, 1), 4).tolist() == [[4, 4], [4, 4]]
    assert torch.constant_pad_nd(torch.tensor([1 + 2j]).conj(), (1, 0), 3j).tolist() == \
        [3j, 1 - 2j]


def test_nothing_is_shared() -> None:
    x = torch.zeros(3)
    for pad in ((), (0, 0), (-1, 0)):
        torch.constant_pad_nd(x, pad).fill_(1)
    assert x.tolist() == [0, 0, 0]


@pytest.mark.parametrize("pad,grown,shrunk", [((1, 0), (8, 4, 1), (1, 8, 4))])
def test_layouts(pad: tuple[int, int], grown: tuple[int, ...], shrunk: tuple[int, ...]) -> None:
    x = torch.ones(2, 3, 4).permute(2, 0, 1)
    assert torch.constant_pad_nd(x, pad).stride() == grown
    assert torch.constant_pad_nd(x, tuple(-n for n in pad)).stride() == shrunk
    image = torch.ones(1, 2, 3, 4).to(memory_format=torch.channels_last)
    assert torch.constant_pad_nd(image, pad).stride() == (30, 1, 10, 2)


@pytest.mark.parametrize("pad,value,message", [
    ((1,), 0, "Length of pad must be even but instead it equals 1"),
    ((1, 1, 1, 1, 1, 1), 0, "no more than twice the number of dimensions of the input"),
    ((-2, -2), 0, "length must be non-negative"), ((-4, 5), 0, "length must be non-negative"),
    ((1, 0), 300, "value cannot be converted to type int8_t without overflow"),
    ((1, 0), 1j, "value cannot be converted to type int8_t without overflow")])
def test_refused(pad: tuple[int, ...], value: complex, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        torch.constant_pad_nd(torch.ones(2, 3, dtype=torch.int8), pad, value)


def test_one_node_and_its_gradient() -> None:
    x = torch.ones(2, 3, requires_grad=True)
    made = F.pad(x, (-1, 2))
    assert made.grad_fn.name() == "ConstantPadNdBackward0"
    (made * torch.arange(8.0).reshape(2, 4)).sum().backward()
    assert x.grad.tolist() == [[0, 0, 1], [0, 4, 5]]


def test_batches() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    made = torch.vmap(lambda row: torch.constant_pad_nd(row, (1, 0), 7))(x)
    assert made.tolist() == [[7, 0, 1, 2], [7, 3, 4, 5]]
    with pytest.raises(RuntimeError, match="Length of pad should be no more than twice"):
        torch.vmap(lambda row: torch.constant_pad_nd(row, (1, 0, 1, 0)))(x)
