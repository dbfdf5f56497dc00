"""How sparse tensors are made: checks, switches, dtypes, dense tensors turned sparse."""

import numpy as np
import pytest

import yesca as torch

checks = torch.sparse.check_sparse_tensor_invariants


def outside():
    return torch.sparse_coo_tensor([[5]], [1.0], (2,))


def test_switches():
    assert not checks.is_enabled() and outside()._nnz() == 1
    with checks():
        assert checks.is_enabled()
        with checks(enable=False):
            outside()
        with pytest.raises(RuntimeError, match="found index 5"):
            outside()
    assert not checks.is_enabled()
    with pytest.raises(RuntimeError, match="found index 5"):
        checks()(outside)()
    checks.enable()
    try:
        with pytest.raises(RuntimeError, match="found index 5"):
            outside()
    finally:
        checks.disable()
    twice = checks()
    with twice, pytest.raises(RuntimeError, match="already activated"), twice:
        pass


def test_places_outside_read_no_foreign_memory():
    with pytest.raises((IndexError, RuntimeError)):
        outside().to_dense()
    x = torch.sparse_coo_tensor([[7], [0]], [1.0], (2, 2))
    with pytest.raises((IndexError, RuntimeError)):
        torch.sparse.mm(x, torch.ones(2, 2))
    with pytest.raises((IndexError, RuntimeError)):
        torch.zeros(2, 2).add_(x)


def test_what_it_is_made_of():
    from_arrays = torch.sparse_coo_tensor(np.array([[0, 1]]), np.array([1.0, 2.0]), (2,))
    assert from_arrays.dtype is torch.float64
    values = torch.tensor([1.0, 2.0])
    shared = torch.sparse_coo_tensor(torch.tensor([[0, 1]]), values, (2,))
    values.mul_(2)
    assert shared._values().tolist() == [2, 4]
    assert torch.sparse_coo_tensor([[0]], [True], (2,)).to_dense().tolist() == [True, False]
    assert torch.sparse_coo_tensor([[0, 0]], [1j, 2.0], (1,)).to_dense().tolist() == [2 + 1j]
    half = torch.sparse_coo_tensor([[0, 0]], [1.0, 2.0], (1,), dtype=torch.bfloat16)
    assert half.coalesce().values().tolist() == [3.0]
    with pytest.raises(TypeError, match="invalid combination of arguments"):
        torch.sparse_coo_tensor([[0]], [1.0], (1,), (1,))
    with pytest.raises(RuntimeError, match="negative dimension"):
        torch.sparse_coo_tensor((-1, 2))


@pytest.mark.parametrize("shape", [(3, 4), (0, 2), (2, 0), (5,), (2, 3, 2), ()])
def test_round_trips(shape):
    torch.manual_seed(0)
    x = torch.randn(shape) * (torch.rand(shape) > 0.5)
    for sparse in range(min(len(shape), 1), len(shape) + 1):
        y = x.to_sparse(sparse)
        assert y.is_coalesced() and y.to_dense().equal(x) and y.sparse_dim() == sparse
        assert y.coalesce().to_dense().equal(x) and y.clone().to_dense().equal(x)
    strided = x.t() if len(shape) == 2 else x
    assert strided.to_sparse().to_dense().equal(strided)


def test_layouts_that_are_not_there():
    x = torch.eye(2)
    with pytest.raises(NotImplementedError, match="sparse_csr"):
        x.to_sparse(layout=torch.sparse_csr)
    with pytest.raises(AttributeError, match="PyTorch has it; yesca does not have it yet"):
        x.to_sparse_csr()
    with pytest.raises(AttributeError, match="PyTorch has it; yesca does not have it yet"):
        torch.sparse.sampled_addmm
    assert x.to_sparse(layout=torch.sparse_coo).is_sparse


def test_typed_constructors():
    kind = torch.sparse.FloatTensor
    x = kind(torch.tensor([[0, 1]]), torch.tensor([1.0, 2.0]), torch.Size([3]))
    assert isinstance(x, kind) and not isinstance(x, torch.FloatTensor)
    assert not isinstance(torch.ones(1), kind) and x.type() == "torch.sparse.FloatTensor"
    assert x.type(torch.sparse.DoubleTensor).dtype is torch.float64
    with pytest.raises(TypeError, match="invalid combination"):
        kind(1.5)
