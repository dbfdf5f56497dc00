"""Steps with sparse gradients: along PyTorch's curves, and what is refused."""

import json
from pathlib import Path

import pytest
import sparse_cases

import yesca as torch

FIXTURES = Path(__file__).parents[1] / "fixtures"
GOLDEN = json.loads((FIXTURES / "sparse.json").read_text(encoding="utf-8"))["curves"]
RUNS = dict(zip([" ".join(run) for run in sparse_cases.curves()],
                zip(sparse_cases.curves(), GOLDEN, strict=True), strict=True))


@pytest.mark.parametrize("name", RUNS)
def test_curves(name):
    run, wanted = RUNS[name]
    bound = 1e-9 if run[-1] == "float64" else 1e-4
    found = torch.tensor(sparse_cases.curve(torch, *run), dtype=torch.float64)
    torch.testing.assert_close(found, torch.tensor(wanted, dtype=torch.float64), rtol=bound,
                               atol=bound)


def after_a_pass(sparse=True):
    torch.manual_seed(0)
    table = torch.nn.Embedding(6, 2, sparse=sparse)
    table(torch.tensor([1, 1, 4])).sum().backward()
    return table


REFUSING = "NAdam RAdam Adamax Adadelta ASGD RMSprop Rprop Adafactor".split()


@pytest.mark.parametrize("name", REFUSING)
def test_others_refuse(name):
    optimizer = getattr(torch.optim, name)(after_a_pass().parameters())
    with pytest.raises(RuntimeError, match=f"{name} does not support sparse gradients"):
        optimizer.step()


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
def test_adam_names_what_does_not(name):
    table = after_a_pass()
    optimizer = getattr(torch.optim, name)(table.parameters())
    with pytest.raises(RuntimeError, match="^Adam does not support sparse gradients, please consid"
                                           "er SparseAdam instead"):
        optimizer.step()
    table.weight.grad = torch.ones(6, 2)
    optimizer.step()
    table.weight.grad = after_a_pass().weight.grad
    with pytest.raises(RuntimeError, match="sparse gradients are not supported"):
        optimizer.step()


def test_options_that_do_not_go_with_sparse_gradients():
    optim = torch.optim
    for optimizer, words in (
            (optim.SGD(after_a_pass().parameters(), weight_decay=0.1), "add.sparse, dense. is not"),
            (optim.SGD(after_a_pass().parameters(), fused=True), "`_fused_sgd` does not support"),
            (optim.Adagrad(after_a_pass().parameters(), weight_decay=0.1),
             "weight_decay option is not compatible with sparse gradients"),
            (optim.Adagrad(after_a_pass().parameters(), fused=True), "`fused` does not support")):
        with pytest.raises(RuntimeError, match=words):
            optimizer.step()


def test_dense_and_sparse_parameters_together():
    tables = [after_a_pass(True), after_a_pass(False)]
    for make in (lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
                 lambda p: torch.optim.Adagrad(p, 0.1)):
        optimizer = make([t.weight for t in tables])
        for _ in range(3):
            optimizer.step()
        torch.testing.assert_close(tables[0].weight, tables[1].weight)


def test_lbfgs_takes_them_as_dense():
    table = after_a_pass()
    optimizer = torch.optim.LBFGS(table.parameters(), max_iter=2)
    before = table.weight.detach().clone()

    def closure():
        optimizer.zero_grad()
        loss = table(torch.tensor([1, 4])).pow(2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert not table.weight[1].equal(before[1]) and table.weight[0].equal(before[0])


def test_buffers_of_momentum_do_not_grow():
    table = after_a_pass()
    optimizer = torch.optim.SGD(table.parameters(), 0.1, momentum=0.9)
    for _ in range(5):
        optimizer.step()
    buffer = optimizer.state[table.weight]["momentum_buffer"]
    assert buffer.is_sparse and buffer._nnz() == 2


def test_scaled_gradients():
    table = torch.nn.Embedding(6, 2, sparse=True)
    optimizer = torch.optim.SGD(table.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(table(torch.tensor([1, 1])).sum()).backward()
    scaler.unscale_(optimizer)
    assert table.weight.grad._values().tolist() == [[1, 1], [1, 1]]
    before = table.weight.detach().clone()
    scaler.step(optimizer)
    scaler.update()
    assert torch.allclose(before[1] - table.weight[1], torch.tensor([0.2, 0.2]))
