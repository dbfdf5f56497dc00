"""Tensors that stand for numbers are read at every call; calls take any number of tensors."""

import pytest

import yesca as torch


def test_slices_bounded_by_tensors():
    x = torch.arange(12).reshape(3, 4)
    plain = x.tolist()
    for k in (0, 1, 2, 1):
        t = torch.tensor(k)
        assert x[t:].tolist() == plain[k:]
        assert x[:t].tolist() == plain[:k]
        assert x[0, t:t + 2].tolist() == plain[0][k:k + 2]
        assert x[:, t:].tolist() == [row[k:] for row in plain]
        assert x[0][:: t + 1].tolist() == plain[0][:: k + 1]
        assert x[t].tolist() == plain[k]
        assert x[:, t].tolist() == [row[k] for row in plain]


def test_slices_in_compiled_functions():
    x = torch.arange(10)
    cut = torch.compile(lambda a, b: x[a:b] * 2)
    for k in range(4):
        assert cut(torch.tensor(k), torch.tensor(k + 2)).tolist() == [2 * k, 2 * k + 2]


def test_bounds_written_in_place():
    x, end = torch.arange(10), torch.tensor(0)
    for k in range(1, 4):
        end += 1
        assert x[:end].tolist() == list(range(k))


def test_sizes_and_dimensions():
    x = torch.arange(10)
    for k in (2, 5, 2):
        t, zero = torch.tensor(k), torch.tensor(0)
        assert x.view(t, -1).shape == x.reshape((t, -1)).shape == (k, 10 // k)
        assert torch.reshape(x, (t, -1)).shape == (k, 10 // k)
        assert x.repeat(t).shape == (10 * k,) and x[:1].expand(t).shape == (k,)
        assert len(x.chunk(t)) == k and x.narrow(zero, t, t).tolist() == list(range(k, 2 * k))
        assert x.roll(t).tolist() == x.roll(k).tolist()
        assert x.sum(zero).item() == 45 and x.new_zeros(t).shape == (k,)
    with pytest.raises(TypeError, match=r"view\(\) received an invalid combination"):
        x.view(torch.tensor(2.0), -1)


@pytest.mark.parametrize("count", [999, 1000, 1001, 1005, 3003])
def test_many_operands(count):
    values = list(range(count))
    parts = [torch.tensor([float(k)], requires_grad=True) for k in values]
    joined = torch.cat(parts)
    assert joined.tolist() == values
    (joined * joined).sum().backward()
    assert [p.grad.item() for p in parts] == [2.0 * k for k in values]
    assert torch.stack([torch.tensor(k) for k in values]).tolist() == values


def test_many_parameters():
    parameters = [torch.nn.Parameter(torch.full((2,), float(k))) for k in range(1200)]
    for optimizer in (torch.optim.SGD(parameters, 0.5), torch.optim.Adam(parameters, 0.5)):
        before = [p.detach().clone() for p in parameters]
        optimizer.zero_grad()
        torch.stack(parameters).sum().backward()
        optimizer.step()
        for old, new in zip(before, parameters, strict=True):
            assert torch.allclose(old - new, torch.full((2,), 0.5), atol=1e-3)
