"""Tables of rows with sparse=True: the gradients of their weights."""

import pytest

import yesca as torch
from yesca.nn import functional as F


def looked_up(index, weight=None, **options):
    weight = torch.arange(8.0).reshape(4, 2).requires_grad_() if weight is None else weight
    made = F.embedding(torch.tensor(index), weight, sparse=True, **options)
    (made * torch.arange(float(made.numel())).reshape(made.shape)).sum().backward()
    return weight.grad


def test_one_row_for_each_index():
    grad = looked_up([[1, 3], [1, 0]])
    assert grad.is_sparse and not grad.is_coalesced() and grad.shape == (4, 2)
    assert grad._indices().tolist() == [[1, 3, 1, 0]]
    assert grad._values().tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert looked_up([[1, 3], [1, 0]], padding_idx=1)._indices().tolist() == [[3, 0]]
    with pytest.raises(RuntimeError, match="scale_grad_by_freq not supported with sparse"):
        looked_up([1], scale_grad_by_freq=True)


def test_several_passes_add_rows():
    weight = torch.zeros(4, 2, requires_grad=True)
    for index in ([1, 3], [3, 0]):
        grad = looked_up(index, weight)
    assert grad._indices().tolist() == [[1, 3, 3, 0]]
    (weight * 2).sum().backward()
    assert not weight.grad.is_sparse and weight.grad.tolist() == [[4, 5], [2, 3], [2, 2], [4, 6]]
    looked_up([1, 1], weight)
    assert not weight.grad.is_sparse and weight.grad[1].tolist() == [4, 7]


def test_sparse_and_dense_in_one_pass():
    weight = torch.zeros(4, 2, requires_grad=True)
    (F.embedding(torch.tensor([1]), weight, sparse=True).sum() + weight.sum()).backward()
    assert weight.grad.tolist() == [[1, 1], [2, 2], [1, 1], [1, 1]]


def test_through_other_operators():
    weight = torch.ones(4, 2, requires_grad=True)
    F.embedding(torch.tensor([1, 1]), weight * 2, sparse=True).sum().backward()
    assert weight.grad.to_dense().tolist() == [[0, 0], [4, 4], [0, 0], [0, 0]]
    weight.grad = None
    F.embedding(torch.tensor([1, 1]), weight.double(), sparse=True).sum().backward()
    assert weight.grad.dtype is torch.float32 and weight.grad.to_dense()[1].tolist() == [2, 2]


def test_hooks_and_graphs():
    weight = torch.ones(4, 2, requires_grad=True)
    weight.register_hook(lambda g: g * 2)
    weight.register_post_accumulate_grad_hook(lambda w: [w.grad.mul_(3)].clear())
    F.embedding(torch.tensor([1, 1]), weight, sparse=True).sum().backward()
    assert weight.grad._values().tolist() == [[6, 6], [6, 6]]
    plain = torch.full((4, 2), 3.0, requires_grad=True)
    y = F.embedding(torch.tensor([1, 1]), plain, sparse=True).pow(2).sum()
    grad, = torch.autograd.grad(y, plain, create_graph=True)
    assert grad.is_sparse and grad._values().tolist() == [[6, 6], [6, 6]]
    torch.sparse.sum(grad).backward()
    assert plain.grad.to_dense()[1].tolist() == [4, 4]


@pytest.mark.parametrize("mode", ["sum", "mean"])
@pytest.mark.parametrize("options", [{}, {"padding_idx": 1}, {"include_last_offset": True}])
def test_bags(mode, options):
    found = []
    for sparse in (True, False):
        weight = torch.arange(8.0).reshape(4, 2).requires_grad_()
        made = F.embedding_bag(torch.tensor([1, 3, 1, 0, 2]), weight, torch.tensor([0, 2, 4]),
                               sparse=sparse, mode=mode, **options)
        made.pow(2).sum().backward()
        found.append(weight.grad)
    assert found[0].is_sparse and not found[1].is_sparse
    torch.testing.assert_close(found[0].to_dense(), found[1])


def test_bags_with_weights():
    weight = torch.ones(4, 2, requires_grad=True)
    factors = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    F.embedding_bag(torch.tensor([1, 3, 1]), weight, torch.tensor([0, 2]), sparse=True,
                    mode="sum", per_sample_weights=factors).sum().backward()
    assert weight.grad._indices().tolist() == [[1, 3, 1]]
    assert weight.grad._values()[:, 0].tolist() == [1, 2, 3] and factors.grad.tolist() == [2, 2, 2]


def test_norms_are_clipped():
    table = torch.nn.Embedding(4, 2, sparse=True)
    table(torch.tensor([1, 1])).sum().backward()
    total = torch.nn.utils.clip_grad_norm_(table.parameters(), 1.0)
    assert total.item() == pytest.approx(8 ** 0.5)
    assert table.weight.grad.to_dense().norm().item() == pytest.approx(1, abs=1e-5)


def test_gradients_are_assigned_and_cleared():
    table = torch.nn.Embedding(4, 2, sparse=True)
    table.weight.grad = torch.sparse_coo_tensor([[1]], [[1.0, 2.0]], (4, 2))
    table.zero_grad(set_to_none=False)
    assert table.weight.grad.is_sparse and table.weight.grad._nnz() == 0
    table.zero_grad()
    assert table.weight.grad is None
    with pytest.raises(RuntimeError, match="size"):
        table.weight.grad = torch.sparse_coo_tensor((4, 3))


def test_compiled_training():
    def train(compiled):
        torch.manual_seed(0)
        table = torch.nn.Embedding(20, 4, sparse=True)
        optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
        forward = (lambda i: table(i).pow(2).sum())
        forward = torch.compile(forward) if compiled else forward
        for k in range(4):
            optimizer.zero_grad()
            forward(torch.tensor([k, 3, k])).backward()
            optimizer.step()
        return table.weight.detach()

    assert train(True).equal(train(False))


def test_under_transforms():
    weight = torch.ones(4, 2)

    def loss(w, i):
        return F.embedding(i, w, sparse=True).pow(2).sum()

    found = torch.func.grad(loss)(weight, torch.tensor([1, 1]))
    assert found.to_dense()[1].tolist() == [4, 4]
    with pytest.raises(RuntimeError, match="SparseCPU"):
        torch.vmap(torch.func.grad(loss), (None, 0))(weight, torch.tensor([[1], [2]]))


def test_memory_is_the_gradients_own():
    index = torch.tensor([1, 3])
    one, other = (torch.nn.Embedding(4, 2, sparse=True) for _ in range(2))
    (one(index) + other(index)).sum().backward()
    one.weight.grad.mul_(5)
    index.fill_(0)
    for table, value in ((one, 5), (other, 1)):
        assert table.weight.grad._indices().tolist() == [[1, 3]]
        assert table.weight.grad._values().tolist() == [[value, value]] * 2
