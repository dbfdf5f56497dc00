"""What the series on fundamentals says of optimizers and of validation, episodes 13 and 15."""

import gc
import math

import pytest

import yesca as torch
from yesca import nn
from yesca.nn import functional as F
from yesca.utils.data import DataLoader, TensorDataset

# --- episode 13: optimizers -----------------------------------------------------------------------


def regression(seed=0):
    """A linear model, data of a known line, and its loss."""
    torch.manual_seed(seed)
    x = torch.randn(64, 3)
    y = x @ torch.tensor([[1.0], [-2.0], [0.5]]) + 0.25
    model = nn.Linear(3, 1)
    return model, lambda: F.mse_loss(model(x), y)


def train(loss_of, optimizer, steps, clear=True):
    losses = []
    for _ in range(steps):
        if clear:
            optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_an_optimizer_takes_parameters_and_a_rate():
    model, _ = regression()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    assert [group["lr"] for group in optimizer.param_groups] == [0.1]
    assert all(held is own for held, own in zip(
        optimizer.param_groups[0]["params"], model.parameters(), strict=True))
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        torch.optim.SGD(model.parameters(), lr=-1)
    with pytest.raises(ValueError, match="optimizer got an empty parameter list"):
        torch.optim.SGD([], lr=0.1)
    with pytest.raises(TypeError, match="should be an iterable of Tensors"):
        torch.optim.SGD(model.weight, lr=0.1)


@pytest.mark.parametrize("rate", [1e-3, 0.1, 1.0])
def test_a_step_is_the_gradient_times_the_rate(rate):
    model, loss_of = regression()
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    before = [p.detach().clone() for p in model.parameters()]
    addresses = [p.data_ptr() for p in model.parameters()]
    loss_of().backward()
    optimizer.step()
    for then, now in zip(before, model.parameters(), strict=True):
        torch.testing.assert_close(now.detach(), then - rate * now.grad)
    assert [p.data_ptr() for p in model.parameters()] == addresses  # in memory, where they are


def test_three_steps_by_hand():
    w = nn.Parameter(torch.tensor(5.0))
    optimizer = torch.optim.SGD([w], lr=0.25)
    walked = []
    for _ in range(3):
        optimizer.zero_grad()
        (w * w).backward()  # slope 2 w: half of w is taken off
        optimizer.step()
        walked.append(w.item())
    assert walked == [2.5, 1.25, 0.625]


def test_the_step_goes_down_the_slope():
    for start, slope in ((3.0, 1.0), (-3.0, -1.0)):
        w = nn.Parameter(torch.tensor(start))
        optimizer = torch.optim.SGD([w], lr=0.5)
        w.abs().backward()
        assert w.grad.item() == slope
        optimizer.step()
        assert w.item() == start - 0.5 * slope and abs(w.item()) < abs(start)


def test_gradients_accumulate_until_they_are_cleared():
    model, loss_of = regression()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss_of().backward()
    once = model.weight.grad.clone()
    loss_of().backward()
    torch.testing.assert_close(model.weight.grad, 2 * once)
    optimizer.zero_grad()
    assert model.weight.grad is None and model.bias.grad is None
    loss_of().backward()
    torch.testing.assert_close(model.weight.grad, once)
    kept = model.weight.grad
    optimizer.zero_grad(set_to_none=False)
    assert model.weight.grad is kept and kept.eq(0).all()


def test_forgetting_to_clear_spins_out_of_control():
    def losses(clear):
        model, loss_of = regression()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
        return train(loss_of, optimizer, 40, clear)

    cleared, forgotten = losses(True), losses(False)
    assert cleared[0] == forgotten[0]
    assert cleared[-1] < 1e-4 * cleared[0]
    assert all(later <= earlier for earlier, later in zip(cleared, cleared[1:]))
    assert max(forgotten[20:]) > 1e3 * cleared[20]  # swings instead of settling
    assert sum(later > earlier for earlier, later in zip(forgotten, forgotten[1:])) >= 8


def test_rates_too_small_right_and_too_large():
    def last(rate):
        model, loss_of = regression()
        losses = train(loss_of, torch.optim.SGD(model.parameters(), lr=rate), 50)
        return losses[-1] / losses[0]

    assert 0.9 < last(1e-5) < 1  # microscopic steps
    assert last(0.1) < 1e-3
    assert last(5.0) > 1e6 or math.isnan(last(5.0))  # past the best values, and further each time


def test_backward_reaches_every_parameter_and_stores_in_it():
    model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
    assert all(p.grad is None for p in model.parameters())
    model(torch.randn(5, 3)).square().sum().backward()
    for parameter in model.parameters():
        assert parameter.grad.shape == parameter.shape and parameter.grad.ne(0).any()


def test_a_gradient_says_how_much_a_weight_contributed():
    model = nn.Linear(3, 1).double()
    x = torch.randn(64, 3, dtype=torch.float64)

    def loss():
        return model(x).square().mean()

    loss().backward()
    for index in range(3):
        with torch.no_grad():
            base = loss().item()
            model.weight[0, index] += 1e-6
            moved = (loss().item() - base) / 1e-6
            model.weight[0, index] -= 1e-6
        assert model.weight.grad[0, index].item() == pytest.approx(moved, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("kind, options", [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1}), ("AdamW", {"lr": 0.1}), ("RMSprop", {"lr": 0.1})])
def test_what_an_optimizer_was_not_given_stays(kind, options):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    optimizer = getattr(torch.optim, kind)(model[2].parameters(), **options)
    x = torch.randn(16, 4)
    for _ in range(5):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
    assert model[0].weight.grad is not None  # computed, and not applied
    for name, value in model.state_dict().items():
        assert value.equal(before[name]) == name.startswith("0.")


