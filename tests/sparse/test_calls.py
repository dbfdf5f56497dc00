"""What functions do with sparse tensors: PyTorch's results, and its errors."""

import json
from pathlib import Path

import pytest
import sparse_cases

import yesca as torch

FIXTURES = Path(__file__).parents[1] / "fixtures"
GOLDEN = json.loads((FIXTURES / "sparse.json").read_text(encoding="utf-8"))["results"]


def close(got, wanted):
    if isinstance(got, (list, tuple)) and isinstance(wanted, list):
        return len(got) == len(wanted) and all(map(close, got, wanted))
    if isinstance(got, float) and isinstance(wanted, float):
        return got == pytest.approx(wanted, rel=1e-6, nan_ok=True)
    return got == wanted


@pytest.mark.parametrize("case", sparse_cases.cases())
def test_as_in_pytorch(case):
    wanted, got = GOLDEN[case], sparse_cases.result(torch, case)
    if isinstance(wanted, list) and wanted[0] == "raises":
        assert got[:2] == wanted[:2], got
        if wanted[1] != "NotImplementedError":  # PyTorch names the overload that it came to
            assert got[2].startswith(wanted[2].partition("\n")[0])
    else:
        assert close(got, wanted), f"{got} != {wanted}"


def test_refusals_name_the_function():
    x = torch.zeros(2, 2).to_sparse()
    with pytest.raises(NotImplementedError, match="'aten::cumsum' .* 'SparseCPU' backend. to_den"):
        x.cumsum(0)
    with pytest.raises(NotImplementedError, match="aten::exp"):
        torch.exp(x)
    with pytest.raises(NotImplementedError, match="aten::lerp"):
        torch.lerp(torch.zeros(2, 2), x, 0.5)
    with pytest.raises(NotImplementedError, match="'aten::coalesce|index_add"):
        torch.index_add(x, 0, torch.tensor([0]), torch.ones(1, 2))


def test_questions():
    x = torch.sparse_coo_tensor([[0], [1]], [2.0], (2, 3), dtype=torch.float32)
    assert x.is_sparse and not x.is_sparse_csr and not x.is_quantized and x.is_cpu
    assert not x.is_meta and x.device == torch.device("cpu") and x.layout is torch.sparse_coo
    assert torch.is_tensor(x) and torch.is_floating_point(x) and isinstance(x, torch.Tensor)
    assert x.coalesce() is x and x.is_coalesced() and not x.is_inference()
    assert len({x, x}) == 1 and f"{x}" == repr(x) and x.ndim == 2
    assert "SparseTensor" not in repr(x)


def test_modes_see_calls():
    seen = []

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func.__name__)
            return func(*args, **(kwargs or {}))

    x = torch.eye(2).to_sparse()
    with Mode():
        y = torch.mm(x, torch.ones(2, 1))
    assert "mm" in seen and y.tolist() == [[1.0], [1.0]]


def test_arguments_by_name():
    x, y = torch.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse(), torch.ones(2, 2)
    assert torch.mul(input=x, other=2).to_dense().tolist() == [[0, 4], [6, 0]]
    assert torch.add(input=y, other=x).tolist() == [[1, 3], [4, 1]]
    assert torch.mm(input=x, mat2=y).tolist() == [[2, 2], [3, 3]]
    assert x.sum(axis=0).to_dense().tolist() == [3, 2]
    assert torch.zeros_like(input=x).is_sparse and torch.numel(input=x) == 4
    assert torch.mm(x, y, out=torch.empty(2, 2)).tolist() == [[2, 2], [3, 3]]
    with pytest.raises(TypeError, match="Cannot assign to a sparse tensor"):
        x[0] = 1.0


def test_autocast_lowers_products():
    x = torch.eye(2).to_sparse()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.sparse.mm(x, torch.ones(2, 2)).dtype is torch.bfloat16
        assert (torch.ones(2, 2) @ x).dtype is torch.bfloat16
    assert (x @ torch.ones(2, 2)).dtype is torch.float32


def test_anomalies_and_profiles():
    weight = torch.ones(4, 2, requires_grad=True)
    with torch.profiler.profile(), pytest.warns(UserWarning, match="Anomaly"), \
            torch.autograd.detect_anomaly():
        torch.nn.functional.embedding(torch.tensor([1]), weight, sparse=True).sum().backward()
        torch.optim.SparseAdam([weight]).step()
    assert weight.grad._nnz() == 1
