"""The snippets of the lesson that introduces PyTorch, and what it says of them."""

import pytest

import yesca as torch
from yesca import nn
from yesca.utils.data import DataLoader, Dataset, TensorDataset


def test_shape_dtype_device():
    x = torch.zeros(3, 4)
    assert (x.shape, x.dtype, x.device) == ((3, 4), torch.float32, torch.device("cpu"))
    assert torch.randn(2, 3, 224, 224).numel() == 301_056
    assert torch.tensor([1, 2, 3]).dtype == torch.int64
    assert torch.tensor(1.0).shape == ()


def test_the_device_line_of_every_program():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    x = torch.randn(3, 4, device=device)
    assert x.device.type == device.type
    assert x.cpu().device.type == "cpu"


def test_reshaping_is_metadata():
    x = torch.randn(2, 3, 4)
    shapes = [
        tuple(x.view(2, 12).shape),
        tuple(x.reshape(6, 4).shape),
        tuple(x.permute(2, 0, 1).shape),
        tuple(x.unsqueeze(0).shape),
        tuple(x[:1].squeeze().shape),
    ]
    assert shapes == [(2, 12), (6, 4), (4, 2, 3), (1, 2, 3, 4), (3, 4)]
    assert x.permute(2, 0, 1).data_ptr() == x.data_ptr()
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        x.permute(2, 0, 1).view(24)


# --- autograd -------------------------------------------------------------------------------------


def test_gradient_of_a_square():
    x = torch.randn(3, requires_grad=True)
    z = (x**2 + 3 * x).sum()
    z.backward()
    assert torch.allclose(x.grad, 2 * x + 3)


def test_the_graph_of_a_product_and_a_sum():
    x = torch.tensor([1.0, 2.0])
    w, b = (torch.tensor(value, requires_grad=True) for value in ([3.0, 4.0], [5.0, 6.0]))
    loss = (x * w + b).sum()
    assert loss.grad_fn.name() == "SumBackward0"
    add, _ = loss.grad_fn.next_functions[0]
    assert add.name() == "AddBackward0"
    assert add.next_functions[0][0].name() == "MulBackward0"
    loss.backward()
    assert (x.grad, w.grad.tolist(), b.grad.tolist()) == (None, [1.0, 2.0], [1.0, 1.0])


def test_only_leaves_keep_gradients():
    x = torch.ones(2, requires_grad=True)
    inner = x * 2
    inner.sum().backward()
    assert x.is_leaf
    assert not inner.is_leaf
    assert x.grad.tolist() == [2.0, 2.0]
    with pytest.warns(UserWarning, match="not a leaf"):
        assert inner.grad is None


# --- modules, losses, loops -----------------------------------------------------------------------


class MLP(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim):
        super().__init__()
        self.layer1 = nn.Linear(input_dim, hidden_dim)
        self.relu = nn.ReLU()
        self.layer2 = nn.Linear(hidden_dim, output_dim)

    def forward(self, x):
        return self.layer2(self.relu(self.layer1(x)))


def test_assigning_registers():
    names = [name for name, _ in MLP(4, 8, 2).named_parameters()]
    assert names == ["layer1.weight", "layer1.bias", "layer2.weight", "layer2.bias"]
    assert [name for name, _ in MLP(4, 8, 2).named_children()] == ["layer1", "relu", "layer2"]


def test_cross_entropy_is_log_softmax_and_nll():
    logits, target = torch.randn(5, 3), torch.tensor([0, 2, 1, 1, 0])
    combined = nn.CrossEntropyLoss()(logits, target)
    assert torch.allclose(combined, nn.NLLLoss()(nn.LogSoftmax(dim=1)(logits), target))


class Circles(Dataset):
    """Points in the square and whether they lie in the unit circle."""

    def __init__(self, count, seed):
        generator = torch.Generator().manual_seed(seed)
        self.points = torch.rand(count, 2, generator=generator) * 2.4 - 1.2
        self.inside = self.points.square().sum(dim=1).lt(1.0).long()

    def __len__(self):
        return len(self.inside)

    def __getitem__(self, index):
        return self.points[index], self.inside[index]