def test_a_step_without_backward_changes_nothing():
    model, _ = regression()
    before = [p.clone() for p in model.parameters()]
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    assert all(now.equal(then) for now, then in zip(model.parameters(), before, strict=True))


# --- episode 15: validation and inference ---------------------------------------------------------


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.5),
                         nn.Linear(64, 3))


def test_eval_and_train_switch_every_layer():
    model = network()
    assert model.training and all(each.training for each in model.modules())
    assert model.eval() is model
    assert not any(each.training for each in model.modules())
    assert model.train() is model and all(each.training for each in model.modules())
    model.train(False)
    assert not model.training


def test_dropout_drops_in_training_alone():
    layer, x = nn.Dropout(0.25), torch.ones(100, 100)
    torch.manual_seed(0)
    out = layer(x)
    kept = out.ne(0)
    assert 0.73 < kept.float().mean() < 0.77
    assert out[kept].eq(1 / 0.75).all()  # the sum is kept on average
    assert not layer(x).equal(out)
    assert layer.eval()(x).equal(x)


def test_batch_norm_reads_the_batch_in_training_and_its_records_after():
    torch.manual_seed(0)
    layer, x = nn.BatchNorm1d(3), torch.randn(50, 3) * 4 + 2
    out = layer(x)
    torch.testing.assert_close(out.mean(0), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(layer.running_mean, 0.1 * x.mean(0))
    torch.testing.assert_close(layer.running_var, 0.9 + 0.1 * x.var(0))
    assert layer.num_batches_tracked.item() == 1
    layer.eval()
    records = [value.clone() for value in layer.state_dict().values()]
    shown = layer(x)
    torch.testing.assert_close(
        shown, (x - layer.running_mean) / (layer.running_var + layer.eps).sqrt())
    assert all(now.equal(then)
               for now, then in zip(layer.state_dict().values(), records, strict=True))


def test_predictions_are_consistent_in_eval_alone():
    model, x = network(), torch.randn(16, 8)
    model(x)
    assert not model(x).equal(model(x))
    model.eval()
    together = model(x)
    assert model(x).equal(together)
    one_by_one = torch.cat([model(row[None]) for row in x])
    torch.testing.assert_close(one_by_one, together)  # no sample depends on its neighbours
    model.train()
    with pytest.raises(ValueError, match="Expected more than 1 value per channel when training"):
        model(x[:1])


def test_a_validation_loop_updates_nothing():
    model, x = network().eval(), torch.randn(16, 8)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with torch.no_grad():
        out = model(x)
    assert not out.requires_grad and all(p.grad is None for p in model.parameters())
    assert all(value.equal(before[name]) for name, value in model.state_dict().items())
    with pytest.raises(RuntimeError, match="does not require grad"):
        out.sum().backward()


def test_no_grad_frees_the_memory_of_the_history():
    layers = [nn.Linear(128, 128) if place % 2 == 0 else nn.Tanh() for place in range(16)]
    model, x = nn.Sequential(*layers), torch.randn(256, 128)

    def peak():
        gc.collect()
        before = torch.memory_stats()["allocated_bytes"]
        torch.reset_peak_memory_stats()
        model(x)
        return torch.memory_stats()["peak_allocated_bytes"] - before

    layer = 256 * 128 * 4
    peak()
    tracked = peak()
    with torch.no_grad():
        bare = peak()
    assert tracked >= 8 * layer  # every result waits for backward
    assert bare < 4 * layer


def test_argmax_gives_the_place_of_the_highest_score():
    scores = torch.tensor([[0.1, 2.0, -1.0], [5.0, 4.9, 4.8], [-3.0, -2.0, -1.0]])
    assert scores.argmax(dim=1).tolist() == [1, 0, 2] == scores.argmax(1).tolist()
    assert scores.argmax(dim=1).dtype == torch.int64
    assert scores.argmax().item() == 3
    assert scores.softmax(dim=1).argmax(dim=1).equal(scores.argmax(dim=1))


@pytest.mark.parametrize("batch_size", [1, 7, 64])
def test_accuracy_over_batches(batch_size):
    model = network().eval()
    torch.manual_seed(3)
    x, labels = torch.randn(50, 8), torch.randint(3, (50,))
    loader = DataLoader(TensorDataset(x, labels), batch_size=batch_size)
    correct = 0
    with torch.no_grad():
        for inputs, truth in loader:
            correct += (model(inputs).argmax(1) == truth).type(torch.float).sum().item()
    accuracy = correct / len(loader.dataset)
    scores = model(x).tolist()
    by_hand = sum(row.index(max(row)) == label for row, label in zip(scores, labels.tolist(),
                                                                     strict=True))
    assert correct == by_hand and accuracy == by_hand / 50
    assert len(loader) == math.ceil(50 / batch_size)


def test_a_low_training_loss_is_no_accuracy_on_new_data():
    """Random labels are learnt by heart, and nothing about others follows from it."""
    torch.manual_seed(0)
    x, labels = torch.randn(40, 8), torch.randint(2, (40,))
    new, truth = torch.randn(400, 8), torch.randint(2, (400,))
    model = nn.Sequential(nn.Linear(8, 128), nn.ReLU(), nn.Linear(128, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = train(lambda: F.cross_entropy(model(x), labels), optimizer, 200)
    with torch.no_grad():
        seen = (model(x).argmax(1) == labels).float().mean().item()
        unseen = (model(new).argmax(1) == truth).float().mean().item()
    assert losses[-1] < 0.05 * losses[0] and seen == 1
    assert 0.4 < unseen < 0.6
