"""The sparse tensor on the tape, copied, pickled, saved."""

import copy
import io
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sparse_cases

import yesca as torch

FIXTURES = Path(__file__).parents[1] / "fixtures"
GOLDEN = json.loads((FIXTURES / "sparse.json").read_text(encoding="utf-8"))["gradients"]
PLACES = [[0, 1, 1], [2, 0, 2]]


def close(a, b):
    return b is None and a is None or torch.allclose(torch.tensor(a), torch.tensor(b))


@pytest.mark.parametrize("case", sparse_cases.split(sparse_cases.GRADIENTS))
def test_gradients(case):
    """PyTorch's, which are sometimes dense: at the places of the leaf."""
    wanted, got = GOLDEN[case], sparse_cases.gradients(torch, case)
    for rows in (wanted[0], got[0]):
        rows[:] = [rows[i][j] for i, j in zip(*PLACES, strict=True)]
    assert all(map(close, got, wanted)), f"{got} != {wanted}"


@pytest.mark.parametrize("case", sparse_cases.split(sparse_cases.BEYOND))
def test_gradients_beyond_pytorch(case):
    found = sparse_cases.gradients(torch, case)
    names = sparse_cases.scope(torch)
    a = names["a"] = names["s"].to_dense().requires_grad_()
    eval(case.replace(".to_dense()", ""), names).backward()
    assert close([found[0][i][j] for i, j in zip(*PLACES, strict=True)],
                 [a.grad.tolist()[i][j] for i, j in zip(*PLACES, strict=True)])


def test_second_derivatives():
    v = torch.tensor([3.0, 4.0, 5.0], dtype=torch.float64, requires_grad=True)
    y = torch.arange(6.0, dtype=torch.float64).reshape(3, 2).requires_grad_()

    def product(v, y):
        return torch.sparse.mm(torch.sparse_coo_tensor(PLACES, v, (2, 3)), y)

    assert torch.autograd.gradcheck(product, (v, y))
    assert torch.autograd.gradgradcheck(product, (v, y))


def leaf():
    return torch.sparse_coo_tensor(PLACES, [3.0, 4.0, 5.0], (2, 3), requires_grad=True)


def test_leaves_and_results():
    a = leaf()
    assert a.is_leaf and a.requires_grad and a.grad_fn is None and a.grad is None
    b = a * 2
    assert not b.is_leaf and not a.t().is_leaf and not a.clone().is_leaf
    b.retain_grad()
    b.to_dense().sum().backward()
    assert b.grad.is_sparse and b.grad._values().tolist() == [1, 1, 1]
    assert a.grad._values().tolist() == [2, 2, 2] and a.grad.shape == a.shape
    a.grad = None
    assert a.grad is None and a.detach().is_leaf and not a.detach().requires_grad
    assert not a.data.requires_grad
    with torch.no_grad():
        assert not (a * 2).requires_grad
    with pytest.raises(RuntimeError, match="leaf"):
        a.mul_(2)
    with pytest.raises(RuntimeError, match="leaf"):
        a.add_(a)


def test_gradients_asked_for():
    a, y = leaf(), torch.ones(3, 2, requires_grad=True)
    for_a, for_y = torch.autograd.grad(torch.sparse.mm(a, y).sum(), (a, y))
    assert for_a.is_sparse and for_a._values().tolist() == [2, 2, 2]
    assert for_y.tolist() == [[4, 4], [0, 0], [8, 8]]
    assert torch.autograd.grad(y.sum(), (y, a), allow_unused=True)[1] is None
    zeros = torch.autograd.grad(y.sum(), (y, a), materialize_grads=True)[1]
    assert zeros.is_sparse and zeros._nnz() == 0
    (a * a).backward(a.detach())
    assert a.grad._values().tolist() == [18, 32, 50]
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        (a * a).backward()


def test_hooks_get_sparse_gradients():
    a, seen = leaf(), []
    a.register_hook(lambda g: seen.append(g.is_sparse) or g * 3)
    a.to_dense().sum().backward()
    assert seen == [True] and a.grad._values().tolist() == [3, 3, 3]


def test_flags():
    s = torch.sparse_coo_tensor(PLACES, [3.0, 4.0, 5.0], (2, 3))
    other = s.t()
    s.requires_grad_()
    assert s.requires_grad and not other.requires_grad
    s.requires_grad = False
    assert not s.requires_grad
    with pytest.raises(RuntimeError, match="floating point"):
        s.int().requires_grad_()


