"""`torch.ops.aten`: packets and overloads."""

import copy
import pickle

import pytest

import yesca as torch

aten = torch.ops.aten


def test_names_and_identity():
    op = aten.add.Tensor
    assert op is torch.ops.aten.add.Tensor
    assert str(op) == "aten.add.Tensor"
    assert repr(op) == "<OpOverload(op='aten.add', overload='Tensor')>"
    assert op.name() == "aten::add.Tensor"
    assert aten.mm.default.name() == "aten::mm"
    assert op.overloadpacket is aten.add
    assert repr(aten.add) == "<OpOverloadPacket(op='aten.add')>"
    assert {op: 1}[aten.add.Tensor] == 1
    assert aten.add.overloads()[:2] == ["Tensor", "Scalar"]
    assert pickle.loads(pickle.dumps(op)) is op
    assert copy.deepcopy(op) is op


def test_schema_is_pytorchs():
    assert str(aten.add.Tensor._schema) == \
        "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert [a.name for a in aten.addmm.default._schema.arguments] == \
        ["self", "mat1", "mat2", "beta", "alpha"]
    assert aten.add_.Tensor._schema.is_mutable
    assert not aten.add.Tensor._schema.is_mutable
    assert aten.view.default.is_view
    assert not aten.mm.default.is_view


def test_tags():
    assert torch.Tag.pointwise in aten.mul.Tensor.tags
    assert torch.Tag.pointwise not in aten.mm.default.tags


@pytest.mark.parametrize("call, wanted", [
    (lambda x, y: aten.add.Tensor(x, y, alpha=2), lambda x, y: x + 2 * y),
    (lambda x, y: aten.add(x, 1), lambda x, y: x + 1),
    (lambda x, y: aten.mm.default(x, aten.t.default(y)), lambda x, y: x @ y.t()),
    (lambda x, y: aten.sum.dim_IntList(x, [1], True), lambda x, y: x.sum(1, keepdim=True)),
    (lambda x, y: aten.slice.Tensor(x, 1, 0, 2), lambda x, y: x[:, :2]),
    (lambda x, y: aten.gelu_backward.default(y, x), lambda x, y: torch.func.vjp(
        torch.nn.functional.gelu, x)[1](y)[0]),
    (lambda x, y: aten._softmax.default(x, -1, False), lambda x, y: x.softmax(-1)),
    (lambda x, y: aten.native_layer_norm.default(x, [3], None, None, 1e-5)[0],
     lambda x, y: torch.nn.functional.layer_norm(x, (3,))),
    (lambda x, y: aten.linear.default(x, y), lambda x, y: x @ y.t()),
    (lambda x, y: aten._to_copy.default(x, dtype=torch.float64), lambda x, y: x.double()),
])
def test_a_call_computes(call, wanted):
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    torch.testing.assert_close(call(x, y), wanted(x, y))


def test_writes():
    x, y, out = torch.ones(2), torch.ones(2), torch.empty(2)
    assert aten.add.out(x, y, out=out) is out
    assert aten.add_.Tensor(x, y) is x
    assert x.tolist() == out.tolist() == [2.0, 2.0]


def test_calls_are_on_the_tape():
    x = torch.ones(2, 2, requires_grad=True)
    aten.mm.default(x, x).sum().backward()
    assert x.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]]


def test_what_is_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'no_such'"):
        aten.no_such  # noqa: B018
    with pytest.raises(AttributeError, match="no overload name 'Nothing'"):
        aten.add.Nothing  # noqa: B018
    with pytest.raises(RuntimeError, match="missing value for argument 'mat2'"):
        aten.mm.default(torch.ones(2, 2))
    with pytest.raises(RuntimeError, match="Unknown keyword argument 'beta'"):
        aten.mm.default(torch.ones(2, 2), torch.ones(2, 2), beta=1)
