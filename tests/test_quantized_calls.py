"""What functions do with quantized tensors: views and copies keep the quantizer, others refuse."""

import pytest

import yesca as torch

X = torch.tensor([[-1.0, 0.5, 2.0], [3.0, 0.04, -0.06]])


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    from yesca import _quantized

    monkeypatch.setattr(_quantized, "warn_once", lambda text: None)


@pytest.fixture
def q():
    return torch.quantize_per_tensor(X, 0.1, 10, torch.quint8)


@pytest.fixture
def by_row():
    return torch.quantize_per_channel(X, torch.tensor([0.1, 0.05]), torch.tensor([0, 0]), 0,
                                      torch.qint8)


MOVES = {
    "t": lambda x: x.t(), "T": lambda x: x.T, "view": lambda x: x.view(-1),
    "reshape": lambda x: torch.reshape(x, (3, 2)), "slice": lambda x: x[:, 1:],
    "row": lambda x: x[1], "element": lambda x: x[0, 0], "list": lambda x: x[[1, 0]],
    "mask": lambda x: x[torch.tensor([[True, False, True], [False, True, True]])],
    "permute": lambda x: x.permute(1, 0), "unsqueeze": lambda x: torch.unsqueeze(x, 0),
    "expand": lambda x: x.expand(2, 2, 3), "clone": lambda x: x.clone(),
    "contiguous": lambda x: x.t().contiguous(), "detach": lambda x: x.detach(),
    "data": lambda x: x.data, "flatten": lambda x: x.flatten(), "cpu": lambda x: x.to("cpu"),
    "narrow": lambda x: x.narrow(1, 0, 2), "flip": lambda x: x.flip(0), "max": lambda x: x.max(),
    "select": lambda x: x.index_select(0, torch.tensor([1])), "repeat": lambda x: x.repeat(2, 1),
    "cat": lambda x: torch.cat([x, x]), "stack": lambda x: torch.stack([x, x], 1),
    "relu": lambda x: x.relu(), "unfold": lambda x: x.unfold(1, 2, 1)}


@pytest.mark.parametrize("name", MOVES)
def test_moving_elements(q, name):
    made = MOVES[name](q)
    assert made.is_quantized and made.dtype is torch.quint8 and made.q_scale() == 0.1
    plain = MOVES[name](q.dequantize())
    assert made.dequantize().equal(plain) and made.shape == plain.shape


def test_several_parts(q):
    for parts in (q.split(1), q.chunk(2), q.unbind(0), list(q)):
        assert all(part.is_quantized for part in parts) and len(parts) == 2


def test_comparisons(q, by_row):
    assert (q == q).all() and (q > 0.5).tolist() == [[False, False, True], [True, False, False]]
    assert (0.5 < q).tolist() == (q > 0.5).tolist()
    assert torch.equal(q, q.clone()) and not torch.equal(q, by_row) and not q.equal(q.t())
    assert not torch.equal(q, q.dequantize()) and not X.equal(q)


def test_writes(q):
    copied = q.clone()
    copied.copy_(X * 0)
    assert copied.dequantize().abs().max() == 0 and copied.q_scale() == 0.1
    copied[0] = 1.0
    copied[1, 1] = q[0, 2]
    copied[1, 2:] = torch.tensor([0.5])
    assert copied.dequantize().tolist()[0] == pytest.approx([1.0, 1.0, 1.0])
    assert copied.dequantize().tolist()[1] == pytest.approx([0.0, 2.0, 0.5])
    other = torch.quantize_per_tensor(X, 0.5, 0, torch.quint8)
    assert torch.equal(copied.copy_(other), other)
    assert copied.fill_(2.0).dequantize().tolist() == [[2.0] * 3] * 2
    before = copied._version
    copied[0] = 1.0
    assert copied._version == before + 1
    with pytest.raises(RuntimeError, match="please use dequantize"):
        torch.zeros(2, 3).copy_(q)
    with pytest.raises(RuntimeError, match="same dtype"):
        q.copy_(torch.quantize_per_tensor(X, 0.5, 0, torch.qint8))


@pytest.mark.parametrize("call", [
    lambda q: q + q, lambda q: q * 2, lambda q: 2 * q, lambda q: -q, lambda q: q @ q.t(),
    lambda q: q.sum(), lambda q: torch.add(q, 1), lambda q: q.abs(), lambda q: torch.exp(q),
    lambda q: torch.nn.functional.linear(q, q), lambda q: q.sub_(1), lambda q: q.new_zeros(2),
    lambda q: torch.zeros_like(q), lambda q: torch.cat([X, X]).matmul(q)])
def test_arithmetic_is_refused(q, call):
    with pytest.raises(NotImplementedError, match="Could not run 'aten::.* 'QuantizedCPU' backend"):
        call(q)


def test_conversions_are_refused(q):
    for call in (q.float, q.int, lambda: q.to(torch.float32), lambda: q.type(torch.float32)):
        with pytest.raises(RuntimeError, match="requires quantized dtype"):
            call()
    with pytest.raises(TypeError, match="unsupported ScalarType QUInt8"):
        q.numpy()
    with pytest.raises(RuntimeError, match="invalid type"):
        q.tolist()
    with pytest.raises(RuntimeError, match="floating point"):
        q.requires_grad_()
    with pytest.raises(RuntimeError, match="isSignedType"):
        q.is_signed()


def test_rows_with_a_scale_each(by_row):
    row = by_row[1]
    assert row.qscheme() is torch.per_tensor_affine and row.q_scale() == pytest.approx(0.05)
    assert row.dequantize().equal(by_row.dequantize()[1])
    assert by_row.clone().q_per_channel_axis() == 0
    for call in (by_row.t, lambda: by_row[:, 1], lambda: by_row.view(-1)):
        with pytest.raises(RuntimeError, match="uniformly quantized"):
            call()


def test_a_parameter(q):
    made = torch.nn.Parameter(q, requires_grad=False)
    assert repr(made).startswith("Parameter containing:\ntensor([[-1.0000")
    module = torch.nn.Module()
    module.weight = made
    assert torch.equal(module.state_dict()["weight"], q)


def test_no_gradient_flows_through(q):
    x = X.clone().requires_grad_()
    made = torch.quantize_per_tensor(x, 0.1, 10, torch.quint8)
    assert not made.requires_grad and not made.dequantize().requires_grad
