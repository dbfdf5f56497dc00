"""SparseAdam: options, states, refusals; its curves are in test_sparse_rows.py."""

import copy

import pytest

import yesca as torch


def table():
    torch.manual_seed(0)
    made = torch.nn.Embedding(6, 2, sparse=True)
    made(torch.tensor([1, 1, 4])).sum().backward()
    return made


@pytest.mark.parametrize(("options", "words"), [
    ({"lr": 0.0}, "Invalid learning rate: 0.0"), ({"lr": -1.0}, "Invalid learning rate: -1.0"),
    ({"eps": 0.0}, "Invalid epsilon value: 0.0"),
    ({"betas": (1.0, 0.9)}, "Invalid beta parameter at index 0: 1.0"),
    ({"betas": (0.5, -1.0)}, "Invalid beta parameter at index 1: -1.0")])
def test_options(options, words):
    with pytest.raises(ValueError, match=words):
        torch.optim.SparseAdam(table().parameters(), **options)


def test_parameters_are_dense_and_gradients_sparse():
    dense, sparse = torch.nn.Parameter(torch.ones(2)), torch.sparse_coo_tensor((2, 3))
    with pytest.raises(ValueError, match=r"Sparse params at indices \[\[0, 1\]\]"):
        torch.optim.SparseAdam([dense, sparse.requires_grad_()])
    dense.sum().backward()
    with pytest.raises(RuntimeError, match="SparseAdam does not support dense gradients, please"):
        torch.optim.SparseAdam([dense]).step()


def test_only_rows_with_gradients_move():
    made = table()
    before = made.weight.detach().clone()
    optimizer = torch.optim.SparseAdam(made.parameters(), lr=torch.tensor(0.1))
    optimizer.step()
    moved = (made.weight != before).any(1)
    assert moved.tolist() == [False, True, False, False, True, False]
    state = optimizer.state[made.weight]
    assert state["step"] == 1 and state["exp_avg"][0].tolist() == [0, 0]
    assert torch.allclose(state["exp_avg"][1], torch.tensor([0.2, 0.2]))


def test_state_dicts():
    made = table()
    optimizer = torch.optim.SparseAdam(made.parameters(), lr=0.1)
    optimizer.step()
    twin = copy.deepcopy(made)
    twin.weight.grad = made.weight.grad.clone()
    other = torch.optim.SparseAdam(twin.parameters())
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for one in (optimizer, other):
        one.step()
    assert made.weight.equal(twin.weight)
    assert list(optimizer.state_dict()["param_groups"][0]) == [
        "lr", "betas", "eps", "maximize", "params"]


def test_any_sparse_gradient_will_do():
    weight = torch.zeros(2, 3, requires_grad=True)
    weight.grad = torch.sparse_coo_tensor([[0, 1], [2, 0]], [1.0, -1.0], (2, 3))
    torch.optim.SparseAdam([weight], lr=0.5).step()
    assert torch.allclose(weight, torch.tensor([[0, 0, -0.5], [0.5, 0, 0]]))


def test_the_functional_form():
    from yesca.optim import _functional

    made = table()
    averages = [torch.zeros(6, 2), torch.zeros(6, 2)]
    with torch.no_grad():
        _functional.sparse_adam([made.weight], [made.weight.grad], averages[:1], averages[1:], [1],
                                eps=1e-8, beta1=0.9, beta2=0.999, lr=0.1, maximize=False)
    assert averages[0][1].tolist() == pytest.approx([0.2, 0.2])