def fit(model, optimizer, loader, epochs, after_epoch=lambda: None):
    """The loop of five lines; returns the loss of each step."""
    criterion, device, losses = nn.CrossEntropyLoss(), torch.device("cpu"), []
    for _ in range(epochs):
        model.train()
        for inputs, targets in loader:
            inputs, targets = inputs.to(device), targets.to(device)
            optimizer.zero_grad()
            outputs = model(inputs)
            loss = criterion(outputs, targets)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        after_epoch()
    return losses


def accuracy(model, dataset):
    model.eval()
    correct = 0
    with torch.no_grad():
        for inputs, targets in DataLoader(dataset, batch_size=100):
            _, predicted = model(inputs).max(1)
            correct += predicted.eq(targets).sum().item()
    return correct / len(dataset)


def test_the_loop_learns_circles():
    torch.manual_seed(0)
    model = MLP(2, 32, 2)
    loader = DataLoader(Circles(512, seed=1), batch_size=64, shuffle=True)
    losses = fit(model, torch.optim.Adam(model.parameters(), lr=0.03), loader, epochs=8)
    assert losses[-1] < losses[0] / 2
    assert accuracy(model, Circles(300, seed=2)) > 0.9


def test_loader_batches_shuffles_and_keeps_the_rest():
    dataset = TensorDataset(torch.arange(10.0), torch.arange(10))
    plain = [labels.tolist() for _, labels in DataLoader(dataset, batch_size=4)]
    assert plain == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    torch.manual_seed(0)
    shuffled = [labels for _, labels in DataLoader(dataset, batch_size=4, shuffle=True)]
    assert torch.cat(shuffled).tolist() != list(range(10))
    assert sorted(torch.cat(shuffled).tolist()) == list(range(10))


def test_state_dicts_are_saved_and_loaded(tmp_path):
    model = MLP(4, 8, 2)
    torch.save(model.state_dict(), tmp_path / "model.pt")
    restored = MLP(4, 8, 2)
    restored.load_state_dict(torch.load(tmp_path / "model.pt", weights_only=True))
    restored.eval()
    x = torch.randn(3, 4)
    assert restored(x).equal(model(x))


# --- schedules, mixed precision, exercises --------------------------------------------------------


def test_cosine_schedule_ends_at_zero_after_ten_epochs():
    torch.manual_seed(0)
    model = MLP(2, 4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
    rates = [scheduler.get_last_lr()[0]]

    def advance():
        scheduler.step()
        rates.append(scheduler.get_last_lr()[0])

    fit(model, optimizer, DataLoader(Circles(64, seed=1), batch_size=32), 10, advance)
    assert rates[0] == pytest.approx(0.1)
    assert rates[5] == pytest.approx(0.05)
    assert rates[10] == pytest.approx(0.0, abs=1e-12)
    assert rates == sorted(rates, reverse=True)


def test_mixed_precision_loop():
    torch.manual_seed(0)
    model, criterion = MLP(2, 32, 2), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    scaler = torch.amp.GradScaler("cpu")
    losses = []
    for _ in range(4):
        for inputs, targets in DataLoader(Circles(256, seed=1), batch_size=64):
            with torch.amp.autocast(device_type="cpu", dtype=torch.bfloat16):
                outputs = model(inputs)
                loss = criterion(outputs, targets)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            losses.append(loss.item())
    assert outputs.dtype == torch.bfloat16
    assert model.layer1.weight.dtype == torch.float32
    assert losses[-1] < losses[0]


def test_batch_norm_variant():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
    loader = DataLoader(Circles(512, seed=1), batch_size=64, shuffle=True)
    fit(model, torch.optim.Adam(model.parameters(), lr=0.03), loader, epochs=16)
    assert model[1].num_batches_tracked.item() == 128
    assert accuracy(model, Circles(300, seed=2)) > 0.9


def test_learning_rate_finder():
    torch.manual_seed(0)
    model = MLP(2, 16, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-7)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=10.0)
    loader = DataLoader(Circles(64, seed=1), batch_size=64)
    rates = []

    def advance():
        rates.append(optimizer.param_groups[0]["lr"])
        scheduler.step()

    losses = fit(model, optimizer, loader, 8, advance)
    assert rates[0] == pytest.approx(1e-7)
    assert rates[-1] == pytest.approx(1.0)
    assert losses[-1] < losses[0]