def test_memory_is_shared_as_in_pytorch():
    s = torch.sparse_coo_tensor(PLACES, [3.0, 4.0, 5.0], (2, 3)).coalesce()
    s._values().add_(1)
    s.detach().values().mul_(2)
    assert s.values().tolist() == [8, 10, 12]
    copied = s.clone()
    copied.mul_(0)
    assert s.values().tolist() == [8, 10, 12]
    before = s._version
    s.zero_()
    assert s._version > before and s._nnz() == 0 and copied._nnz() == 3


def same(a, b):
    assert a.is_sparse and b.is_sparse and a.dtype == b.dtype and a.shape == b.shape
    assert a.is_coalesced() == b.is_coalesced() and a.sparse_dim() == b.sparse_dim()
    assert a._indices().equal(b._indices()) and a._values().equal(b._values())


def made():
    names = sparse_cases.scope(torch)
    return {key: names[key] for key in ("s", "sc", "u", "e", "n", "z")}


@pytest.mark.parametrize("way", ["pickle", "copy", "save", "legacy"])
def test_copies(way):
    for x in made().values():
        if way == "pickle":
            y = pickle.loads(pickle.dumps(x))
        elif way == "copy":
            y = copy.deepcopy(x)
        else:
            file = io.BytesIO()
            torch.save(x, file, _use_new_zipfile_serialization=way == "save")
            y = torch.load(io.BytesIO(file.getvalue()), weights_only=True)
        same(x, y)
        assert y._nnz() == 0 or y._values().data_ptr() != x._values().data_ptr()


def test_deep_copies_keep_gradients():
    a = leaf()
    a.to_dense().sum().backward()
    b = copy.deepcopy(a)
    assert b.requires_grad and b.grad._values().tolist() == [1, 1, 1]
    weight = torch.zeros(3, 2, requires_grad=True)
    torch.nn.functional.embedding(torch.tensor([1, 1]), weight, sparse=True).sum().backward()
    same(copy.deepcopy(weight).grad, weight.grad)


def test_files_of_pytorch():
    for key, x in torch.load(FIXTURES / "sparse.pt", weights_only=True).items():
        wanted = made()[key]
        assert x.to_dense().equal(wanted.to_dense()) and x.dtype is wanted.dtype, key
        assert x._nnz() == wanted._nnz()


def test_files_that_lie():
    from yesca._rebuild import _rebuild_sparse_tensor

    good = torch.tensor([[5], [0]]), torch.ones(1), torch.Size([2, 3])
    with pytest.raises((IndexError, RuntimeError)):
        _rebuild_sparse_tensor(torch.sparse_coo, good).to_dense()
    with pytest.raises(RuntimeError, match="corrupt"):
        _rebuild_sparse_tensor(torch.sparse_coo, (1, 2, 3))
    with pytest.raises(NotImplementedError, match="sparse_csr"):
        _rebuild_sparse_tensor(torch.sparse_csr, good)


def test_modules_move_and_keep_them():
    class Graph(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("links", torch.eye(2).to_sparse())

        def forward(self, x):
            return torch.spmm(self.links, x)

    one, other = Graph(), Graph()
    one.links.mul_(3)
    other.load_state_dict(one.state_dict())
    assert other(torch.ones(2, 1)).tolist() == [[3], [3]]
    assert other.double().links.dtype is torch.float64


def test_threads():
    x = torch.eye(50).to_sparse()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda k: (x * k).to_dense().trace().item(), range(20)))
    assert found == [50.0 * k for k in range(20)]


def test_large_sizes_cost_no_memory():
    x = torch.sparse_coo_tensor([[10**9 - 1], [3]], [2.0], (10**9, 10**9))
    y = (x + x * 2).coalesce()
    assert y.indices().tolist() == [[10**9 - 1], [3]] and y.values().tolist() == [6]
    assert x.numel() == 10**18 and x.t()._nnz() == 1 and x.sum().item() == 2


def test_a_sparse_parameter_is_trained():
    a = torch.nn.Parameter(leaf())
    optimizer = torch.optim.SGD([a], 0.5)
    for _ in range(2):
        optimizer.zero_grad()
        torch.sparse.mm(a, torch.ones(3, 1)).sum().backward()
        optimizer.step()
    assert a.is_leaf and a.requires_grad and a._values().tolist() == [2, 3, 4]
    assert a.grad._values().tolist() == [1, 1, 1] and a._nnz() == 3
    with torch.no_grad():
        a.copy_(leaf() * 2)
    assert a.is_leaf and a.requires_grad and a._values().tolist() == [6, 8, 10]
